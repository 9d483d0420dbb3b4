// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel say that it is another machine, until the module goes. For tests only.
 *
 * release	what it calls itself, as uname -r has it
 * ibt		1: the CPU has indirect branch tracking. Code that was patched for the CPU at boot,
 *		or is when a module is loaded, goes by what it really has
 */
#define pr_fmt(fmt) "farswap-machine: " fmt

#include <linux/module.h>
#include <linux/utsname.h>

#include <asm/cpufeature.h>

static char *release = "";
module_param(release, charp, 0444);
static bool ibt;
module_param(ibt, bool, 0444);

static char machine_release[__NEW_UTS_LEN + 1];
static bool machine_had_ibt;

static void machine_set_ibt(bool has)
{
	if (has)
		set_cpu_cap(&boot_cpu_data, X86_FEATURE_IBT);
	else
		clear_bit(X86_FEATURE_IBT, (unsigned long *)boot_cpu_data.x86_capability);
}

static int __init machine_init(void)
{
	strscpy(machine_release, init_utsname()->release);
	machine_had_ibt = boot_cpu_has(X86_FEATURE_IBT);
	if (*release)
		strscpy(init_utsname()->release, release);
	if (ibt)
		machine_set_ibt(true);
	return 0;
}

static void __exit machine_exit(void)
{
	strscpy(init_utsname()->release, machine_release);
	machine_set_ibt(machine_had_ibt);
}

module_init(machine_init);
module_exit(machine_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Another machine, for farswap's tests");

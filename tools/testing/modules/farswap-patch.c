// SPDX-License-Identifier: GPL-2.0
/*
 * A live patch of a function of the kernel that changes nothing: the replacement calls the
 * original. For tests only. To take it away: write 0 to /sys/kernel/livepatch/farswap_patch/enabled,
 * wait until that directory is gone, unload.
 *
 * function	the one that is patched; it may have four parameters, numbers or pointers
 */
#define pr_fmt(fmt) "farswap-patch: " fmt

#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/static_call.h>

static char *function = "";
module_param(function, charp, 0444);

static unsigned long patch_no_original(unsigned long a, unsigned long b, unsigned long c,
				       unsigned long d)
{
	return 0;
}

DEFINE_STATIC_CALL(patch_original, patch_no_original);

static unsigned long patch_replacement(unsigned long a, unsigned long b, unsigned long c,
				       unsigned long d)
{
	return static_call(patch_original)(a, b, c, d);
}

static struct klp_func patch_funcs[] = {
	{ .new_func = patch_replacement },
	{ }
};

static struct klp_object patch_objects[] = {
	{ .funcs = patch_funcs },
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = patch_objects,
};

/* The original, past the call by which the patch redirects it. */
static int __init patch_find_original(void)
{
	struct kprobe probe = {
		.symbol_name = function,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&probe);

	if (err)
		return err;
	static_call_update(patch_original, (void *)probe.addr + MCOUNT_INSN_SIZE);
	unregister_kprobe(&probe);
	return 0;
}

static int __init patch_init(void)
{
	int err = patch_find_original();

	if (err) {
		pr_err("no function \"%s\" (%d)\n", function, err);
		return err;
	}
	patch_funcs[0].old_name = function;
	return klp_enable_patch(&patch);
}

/* Only when the kernel no longer calls the replacement. */
static void __exit patch_exit(void)
{
}

module_init(patch_init);
module_exit(patch_exit);
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("A live patch, for farswap's tests");

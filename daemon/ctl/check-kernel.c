// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the kernel, the module and its hooks, and the swap devices.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "client.h"
#include "kmsg.h"

#define TRACING		"/sys/kernel/tracing/"
#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static bool kernel_has_farswap(void)
{
	char *symbols = file_read("/proc/kallsyms");
	bool has = symbols && strstr(symbols, " frontswap_register");

	free(symbols);
	return has;
}

/* As the module itself decides: kernel.org's 6.12 releases and Debian's. */
static bool kernel_is_known(const char *release)
{
	static const char *const debian[] = { "+deb", "+bpo" };
	unsigned int i;

	if (strncmp(release, "6.12.", 5) != 0 || !isdigit((unsigned char)release[5]))
		return false;
	release += 5 + strspn(release + 5, "0123456789");
	if (!*release)
		return true;
	for (i = 0; i < ARRAY_SIZE(debian); i++)
		if (!strncmp(release, debian[i], 4)) {
			release += 4 + strspn(release + 4, "0123456789");
			break;
		}
	return !strcmp(release, "-amd64") || !strcmp(release, "-cloud-amd64");
}

static bool kernel_file_is(const char *path, const char *value)
{
	char line[64];

	return file_line(path, line, sizeof(line)) && !strcmp(line, value);
}

/* Return the first line of a text that begins with a name, or NULL. */
static const char *kernel_find_line(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, name, len) && strchr("\n ", text[len]))
			return text;
	}
	return NULL;
}

/* Return true if the flags of a line of enabled_functions say that its function is redirected. */
static bool kernel_is_redirected(const char *line)
{
	const char *end = line ? line + strcspn(line, "\n\t") : NULL;
	const char *flags = line ? strstr(line, ") ") : NULL;

	return flags && flags < end && memmem(flags, end - flags, " I", 2);
}

/* Check, as attaching does first, that each function can be traced and is not redirected. */
static bool kernel_functions(void)
{
	static const char *const names[] = {
		"__swap_writepage", "swap_read_folio", "zswap_store", "zswap_swapon", "zswap_swapoff",
		"reenable_swap_slots_cache_unlock", "__folio_lock_or_retry", "swapin_readahead",
		"swap_cluster_readahead", "swap_writepage", "clear_shadow_from_swap_cache",
	};
	char *there = file_read(TRACING "available_filter_functions");
	char *used = file_read(TRACING "enabled_functions");
	unsigned int i;
	bool all = true;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (there && !kernel_find_line(there, names[i])) {
			all = false;
			check_say(CHECK_FAIL, "hooks", "apt install linux-image-6.12-amd64 && reboot",
				  "this kernel has no function %s to trace, so farswap can't hook it",
				  names[i]);
		} else if (used && kernel_is_redirected(kernel_find_line(used, names[i]))) {
			all = false;
			check_say(CHECK_FAIL, "hooks", "ls /sys/kernel/livepatch",
				  "a live patch has redirected %s, so farswap can't hook it: disable the patch",
				  names[i]);
		}
	}
	free(there);
	free(used);
	return all;
}

/* Check the features that the hooks need, by the files that show them. */
static void kernel_features(void)
{
	static const struct {
		const char *path;
		const char *option;
	} features[] = {
		{ "/sys/module/zswap/parameters/enabled", "CONFIG_ZSWAP" },
		{ "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF" },
		{ "/proc/sys/kernel/ftrace_enabled", "CONFIG_DYNAMIC_FTRACE_WITH_ARGS" },
		{ "/proc/sys/debug/kprobes-optimization", "CONFIG_KPROBES" },
	};
	unsigned int i;
	bool all = true;

	for (i = 0; i < ARRAY_SIZE(features); i++) {
		if (file_exists(features[i].path))
			continue;
		all = false;
		check_say(CHECK_FAIL, "kernel", "apt install linux-image-6.12-amd64 && reboot",
			  "it lacks %s, which farswap's hooks need (there is no %s)",
			  features[i].option, features[i].path);
	}
	if (file_exists("/sys/kernel/realtime")) {
		all = false;
		check_say(CHECK_FAIL, "kernel", "apt install linux-image-6.12-amd64 && reboot",
			  "it is a PREEMPT_RT kernel, whose swap code farswap can't hook");
	}
	if (kernel_file_is("/proc/sys/kernel/ftrace_enabled", "0")) {
		all = false;
		check_say(CHECK_FAIL, "kernel", "sysctl kernel.ftrace_enabled=1",
			  "kernel.ftrace_enabled is 0, so farswap can't hook the swap code");
	}
	/* Once it is attached, the functions are redirected by farswap itself. */
	if (!kernel_file_is(CLIENT_SYSFS "attached", "1") && !kernel_functions())
		all = false;
	if (all)
		check_say(CHECK_OK, "hooks", NULL, "the kernel has all that farswap's hooks need");
}

void check_kernel(void)
{
	char release[128] = "";

	(void)file_line("/proc/sys/kernel/osrelease", release, sizeof(release));
	if (kernel_has_farswap()) {
		check_say(CHECK_OK, "kernel", NULL, "Linux %s, with farswap's hooks in its source",
			  release);
		return;
	}
	if (strncmp(release, "6.12.", 5) != 0) {
		check_say(CHECK_FAIL, "kernel", "apt install linux-image-6.12-amd64 && reboot",
			  "Linux %s is running, and farswap is made for 6.12", release);
		return;
	}
	if (kernel_is_known(release))
		check_say(CHECK_OK, "kernel", NULL, "Linux %s", release);
	else if (kernel_file_is(CLIENT_SYSFS "force", "1"))
		check_say(CHECK_WARN, "kernel", "echo 0 >" CLIENT_SYSFS "force",
			  "Linux %s is neither kernel.org's nor Debian's 6.12, and force=1 attaches to it",
			  release);
	else
		check_say(CHECK_FAIL, "kernel", "apt install linux-image-6.12-amd64 && reboot",
			  "Linux %s is neither kernel.org's nor Debian's 6.12, so its swap code may differ",
			  release);
	kernel_features();
}

static bool module_is_installed(void)
{
	char path[256], release[128] = "", *modules;
	bool is;

	(void)file_line("/proc/sys/kernel/osrelease", release, sizeof(release));
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	modules = file_read(path);
	is = modules && strstr(modules, "/farswap.ko");
	free(modules);
	return is;
}

/* The last byte of the EFI variable. */
static bool secure_boot(void)
{
	char path[512], data[8];
	FILE *file;
	size_t n;

	file_path(path, sizeof(path), SECURE_BOOT);
	file = fopen(path, "r");
	n = file ? fread(data, 1, sizeof(data), file) : 0;
	if (file && fclose(file))
		return false;
	return n && data[n - 1] == 1;
}

/* Only a signed module can be loaded. */
static bool locked_down(void)
{
	char line[128];

	return secure_boot() || (file_line("/sys/kernel/security/lockdown", line, sizeof(line)) &&
				 !strstr(line, "[none]")) ||
	       kernel_file_is("/sys/module/module/parameters/sig_enforce", "Y");
}

static void module_is_missing(void)
{
	char why[KMSG_TEXT];

	if (!module_is_installed()) {
		check_say(CHECK_FAIL, "module", "apt install farswap-dkms",
			  "the module farswap is not installed for this kernel");
	} else if (locked_down()) {
		check_say(CHECK_FAIL, "module", "mokutil --import /var/lib/dkms/mok.pub && reboot",
			  "this kernel is locked down (Secure Boot): it refuses a module whose key is not enrolled");
	} else if (kmsg_text("farswap: donors: ", why)) {
		check_say(CHECK_FAIL, "module", "editor /etc/farswap/farswap.conf && systemctl restart farswap",
			  "the module farswap did not load: donors: %s", why);
	} else if (kmsg_text("farswap: ", why)) {
		check_say(CHECK_FAIL, "module", "modprobe farswap",
			  "the module farswap is not loaded; the log says: %s", why);
	} else {
		check_say(CHECK_FAIL, "module", "systemctl enable --now farswap",
			  "the module farswap is not loaded");
	}
}

void check_module(void)
{
	const struct kmsg_line *line;

	if (!client_is_there()) {
		module_is_missing();
		return;
	}
	if (kernel_file_is(CLIENT_SYSFS "attached", "1")) {
		check_say(CHECK_OK, "module", NULL, "farswap is attached");
	} else {
		line = kmsg_last("farswap: ", "not attached");
		check_say(CHECK_FAIL, "module", "echo 1 >" CLIENT_SYSFS "attached",
			  "farswap is loaded and not attached%s%s", line ? "; the log says: " : "",
			  line ? line->text : "");
	}
	if (kernel_file_is(CLIENT_SYSFS "enabled", "0"))
		check_say(CHECK_WARN, "module", "echo 1 >" CLIENT_SYSFS "enabled",
			  "enabled is 0: new pages go to the swap device only");
}

struct swap_found {
	unsigned int usable;
	unsigned int others;
	uint64_t kb;
	char other[128];
};

static void swap_look(const struct client_swap *swap, void *arg)
{
	static const char *const memory[] = { "/dev/zram", "/dev/ram", "/dev/pmem" };
	struct swap_found *found = arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(memory); i++)
		if (!strncmp(swap->path, memory[i], strlen(memory[i])))
			break;
	if (i < ARRAY_SIZE(memory)) {
		found->others++;
		snprintf(found->other, sizeof(found->other), "%s", swap->path);
		return;
	}
	found->usable++;
	found->kb += swap->size_kb;
}

void check_swap(void)
{
	static const char make[] = "fallocate -l 8G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile";
	struct swap_found found = { 0 };

	if (!client_swaps(swap_look, &found) || (!found.usable && !found.others))
		check_say(CHECK_FAIL, "swap", make,
			  "there is no swap device: each page needs a place on one");
	else if (!found.usable)
		check_say(CHECK_FAIL, "swap", make,
			  "all swap is on %s, which is memory itself and left alone by farswap: a disk is needed",
			  found.other);
	else if (found.others)
		check_say(CHECK_WARN, "swap", "swapoff DEVICE",
			  "%u swap devices can be used; %s is memory itself and left alone", found.usable,
			  found.other);
	else
		check_say(CHECK_OK, "swap", NULL, "%u devices, %uM", found.usable,
			  (unsigned int)(found.kb >> 10));
}

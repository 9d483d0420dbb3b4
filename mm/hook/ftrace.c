// SPDX-License-Identifier: GPL-2.0
/*
 * Hook mode ftrace: on a stock kernel, redirects the functions with which mm stores, loads and
 * frees swap to ours, by ftrace, as live patching does. The hook has no notion of slabs and donors;
 * it calls the core only through <linux/farswap.h>.
 *
 * Teardown: every replacement counts the tasks inside it. The count also covers the call of the
 * original function, because that may sleep, and the grace period of ftrace does not wait for
 * sleeping tasks. The counts are read only when no new caller can enter.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/delay.h>
#include <linux/farswap.h>
#include <linux/ftrace.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/static_call.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/writeback.h>

#include <asm/asm-offsets.h>
#include <asm/cpufeature.h>
#include <asm/ibt.h>
#include <asm/linkage.h>
#include <asm/nospec-branch.h>

#include "hook/kernel.h"
#include "hook/hook.h"
#include "hook/symbol.h"

/*
 * How long to wait for a swapon in progress, jiffies. A swapon writes back the dirty pages of its
 * device first.
 */
#define HOOK_SWAPON_TIME	HZ
#define HOOK_SWAPON_PAUSE_MS	10
/* Interval of checks for tasks inside, and the number of checks before a warning. */
#define HOOK_IDLE_PAUSE_MS	10
#define HOOK_IDLE_LOOKS		3000
/* A BPF program that is being attached or detached blocks us for tens of milliseconds. */
#define HOOK_BUSY_PAUSE_MS	20
#define HOOK_BUSY_TRIES		50

struct swap_iocb;

/*
 * Targets of the static calls until farswap attaches. The originals are then called past their
 * ftrace site, so that they are not redirected again.
 */
static void no_writepage(struct folio *folio, struct writeback_control *wbc) {}
static bool no_zswap_store(struct folio *folio) { return false; }
static int no_swapon(int type, unsigned long nr) { return 0; }
static void no_swapoff(int type) {}
static void no_reenable(void) {}
static vm_fault_t no_lock(struct folio *folio, struct vm_fault *vmf) { return 0; }
static int no_caller(struct page *page, struct writeback_control *wbc) { return 0; }

static struct folio *no_readahead(swp_entry_t entry, gfp_t gfp,
				  struct vm_fault *vmf)
{
	return NULL;
}

static struct folio *no_cluster(swp_entry_t entry, gfp_t gfp,
				struct mempolicy *mpol, pgoff_t ilx)
{
	return NULL;
}

DEFINE_STATIC_CALL(original_writepage, no_writepage);
DEFINE_STATIC_CALL(original_zswap_store, no_zswap_store);
DEFINE_STATIC_CALL(original_swapon, no_swapon);
DEFINE_STATIC_CALL(original_swapoff, no_swapoff);
DEFINE_STATIC_CALL(original_reenable, no_reenable);
DEFINE_STATIC_CALL(original_lock, no_lock);
DEFINE_STATIC_CALL(original_readahead, no_readahead);
DEFINE_STATIC_CALL(original_cluster, no_cluster);
DEFINE_STATIC_CALL(original_caller, no_caller);

/*
 * Tasks that entered a replacement on this CPU minus tasks that left one on it. Only the sum over
 * all CPUs counts the tasks inside.
 */
static DEFINE_PER_CPU(unsigned long, hook_inside);

static void hook_enter(void)
{
	this_cpu_inc(hook_inside);
}

static void hook_leave(void)
{
	this_cpu_dec(hook_inside);
}

static void hook_writepage(struct folio *folio, struct writeback_control *wbc)
{
	hook_enter();
	if (!farswap_store(folio))
		static_call(original_writepage)(folio, wbc);
	hook_leave();
}

/* A read without a plug is for the fault's own page, or there is no other readahead. */
static void hook_read(struct folio *folio, struct swap_iocb **plug)
{
	hook_enter();
	if (!farswap_load(folio, !plug))
		static_call(farswap_kernel_read)(folio, plug);
	hook_leave();
}

static bool hook_zswap_store(struct folio *folio)
{
	bool stored;

	hook_enter();
	stored = static_call(original_zswap_store)(folio);
	/* The folio is still locked, so no task can load it before the old copy is forgotten. */
	if (stored)
		farswap_forget(folio);
	hook_leave();
	return stored;
}

static int hook_swapon(int type, unsigned long nr)
{
	int err;

	hook_enter();
	err = static_call(original_swapon)(type, nr);
	if (!err)
		farswap_swapon(farswap_helper_info(swp_entry(type, 0)),
			       type, nr);
	hook_leave();
	return err;
}

/* swapoff calls this between freeing the last slot and the teardown of the device. */
static void hook_reenable(void)
{
	struct swap_info_struct *si;
	unsigned int type;

	hook_enter();
	for (type = 0; type < MAX_SWAPFILES; type++) {
		/* Offset 0 of type 0 is the invalid entry 0, so use offset 1. */
		swp_entry_t first = swp_entry(type, 1);

		si = farswap_helper_info(first);
		/* The flags are a hint; the reference decides. */
		if (!si || !(data_race(si->flags) & SWP_USED))
			continue;
		/* This fails for a device that is being turned on, except in the last steps. */
		si = farswap_helper_get_device(first);
		if (!si)
			continue;
		/* Our caller is the swapoff that has emptied it, so no slot is used again. */
		if (!READ_ONCE(si->inuse_pages) && !(READ_ONCE(si->flags) & SWP_WRITEOK))
			farswap_swapoff_drain(type);
		put_swap_device(si);
	}
	static_call(original_reenable)();
	hook_leave();
}

/**
 * farswap_hook_free_slots() - free the slots that the kernel caches to free many at once
 *
 * The core is notified of a freed slot only when it leaves this cache.
 *
 * Context: may sleep, while the hook is in place.
 */
void farswap_hook_free_slots(void)
{
	farswap_helper_lock_slots();
	static_call(original_reenable)();
}

static void hook_swapoff(int type)
{
	hook_enter();
	farswap_swapoff(type);
	static_call(original_swapoff)(type);
	hook_leave();
}

/* Spin before a fault sleeps for a locked page. */
static vm_fault_t hook_lock(struct folio *folio, struct vm_fault *vmf)
{
	vm_fault_t ret = 0;

	hook_enter();
	if ((vmf->flags & FAULT_FLAG_RETRY_NOWAIT) || !farswap_poll_lock(folio))
		ret = static_call(original_lock)(folio, vmf);
	hook_leave();
	return ret;
}

static struct folio *hook_readahead(swp_entry_t entry, gfp_t gfp,
				    struct vm_fault *vmf)
{
	struct folio *folio;

	hook_enter();
	farswap_swapin_begin();
	folio = farswap_swapin_readahead(entry, gfp, vmf, farswap_helper_page_cluster());
	if (!folio)
		folio = static_call(original_readahead)(entry, gfp, vmf);
	farswap_swapin_end();
	hook_leave();
	return folio;
}

/*
 * Faults on shared memory read ahead by this function, in ascending order, and then sleep for the
 * lock of their own page. So that page is read first, and the task spins for it here. The original
 * finds it in the swap cache. Anonymous memory comes here with its page in the cache already.
 */
static struct folio *hook_cluster(swp_entry_t entry, gfp_t gfp,
				  struct mempolicy *mpol, pgoff_t ilx)
{
	struct folio *own = NULL, *folio;

	hook_enter();
	farswap_swapin_begin();
	if (farswap_is_remote(entry, 1))
		own = farswap_helper_read_begin(entry, gfp, mpol, ilx);
	if (own)
		hook_read(own, NULL);
	folio = static_call(original_cluster)(entry, gfp, mpol, ilx);
	farswap_swapin_end();
	if (own) {
		if (farswap_poll_lock(own))
			folio_unlock(own);
		folio_put(own);
	}
	hook_leave();
	return folio;
}

/*
 * This redirection changes nothing; it keeps live patches off swap_writepage(). A live patch could
 * have __swap_writepage() inlined, as both are in one file, and its page-outs would bypass us. A
 * BPF trampoline on the function calls the target of the redirection, so the target needs an ENDBR
 * of its own.
 */
static int hook_caller(struct page *page, struct writeback_control *wbc)
{
	int err;

	hook_enter();
	err = static_call(original_caller)(page, wbc);
	hook_leave();
	return err;
}

/**
 * struct hook - a function that is redirected
 * @name:	name of the kernel's function
 * @prototype:	its expected prototype
 * @to:		our replacement
 * @ip:		address of its ftrace site
 */
struct hook {
	const char *name;
	const char *prototype;
	void *to;
	unsigned long ip;
};

enum hook_number {
	HOOK_WRITEPAGE,
	HOOK_READ,
	HOOK_ZSWAP_STORE,
	HOOK_SWAPON,
	HOOK_SWAPOFF,
	HOOK_REENABLE,
	HOOK_LOCK,
	HOOK_READAHEAD,
	HOOK_CLUSTER,
	HOOK_CALLER,
	HOOK_NR,
};

static struct hook hooks[HOOK_NR] = {
	[HOOK_WRITEPAGE] = {
		.name = "__swap_writepage",
		.prototype = "void(folio*,writeback_control*)",
		.to = hook_writepage,
	},
	[HOOK_READ] = {
		.name = "swap_read_folio",
		.prototype = "void(folio*,swap_iocb**)",
		.to = hook_read,
	},
	[HOOK_ZSWAP_STORE] = {
		.name = "zswap_store",
		.prototype = "bool(folio*)",
		.to = hook_zswap_store,
	},
	[HOOK_SWAPON] = {
		.name = "zswap_swapon",
		.prototype = "int(int,long unsigned int)",
		.to = hook_swapon,
	},
	[HOOK_SWAPOFF] = {
		.name = "zswap_swapoff",
		.prototype = "void(int)",
		.to = hook_swapoff,
	},
	[HOOK_REENABLE] = {
		.name = "reenable_swap_slots_cache_unlock",
		.prototype = "void()",
		.to = hook_reenable,
	},
	[HOOK_LOCK] = {
		.name = "__folio_lock_or_retry",
		.prototype = "vm_fault_t(folio*,vm_fault*)",
		.to = hook_lock,
	},
	[HOOK_READAHEAD] = {
		.name = "swapin_readahead",
		.prototype = "folio*(swp_entry_t,gfp_t,vm_fault*)",
		.to = hook_readahead,
	},
	[HOOK_CLUSTER] = {
		.name = "swap_cluster_readahead",
		.prototype = "folio*(swp_entry_t,gfp_t,mempolicy*,long unsigned int)",
		.to = hook_cluster,
	},
	[HOOK_CALLER] = {
		.name = "swap_writepage",
		.prototype = "int(page*,writeback_control*)",
		.to = hook_caller,
	},
};

/* This runs without recursion protection, so it only looks up and stores an address. */
static void notrace hook_redirect(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops,
				  struct ftrace_regs *fregs)
{
	int i;

	for (i = 0; i < HOOK_NR; i++) {
		if (hooks[i].ip == ip) {
			ftrace_regs_set_instruction_pointer(fregs,
							    (unsigned long)hooks[i].to);
			return;
		}
	}
}

static void notrace hook_slots_freed(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops,
				     struct ftrace_regs *fregs)
{
	farswap_invalidate(ftrace_regs_get_argument(fregs, 0),
			   ftrace_regs_get_argument(fregs, 1),
			   ftrace_regs_get_argument(fregs, 2));
}

/*
 * PERMANENT keeps kernel.ftrace_enabled=0 from removing the hooks silently. Pages whose location
 * only farswap knows would then be read from the wrong place.
 */
static struct ftrace_ops hook_redirect_ops = {
	.func	= hook_redirect,
	.flags	= FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

static struct ftrace_ops hook_slots_freed_ops = {
	.func	= hook_slots_freed,
	.flags	= FTRACE_OPS_FL_PERMANENT,
};

#define HOOK_SLOTS_FREED	"clear_shadow_from_swap_cache"

/*
 * A BPF trampoline that runs a program after the function (fexit) works together with a redirection
 * by an indirect call to the target of the redirection. While the kernel adds or removes the
 * redirection, that target is for a moment the original, past its ENDBR, and a CPU with indirect
 * branch tracking stops the kernel there. A function can have only one direct call, that of a
 * trampoline or another one. So on such CPUs we claim this place while we attach or detach, with a
 * call that returns at once, or refuse if another user has it.
 */
asm("	.pushsection .text, \"ax\", @progbits\n"
	"	.balign 16\n"
	"	.type hook_claim_call, @function\n"
	"	.globl hook_claim_call\n"
	"hook_claim_call:\n"
	ASM_ENDBR
	CALL_DEPTH_ACCOUNT
	ASM_RET
	"	.size hook_claim_call, . - hook_claim_call\n"
	"	.popsection\n");

/* The claimed call returns at once, then the CPU continues at the target of the redirection. */
static int hook_claim_shares(struct ftrace_ops *ops, enum ftrace_ops_cmd command)
{
	return 0;
}

static struct ftrace_ops hook_claim_ops = {
	.ops_func = hook_claim_shares,
};

static bool hook_claimed;	/* under the lock of attaching and detaching */

/* Call the original past the ftrace site that redirects to us. */
#define HOOK_ORIGINAL(_call, _number) \
	static_call_update(_call, (void *)(hooks[_number].ip + MCOUNT_INSN_SIZE))

static int hook_find_all(void)
{
	int i, err;

	err = farswap_symbol_init();
	for (i = 0; !err && i < HOOK_NR; i++)
		err = farswap_symbol_get(hooks[i].name, hooks[i].prototype, &hooks[i].ip);
	if (err)
		return err;
	if (!farswap_symbol_calls(hooks[HOOK_CALLER].ip, hooks[HOOK_WRITEPAGE].ip)) {
		pr_err("__swap_writepage is inlined into swap_writepage in this kernel: not attached\n");
		return -EOPNOTSUPP;
	}
	err = farswap_helpers_find();
	if (err)
		return err;

	HOOK_ORIGINAL(original_writepage, HOOK_WRITEPAGE);
	HOOK_ORIGINAL(farswap_kernel_read, HOOK_READ);
	HOOK_ORIGINAL(original_zswap_store, HOOK_ZSWAP_STORE);
	HOOK_ORIGINAL(original_swapon, HOOK_SWAPON);
	HOOK_ORIGINAL(original_swapoff, HOOK_SWAPOFF);
	HOOK_ORIGINAL(original_reenable, HOOK_REENABLE);
	HOOK_ORIGINAL(original_lock, HOOK_LOCK);
	HOOK_ORIGINAL(original_readahead, HOOK_READAHEAD);
	HOOK_ORIGINAL(original_cluster, HOOK_CLUSTER);
	HOOK_ORIGINAL(original_caller, HOOK_CALLER);
	return 0;
}

/* Translate an error of ftrace from before anything was registered. */
static int hook_filtered(int err)
{
	return err == -ENODEV ? -EOPNOTSUPP : err;
}

static int hook_register_freed(void)
{
	unsigned long ip;
	int err;

	err = farswap_symbol_get(HOOK_SLOTS_FREED,
				 "void(int,long unsigned int,long unsigned int)", &ip);
	if (err)
		return err;
	err = hook_filtered(ftrace_set_filter_ip(&hook_slots_freed_ops, ip, 0, 1));
	if (!err)
		err = register_ftrace_function(&hook_slots_freed_ops);
	if (err == -EBUSY)
		pr_err("can't trace %s: not attached; is kernel.ftrace_enabled 0?\n",
		       HOOK_SLOTS_FREED);
	else if (err)
		pr_err("can't trace %s (%d): not attached\n", HOOK_SLOTS_FREED, err);
	return err;
}

static int hook_filter(struct ftrace_ops *ops)
{
	unsigned long ips[HOOK_NR];
	int i;

	for (i = 0; i < HOOK_NR; i++)
		ips[i] = hooks[i].ip;
	return hook_filtered(ftrace_set_filter_ips(ops, ips, HOOK_NR, 0, 1));
}

static int hook_claim_register(void)
{
	return register_ftrace_direct(&hook_claim_ops, (unsigned long)hook_claim_call);
}

static int hook_redirect_register(void)
{
	return register_ftrace_function(&hook_redirect_ops);
}

/* Call @try until it does not return @busy, a state that ends soon if a program is just loading. */
static int hook_retry(int (*try)(void), int busy)
{
	unsigned int tries;
	int err = try();

	for (tries = 1; err == busy && tries < HOOK_BUSY_TRIES; tries++) {
		msleep(HOOK_BUSY_PAUSE_MS);
		err = try();
	}
	return err;
}

static int hook_claim(const char *outcome)
{
	int err;

	if (!IS_ENABLED(CONFIG_X86_KERNEL_IBT) || !boot_cpu_has(X86_FEATURE_IBT) ||
	    !IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS))
		return 0;
	err = hook_filter(&hook_claim_ops);
	if (!err)
		err = hook_retry(hook_claim_register, -EBUSY);
	hook_claimed = !err;
	if (err == -EBUSY)
		pr_err("a BPF program is attached to a function of the swap code (D in /sys/kernel/tracing/enabled_functions), which this CPU's indirect branch tracking forbids just now: %s; end it and try again\n",
		       outcome);
	else if (err)
		pr_err("can't keep BPF programs off the swap code meanwhile (%d): %s\n", err,
		       outcome);
	return err;
}

static int hook_unclaim(void)
{
	int err;

	if (!hook_claimed)
		return 0;
	err = unregister_ftrace_direct(&hook_claim_ops, (unsigned long)hook_claim_call,
				       false);
	hook_claimed = err;
	return err;
}

static int hook_register_redirect(void)
{
	int err;

	err = hook_filter(&hook_redirect_ops);
	if (!err)
		err = hook_retry(hook_redirect_register, -EAGAIN);
	if (err == -EBUSY)
		pr_err("a live patch, or another module, has redirected a function of the swap code: not attached\n");
	else if (err == -EAGAIN)
		pr_err("a BPF program is just being attached to a function of the swap code, or taken off it: not attached; try again\n");
	else if (err)
		pr_err("can't redirect the swap code (%d): not attached\n", err);
	return err;
}

/*
 * Serve a device that is on, or whose swapoff is in progress, because that may fail. Return false
 * if a swapon is in progress that began before we could be notified, or if a swapoff has almost
 * ended.
 */
static bool hook_find_device(unsigned int type)
{
	swp_entry_t first = swp_entry(type, 1);
	struct swap_info_struct *si = farswap_helper_info(first);

	/* The flags are a hint; the reference decides. */
	if (!si || !(data_race(si->flags) & SWP_USED))
		return true;
	si = farswap_helper_get_device(first);
	if (!si)
		return false;
	farswap_swapon(si, type, si->max);
	put_swap_device(si);
	return true;
}

/* Serve the devices that are on already; hook_swapon() serves later ones. */
static void hook_find_devices(void)
{
	unsigned long until = jiffies + HOOK_SWAPON_TIME;
	unsigned int type;

	for (type = 0; type < MAX_SWAPFILES; type++) {
		while (!hook_find_device(type) && time_before(jiffies, until))
			msleep(HOOK_SWAPON_PAUSE_MS);
		if (time_after_eq(jiffies, until) && !hook_find_device(type))
			pr_warn("swap type %u is being turned on or off: if it is on afterwards and its pages are never remote, turn it off and on again\n",
				type);
	}
}

/*
 * Return true if no task is inside. No new task can enter. A task that leaves during the sum may
 * still be counted, but no other task is missed.
 */
static bool hook_is_idle(void)
{
	unsigned long inside = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		inside += READ_ONCE(per_cpu(hook_inside, cpu));
	return !inside;
}

/* Wait until all tasks inside have left. No new task can enter. */
static void hook_wait_idle(void)
{
	unsigned int looks = 0;

	while (!hook_is_idle()) {
		if (++looks == HOOK_IDLE_LOOKS)
			pr_warn("detaching waits for tasks that have been in the swap code for long\n");
		msleep(HOOK_IDLE_PAUSE_MS);
	}
	/* The tasks that left may still execute the last instructions of a replacement. */
	synchronize_rcu_tasks();
}

/**
 * farswap_hook_attach() - attach the hook
 * @force:	attach to a kernel whose release farswap does not know, too
 *
 * The tracing of freed slots is registered first. The core stores nothing until all is in place, so
 * the order of the redirections does not matter.
 *
 * Context: may sleep.
 * Return: 0, or -errno with nothing changed; the log has the reason. -ENODEV: the kernel's ftrace
 * has failed halfway, and what is in place remains for good.
 */
int farswap_hook_attach(bool force)
{
	int err;

	err = farswap_symbol_release(force);
	if (err)
		return err;
	err = hook_find_all();
	if (err)
		return err;
	err = hook_register_freed();
	if (err)
		return err;
	err = hook_claim("not attached");
	if (err)
		goto out_unregister_freed;
	err = hook_register_redirect();
	if (err)
		goto out_unclaim;
	err = hook_unclaim();
	if (err)
		return -ENODEV;
	hook_find_devices();
	return 0;

out_unclaim:
	if (hook_unclaim())
		err = -ENODEV;
out_unregister_freed:
	if (err != -ENODEV && unregister_ftrace_function(&hook_slots_freed_ops))
		err = -ENODEV;
	return err;
}

/**
 * farswap_hook_detach_begin() - check that the hook can be detached now
 *
 * It remains so until farswap_hook_detach() or farswap_hook_detach_cancel().
 *
 * Context: may sleep.
 * Return: 0, or -errno with nothing changed; the log has the reason.
 */
int farswap_hook_detach_begin(void)
{
	int err = hook_claim("still attached");

	/* ftrace has failed: the hook can't be removed, but detaching goes as far as possible. */
	return err == -ENODEV ? 0 : err;
}

/**
 * farswap_hook_detach_cancel() - undo farswap_hook_detach_begin()
 *
 * Context: may sleep.
 */
void farswap_hook_detach_cancel(void)
{
	/* If this fails, ftrace is broken, and detaching will report it. */
	hook_unclaim();
}

/**
 * farswap_hook_detach() - detach the hook
 *
 * The core is drained and stores nothing any more. The caller has called
 * farswap_hook_detach_begin().
 *
 * Context: may sleep.
 * Return: 0 when no task is inside our functions. -errno: the kernel's ftrace is broken and the
 * hook remains for good.
 */
int farswap_hook_detach(void)
{
	int err;

	err = unregister_ftrace_function(&hook_redirect_ops);
	if (err)
		return err;
	hook_wait_idle();
	err = hook_unclaim();
	if (err)
		return err;
	return unregister_ftrace_function(&hook_slots_freed_ops);
}

/**
 * farswap_hook_exit() - free the filters, which are kept from a detach to the next attach
 *
 * Call it once, when the module is unloaded: the filters can't be set after it.
 */
void farswap_hook_exit(void)
{
	ftrace_free_filter(&hook_redirect_ops);
	ftrace_free_filter(&hook_slots_freed_ops);
	ftrace_free_filter(&hook_claim_ops);
}


// SPDX-License-Identifier: GPL-2.0
/*
 * farswap: swap to the idle memory of neighbouring machines before disk.
 *
 * The module's beginning and end, and the order in which things are attached
 * and detached. The only file that knows both the hook and the core.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/suspend.h>

#include "hook/hook.h"
#include "internal.h"

static bool main_stuck;		/* the hook is in place, or a part of it, for good */

/**
 * main_pause() - have everything on the swap device, and no I/O in flight
 *
 * Gives all regions back, and waits for what is staged. Undone by
 * main_resume(), also after an error.
 *
 * Context: may sleep, until what is in flight has ended, on the swap devices too.
 * Return: 0; -EIO if a swap device fails to write pages. Those stay in memory or, if
 * that is noticed in time, where they were. -ENOMEM if pages can't be read for want of memory for
 * the adapter: they stay where they are, and are fetched when there is some if their slabs had
 * begun to leave.
 */
static int main_pause(void)
{
	struct farswap_device *device;
	unsigned int type = 0;
	int err;

	/* Under the lock: who starts a mapping looks at it there. */
	spin_lock(&farswap_state_lock);
	atomic_inc(&farswap_pauses);
	spin_unlock(&farswap_state_lock);

	mutex_lock(&farswap_devices_lock);
	/* If a device fails, donors had better keep what they have. */
	err = farswap_devices_flush();
	while (!err && (device = farswap_device_next(&type)))
		err = farswap_slabs_unmap(device, NULL);
	farswap_load_flush();
	if (!err)
		err = farswap_devices_flush();
	mutex_unlock(&farswap_devices_lock);
	return err;
}

/**
 * main_resume() - undo one main_pause()
 *
 * Context: any.
 */
static void main_resume(void)
{
	atomic_dec(&farswap_pauses);
}

/**
 * farswap_attach() - hook the kernel's swap code and connect to the donors
 *
 * Context: may sleep.
 * Return: 0, also when attached already; -errno with nothing changed, the log
 * says why; -EBUSY for good if a part of the hook is in place and would not come off, in
 * which case all goes to the swap device.
 */
int farswap_attach(void)
{
	int err = 0;

	mutex_lock(&farswap_main_lock);
	if (farswap_attached())
		goto out_unlock;
	if (main_stuck) {
		err = -EBUSY;
		goto out_unlock;
	}
	/* A write to sysfs does not keep the module from going. */
	if (!try_module_get(THIS_MODULE)) {
		err = -ENODEV;
		goto out_unlock;
	}
	err = farswap_hook_attach(farswap_settings.force);
	if (err == -ENODEV) {
		pr_err("the kernel's ftrace has failed: farswap stays loaded, pages go to the swap device\n");
		main_stuck = true;
		err = -EBUSY;
		goto out_unlock;
	}
	if (err) {
		farswap_devices_remove();
		module_put(THIS_MODULE);
		goto out_unlock;
	}
	farswap_attached_set(true);
	farswap_staging_resize();
	farswap_donors_open();
	main_resume();
	pr_info("attached\n");
out_unlock:
	mutex_unlock(&farswap_main_lock);
	return err;
}

/* Give everything back; on failure go on as before. */
static int main_drain(void)
{
	unsigned long stranded;
	int err;

	pr_info("detaching: giving all regions back\n");
	err = main_pause();
	if (err == -ENOMEM)
		pr_err("no memory for the adapter to read pages that only donors have: still attached; detach again when there is\n");
	else if (err)
		pr_err("a swap device fails to write pages that it is to have: still attached\n");
	stranded = err ? 0 : farswap_devices_stranded();
	if (stranded) {
		/* Some may be free: the kernel keeps slots back to free them together. */
		farswap_hook_free_slots();
		stranded = farswap_devices_stranded();
	}
	if (stranded) {
		pr_err("%lu pages were lost with their donor, and only farswap knows which: still attached; end the programs that have them, or swapoff\n",
		       stranded);
		err = -EBUSY;
	}
	if (err)
		main_resume();
	return err;
}

/**
 * farswap_detach() - drain, and leave the kernel's swap code as it was
 *
 * Context: may sleep, until what is in flight has ended, on the swap devices too,
 * and no task waits for a page any more; works under load.
 * Return: 0, also when detached already; -EIO if a swap device can't be written, -ENOMEM if
 * there is no memory for an adapter to read what only donors have, and -EBUSY if there are
 * slots whose pages are lost, or the hook can't be taken away now: with
 * nothing changed; -EBUSY for good if the kernel would not take the hook off, in which case
 * all goes to the swap device.
 */
int farswap_detach(void)
{
	int err = 0;

	mutex_lock(&farswap_main_lock);
	if (main_stuck)
		err = -EBUSY;
	if (err || !farswap_attached())
		goto out_unlock;
	err = farswap_hook_detach_begin();
	if (err)
		goto out_unlock;
	err = main_drain();
	if (err) {
		farswap_hook_detach_cancel();
		goto out_unlock;
	}
	farswap_promote_flush();
	farswap_donors_close();
	err = farswap_hook_detach();
	if (err) {
		pr_err("the kernel would not take the hook off (%d): farswap stays loaded, pages go to the swap device\n",
		       err);
		main_stuck = true;
		err = -EBUSY;
		goto out_unlock;
	}
	/* Of those that saw us attached a moment ago. */
	farswap_promote_flush();
	farswap_devices_remove();
	farswap_attached_set(false);
	farswap_staging_resize();
	pr_info("detached\n");
	module_put(THIS_MODULE);
out_unlock:
	mutex_unlock(&farswap_main_lock);
	return err;
}

/*
 * A completion of the last I/O may still be about to return, preempted after it has woken the
 * detach that waited for it: bios of some devices end in tasks (dm-crypt, loop).
 */
static void main_wait_completions(void)
{
	synchronize_rcu_tasks();
}

/*
 * Suspend and hibernation: before the machine goes down nothing may depend on
 * a donor, since what donors hold is unknown when it comes up again, and a
 * hibernation image is written to free slots behind our back.
 */

/* Notifiers are called one after the other. */
static bool main_suspended;

static int main_suspend_event(struct notifier_block *nb, unsigned long event, void *data)
{
	int err;

	switch (event) {
	case PM_HIBERNATION_PREPARE:
	case PM_SUSPEND_PREPARE:
	case PM_RESTORE_PREPARE:
		if (main_suspended)
			break;
		/* Holds until PM_POST_*: memory is shrunk after this notifier. */
		pr_info("suspending: stores go to the swap device\n");
		err = main_pause();
		if (err) {
			pr_err("%s: not suspending\n", err == -ENOMEM ?
			       "no memory for the adapter to read pages that only donors have" :
			       "a swap device fails to write pages that it is to have");
			main_resume();
			return notifier_from_errno(err);
		}
		main_suspended = true;
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_SUSPEND:
	case PM_POST_RESTORE:
		if (!main_suspended)
			break;
		main_suspended = false;
		main_resume();
		pr_info("resumed\n");
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block main_suspend_notifier = {
	.notifier_call	= main_suspend_event,
};

static int main_suspend_init(void)
{
	return register_pm_notifier(&main_suspend_notifier);
}

static void main_suspend_exit(void)
{
	unregister_pm_notifier(&main_suspend_notifier);
}

static int main_wq_init(void)
{
	farswap_wq = alloc_workqueue("farswap", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU, 0);
	return farswap_wq ? 0 : -ENOMEM;
}

static void main_wq_exit(void)
{
	destroy_workqueue(farswap_wq);
}

static const struct farswap_slab_works main_slab_works = {
	.map		= farswap_slab_map_work,
	.evacuate	= farswap_leave_work,
	.repair		= farswap_replica_work,
	.refill		= farswap_replica_refill_work,
	.rebuild	= farswap_rebuild_work,
};

static int main_slab_init(void)
{
	return farswap_slab_init(&main_slab_works);
}

static void main_slab_exit(void)
{
	farswap_slab_exit();
	farswap_sweep_stop();
}

static int main_donors_init(void)
{
	int err;

	farswap_donor_init(farswap_load_work);
	farswap_donors_init();
	mutex_lock(&farswap_main_lock);
	err = farswap_donors_set(farswap_settings_donors);
	mutex_unlock(&farswap_main_lock);
	if (err)
		farswap_donors_exit();
	return err;
}

/**
 * struct main_part - a part of the module
 * @init:	makes what it needs; 0 or -errno
 * @exit:	undoes @init
 */
struct main_part {
	int (*init)(void);
	void (*exit)(void);
};

/* In the order in which they begin. They end in the opposite order, after the hook. */
static const struct main_part main_parts[] = {
	{ main_wq_init, main_wq_exit },
	{ farswap_latency_init, farswap_latency_exit },
	{ farswap_store_init, farswap_store_exit },
	{ farswap_load_init, farswap_load_exit },
	{ farswap_prefetch_init, farswap_prefetch_exit },
	{ farswap_promote_init, farswap_promote_exit },
	{ farswap_backup_init, farswap_backup_exit },
	{ farswap_home_init, farswap_home_exit },
	{ farswap_leave_init, farswap_leave_exit },
	{ farswap_replica_init, farswap_replica_exit },
	{ farswap_rebuild_init, farswap_rebuild_exit },
	{ main_slab_init, main_slab_exit },
	{ main_donors_init, farswap_donors_exit },
	{ main_suspend_init, main_suspend_exit },
};

static void main_parts_exit(unsigned int nr)
{
	while (nr--)
		main_parts[nr].exit();
}

static int main_parts_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(main_parts); i++) {
		err = main_parts[i].init();
		if (err) {
			main_parts_exit(i);
			return err;
		}
	}
	return 0;
}

static int __init main_init(void)
{
	int err = main_parts_init();

	if (err)
		return err;
	err = farswap_settings_init();
	if (err)
		goto out_parts;
	farswap_debugfs_init();
	if (!farswap_settings.enabled)
		return 0;
	err = farswap_attach();
	/* The hook could not be removed, so its callees must stay loaded. */
	if (!err || main_stuck)
		return 0;

	farswap_debugfs_exit();
	farswap_settings_exit();
	/* Someone may have attached by sysfs since, and must be detached. */
	if (farswap_detach())
		return 0;
	main_wait_completions();
	farswap_hook_exit();
out_parts:
	main_parts_exit(ARRAY_SIZE(main_parts));
	return err;
}

static int __init farswap_init(void)
{
	/*
	 * A hibernation that began before the module was loaded would not have farswap pause.
	 * One by way of /dev/snapshot lets go of this lock before it ends, and is not noticed.
	 */
	unsigned int flags = lock_system_sleep();
	int err = main_init();

	unlock_system_sleep(flags);
	return err;
}

/* Only ever detached: attached, the module holds itself. */
static void __exit farswap_exit(void)
{
	main_wait_completions();
	farswap_debugfs_exit();
	farswap_settings_exit();
	farswap_hook_exit();
	main_parts_exit(ARRAY_SIZE(main_parts));
}

module_init(farswap_init);
module_exit(farswap_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Swap to the idle memory of neighbouring machines");

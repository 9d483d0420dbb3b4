// SPDX-License-Identifier: GPL-2.0
/*
 * farswap: swap to the idle memory of neighbouring machines before disk.
 *
 * This file initialises the module, attaches and detaches it, and prepares it for suspend and
 * hibernation. It is the only file that calls both the hook and the core.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/suspend.h>

#include "hook/hook.h"
#include "internal.h"

static bool main_stuck;		/* the hook, or a part of it, can't be removed any more */

/**
 * main_pause() - have all pages on the swap devices, and no I/O in flight
 *
 * This gives all regions back and waits for the pending backup writes. main_resume() undoes it,
 * also after an error.
 *
 * Context: may sleep, until all I/O in flight has ended, also on the swap devices.
 * Return: 0; -EIO if a swap device fails to write pages: those stay in memory or, if the failure
 * is noticed in time, in their regions. -ENOMEM if pages can't be read because the adapter has no
 * memory: those stay in their regions, and are fetched once there is memory if the evacuation of
 * their slabs has begun.
 */
static int main_pause(void)
{
	struct farswap_device *device;
	unsigned int type = 0;
	int err;

	/* Under the lock, since a task that starts a mapping checks farswap_pauses under it. */
	spin_lock(&farswap_state_lock);
	atomic_inc(&farswap_pauses);
	spin_unlock(&farswap_state_lock);

	mutex_lock(&farswap_devices_lock);
	/* If a device fails, the regions are not given back. */
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

static bool main_has_device(void)
{
	unsigned int type = 0;
	bool has;

	mutex_lock(&farswap_devices_walk_lock);
	has = farswap_device_next(&type);
	mutex_unlock(&farswap_devices_walk_lock);
	return has;
}

/**
 * farswap_attach() - hook the kernel's swap code and connect to the donors
 *
 * Context: may sleep.
 * Return: 0, also if attached already; -errno with nothing changed and the reason in the log. If
 * a part of the hook is in place and can't be removed, -EBUSY from now on, and all pages go to the
 * swap device.
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
	/* A write to sysfs does not hold a reference on the module. */
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
	pr_info("attached%s\n", main_has_device() ? "" :
		"; no swap device is on yet, and nothing is swapped without one: see swapon --show");
out_unlock:
	mutex_unlock(&farswap_main_lock);
	return err;
}

/* Gives all regions back; on failure farswap stays attached and resumes. */
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
		/* The kernel frees slots in batches: have it free the cached ones now. */
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
 * farswap_detach() - give all regions back and restore the kernel's swap code
 *
 * Context: may sleep, until all I/O in flight has ended, also on the swap devices, and no task
 * waits for a page any more; works under load.
 * Return: 0, also if detached already. With nothing changed, -EIO if a swap device can't be
 * written; -ENOMEM if the adapter has no memory to read pages that only donors have; -EBUSY if
 * slots in use have lost their pages, or the hook can't be removed now. If the kernel fails to
 * remove the hook, -EBUSY from now on, and all pages go to the swap device.
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
	/* Flush the promotions of tasks that still saw farswap attached during the first flush. */
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
 * Waits until the completion of the last I/O has returned. It may have been preempted after it woke
 * the detaching task: the bios of some devices complete in tasks (dm-crypt, loop).
 */
static void main_wait_completions(void)
{
	synchronize_rcu_tasks();
}

/*
 * Suspend and hibernation: no page may depend on a donor when the machine goes down. The state of
 * the regions is unknown when it resumes, and a hibernation image is written to free slots
 * without farswap being notified.
 */

/* The state needs no lock, since PM notifiers are serialised. */
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
		/* Stay paused until PM_POST_*: memory is reclaimed after this notifier. */
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
	if (!farswap_wq)
		return -ENOMEM;
	farswap_load_wq = alloc_workqueue("farswap_load", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (farswap_load_wq)
		return 0;
	destroy_workqueue(farswap_wq);
	return -ENOMEM;
}

static void main_wq_exit(void)
{
	destroy_workqueue(farswap_load_wq);
	destroy_workqueue(farswap_wq);
}

static const struct farswap_slab_works main_slab_works = {
	.map		= farswap_slab_map_work,
	.evacuate	= farswap_evacuate_work,
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
	/* For farswap_mapping_free(). */
	rcu_barrier();
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
 * @init:	initialises it; returns 0 or -errno; NULL if users' settings do
 * @exit:	undoes @init
 */
struct main_part {
	int (*init)(void);
	void (*exit)(void);
};

/* Parts in the order of initialisation; they exit in reverse order, after the hook. */
static const struct main_part main_parts[] = {
	{ main_wq_init, main_wq_exit },
	{ farswap_latency_init, farswap_latency_exit },
	{ NULL, farswap_compress_exit },
	{ farswap_store_init, farswap_store_exit },
	{ farswap_load_init, farswap_load_exit },
	{ farswap_prefetch_init, farswap_prefetch_exit },
	{ farswap_promote_init, farswap_promote_exit },
	{ farswap_backup_init, farswap_backup_exit },
	{ farswap_fetch_init, farswap_fetch_exit },
	{ farswap_evacuate_init, farswap_evacuate_exit },
	{ farswap_replica_init, farswap_replica_exit },
	{ farswap_rebuild_init, farswap_rebuild_exit },
	{ NULL, farswap_cgroup_exit },
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
		err = main_parts[i].init ? main_parts[i].init() : 0;
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
	/* A user may have attached by sysfs since then. */
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
	 * The lock excludes a suspend that has called the PM notifiers before farswap registers
	 * its own: farswap would not pause. A hibernation by /dev/snapshot drops the lock before
	 * it ends, so it is not excluded.
	 */
	unsigned int flags = lock_system_sleep();
	int err = main_init();

	unlock_system_sleep(flags);
	return err;
}

/* farswap is detached here: it holds a reference on the module while it is attached. */
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
#ifdef FARSWAP_RELEASE
MODULE_VERSION(FARSWAP_RELEASE);
#endif
MODULE_DESCRIPTION("Swap to the idle memory of neighbouring machines");

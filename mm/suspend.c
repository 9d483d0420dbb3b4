// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend and hibernation: before the machine goes down nothing may depend on
 * a donor, since what donors hold is unknown when it comes up again, and a
 * hibernation image is written to free slots behind our back.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/suspend.h>

#include "internal.h"

/* Notifiers are called one after the other. */
static bool power_paused;

static int power_event(struct notifier_block *nb, unsigned long event, void *data)
{
	int err;

	switch (event) {
	case PM_HIBERNATION_PREPARE:
	case PM_SUSPEND_PREPARE:
	case PM_RESTORE_PREPARE:
		if (power_paused)
			break;
		/* Holds until PM_POST_*: memory is shrunk after this notifier. */
		pr_info("suspending: stores go to the swap device\n");
		err = farswap_pause();
		if (err) {
			pr_err("%s: not suspending\n", err == -ENOMEM ?
			       "no memory for the adapter to read pages that only donors have" :
			       "a swap device fails to write pages that it is to have");
			farswap_resume();
			return notifier_from_errno(err);
		}
		power_paused = true;
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_SUSPEND:
	case PM_POST_RESTORE:
		if (!power_paused)
			break;
		power_paused = false;
		farswap_resume();
		pr_info("resumed\n");
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block power_notifier = {
	.notifier_call	= power_event,
};

/**
 * farswap_power_init() - hear of suspend and hibernation
 *
 * Return: 0 or -errno.
 */
int farswap_power_init(void)
{
	return register_pm_notifier(&power_notifier);
}

/**
 * farswap_power_exit() - hear no more of it
 */
void farswap_power_exit(void)
{
	unregister_pm_notifier(&power_notifier);
}

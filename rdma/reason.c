// SPDX-License-Identifier: GPL-2.0
/*
 * Why connections ended, counted, in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "internal.h"

/* There are about forty; what finds no room is the last one's. */
#define REASONS	64

static struct {
	const char *why;
	unsigned long count;
} reasons[REASONS];

static DEFINE_SPINLOCK(reason_lock);
static struct dentry *reason_file;

/**
 * farswap_rdma_reason_count() - a connection has ended
 * @why:	in words; static
 *
 * Context: any.
 */
void farswap_rdma_reason_count(const char *why)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&reason_lock, flags);
	for (i = 0; i < REASONS - 1; i++)
		if (!reasons[i].why || !strcmp(reasons[i].why, why))
			break;
	reasons[i].why = i < REASONS - 1 ? why : "others";
	reasons[i].count++;
	spin_unlock_irqrestore(&reason_lock, flags);
}

static int reasons_show(struct seq_file *m, void *v)
{
	unsigned int i;

	spin_lock_irq(&reason_lock);
	for (i = 0; i < REASONS && reasons[i].why; i++)
		seq_printf(m, "%lu %s\n", reasons[i].count, reasons[i].why);
	spin_unlock_irq(&reason_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(reasons);

/**
 * farswap_rdma_reason_init() - show them
 *
 * The core made the directory, and stays longer than this module.
 */
void __init farswap_rdma_reason_init(void)
{
	struct dentry *directory = debugfs_lookup("farswap", NULL);

	if (IS_ERR_OR_NULL(directory))
		return;
	reason_file = debugfs_create_file("session_ends", 0444, directory, NULL,
					  &reasons_fops);
	dput(directory);
}

/**
 * farswap_rdma_reason_exit() - show them no more
 */
void farswap_rdma_reason_exit(void)
{
	debugfs_remove(reason_file);
}

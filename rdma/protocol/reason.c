// SPDX-License-Identifier: GPL-2.0
/*
 * Counts in debugfs why connections ended or could not be made.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "protocol.h"

/* There are about forty reasons; the last entry counts all that find no other. */
#define REASONS	64

static struct {
	unsigned long count;
	char why[128];
} reasons[REASONS];

static DEFINE_SPINLOCK(reason_lock);
static struct dentry *reason_file;

/**
 * farswap_rdma_reason_count() - count why a connection ended
 * @why:	the reason in words
 *
 * Context: process.
 */
void farswap_rdma_reason_count(const char *why)
{
	unsigned int i;

	spin_lock(&reason_lock);
	for (i = 0; i < REASONS - 1; i++)
		if (!reasons[i].count || !strcmp(reasons[i].why, why))
			break;
	strscpy(reasons[i].why, i < REASONS - 1 ? why : "others");
	reasons[i].count++;
	spin_unlock(&reason_lock);
}

static int reasons_show(struct seq_file *m, void *v)
{
	unsigned int i;

	spin_lock(&reason_lock);
	for (i = 0; i < REASONS; i++)
		if (reasons[i].count)
			seq_printf(m, "%lu %s\n", reasons[i].count, reasons[i].why);
	spin_unlock(&reason_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(reasons);

/**
 * farswap_rdma_reason_init() - create the debugfs file
 *
 * The directory belongs to the core, which outlives this module.
 */
void __init farswap_rdma_reason_init(void)
{
	struct dentry *directory = debugfs_lookup("farswap", NULL);

	if (IS_ERR_OR_NULL(directory))
		return;
	reason_file = debugfs_create_file("session_ends", 0400, directory, NULL,
					  &reasons_fops);
	dput(directory);
}

/**
 * farswap_rdma_reason_exit() - remove the debugfs file
 */
void farswap_rdma_reason_exit(void)
{
	debugfs_remove(reason_file);
}

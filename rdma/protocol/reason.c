// SPDX-License-Identifier: GPL-2.0
/*
 * Counts in debugfs why connections ended or could not be made, and knows what to do about it.
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

/**
 * farswap_rdma_reason_cure() - find out what to do about a reason
 * @why:	the reason in words
 *
 * Context: any.
 * Return: what an administrator can do, for the end of a line in the log; NULL if that is unknown.
 */
const char *farswap_rdma_reason_cure(const char *why)
{
	static const struct {
		const char *part;
		const char *cure;
	} cures[] = {
		{ "no RDMA device for this address",
		  "rdma link shows those of this machine, and rdma link add makes one" },
		{ "no farswapd at this address", "there: systemctl start farswapd" },
		{ "doesn't answer PING", NULL },
		{ "doesn't answer a request", NULL },
		{ "doesn't answer", "is it on, with an RDMA device, and UDP port 4791 open?" },
		{ "unreachable", "is it on, with an RDMA device, and UDP port 4791 open?" },
		{ "can't be resolved in time", "is it on? ping it" },
		{ "address error", "is it on? ping it" },
		{ "route error", "ip route get ADDRESS shows the way" },
		{ "MTU is", "give all interfaces and switches between them the same MTU" },
		{ "moves no page", "check the MTU on both sides" },
		{ "lends slabs of", "make slab in its farswapd.conf and slab_mb here the same" },
		{ "does not lend to this machine", "farswapctl key there shows its key" },
		{ "does not know this machine's key",
		  "there: farswapctl allow NAME KEY, with the key that farswapctl key shows here" },
		{ "is not the donor that has this key", "farswapctl key there shows its key" },
		{ "is this machine", "name another machine, if donors has no other" },
		{ "too many clients", "there: raise clients in farswapd.conf" },
		{ "speaks version", "update the older side" },
		{ "whose port is down", "ip link set dev INTERFACE up" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cures); i++)
		if (strstr(why, cures[i].part))
			return cures[i].cure;
	return NULL;
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

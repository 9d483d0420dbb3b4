// SPDX-License-Identifier: GPL-2.0
/*
 * farswap-rdma.ko: farswap's transport over RDMA reliable connections. This file
 * loads, unloads and registers it.
 */
#define pr_fmt(fmt) "farswap_rdma: " fmt

#include <linux/cpumask.h>
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include <trace/events/farswap_rdma.h>

#include "verbs.h"

static_assert(FARSWAP_TRANSPORT_PORT == FARSWAP_PORT);

static unsigned int queues;

static int queues_set(const char *text, const struct kernel_param *param)
{
	unsigned int wanted;

	if (kstrtouint(text, 0, &wanted) || wanted == 1 || wanted > FARSWAP_QUEUES_MAX) {
		pr_err("queues: invalid value \"%.*s\" (range 2-%u, or 0 for as many as CPUs)\n",
		       (int)min(strcspn(text, "\n"), 32), text, FARSWAP_QUEUES_MAX);
		return -EINVAL;
	}
	WRITE_ONCE(queues, wanted);
	return 0;
}

static const struct kernel_param_ops queues_ops = {
	.set = queues_set,
	.get = param_get_uint,
};

module_param_cb(queues, &queues_ops, &queues, 0644);
MODULE_PARM_DESC(queues, "Data queue pairs of a session opened from now on, 2 to 16; 0 (default): as many as CPUs, 2 to 16");

static struct farswap_session *rdma_open(const char *address,
					 const struct farswap_session_params *params,
					 const struct farswap_session_ops *ops, void *ctx)
{
	unsigned int wanted = READ_ONCE(queues) ?: num_online_cpus();

	return farswap_rdma_session_open(address, params, ops, ctx, &farswap_rdma_link_ops,
					 clamp(wanted, 2U, FARSWAP_QUEUES_MAX + 0U));
}

static const struct farswap_transport farswap_rdma_transport = {
	.name		= "rdma",
	.owner		= THIS_MODULE,
	.open		= rdma_open,
	.close		= farswap_rdma_session_close,
	.query		= farswap_rdma_region_query,
	.map		= farswap_rdma_region_map,
	.region_id	= farswap_rdma_region_id,
	.release	= farswap_rdma_region_release,
	.submit		= farswap_rdma_io_submit,
	.set_io_timeout	= farswap_rdma_keepalive_set_io_timeout,
	.set_grace	= farswap_rdma_resume_set_grace,
};

static int __init farswap_rdma_init(void)
{
	int err;

	farswap_rdma_io_prepare();
	err = farswap_rdma_conn_init();
	if (err)
		return err;
	err = farswap_rdma_keyring_init();
	if (err)
		goto out_conn;
	err = farswap_rdma_port_init();
	if (err)
		goto out_keyring;
	farswap_rdma_reason_init();
	/* Last: sessions may be opened before this returns. */
	err = farswap_transport_register(&farswap_rdma_transport);
	if (err)
		goto out_reason;
	return 0;

out_reason:
	farswap_rdma_reason_exit();
	farswap_rdma_port_exit();
out_keyring:
	farswap_rdma_keyring_exit();
out_conn:
	farswap_rdma_conn_exit();
	return err;
}

static void __exit farswap_rdma_exit(void)
{
	farswap_transport_unregister(&farswap_rdma_transport);
	farswap_rdma_reason_exit();
	farswap_rdma_port_exit();
	farswap_rdma_keyring_exit();
	farswap_rdma_conn_exit();
}

module_init(farswap_rdma_init);
module_exit(farswap_rdma_exit);

MODULE_DESCRIPTION("farswap transport over RDMA");
MODULE_LICENSE("GPL");
#ifdef FARSWAP_RELEASE
MODULE_VERSION(FARSWAP_RELEASE);
#endif

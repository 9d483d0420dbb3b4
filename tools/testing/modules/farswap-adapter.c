// SPDX-License-Identifier: GPL-2.0
/*
 * Makes each RDMA adapter of this machine misbehave, at will, as real ones do and soft RoCE
 * does not. For tests only; it stands between the RDMA core and the adapter's driver, and stays
 * loaded until the machine is off.
 *
 * lose_every		one in so many completions of RDMA READ and WRITE is lost
 * lose_flushed		all completions of flushed work requests are lost, a drain's too
 * hold_every, hold_ms	of so many completion queues, one at a time shows nothing for so long:
 *			completions of different queue pairs change their order
 * map_fails		no page can be mapped for the adapter
 * map_max		bytes; a longer piece of memory can't be mapped (0: no limit)
 * register_ms		how much longer it takes to register memory, or to deregister it
 * qp_ms		how much longer it takes to make, modify or destroy a queue pair
 * event		write "access", "request" or "fatal": each connected queue pair made since
 *			this module was loaded has such an error event, which may come with or
 *			without an error of the queue pair's; write "device", "port_down" or
 *			"port_up": such an event of the adapter
 * lost, held, refused, slowed, events
 *			how many completions were lost, polls that showed nothing, mappings that were
 *			refused, slow commands, and events
 */
#define pr_fmt(fmt) "farswap-adapter: " fmt

#include <linux/delay.h>
#include <linux/dma-map-ops.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <rdma/ib_verbs.h>

static unsigned int lose_every;
module_param(lose_every, uint, 0644);
static bool lose_flushed;
module_param(lose_flushed, bool, 0644);
static unsigned int hold_every;
module_param(hold_every, uint, 0644);
static unsigned int hold_ms = 20;
module_param(hold_ms, uint, 0644);
static bool map_fails;
module_param(map_fails, bool, 0644);
static unsigned int map_max;
module_param(map_max, uint, 0644);
static unsigned int register_ms;
module_param(register_ms, uint, 0644);
static unsigned int qp_ms;
module_param(qp_ms, uint, 0644);

static atomic_t adapter_lost;
static atomic_t adapter_held;
static atomic_t adapter_refused;
static atomic_t adapter_slowed;
static atomic_t adapter_events;

static int adapter_get_count(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((atomic_t *)kp->arg));
}

static const struct kernel_param_ops adapter_count_ops = { .get = adapter_get_count };

module_param_cb(lost, &adapter_count_ops, &adapter_lost, 0444);
module_param_cb(held, &adapter_count_ops, &adapter_held, 0444);
module_param_cb(refused, &adapter_count_ops, &adapter_refused, 0444);
module_param_cb(slowed, &adapter_count_ops, &adapter_slowed, 0444);
module_param_cb(events, &adapter_count_ops, &adapter_events, 0444);

/* An adapter that we stand in front of. */
struct adapter {
	struct list_head entry;		/* in adapters; adapter_lock */
	struct ib_device *device;
};

/* A connected queue pair. */
struct adapter_qp {
	struct list_head entry;		/* in adapter_qps; adapter_lock */
	struct ib_qp *qp;
};

/* Queues that were armed while they showed nothing. */
#define ADAPTER_HELD_MAX	64

static DEFINE_SPINLOCK(adapter_lock);	/* of all below */
static LIST_HEAD(adapters);
static LIST_HEAD(adapter_qps);
static struct ib_cq *adapter_held_cq[ADAPTER_HELD_MAX];

/* Those of soft RoCE, which all adapters here have. */
static struct ib_device_ops driver;

static void adapter_slow(unsigned int ms)
{
	if (!ms)
		return;
	atomic_inc(&adapter_slowed);
	msleep(ms);
}

/* The RDMA core's own queue, for messages of the connection manager, is left alone. */
static bool adapter_is_ours(const struct ib_cq *cq)
{
	return cq->poll_ctx != IB_POLL_UNBOUND_WORKQUEUE;
}

/* One in hold_every queues, for hold_ms; then others. */
static bool adapter_holds(const struct ib_cq *cq)
{
	unsigned int every = READ_ONCE(hold_every);
	unsigned long slice = jiffies / max(msecs_to_jiffies(READ_ONCE(hold_ms)), 1UL);

	return every && adapter_is_ours(cq) &&
	       !(hash_64((unsigned long)cq + slice, 32) % every);
}

static void adapter_release_held(struct timer_list *timer)
{
	unsigned long flags;
	unsigned int i;

	/* A queue is destroyed only after it was taken off the list. */
	spin_lock_irqsave(&adapter_lock, flags);
	for (i = 0; i < ADAPTER_HELD_MAX; i++) {
		struct ib_cq *cq = adapter_held_cq[i];

		adapter_held_cq[i] = NULL;
		if (cq)
			cq->comp_handler(cq, cq->cq_context);
	}
	spin_unlock_irqrestore(&adapter_lock, flags);
}

static DEFINE_TIMER(adapter_timer, adapter_release_held);

/* False: there is no room for one more. */
static bool adapter_wake_later(struct ib_cq *cq)
{
	unsigned int i, at = ADAPTER_HELD_MAX;
	unsigned long flags;

	spin_lock_irqsave(&adapter_lock, flags);
	for (i = 0; i < ADAPTER_HELD_MAX; i++) {
		if (adapter_held_cq[i] == cq || (!adapter_held_cq[i] && at == ADAPTER_HELD_MAX))
			at = i;
		if (adapter_held_cq[i] == cq)
			break;
	}
	if (at < ADAPTER_HELD_MAX) {
		adapter_held_cq[at] = cq;
		if (!timer_pending(&adapter_timer))
			mod_timer(&adapter_timer, jiffies + msecs_to_jiffies(READ_ONCE(hold_ms)));
	}
	spin_unlock_irqrestore(&adapter_lock, flags);
	return at < ADAPTER_HELD_MAX;
}

static bool adapter_loses(const struct ib_wc *wc)
{
	static atomic_t completions;
	unsigned int every = READ_ONCE(lose_every);
	bool loses = false;

	if (wc->qp->qp_type != IB_QPT_RC)
		return false;
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		loses = READ_ONCE(lose_flushed);
	else if (wc->status == IB_WC_SUCCESS &&
		 (wc->opcode == IB_WC_RDMA_READ || wc->opcode == IB_WC_RDMA_WRITE))
		loses = every && !((unsigned int)atomic_inc_return(&completions) % every);
	if (loses)
		atomic_inc(&adapter_lost);
	return loses;
}

static int adapter_poll_cq(struct ib_cq *cq, int nr, struct ib_wc *wc)
{
	int got, i, left;

	if (adapter_holds(cq)) {
		atomic_inc(&adapter_held);
		return 0;
	}
	/* None at all would mean that the queue is empty. */
	do {
		got = driver.poll_cq(cq, nr, wc);
		left = 0;
		for (i = 0; i < got; i++)
			if (!adapter_loses(&wc[i]))
				wc[left++] = wc[i];
	} while (got > 0 && !left);
	return got > 0 ? left : got;
}

static int adapter_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	int missed;

	if (!adapter_holds(cq) || !adapter_wake_later(cq))
		return driver.req_notify_cq(cq, flags);
	missed = driver.req_notify_cq(cq, flags & ~IB_CQ_REPORT_MISSED_EVENTS);
	return missed < 0 ? missed : 0;
}

static int adapter_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	unsigned int i;

	spin_lock_irq(&adapter_lock);
	for (i = 0; i < ADAPTER_HELD_MAX; i++)
		if (adapter_held_cq[i] == cq)
			adapter_held_cq[i] = NULL;
	spin_unlock_irq(&adapter_lock);
	return driver.destroy_cq(cq, udata);
}

static int adapter_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			     struct ib_udata *udata)
{
	struct adapter_qp *known = NULL;
	int err;

	if (attr->qp_type == IB_QPT_RC) {
		adapter_slow(READ_ONCE(qp_ms));
		known = kzalloc(sizeof(*known), GFP_KERNEL);
		if (!known)
			return -ENOMEM;
	}
	err = driver.create_qp(qp, attr, udata);
	if (err || !known) {
		kfree(known);
		return err;
	}
	known->qp = qp;
	spin_lock_irq(&adapter_lock);
	list_add_tail(&known->entry, &adapter_qps);
	spin_unlock_irq(&adapter_lock);
	return 0;
}

static int adapter_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	struct adapter_qp *known, *next;

	if (qp->qp_type == IB_QPT_RC)
		adapter_slow(READ_ONCE(qp_ms));
	spin_lock_irq(&adapter_lock);
	list_for_each_entry_safe(known, next, &adapter_qps, entry) {
		if (known->qp != qp)
			continue;
		list_del(&known->entry);
		kfree(known);
	}
	spin_unlock_irq(&adapter_lock);
	return driver.destroy_qp(qp, udata);
}

static int adapter_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata)
{
	if (qp->qp_type == IB_QPT_RC)
		adapter_slow(READ_ONCE(qp_ms));
	return driver.modify_qp(qp, attr, mask, udata);
}

static struct ib_mr *adapter_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
					 int access, struct ib_udata *udata)
{
	adapter_slow(READ_ONCE(register_ms));
	return driver.reg_user_mr(pd, start, length, virt_addr, access, udata);
}

static int adapter_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	adapter_slow(READ_ONCE(register_ms));
	return driver.dereg_mr(mr, udata);
}

/* Soft RoCE takes the kernel's own addresses, as the RDMA core gives it where this isn't loaded. */

static bool adapter_cannot_map(size_t size)
{
	unsigned int most = READ_ONCE(map_max);

	if (!READ_ONCE(map_fails) && (!most || size <= most))
		return false;
	atomic_inc(&adapter_refused);
	return true;
}

static dma_addr_t adapter_map_page(struct device *dev, struct page *page, unsigned long offset,
				   size_t size, enum dma_data_direction dir, unsigned long attrs)
{
	if (adapter_cannot_map(size))
		return DMA_MAPPING_ERROR;
	return (uintptr_t)page_address(page) + offset;
}

static void adapter_unmap_page(struct device *dev, dma_addr_t at, size_t size,
			       enum dma_data_direction dir, unsigned long attrs)
{
}

static int adapter_map_sg(struct device *dev, struct scatterlist *list, int nr,
			  enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, nr, i) {
		sg_dma_address(sg) = (uintptr_t)sg_virt(sg);
		sg_dma_len(sg) = sg->length;
	}
	return nr;
}

static void adapter_unmap_sg(struct device *dev, struct scatterlist *list, int nr,
			     enum dma_data_direction dir, unsigned long attrs)
{
}

static size_t adapter_max_mapping_size(struct device *dev)
{
	return READ_ONCE(map_max) ?: SIZE_MAX;
}

static const struct dma_map_ops adapter_dma_ops = {
	.map_page		= adapter_map_page,
	.unmap_page		= adapter_unmap_page,
	.map_sg			= adapter_map_sg,
	.unmap_sg		= adapter_unmap_sg,
	.max_mapping_size	= adapter_max_mapping_size,
};

static struct platform_device *adapter_dma;
static struct ib_client adapter_client;

static const struct {
	const char *name;
	enum ib_event_type event;
	bool of_device;
} adapter_event_names[] = {
	{ "access", IB_EVENT_QP_ACCESS_ERR, false },
	{ "request", IB_EVENT_QP_REQ_ERR, false },
	{ "fatal", IB_EVENT_QP_FATAL, false },
	{ "device", IB_EVENT_DEVICE_FATAL, true },
	{ "port_down", IB_EVENT_PORT_ERR, true },
	{ "port_up", IB_EVENT_PORT_ACTIVE, true },
};

static void adapter_event_qps(enum ib_event_type type)
{
	struct adapter_qp *known;
	unsigned long flags;

	spin_lock_irqsave(&adapter_lock, flags);
	list_for_each_entry(known, &adapter_qps, entry) {
		struct ib_event event = {
			.device = known->qp->device, .event = type, .element.qp = known->qp,
		};

		if (!known->qp->event_handler)
			continue;
		atomic_inc(&adapter_events);
		known->qp->event_handler(&event, known->qp->qp_context);
	}
	spin_unlock_irqrestore(&adapter_lock, flags);
}

static void adapter_event_devices(enum ib_event_type type)
{
	struct adapter *adapter;
	unsigned long flags;

	spin_lock_irqsave(&adapter_lock, flags);
	list_for_each_entry(adapter, &adapters, entry) {
		struct ib_event event = { .device = adapter->device, .event = type };

		event.element.port_num = 1;
		atomic_inc(&adapter_events);
		ib_dispatch_event(&event);
	}
	spin_unlock_irqrestore(&adapter_lock, flags);
}

static int adapter_set_event(const char *text, const struct kernel_param *kp)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(adapter_event_names); i++) {
		if (!sysfs_streq(text, adapter_event_names[i].name))
			continue;
		if (adapter_event_names[i].of_device)
			adapter_event_devices(adapter_event_names[i].event);
		else
			adapter_event_qps(adapter_event_names[i].event);
		return 0;
	}
	return -EINVAL;
}

static const struct kernel_param_ops adapter_event_ops = { .set = adapter_set_event };

module_param_cb(event, &adapter_event_ops, NULL, 0200);

static int adapter_add(struct ib_device *device)
{
	struct adapter *adapter;

	if (device->ops.driver_id != RDMA_DRIVER_RXE) {
		pr_info("%s is not soft RoCE: left alone\n", dev_name(&device->dev));
		return -EOPNOTSUPP;
	}
	adapter = kzalloc(sizeof(*adapter), GFP_KERNEL);
	if (!adapter)
		return -ENOMEM;
	adapter->device = device;
	ib_set_client_data(device, &adapter_client, adapter);
	if (!driver.poll_cq)
		driver = device->ops;
	/* Memory that is mapped already has the same address both ways. */
	device->dma_device = &adapter_dma->dev;
	device->ops.poll_cq = adapter_poll_cq;
	device->ops.req_notify_cq = adapter_req_notify_cq;
	device->ops.destroy_cq = adapter_destroy_cq;
	device->ops.create_qp = adapter_create_qp;
	device->ops.destroy_qp = adapter_destroy_qp;
	device->ops.modify_qp = adapter_modify_qp;
	device->ops.reg_user_mr = adapter_reg_user_mr;
	device->ops.dereg_mr = adapter_dereg_mr;
	spin_lock_irq(&adapter_lock);
	list_add(&adapter->entry, &adapters);
	spin_unlock_irq(&adapter_lock);
	return 0;
}

/* Until the device is gone it calls its driver by us. */
static void adapter_remove(struct ib_device *device, void *data)
{
	struct adapter *adapter = data;

	spin_lock_irq(&adapter_lock);
	list_del(&adapter->entry);
	spin_unlock_irq(&adapter_lock);
	kfree(adapter);
}

static struct ib_client adapter_client = {
	.name	= "farswap-adapter",
	.add	= adapter_add,
	.remove	= adapter_remove,
};

static int __init adapter_init(void)
{
	int err;

	/* Without them the pages of soft RoCE would be mapped to addresses that it can't use. */
	if (!IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS)) {
		pr_err("this kernel has no DMA operations of devices (CONFIG_ARCH_HAS_DMA_OPS)\n");
		return -EOPNOTSUPP;
	}
	adapter_dma = platform_device_register_simple("farswap-adapter", PLATFORM_DEVID_NONE,
						      NULL, 0);
	if (IS_ERR(adapter_dma))
		return PTR_ERR(adapter_dma);
	dma_set_mask_and_coherent(&adapter_dma->dev, DMA_BIT_MASK(64));
	dma_set_max_seg_size(&adapter_dma->dev, UINT_MAX);
	set_dma_ops(&adapter_dma->dev, &adapter_dma_ops);
	err = ib_register_client(&adapter_client);
	if (err)
		platform_device_unregister(adapter_dma);
	return err;
}

/* There is no way out: what it stands in front of may be in use. */
module_init(adapter_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Makes RDMA adapters misbehave, for tests");

// SPDX-License-Identifier: GPL-2.0
/*
 * A transport without a network: "donors" are vmalloc memory of this machine.
 * For tests only: the core alone, with faults at will. Not for swapping.
 *
 * fail_every	every so manieth I/O is accepted and then fails; the session with
 *		it, as with a network, unless keep_session is set
 * suspend_ms	sessions that fail are suspended, and go on after so long, unless
 *		that is longer than grace_ms; 0: they are down at once
 * refuse_every	every so manieth I/O is refused
 * delay_us	how long an I/O takes; 0 completes it inside submit()
 * link_ns	how long an I/O has the link for itself: they go one after the other, take delay_us
 *		each besides, and end in a softirq, as those of a network card do
 * late_us	reads that no fault waits for end so much after they have read, unless
 *		delay_us is 0, or link_ns isn't: what they bring may be old by then
 * slow		the number of a session: its reads take slow_ms, and read at the end of that time
 * slow_ms	how long these reads take
 * read_errors	so many of the next reads fail, as those of fail_every do
 * corrupt	so many of the next reads of less than a page succeed, but bring garbage
 * tamper	what donors do with pages: 1 flips a bit of each that is read, 2 returns zeroes, 3
 *		returns a neighbour, 4 keeps what it has and drops what is written
 * tamper_odd	only sessions with an odd number do: one donor of two
 * search	write a text: reading tells how many pages of all regions have it
 * no_memory	reads are refused for want of memory
 * pause	the number of a session, 1 for the first that was opened: it is suspended until this
 *		changes, whatever suspend_ms and grace_ms say
 * regions	how many regions a donor lends; taken when it is opened
 * sparse	of regions of sessions that are opened from now on only pages that are written
 *		take memory, and of these none that hold one word over and over
 * evict	write a number: every donor asks for so many regions back
 */
#define pr_fmt(fmt) "farswap-ram: " fmt

#include <linux/delay.h>
#include <linux/farswap-transport.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

static unsigned int fail_every;
module_param(fail_every, uint, 0644);
static unsigned int refuse_every;
module_param(refuse_every, uint, 0644);
static bool keep_session;
module_param(keep_session, bool, 0644);
static unsigned int suspend_ms;
module_param(suspend_ms, uint, 0644);
static unsigned int delay_us;
module_param(delay_us, uint, 0644);
static unsigned int late_us;
module_param(late_us, uint, 0644);
static unsigned int link_ns;
module_param(link_ns, uint, 0644);
static int slow;
module_param(slow, int, 0644);
static unsigned int slow_ms;
module_param(slow_ms, uint, 0644);
static atomic_t ram_read_errors = ATOMIC_INIT(0);
static atomic_t ram_corrupt = ATOMIC_INIT(0);
static unsigned int tamper;
module_param(tamper, uint, 0644);
static bool tamper_odd;
module_param(tamper_odd, bool, 0644);
static bool no_memory;
module_param(no_memory, bool, 0644);
static int ram_paused;
static unsigned int regions = 64;
module_param(regions, uint, 0644);
static bool sparse;
module_param(sparse, bool, 0644);

/* As long as farswapd waits. Pages not fetched by then are lost with any donor. */
#define RAM_EVICT_MS	5000
/* Between looks at whether a session is still to be paused. */
#define RAM_PAUSE_LOOK_MS	50

/* Entry for a page of a sparse region: an address, or a word of less than 64 bits. */
#define RAM_WORD(word)	((word) << 1 | 1)
#define RAM_IS_WORD(at)	((at) & 1)
/* Overwrites old contents, which must not be read again. */
#define RAM_STALE	0x5a

/* Values of @tamper. */
#define RAM_TAMPER_FLIP		1
#define RAM_TAMPER_ZERO		2
#define RAM_TAMPER_EXCHANGE	3
#define RAM_TAMPER_OLD		4

/* I/O that has begun and ended on a CPU: in a line for all, benches would measure that line. */
struct ram_inflight {
	atomic_t begun;
	atomic_t ended;
};

struct farswap_session {
	struct list_head entry;		/* in ram_sessions; ram_lock */
	const struct farswap_session_ops *ops;
	void *ctx;
	u64 slab_bytes;
	struct list_head regions;	/* ram_lock */
	struct list_head spare;		/* ram_lock */
	unsigned int nr_spare;
	struct ram_inflight __percpu *inflight;
	bool dead;
	bool suspended;
	bool closing;
	bool sparse;
	int number;
	struct delayed_work work;	/* brings the session up, or down and up */
};

struct farswap_region {
	struct list_head entry;
	struct farswap_session *session;
	u64 id;
	bool dead;
	void *memory;
	unsigned long *pages;	/* instead, where it is sparse */
};

/* Stored in struct farswap_io. */
struct ram_io {
	union {
		struct work_struct work;
		struct {
			struct list_head entry;	/* ram_link_ios */
			ktime_t due;
		};
	};
	struct farswap_io *io;
	int error;
};

static_assert(sizeof(struct ram_io) <= FARSWAP_IO_PRIVATE_WORDS * sizeof(long));

/* Sessions and their regions. */
static DEFINE_MUTEX(ram_lock);
static LIST_HEAD(ram_sessions);
static struct workqueue_struct *ram_wq;
static atomic_t ram_count = ATOMIC_INIT(0);
static int ram_number;
static unsigned int ram_grace_ms;
static u64 ram_region_id;

/* The transfers on the link in the order of their ends, and when it has room again. */
static DEFINE_SPINLOCK(ram_link_lock);
static LIST_HEAD(ram_link_ios);
static ktime_t ram_link_free;
static struct hrtimer ram_link_timer;

static bool ram_is_busy(const struct farswap_session *session)
{
	unsigned int begun = 0, ended = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		ended += atomic_read(&per_cpu_ptr(session->inflight, cpu)->ended);
	/* Ends before beginnings: equal sums mean that nothing was in flight. */
	smp_mb();
	for_each_possible_cpu(cpu)
		begun += atomic_read(&per_cpu_ptr(session->inflight, cpu)->begun);
	return begun != ended;
}

static bool ram_is_paused(const struct farswap_session *session)
{
	return READ_ONCE(ram_paused) == session->number;
}

static void ram_look_later(struct farswap_session *session)
{
	unsigned int ms = RAM_PAUSE_LOOK_MS;

	if (!ram_is_paused(session))
		ms = min(READ_ONCE(suspend_ms), READ_ONCE(ram_grace_ms));
	if (!READ_ONCE(session->closing))
		queue_delayed_work(ram_wq, &session->work, msecs_to_jiffies(ms));
}

static void ram_session_work(struct work_struct *work)
{
	struct farswap_session *session = container_of(to_delayed_work(work),
						       struct farswap_session, work);
	struct farswap_peer peer = { .instance = session->number };
	struct farswap_region *region;

	if (session->suspended && ram_is_paused(session)) {
		ram_look_later(session);
		return;
	}
	if (session->suspended && READ_ONCE(suspend_ms) <= READ_ONCE(ram_grace_ms)) {
		session->suspended = false;
		WRITE_ONCE(session->dead, false);
		session->ops->resumed(session->ctx);
		return;
	}
	if (READ_ONCE(session->dead) && !session->suspended && READ_ONCE(ram_grace_ms) &&
	    (READ_ONCE(suspend_ms) || ram_is_paused(session))) {
		while (ram_is_busy(session))
			msleep(1);
		session->suspended = true;
		session->ops->suspended(session->ctx, -EIO);
		ram_look_later(session);
		return;
	}
	if (READ_ONCE(session->dead)) {
		session->suspended = false;
		mutex_lock(&ram_lock);
		list_for_each_entry(region, &session->regions, entry)
			WRITE_ONCE(region->dead, true);
		mutex_unlock(&ram_lock);
		while (ram_is_busy(session))
			msleep(1);
		session->ops->down(session->ctx, -EIO);
		if (READ_ONCE(session->closing))
			return;
		WRITE_ONCE(session->dead, false);
	}
	peer.node[0] = session->number;
	session->ops->up(session->ctx, &peer);
}

static void ram_free_page(unsigned long *at)
{
	if (!RAM_IS_WORD(*at))
		free_page(*at);
}

static void ram_free_pages(struct farswap_region *region)
{
	u64 page;

	for (page = 0; page < region->session->slab_bytes >> PAGE_SHIFT; page++) {
		ram_free_page(&region->pages[page]);
		region->pages[page] = RAM_WORD(~0UL / 0xff * RAM_STALE & LONG_MAX);
	}
}

static void ram_free_spare(struct farswap_session *session)
{
	struct farswap_region *region, *next;

	list_for_each_entry_safe(region, next, &session->spare, entry) {
		if (region->pages)
			ram_free_pages(region);
		kvfree(region->pages);
		vfree(region->memory);
		kfree(region);
	}
}

static int ram_alloc_spare(struct farswap_session *session)
{
	struct farswap_region *region;

	while (session->nr_spare < regions) {
		region = kzalloc(sizeof(*region), GFP_KERNEL);
		if (!region)
			return -ENOMEM;
		region->session = session;
		if (session->sparse)
			region->pages = kvcalloc(session->slab_bytes >> PAGE_SHIFT,
						 sizeof(*region->pages), GFP_KERNEL);
		else
			region->memory = vzalloc(session->slab_bytes);
		if (!region->memory && !region->pages) {
			kfree(region);
			return -ENOMEM;
		}
		list_add(&region->entry, &session->spare);
		session->nr_spare++;
	}
	return 0;
}

static struct farswap_session *ram_open(const char *address,
					const struct farswap_session_params *params,
					const struct farswap_session_ops *ops,
					void *ctx)
{
	struct farswap_session *session = kzalloc(sizeof(*session), GFP_KERNEL);

	if (!session)
		return ERR_PTR(-ENOMEM);
	session->ops = ops;
	session->ctx = ctx;
	session->slab_bytes = params->slab_bytes;
	session->sparse = sparse;
	INIT_LIST_HEAD(&session->regions);
	INIT_LIST_HEAD(&session->spare);
	session->inflight = alloc_percpu(struct ram_inflight);
	if (!session->inflight || ram_alloc_spare(session)) {
		ram_free_spare(session);
		free_percpu(session->inflight);
		kfree(session);
		return ERR_PTR(-ENOMEM);
	}
	INIT_DELAYED_WORK(&session->work, ram_session_work);
	mutex_lock(&ram_lock);
	session->number = ++ram_number;
	list_add_tail(&session->entry, &ram_sessions);
	mutex_unlock(&ram_lock);
	queue_delayed_work(ram_wq, &session->work, 1);
	return session;
}

static void ram_close(struct farswap_session *session)
{
	WRITE_ONCE(session->closing, true);
	mutex_lock(&ram_lock);
	list_del(&session->entry);
	mutex_unlock(&ram_lock);
	cancel_delayed_work_sync(&session->work);
	WARN_ON(!list_empty(&session->regions));
	ram_free_spare(session);
	free_percpu(session->inflight);
	kfree(session);
}

static int ram_query(struct farswap_session *session, u64 *free_bytes)
{
	if (READ_ONCE(session->dead))
		return -EHOSTDOWN;
	mutex_lock(&ram_lock);
	*free_bytes = session->slab_bytes * session->nr_spare;
	mutex_unlock(&ram_lock);
	return 0;
}

static struct farswap_region *ram_map(struct farswap_session *session, u64 slab)
{
	struct farswap_region *region;

	if (READ_ONCE(session->dead))
		return ERR_PTR(-EHOSTDOWN);
	mutex_lock(&ram_lock);
	region = list_first_entry_or_null(&session->spare, struct farswap_region,
					  entry);
	if (region) {
		region->id = ++ram_region_id;
		region->dead = session->dead;
		session->nr_spare--;
		list_move(&region->entry, &session->regions);
	}
	mutex_unlock(&ram_lock);
	return region ? region : ERR_PTR(-ENOSPC);
}

static u64 ram_region_id_of(struct farswap_region *region)
{
	return region->id;
}

static void ram_release(struct farswap_region *region)
{
	struct farswap_session *session = region->session;

	if (region->pages)
		ram_free_pages(region);
	else
		memset(region->memory, RAM_STALE, session->slab_bytes);
	mutex_lock(&ram_lock);
	list_move_tail(&region->entry, &session->spare);
	session->nr_spare++;
	mutex_unlock(&ram_lock);
}

/* Give a page of a sparse region memory of its own, with what it holds. */
static int ram_fill_sparse(unsigned long *at)
{
	unsigned long page;

	if (*at && !RAM_IS_WORD(*at))
		return 0;
	page = __get_free_page(GFP_ATOMIC | __GFP_NOWARN);
	if (!page)
		return -ENOMEM;
	memset_l((unsigned long *)page, *at >> 1, PAGE_SIZE / sizeof(long));
	*at = page;
	return 0;
}

static int ram_write_sparse(unsigned long *at, unsigned int within, const unsigned long *words,
			    unsigned int bytes)
{
	unsigned int i;
	int err;

	for (i = 1; i < bytes / sizeof(*words) && words[i] == words[0]; i++)
		;
	if (bytes == PAGE_SIZE && i == bytes / sizeof(*words) && words[0] <= LONG_MAX) {
		ram_free_page(at);
		*at = RAM_WORD(words[0]);
		return 0;
	}
	err = ram_fill_sparse(at);
	if (!err)
		memcpy((void *)*at + within, words, bytes);
	return err;
}

static void ram_read_sparse(unsigned long at, unsigned int within, unsigned long *words,
			    unsigned int bytes)
{
	if (at && !RAM_IS_WORD(at))
		memcpy(words, (void *)at + within, bytes);
	else
		memset_l(words, at >> 1, bytes / sizeof(*words));
}

/* Return what a region's donor does with its pages. */
static unsigned int ram_tampers(const struct farswap_region *region)
{
	return READ_ONCE(tamper_odd) && region->session->number % 2 == 0 ? 0 : READ_ONCE(tamper);
}

static void ram_tamper(unsigned int how, u8 *local, unsigned int bytes)
{
	if (how == RAM_TAMPER_FLIP)
		local[bytes / 2] ^= 1;
	else if (how == RAM_TAMPER_ZERO)
		memset(local, 0, bytes);
}

/* Copy a part of a page of the region. */
static int ram_copy_part(struct farswap_region *region, u64 offset, enum farswap_io_op op,
			 void *local, unsigned int bytes)
{
	unsigned int within = offset & ~PAGE_MASK;

	if (region->pages && op == FARSWAP_IO_WRITE)
		return ram_write_sparse(&region->pages[offset >> PAGE_SHIFT], within, local, bytes);
	if (region->pages)
		ram_read_sparse(region->pages[offset >> PAGE_SHIFT], within, local, bytes);
	else if (op == FARSWAP_IO_WRITE)
		memcpy(region->memory + offset, local, bytes);
	else
		memcpy(local, region->memory + offset, bytes);
	return 0;
}

static int ram_copy(struct farswap_io *io)
{
	unsigned int how = ram_tampers(io->region), done, part;
	int err = 0;

	if (how == RAM_TAMPER_OLD && io->op == FARSWAP_IO_WRITE)
		return 0;
	for (done = 0; done < io->length && !err; done += part) {
		void *local = kmap_local_page(io->page + (done >> PAGE_SHIFT));
		u64 offset = io->offset + done;

		part = min3(io->length - done, (unsigned int)(PAGE_SIZE - (done & ~PAGE_MASK)),
			    (unsigned int)(PAGE_SIZE - (offset & ~PAGE_MASK)));
		if (how == RAM_TAMPER_EXCHANGE && io->op == FARSWAP_IO_READ)
			offset ^= min_t(u32, io->length, PAGE_SIZE);
		err = ram_copy_part(io->region, offset, io->op, local + (done & ~PAGE_MASK), part);
		if (io->op == FARSWAP_IO_READ)
			ram_tamper(how, local + (done & ~PAGE_MASK), part);
		kunmap_local(local);
		if (!err && io->op == FARSWAP_IO_READ && io->length < PAGE_SIZE &&
		    atomic_dec_if_positive(&ram_corrupt) >= 0)
			memset(page_address(io->page), 0xff, io->length);
	}
	return err;
}

static void ram_fail_session(struct farswap_session *session)
{
	if (keep_session || xchg(&session->dead, true))
		return;
	queue_delayed_work(ram_wq, &session->work, HZ / 10);
}

static int ram_do(struct farswap_io *io, int error)
{
	if (!error)
		error = ram_copy(io);
	if (error)
		ram_fail_session(io->region->session);
	return error;
}

static void ram_end(struct farswap_io *io, int error)
{
	struct farswap_session *session = io->region->session;

	io->done(io, error);
	atomic_inc_return(&raw_cpu_ptr(session->inflight)->ended);
}

static bool ram_is_slow(const struct farswap_io *io)
{
	return io->op == FARSWAP_IO_READ && io->region->session->number == READ_ONCE(slow);
}

static void ram_io_work(struct work_struct *work)
{
	struct ram_io *ram = container_of(work, struct ram_io, work);

	fsleep(delay_us);
	if (ram_is_slow(ram->io))
		msleep(READ_ONCE(slow_ms));
	ram->error = ram_do(ram->io, ram->error);
	if (ram->io->op == FARSWAP_IO_READ && !ram->io->urgent)
		fsleep(late_us);
	ram_end(ram->io, ram->error);
}

static enum hrtimer_restart ram_link_tick(struct hrtimer *timer)
{
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	ktime_t now = ktime_get();
	struct ram_io *ram, *next;
	unsigned long flags;
	LIST_HEAD(due);

	spin_lock_irqsave(&ram_link_lock, flags);
	list_for_each_entry_safe(ram, next, &ram_link_ios, entry) {
		if (ktime_after(ram->due, now)) {
			hrtimer_set_expires(timer, ram->due);
			restart = HRTIMER_RESTART;
			break;
		}
		list_move_tail(&ram->entry, &due);
	}
	spin_unlock_irqrestore(&ram_link_lock, flags);
	list_for_each_entry_safe(ram, next, &due, entry)
		ram_end(ram->io, ram_do(ram->io, ram->error));
	return restart;
}

static void ram_link_add(struct ram_io *ram)
{
	ktime_t now = ktime_get();
	unsigned long flags;

	spin_lock_irqsave(&ram_link_lock, flags);
	if (ktime_after(now, ram_link_free))
		ram_link_free = now;
	ram_link_free = ktime_add_ns(ram_link_free, READ_ONCE(link_ns));
	ram->due = ktime_add_us(ram_link_free, READ_ONCE(delay_us));
	list_add_tail(&ram->entry, &ram_link_ios);
	if (list_is_singular(&ram_link_ios))
		hrtimer_start(&ram_link_timer, ram->due, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&ram_link_lock, flags);
}

static int ram_submit(struct farswap_io *io)
{
	struct farswap_session *session = io->region->session;
	struct ram_io *ram = (struct ram_io *)io->transport;
	unsigned int refuse = READ_ONCE(refuse_every), fail = READ_ONCE(fail_every), count;
	int error = 0;

	if (READ_ONCE(session->dead) || READ_ONCE(io->region->dead))
		return -EHOSTDOWN;
	count = refuse || fail ? atomic_inc_return(&ram_count) : 0;
	if (refuse && !(count % refuse))
		return -EHOSTDOWN;
	if (READ_ONCE(no_memory) && io->op == FARSWAP_IO_READ)
		return -ENOMEM;
	if (io->op == FARSWAP_IO_READ && atomic_dec_if_positive(&ram_read_errors) >= 0)
		error = -EIO;
	if (fail && !(count % fail))
		error = -EIO;
	atomic_inc_return(&raw_cpu_ptr(session->inflight)->begun);
	if (!READ_ONCE(delay_us) && !READ_ONCE(link_ns) && !ram_is_slow(io)) {
		ram_end(io, ram_do(io, error));
		return 0;
	}
	ram->io = io;
	ram->error = error;
	if (READ_ONCE(link_ns)) {
		ram_link_add(ram);
	} else {
		INIT_WORK(&ram->work, ram_io_work);
		queue_work(ram_wq, &ram->work);
	}
	return 0;
}

static void ram_set_io_timeout(unsigned int ms)
{
}

static void ram_set_grace(unsigned int ms)
{
	WRITE_ONCE(ram_grace_ms, ms);
}

static const struct farswap_transport ram_transport = {
	.name		= "ram",
	.owner		= THIS_MODULE,
	.open		= ram_open,
	.close		= ram_close,
	.query		= ram_query,
	.map		= ram_map,
	.region_id	= ram_region_id_of,
	.release	= ram_release,
	.submit		= ram_submit,
	.set_io_timeout	= ram_set_io_timeout,
	.set_grace	= ram_set_grace,
};

static int ram_evict(const char *text, const struct kernel_param *kp)
{
	struct farswap_session *session;
	struct farswap_region *region;
	unsigned int wanted, n;
	u64 ids[16];
	int err = kstrtouint(text, 0, &wanted);

	if (err)
		return err;
	mutex_lock(&ram_lock);
	list_for_each_entry(session, &ram_sessions, entry) {
		n = 0;
		list_for_each_entry(region, &session->regions, entry)
			if (n < min(wanted, ARRAY_SIZE(ids)))
				ids[n++] = region->id;
		while (n--)
			session->ops->evict(session->ctx, ids[n], RAM_EVICT_MS);
	}
	mutex_unlock(&ram_lock);
	return 0;
}

static const struct kernel_param_ops ram_evict_ops = {
	.set	= ram_evict,
};
module_param_cb(evict, &ram_evict_ops, NULL, 0200);

static int ram_pause(const char *text, const struct kernel_param *kp)
{
	struct farswap_session *session;
	int number, err = kstrtoint(text, 0, &number);

	if (err)
		return err;
	mutex_lock(&ram_lock);
	WRITE_ONCE(ram_paused, number);
	list_for_each_entry(session, &ram_sessions, entry)
		if (session->number == number && !xchg(&session->dead, true))
			queue_delayed_work(ram_wq, &session->work, 0);
	mutex_unlock(&ram_lock);
	return 0;
}

static const struct kernel_param_ops ram_pause_ops = {
	.set	= ram_pause,
};
module_param_cb(pause, &ram_pause_ops, NULL, 0200);

static int ram_set_count(const char *text, const struct kernel_param *kp)
{
	unsigned int nr;
	int err = kstrtouint(text, 0, &nr);

	if (!err)
		atomic_set((atomic_t *)kp->arg, nr);
	return err;
}

static int ram_show_count(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((atomic_t *)kp->arg));
}

static char ram_text[32];

static bool ram_page_has(const char *page, size_t length)
{
	const char *at = page, *end = page + PAGE_SIZE - length;

	while (at && at <= end) {
		if (!memcmp(at, ram_text, length))
			return true;
		at = memchr(at + 1, ram_text[0], end - at);
	}
	return false;
}

static unsigned int ram_region_has(const struct farswap_region *region, size_t length)
{
	unsigned int found = 0;
	u64 offset;

	for (offset = 0; region->memory && offset < region->session->slab_bytes;
	     offset += PAGE_SIZE) {
		found += ram_page_has(region->memory + offset, length);
		cond_resched();
	}
	return found;
}

static int ram_search_set(const char *text, const struct kernel_param *kp)
{
	mutex_lock(&ram_lock);
	strscpy(ram_text, text, sizeof(ram_text));
	strim(ram_text);
	mutex_unlock(&ram_lock);
	return 0;
}

static int ram_search_get(char *buffer, const struct kernel_param *kp)
{
	const struct farswap_session *session;
	const struct farswap_region *region;
	unsigned int found = 0;
	size_t length;

	mutex_lock(&ram_lock);
	length = strlen(ram_text);
	list_for_each_entry(session, &ram_sessions, entry)
		list_for_each_entry(region, &session->regions, entry)
			found += length ? ram_region_has(region, length) : 0;
	mutex_unlock(&ram_lock);
	return sysfs_emit(buffer, "%u\n", found);
}

static const struct kernel_param_ops ram_search_ops = {
	.set = ram_search_set,
	.get = ram_search_get,
};
module_param_cb(search, &ram_search_ops, NULL, 0600);

static const struct kernel_param_ops ram_count_ops = {
	.set	= ram_set_count,
	.get	= ram_show_count,
};
module_param_cb(read_errors, &ram_count_ops, &ram_read_errors, 0600);
module_param_cb(corrupt, &ram_count_ops, &ram_corrupt, 0600);

static int __init ram_init(void)
{
	int err;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&ram_link_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	ram_link_timer.function = ram_link_tick;
#else
	hrtimer_setup(&ram_link_timer, ram_link_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#endif
	ram_wq = alloc_workqueue("farswap_ram", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ram_wq)
		return -ENOMEM;
	err = farswap_transport_register(&ram_transport);
	if (err)
		destroy_workqueue(ram_wq);
	return err;
}

static void __exit ram_exit(void)
{
	farswap_transport_unregister(&ram_transport);
	hrtimer_cancel(&ram_link_timer);
	destroy_workqueue(ram_wq);
}

module_init(ram_init);
module_exit(ram_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A farswap transport without a network, for tests");

// SPDX-License-Identifier: GPL-2.0
/*
 * Policies of cgroups: which may use remote memory, and how much of it. A policy belongs to the
 * path of a cgroup, so that it holds again when a service restarts with a new cgroup. It covers
 * all cgroups below that path; of several policies that cover a cgroup, each holds.
 *
 * Weights divide remote memory only while donors have no room. Then a cgroup stores nothing more
 * if one beside it lacks room and has less for its weight.
 *
 * Every device has an owner byte for each slot: the policy of the page that was stored last, and
 * whether the page is charged to it, that is, has or is about to have a remote copy. The kernel
 * uncharges a slot before it notifies farswap of the free, so the owner is unknown by then. The
 * byte keeps the policy after a donor has died, for the pages that farswap copies to another donor.
 *
 * Locking: policy_mutex serialises changes of policies. policy_lock makes the policies and the
 * cache of their users change together. Stores and loads use RCU; owner bytes change by cmpxchg().
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/bitmap.h>
#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/sysfs.h>
#include <linux/xarray.h>

#include "internal.h"
#include "slab/cgroup.h"

/* An owner byte has the number of a policy, from 1 to this one. */
#define CGROUP_POLICIES		127
#define CGROUP_CHARGED		0x80
#define CGROUP_UNLIMITED	LONG_MAX
#define CGROUP_BACKUP_DEFAULT	UINT_MAX
#define CGROUP_SHARE_MAX	1000
/* Donors have no room, or a cgroup lacks it, if that was so in this time. Retries take 5 s. */
#define CGROUP_LACK_TIME	(10 * HZ)
/* Cgroups that have ended stay in the cache, so it is emptied at this size. */
#define CGROUP_CACHE_MAX	8192

/**
 * struct cgroup_policy - the policy of a cgroup and those below it
 * @max:	most pages that may be charged to it and to the policies below it
 * @weight:	its share beside those under the same policy; 0: it has none
 * @parent:	number of the policy right above it, or 0
 * @lacked_at:	last store of its own that no region had room for, jiffies; 0 if none
 * @backup:	enum farswap_backup_policy, or CGROUP_BACKUP_DEFAULT
 * @remote:	pages may be stored remotely
 * @nr:		its number in owner bytes
 * @below:	the policies whose paths are below this one's, itself included
 * @pages:	pages charged to it, without those of policies below it
 * @stored:	pages charged so far
 * @loaded:	pages read from donors so far
 * @refused:	pages refused so far because of a policy
 * @load_ns:	time that these reads took
 * @rcu:	frees it
 * @path:	path of the cgroup, "/" for all
 */
struct cgroup_policy {
	long max;
	unsigned int weight;
	unsigned int parent;
	unsigned long lacked_at;
	unsigned int backup;
	bool remote;
	unsigned int nr;
	DECLARE_BITMAP(below, CGROUP_POLICIES + 1);
	atomic_long_t pages;
	atomic_long_t stored;
	atomic_long_t loaded;
	atomic_long_t refused;
	atomic64_t load_ns;
	struct rcu_head rcu;
	char path[];
};

DEFINE_STATIC_KEY_FALSE(farswap_cgroup_key);

static DEFINE_MUTEX(policy_mutex);
static DEFINE_SPINLOCK(policy_lock);
static struct cgroup_policy __rcu *cgroup_policies[CGROUP_POLICIES + 1];
/* Above the highest number in use. */
static unsigned int cgroup_nr_policies = 1;

/* Last time that no donor had room for a slab, jiffies; 0 if never. */
static unsigned long cgroup_full_at;

/* Number of the policy of each cgroup seen, by its ID, 0 for none. Written under policy_lock. */
static DEFINE_XARRAY(cgroup_cache);
static unsigned int cgroup_cached;
static char cgroup_path_buf[PATH_MAX];

static const char *const cgroup_backup_names[] = {
	[FARSWAP_BACKUP_DISK]	= "disk",
	[FARSWAP_BACKUP_REPLICA] = "replica",
	[FARSWAP_BACKUP_NONE]	= "none",
	[FARSWAP_BACKUP_REPLICA_DISK] = "replica+disk",
};

static struct cgroup_policy *cgroup_policy(unsigned int nr)
{
	return rcu_dereference_check(cgroup_policies[nr],
				     lockdep_is_held(&policy_mutex) ||
				     lockdep_is_held(&policy_lock));
}

/* Returns whether @path is @top or below it. */
static bool cgroup_path_is_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	if (length == 1)
		return true;
	return !strncmp(path, top, length) && (!path[length] || path[length] == '/');
}

#ifdef CONFIG_MEMCG
/* Returns the number of the policy with the longest path that covers the cgroup, or 0. */
static unsigned int cgroup_match(struct cgroup *cgroup, u64 id)
{
	unsigned int nr, best = 0;
	size_t longest = 0;

	spin_lock(&policy_lock);
	/* A path that is cut short may match the policy of a cgroup above, which holds too. */
	cgroup_path(cgroup, cgroup_path_buf, sizeof(cgroup_path_buf));
	for (nr = 1; nr < cgroup_nr_policies; nr++) {
		const struct cgroup_policy *policy = cgroup_policy(nr);

		if (policy && strlen(policy->path) > longest &&
		    cgroup_path_is_below(cgroup_path_buf, policy->path)) {
			longest = strlen(policy->path);
			best = nr;
		}
	}
	if (cgroup_cached >= CGROUP_CACHE_MAX) {
		xa_destroy(&cgroup_cache);
		cgroup_cached = 0;
	}
	/* Without memory the next store retries. */
	if (!xa_is_err(xa_store(&cgroup_cache, id, xa_mk_value(best),
				GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)))
		cgroup_cached++;
	spin_unlock(&policy_lock);
	return best;
}

static struct cgroup_policy *cgroup_of(struct folio *folio)
{
	struct mem_cgroup *memcg = folio_memcg(folio);
	void *cached;
	u64 id;

	if (!memcg)
		return NULL;
	id = cgroup_id(memcg->css.cgroup);
	cached = xa_load(&cgroup_cache, id);
	return cgroup_policy(cached ? xa_to_value(cached) : cgroup_match(memcg->css.cgroup, id));
}
#else
static struct cgroup_policy *cgroup_of(struct folio *folio)
{
	return NULL;
}
#endif

/**
 * farswap_cgroup_id() - get the ID of the cgroup that a folio belongs to
 * @folio:	locked or under writeback
 *
 * Context: any.
 * Return: the ID, the inode number of its directory; 0 if there is none.
 */
u64 farswap_cgroup_id(struct folio *folio)
{
	u64 id = 0;
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg;

	rcu_read_lock();
	memcg = folio_memcg(folio);
	if (memcg)
		id = cgroup_id(memcg->css.cgroup);
	rcu_read_unlock();
#endif
	return id;
}

/* Returns the pages that are charged to a policy and to those below it. */
static long cgroup_pages(const struct cgroup_policy *policy)
{
	const struct cgroup_policy *other;
	unsigned int nr;
	long pages = 0;

	for_each_set_bit(nr, policy->below, CGROUP_POLICIES + 1) {
		other = cgroup_policy(nr);
		if (other)
			pages += atomic_long_read(&other->pages);
	}
	return pages;
}

static bool cgroup_is_recent(unsigned long at)
{
	return at && time_is_after_jiffies(at + CGROUP_LACK_TIME);
}

/* Returns whether a store of the policy's, or of one below it, lacked room a moment ago. */
static bool cgroup_lacks(const struct cgroup_policy *policy)
{
	const struct cgroup_policy *other;
	unsigned int nr;

	for_each_set_bit(nr, policy->below, CGROUP_POLICIES + 1) {
		other = cgroup_policy(nr);
		if (other && cgroup_is_recent(READ_ONCE(other->lacked_at)))
			return true;
	}
	return false;
}

/* Returns whether a policy beside @policy lacks room and has less for its weight. */
static bool cgroup_has_more(const struct cgroup_policy *policy)
{
	unsigned int weight = READ_ONCE(policy->weight), its, nr;
	u64 pages = max(cgroup_pages(policy), 0L);
	const struct cgroup_policy *other;

	for (nr = 1; weight && nr < READ_ONCE(cgroup_nr_policies); nr++) {
		other = cgroup_policy(nr);
		if (!other || other == policy ||
		    READ_ONCE(other->parent) != READ_ONCE(policy->parent))
			continue;
		its = READ_ONCE(other->weight);
		if (its && cgroup_lacks(other) &&
		    pages * its > (u64)max(cgroup_pages(other), 0L) * weight)
			return true;
	}
	return false;
}

/* Returns whether every policy that covers @policy's cgroup allows @nr pages more than it has. */
static bool cgroup_allows(const struct cgroup_policy *policy, long nr)
{
	bool full = cgroup_is_recent(READ_ONCE(cgroup_full_at));
	const struct cgroup_policy *top;
	unsigned int i;

	for (i = 1; i < READ_ONCE(cgroup_nr_policies); i++) {
		top = cgroup_policy(i);
		if (!top || !test_bit(policy->nr, top->below))
			continue;
		if (!READ_ONCE(top->remote))
			return false;
		if (READ_ONCE(top->max) != CGROUP_UNLIMITED &&
		    cgroup_pages(top) + nr > READ_ONCE(top->max))
			return false;
		if (full && cgroup_has_more(top))
			return false;
	}
	return true;
}

/* The pages are counted first, so that of two tasks at the limit not both find room. */
static bool cgroup_try(struct cgroup_policy *policy, unsigned int nr)
{
	atomic_long_add(nr, &policy->pages);
	/* Fully ordered: the sum of the other task, or this one's, has both. */
	smp_mb__after_atomic();
	if (cgroup_allows(policy, 0)) {
		atomic_long_add(nr, &policy->stored);
		return true;
	}
	atomic_long_sub(nr, &policy->pages);
	return false;
}

/* Published once, and freed with the device. */
static u8 *cgroup_owners(const struct farswap_device *device)
{
	/* Pairs with the release in farswap_cgroup_swapon(): the bytes are 0 at first. */
	return smp_load_acquire(&device->owners);
}

/* The charge in an owner byte has ended. A policy that has been removed has no count. */
static void cgroup_end_charge(u8 owner)
{
	struct cgroup_policy *policy = cgroup_policy(owner & ~CGROUP_CHARGED);

	if (owner & CGROUP_CHARGED && policy)
		atomic_long_dec(&policy->pages);
}

/* Implements farswap_cgroup_charge() while there is a policy. */
bool farswap_cgroup_charge_slots(struct farswap_device *device, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio), i;
	pgoff_t offset = swp_offset(folio->swap);
	u8 *owners = cgroup_owners(device), owner = 0;
	struct cgroup_policy *policy;
	bool charged = true;

	if (!owners || offset + nr > device->map->nr_slots)
		return true;
	rcu_read_lock();
	policy = cgroup_of(folio);
	if (policy) {
		charged = cgroup_try(policy, nr);
		owner = policy->nr | (charged ? CGROUP_CHARGED : 0);
		if (!charged)
			atomic_long_add(nr, &policy->refused);
	}
	for (i = 0; i < nr; i++)
		cgroup_end_charge(xchg(&owners[offset + i], owner));
	rcu_read_unlock();
	return charged;
}

/* Implements farswap_cgroup_lacked() while there is a policy. */
void farswap_cgroup_note_lack(struct folio *folio)
{
	struct cgroup_policy *policy;

	rcu_read_lock();
	policy = cgroup_of(folio);
	if (policy)
		WRITE_ONCE(policy->lacked_at, jiffies ?: 1);
	rcu_read_unlock();
}

/* Implements farswap_cgroup_full() while there is a policy. */
void farswap_cgroup_note_full(void)
{
	WRITE_ONCE(cgroup_full_at, jiffies ?: 1);
}

/* Implements farswap_cgroup_recharge() while there is a policy. */
bool farswap_cgroup_charge_slot(struct farswap_device *device, pgoff_t offset)
{
	u8 *owners = cgroup_owners(device), owner;
	struct cgroup_policy *policy;
	bool charged = true;

	if (!owners || offset >= device->map->nr_slots)
		return true;
	rcu_read_lock();
	owner = READ_ONCE(owners[offset]);
	policy = owner & CGROUP_CHARGED ? NULL : cgroup_policy(owner);
	if (policy) {
		charged = cgroup_try(policy, 1);
		if (charged && cmpxchg(&owners[offset], owner, owner | CGROUP_CHARGED) != owner)
			atomic_long_dec(&policy->pages);
	}
	rcu_read_unlock();
	return charged;
}

/* Implements farswap_cgroup_may() while there is a policy. */
bool farswap_cgroup_may_charge(struct farswap_device *device, pgoff_t offset)
{
	u8 *owners = cgroup_owners(device), owner;
	struct cgroup_policy *policy;
	bool may;

	if (!owners || offset >= device->map->nr_slots)
		return true;
	rcu_read_lock();
	owner = READ_ONCE(owners[offset]);
	policy = owner & CGROUP_CHARGED ? NULL : cgroup_policy(owner);
	may = !policy || cgroup_allows(policy, 1);
	rcu_read_unlock();
	return may;
}

/* Implements farswap_cgroup_uncharge() while there is a policy. */
void farswap_cgroup_uncharge_slots(struct farswap_device *device, pgoff_t offset,
				   unsigned int nr)
{
	u8 *owners = cgroup_owners(device), owner;

	if (!owners)
		return;
	rcu_read_lock();
	for (; nr-- && offset < device->map->nr_slots; offset++) {
		owner = READ_ONCE(owners[offset]);
		if (owner & CGROUP_CHARGED &&
		    cmpxchg(&owners[offset], owner, owner & ~CGROUP_CHARGED) == owner)
			cgroup_end_charge(owner);
	}
	rcu_read_unlock();
}

/* Implements farswap_cgroup_loaded() while there is a policy. */
void farswap_cgroup_account_load(struct farswap_device *device, pgoff_t offset,
				 unsigned int nr, u64 ns)
{
	u8 *owners = cgroup_owners(device);
	struct cgroup_policy *policy;

	if (!owners || offset >= device->map->nr_slots)
		return;
	rcu_read_lock();
	policy = cgroup_policy(READ_ONCE(owners[offset]) & ~CGROUP_CHARGED);
	if (policy) {
		atomic_long_add(nr, &policy->loaded);
		atomic64_add(ns, &policy->load_ns);
	}
	rcu_read_unlock();
}

/* Implements farswap_cgroup_backup() while there is a policy: the longest path decides. */
unsigned int farswap_cgroup_slot_backup(struct farswap_device *device, pgoff_t offset)
{
	unsigned int backup = CGROUP_BACKUP_DEFAULT, nr;
	const struct cgroup_policy *policy, *top;
	u8 *owners = cgroup_owners(device);
	size_t longest = 0;

	if (!owners || offset >= device->map->nr_slots)
		return READ_ONCE(farswap_settings.backup);
	rcu_read_lock();
	policy = cgroup_policy(READ_ONCE(owners[offset]) & ~CGROUP_CHARGED);
	for (nr = 1; policy && nr < READ_ONCE(cgroup_nr_policies); nr++) {
		top = cgroup_policy(nr);
		if (top && test_bit(policy->nr, top->below) && strlen(top->path) > longest &&
		    READ_ONCE(top->backup) != CGROUP_BACKUP_DEFAULT) {
			longest = strlen(top->path);
			backup = READ_ONCE(top->backup);
		}
	}
	rcu_read_unlock();
	return backup == CGROUP_BACKUP_DEFAULT ? READ_ONCE(farswap_settings.backup) : backup;
}

/* Without memory the device's pages are not charged, and no policy holds for them. */
static bool cgroup_make_owners(struct farswap_device *device)
{
	u8 *owners;

	if (device->owners)
		return true;
	owners = kvzalloc(device->map->nr_slots, GFP_KERNEL);
	/* Pairs with the acquire in cgroup_owners(). */
	smp_store_release(&device->owners, owners);
	return owners;
}

/**
 * farswap_cgroup_swapon() - make the owner bytes of a device, if there is a policy
 * @device:	the device, which is in the table of devices
 *
 * Context: under farswap_devices_lock; may sleep.
 */
void farswap_cgroup_swapon(struct farswap_device *device)
{
	mutex_lock(&policy_mutex);
	if (farswap_cgroup_used() && !cgroup_make_owners(device))
		pr_warn("no memory for the cgroups of swap type %u: no policy holds there\n",
			device->type);
	mutex_unlock(&policy_mutex);
}

/**
 * farswap_cgroup_swapoff() - end the charges for a device, and free its owner bytes
 * @device:	a device without users
 *
 * Context: may sleep.
 */
void farswap_cgroup_swapoff(struct farswap_device *device)
{
	unsigned long offset;

	for (offset = 0; device->owners && offset < device->map->nr_slots; offset += 1024) {
		farswap_cgroup_uncharge_slots(device, offset, 1024);
		cond_resched();
	}
	kvfree(device->owners);
}

/* Returns the number of the policy right above @policy, or 0. */
static unsigned int cgroup_find_parent(const struct cgroup_policy *policy)
{
	const struct cgroup_policy *top;
	unsigned int nr, parent = 0;
	size_t longest = 0;

	for (nr = 1; nr < cgroup_nr_policies; nr++) {
		top = cgroup_policy(nr);
		if (top && top != policy && test_bit(policy->nr, top->below) &&
		    strlen(top->path) > longest) {
			longest = strlen(top->path);
			parent = nr;
		}
	}
	return parent;
}

/* Note for each policy the policies that are below it, and the one above. */
static void cgroup_relate(void)
{
	struct cgroup_policy *top, *policy;
	unsigned int i, nr;

	lockdep_assert_held(&policy_lock);
	for (i = 1; i < cgroup_nr_policies; i++) {
		top = cgroup_policy(i);
		for (nr = 1; top && nr < cgroup_nr_policies; nr++) {
			policy = cgroup_policy(nr);
			assign_bit(nr, top->below,
				   policy && cgroup_path_is_below(policy->path, top->path));
		}
	}
	for (nr = 1; nr < cgroup_nr_policies; nr++) {
		policy = cgroup_policy(nr);
		if (policy)
			WRITE_ONCE(policy->parent, cgroup_find_parent(policy));
	}
	xa_destroy(&cgroup_cache);
	cgroup_cached = 0;
}

static struct cgroup_policy *cgroup_find_path(const char *path)
{
	struct cgroup_policy *policy;
	unsigned int nr;

	for (nr = 1; nr < cgroup_nr_policies; nr++) {
		policy = cgroup_policy(nr);
		if (policy && !strcmp(policy->path, path))
			return policy;
	}
	return NULL;
}

/* Clears the policy from all owner bytes, so that its number can be reused. */
static void cgroup_disown(unsigned int policy)
{
	struct farswap_device *device;
	unsigned int type = 0;
	unsigned long offset;
	u8 owner;

	mutex_lock(&farswap_devices_walk_lock);
	while ((device = farswap_device_next(&type))) {
		for (offset = 0; device->owners && offset < device->map->nr_slots; offset++) {
			owner = READ_ONCE(device->owners[offset]);
			while ((owner & ~CGROUP_CHARGED) == policy &&
			       !try_cmpxchg(&device->owners[offset], &owner, 0))
				;
			if (!(offset % 4096))
				cond_resched();
		}
	}
	mutex_unlock(&farswap_devices_walk_lock);
}

static void cgroup_remove(struct cgroup_policy *policy)
{
	unsigned int nr, used = 0;

	spin_lock(&policy_lock);
	RCU_INIT_POINTER(cgroup_policies[policy->nr], NULL);
	cgroup_relate();
	spin_unlock(&policy_lock);
	/* No store charges to it after this. */
	synchronize_rcu();
	cgroup_disown(policy->nr);
	kfree_rcu(policy, rcu);
	for (nr = 1; nr < cgroup_nr_policies; nr++)
		used += !!cgroup_policy(nr);
	if (!used)
		static_branch_disable(&farswap_cgroup_key);
}

static int cgroup_add(struct cgroup_policy *policy)
{
	struct farswap_device *device;
	unsigned int nr = 1, type = 0;
	bool made = true;

	while (nr <= CGROUP_POLICIES && cgroup_policy(nr))
		nr++;
	if (nr > CGROUP_POLICIES) {
		pr_err("cgroups: there are %u policies already; remove one first\n",
		       CGROUP_POLICIES);
		return -ENOSPC;
	}
	mutex_lock(&farswap_devices_walk_lock);
	while (made && (device = farswap_device_next(&type)))
		made = cgroup_make_owners(device);
	mutex_unlock(&farswap_devices_walk_lock);
	if (!made)
		return -ENOMEM;
	if (!farswap_cgroup_used())
		static_branch_enable(&farswap_cgroup_key);
	policy->nr = nr;
	spin_lock(&policy_lock);
	rcu_assign_pointer(cgroup_policies[nr], policy);
	WRITE_ONCE(cgroup_nr_policies, max(cgroup_nr_policies, nr + 1));
	cgroup_relate();
	spin_unlock(&policy_lock);
	return 0;
}

static bool cgroup_parse_max(const char *text, long *max)
{
	unsigned long long bytes;
	char *end;

	if (!strcmp(text, "max")) {
		*max = CGROUP_UNLIMITED;
		return true;
	}
	if (!isdigit(*text))
		return false;
	bytes = memparse(text, &end);
	*max = min_t(u64, bytes >> PAGE_SHIFT, CGROUP_UNLIMITED - 1);
	return !*end;
}

static bool cgroup_parse_backup(const char *text, unsigned int *backup)
{
	int policy = match_string(cgroup_backup_names, ARRAY_SIZE(cgroup_backup_names), text);

	*backup = policy < 0 ? CGROUP_BACKUP_DEFAULT : policy;
	return policy >= 0 || !strcmp(text, "default");
}

static bool cgroup_parse_key(char *word, struct cgroup_policy *policy)
{
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(word, "max"))
		return cgroup_parse_max(value, &policy->max);
	if (!strcmp(word, "weight"))
		return isdigit(*value) && !kstrtouint(value, 10, &policy->weight) &&
		       policy->weight <= CGROUP_SHARE_MAX;
	if (!strcmp(word, "backup"))
		return cgroup_parse_backup(value, &policy->backup);
	return !strcmp(word, "remote") && !kstrtobool(value, &policy->remote) &&
	       isdigit(*value) && !value[1];
}

/* Parses the words after the path into @policy; complains about the first bad one. */
static int cgroup_parse(char *words, struct cgroup_policy *policy)
{
	char *word, shown[40];

	while ((word = strsep(&words, " \t\n"))) {
		if (!*word)
			continue;
		strscpy(shown, word, sizeof(shown));
		if (!cgroup_parse_key(word, policy)) {
			pr_err("cgroups: \"%s\" is no good; give remote=0 or 1, max=SIZE (such as 4G) or max, weight=0 to 1000, backup=disk, replica, replica+disk, none or default\n",
			       shown);
			return -EINVAL;
		}
	}
	return 0;
}

static int cgroup_set_locked(const char *path, char *words)
{
	struct cgroup_policy *policy, *old = cgroup_find_path(path);
	int err;

	if (words && !strcmp(strim(words), "-")) {
		if (!old) {
			pr_err("cgroups: %s has no policy\n", path);
			return -ENOENT;
		}
		cgroup_remove(old);
		return 0;
	}
	policy = kzalloc(struct_size(policy, path, strlen(path) + 1), GFP_KERNEL);
	if (!policy)
		return -ENOMEM;
	memcpy(policy->path, path, strlen(path) + 1);
	policy->max = old ? old->max : CGROUP_UNLIMITED;
	policy->weight = old ? old->weight : 0;
	policy->backup = old ? old->backup : CGROUP_BACKUP_DEFAULT;
	policy->remote = old ? old->remote : true;
	err = words ? cgroup_parse(words, policy) : 0;
	if (!err && !old)
		err = cgroup_add(policy);
	if (!err && !old)
		return 0;
	if (!err) {
		WRITE_ONCE(old->max, policy->max);
		WRITE_ONCE(old->weight, policy->weight);
		WRITE_ONCE(old->backup, policy->backup);
		WRITE_ONCE(old->remote, policy->remote);
	}
	kfree(policy);
	return err;
}

/**
 * farswap_cgroup_set() - add, change or remove a policy
 * @line:	"PATH [remote=0|1] [max=SIZE|max] [weight=N] [backup=POLICY|default]";
 *		keys that are not given keep their values. "PATH -" removes the policy
 *
 * A policy holds for pages that are stored from then on.
 *
 * Context: may sleep.
 * Return: 0, or -errno, with the reason logged.
 */
int farswap_cgroup_set(const char *line)
{
	char *copy, *words, *path;
	size_t length;
	int err = -EINVAL;

	if (!IS_ENABLED(CONFIG_MEMCG)) {
		pr_err("cgroups: this kernel has no memory cgroups\n");
		return -EOPNOTSUPP;
	}
	copy = kstrdup(line, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	words = strim(copy);
	path = strsep(&words, " \t\n");
	length = strlen(path);
	if (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	if (*path != '/') {
		pr_err("cgroups: \"%.64s\" is no good; give the path of a cgroup, such as /system.slice, and then its policy\n",
		       path);
	} else {
		mutex_lock(&policy_mutex);
		err = cgroup_set_locked(path, words);
		mutex_unlock(&policy_mutex);
	}
	kfree(copy);
	return err;
}

/* Prints a policy as farswap_cgroup_set() takes it; returns the length. */
static int cgroup_print(char *buf, size_t size, const struct cgroup_policy *policy)
{
	const char *backup = policy->backup == CGROUP_BACKUP_DEFAULT ? "default" :
			     cgroup_backup_names[policy->backup];
	char max[24] = "max";

	if (policy->max != CGROUP_UNLIMITED)
		scnprintf(max, sizeof(max), "%ldK", policy->max << (PAGE_SHIFT - 10));
	return snprintf(buf, size, "%s remote=%d max=%s weight=%u backup=%s\n", policy->path,
			policy->remote, max, policy->weight, backup);
}

/**
 * farswap_cgroup_show() - print the policies for sysfs
 * @buf:	a page
 *
 * Context: may sleep.
 * Return: number of bytes. Policies that do not fit are left out; debugfs has all.
 */
ssize_t farswap_cgroup_show(char *buf)
{
	const struct cgroup_policy *policy;
	unsigned int nr;
	int at = 0, length;

	mutex_lock(&policy_mutex);
	for (nr = 1; nr < cgroup_nr_policies; nr++) {
		policy = cgroup_policy(nr);
		if (!policy)
			continue;
		length = cgroup_print(buf + at, PAGE_SIZE - at, policy);
		if (at + length >= PAGE_SIZE)
			break;
		at += length;
	}
	mutex_unlock(&policy_mutex);
	return at;
}

/**
 * farswap_cgroup_seq_show() - print the policies and their counters for debugfs
 * @m:	seq_file
 * @v:	not used
 *
 * Context: may sleep.
 * Return: 0.
 */
int farswap_cgroup_seq_show(struct seq_file *m, void *v)
{
	struct cgroup_policy *policy;
	unsigned int nr;

	seq_puts(m, "path remote max_pages pages stored loaded refused load_ns weight\n");
	mutex_lock(&policy_mutex);
	rcu_read_lock();
	for (nr = 1; nr < cgroup_nr_policies; nr++) {
		policy = cgroup_policy(nr);
		if (!policy)
			continue;
		seq_printf(m, "%s %d ", policy->path, policy->remote);
		if (policy->max == CGROUP_UNLIMITED)
			seq_puts(m, "max");
		else
			seq_printf(m, "%ld", policy->max);
		seq_printf(m, " %ld %ld %ld %ld %lld %u\n", cgroup_pages(policy),
			   atomic_long_read(&policy->stored), atomic_long_read(&policy->loaded),
			   atomic_long_read(&policy->refused), atomic64_read(&policy->load_ns),
			   policy->weight);
	}
	rcu_read_unlock();
	mutex_unlock(&policy_mutex);
	return 0;
}

/**
 * farswap_cgroup_exit() - free all policies
 *
 * Context: may sleep; no device is left.
 */
void farswap_cgroup_exit(void)
{
	unsigned int nr;

	mutex_lock(&policy_mutex);
	for (nr = 1; nr < cgroup_nr_policies; nr++)
		if (cgroup_policy(nr))
			cgroup_remove(cgroup_policy(nr));
	mutex_unlock(&policy_mutex);
	xa_destroy(&cgroup_cache);
}

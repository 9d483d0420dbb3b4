// SPDX-License-Identifier: GPL-2.0
/*
 * The settings: numbers with their ranges, and the donors line. Each is a module parameter
 * (farswap.NAME= on the kernel's command line) and a file in /sys/kernel/farswap/. An invalid
 * value changes nothing and is logged in one line.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/kobject.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "io/trend.h"
#include "slab/cipher.h"

char farswap_settings_donors[FARSWAP_DONORS_BYTES];

/* Serialises writers, so that the checks of settings that depend on each other are atomic. */
static DEFINE_MUTEX(settings_lock);

/**
 * struct setting - a number that a user can set
 * @attr:	its file in sysfs
 * @value:	the variable that it sets
 * @min:	smallest valid value
 * @max:	largest valid value
 * @power_of_two: only powers of two are valid
 * @fits:	returns whether a value is consistent with the other settings, and logs the reason
 *		if not; may be NULL
 * @changed:	called after a write to the file; may be NULL
 */
struct setting {
	struct kobj_attribute attr;
	unsigned int *value;
	unsigned int min;
	unsigned int max;
	bool power_of_two;
	bool (*fits)(unsigned int value);
	void (*changed)(unsigned int value);
};

static int setting_parse(const struct setting *setting, const char *text,
			 unsigned int *value)
{
	const char *name = setting->attr.attr.name;
	int err = kstrtouint(text, 0, value);

	if (!err && *value >= setting->min && *value <= setting->max &&
	    (!setting->power_of_two || is_power_of_2(*value)))
		return 0;
	pr_err("%s: \"%.*s\" is no good; give %s from %u to %u\n", name,
	       (int)strcspn(text, "\n"), text,
	       setting->power_of_two ? "a power of two" : "a number",
	       setting->min, setting->max);
	return -EINVAL;
}

static ssize_t setting_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	const struct setting *setting = container_of(attr, struct setting, attr);

	return sysfs_emit(buf, "%u\n", READ_ONCE(*setting->value));
}

static ssize_t setting_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	const struct setting *setting = container_of(attr, struct setting, attr);
	unsigned int value;
	int err = setting_parse(setting, buf, &value);

	if (err)
		return err;
	mutex_lock(&settings_lock);
	if (setting->fits && !setting->fits(value)) {
		err = -EINVAL;
		goto out_unlock;
	}
	WRITE_ONCE(*setting->value, value);
	if (setting->changed)
		setting->changed(value);
out_unlock:
	mutex_unlock(&settings_lock);
	return err ? err : count;
}

static int setting_param_set(const char *text, const struct kernel_param *kp)
{
	const struct setting *setting = kp->arg;
	unsigned int value;
	int err;

	err = setting_parse(setting, text ? text : "", &value);
	if (!err)
		*setting->value = value;
	return err;
}

static int setting_param_get(char *buf, const struct kernel_param *kp)
{
	const struct setting *setting = kp->arg;

	return sysfs_emit(buf, "%u\n", READ_ONCE(*setting->value));
}

static const struct kernel_param_ops setting_param_ops = {
	.set	= setting_param_set,
	.get	= setting_param_get,
};

#define SETTING(_name, _mode, _min, _max, ...)				\
static struct setting setting_##_name = {				\
	.attr	= __ATTR(_name, _mode, setting_show,			\
			 (_mode) & 0200 ? setting_store : NULL),	\
	.value	= &farswap_settings._name,				\
	.min	= _min,							\
	.max	= _max,							\
	__VA_ARGS__							\
};									\
module_param_cb(_name, &setting_param_ops, &setting_##_name, 0444)

SETTING(enabled, 0644, 0, 1);
MODULE_PARM_DESC(enabled, "attach, and store pages remotely: 0 or 1 (default 1)");

SETTING(hedge, 0644, 0, 10);
MODULE_PARM_DESC(hedge, "most remote reads, in percent, that are repeated elsewhere when they take long; 0: none, and slow donors are not avoided (default 2)");

SETTING(force, 0644, 0, 1);
MODULE_PARM_DESC(force, "attach to a 6.12 kernel that is neither kernel.org's nor Debian's: 0 or 1 (default 0)");

SETTING(slab_mb, 0444, 2, 1024, .power_of_two = true);
MODULE_PARM_DESC(slab_mb, "size of a slab in MiB, a power of two; the donors' must be the same (default 64)");

/* A coldslab above hotslab would map and give back a slab in an endless cycle. */
static bool slab_thresholds_fit(unsigned int hotslab, unsigned int coldslab)
{
	if (coldslab <= max(hotslab, 1U))
		return true;
	pr_err("coldslab %u with hotslab %u is no good; give a coldslab of at most %u\n",
	       coldslab, hotslab, max(hotslab, 1U));
	return false;
}

static bool hotslab_fits(unsigned int value)
{
	return slab_thresholds_fit(value, farswap_settings.coldslab);
}

static bool coldslab_fits(unsigned int value)
{
	return slab_thresholds_fit(farswap_settings.hotslab, value);
}

SETTING(hotslab, 0644, 0, 1000000, .fits = hotslab_fits);
MODULE_PARM_DESC(hotslab, "page I/Os a second at which a slab is mapped; 0: at its first (default 2)");

SETTING(coldslab, 0644, 0, 1000000, .fits = coldslab_fits);
MODULE_PARM_DESC(coldslab, "page I/Os a second under which a mapped slab is given back, at most hotslab (or 1); 0: never (default 0)");

static bool headroom_mb_fits(unsigned int value)
{
	unsigned long total = totalram_pages() >> (20 - PAGE_SHIFT);

	if (value < total)
		return true;
	pr_err("headroom_mb: %u is no good; this machine has %lu MiB, give less\n",
	       value, total);
	return false;
}

static bool staging_mb_fits(unsigned int value)
{
	unsigned long most = totalram_pages() >> (22 - PAGE_SHIFT);

	if (value <= most)
		return true;
	pr_err("staging_mb: %u is no good; give at most %lu, a quarter of this machine's memory\n",
	       value, most);
	return false;
}

/* farswapd polls this file once a second; the kernel does not use the value. */
SETTING(headroom_mb, 0644, 0, 1 << 24, .fits = headroom_mb_fits);
MODULE_PARM_DESC(headroom_mb, "memory that farswapd on this machine leaves available, MiB; 0: as its configuration says (default 0)");

static void staging_mb_changed(unsigned int value)
{
	farswap_staging_resize();
}

SETTING(staging_mb, 0644, 0, 1024, .fits = staging_mb_fits,
	.changed = staging_mb_changed);
MODULE_PARM_DESC(staging_mb, "memory for copies of pages that wait for the swap device, MiB; 0: page-outs wait for it (default 1/64 of memory, at most 64)");

SETTING(poll_us, 0644, 0, 1000);
MODULE_PARM_DESC(poll_us, "longest a fault spins for its page, microseconds; 0: never (default 20)");

SETTING(prefetch_pages, 0644, 0, FARSWAP_TREND_MAX);
MODULE_PARM_DESC(prefetch_pages, "pages read ahead of a fault at most, by the trend of faults; 0: the kernel's readahead (default 32)");

SETTING(io_timeout_ms, 0644, 100, 60000,
	.changed = farswap_donors_set_io_timeout);
MODULE_PARM_DESC(io_timeout_ms, "longest a remote I/O may take before its donor is given up (default 1000)");

SETTING(grace_ms, 0644, 0, 600000, .changed = farswap_donors_set_grace);
MODULE_PARM_DESC(grace_ms, "how long a donor whose connection failed may take to come back with what it holds; 0: it has lost it (default 10000)");

SETTING(replicas, 0644, 2, FARSWAP_REPLICAS_MAX);
MODULE_PARM_DESC(replicas, "donors that a page is stored at with backup=replica or replica+disk: 2 or 3 (default 2)");

SETTING(repair_mb, 0644, 1, 100000);
MODULE_PARM_DESC(repair_mb, "how fast what a dead donor had is brought to others, MiB a second (default 64)");

static const char *const backup_names[] = {
	[FARSWAP_BACKUP_DISK]	= "disk",
	[FARSWAP_BACKUP_REPLICA] = "replica",
	[FARSWAP_BACKUP_NONE]	= "none",
	[FARSWAP_BACKUP_REPLICA_DISK] = "replica+disk",
};

static int backup_set(const char *text)
{
	int policy = sysfs_match_string(backup_names, text);

	if (policy < 0) {
		pr_err("backup: \"%.*s\" is no good; give disk, replica, replica+disk or none\n",
		       (int)strcspn(text, "\n"), text);
		return -EINVAL;
	}
	WRITE_ONCE(farswap_settings.backup, policy);
	return 0;
}

static int backup_param_set(const char *text, const struct kernel_param *kp)
{
	return backup_set(text ? text : "");
}

static int backup_param_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", backup_names[farswap_settings.backup]);
}

static const struct kernel_param_ops backup_param_ops = {
	.set	= backup_param_set,
	.get	= backup_param_get,
};
module_param_cb(backup, &backup_param_ops, NULL, 0444);
MODULE_PARM_DESC(backup, "what else keeps a page that is stored remotely: disk, replica (other donors), replica+disk, or none and it is lost with its donor (default disk)");

static ssize_t backup_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return backup_param_get(buf, NULL);
}

static ssize_t backup_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	int err = backup_set(buf);

	return err ? err : count;
}

static struct kobj_attribute backup_attr = __ATTR_RW(backup);

static const char *const compress_names[] = {
	[FARSWAP_COMPRESS_NONE]	= "none",
	[FARSWAP_COMPRESS_LZ4]	= "lz4",
};

static int compress_parse(const char *text)
{
	int compress = sysfs_match_string(compress_names, text);

	if (compress < 0)
		pr_err("compress: \"%.*s\" is no good; give none or lz4\n",
		       (int)strcspn(text, "\n"), text);
	return compress < 0 ? -EINVAL : compress;
}

/* Have the memory and the code that compression needs, before a page is compressed. */
static int compress_set(int compress)
{
	int err = compress == FARSWAP_COMPRESS_NONE ? 0 : farswap_compress_init();

	if (err) {
		pr_err("compress: no memory for the compressor of each processor; pages stay uncompressed\n");
		return err;
	}
	if (compress != FARSWAP_COMPRESS_NONE)
		farswap_pack_use();
	WRITE_ONCE(farswap_settings.compress, compress);
	return 0;
}

/* On the kernel's command line it is too early for compress_set(). */
static int compress_param_set(const char *text, const struct kernel_param *kp)
{
	int compress = compress_parse(text ? text : "");

	if (compress < 0)
		return compress;
	farswap_settings.compress = compress;
	return 0;
}

static int compress_param_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", compress_names[READ_ONCE(farswap_settings.compress)]);
}

static const struct kernel_param_ops compress_param_ops = {
	.set	= compress_param_set,
	.get	= compress_param_get,
};
module_param_cb(compress, &compress_param_ops, NULL, 0444);
MODULE_PARM_DESC(compress, "compress pages before they are stored remotely: none or lz4 (default none)");

static ssize_t compress_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return compress_param_get(buf, NULL);
}

static ssize_t compress_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	int err = compress_parse(buf);

	if (err < 0)
		return err;
	mutex_lock(&settings_lock);
	err = compress_set(err);
	mutex_unlock(&settings_lock);
	return err ? err : count;
}

static struct kobj_attribute compress_attr = __ATTR_RW(compress);

static const char *const protect_names[] = {
	[FARSWAP_PROTECT_NONE]		= "none",
	[FARSWAP_PROTECT_VERIFY]	= "verify",
	[FARSWAP_PROTECT_ENCRYPT]	= "encrypt",
	[FARSWAP_PROTECT_UNSET]		= NULL,
};

static int protect_set(const char *text)
{
	int protect = sysfs_match_string(protect_names, text);

	if (protect < 0) {
		pr_err("protect: \"%.*s\" is no good; give none, verify or encrypt\n",
		       (int)strcspn(text, "\n"), text);
		return -EINVAL;
	}
	WRITE_ONCE(farswap_settings.protect, protect);
	return 0;
}

static int protect_param_set(const char *text, const struct kernel_param *kp)
{
	return protect_set(text ? text : "");
}

static int protect_param_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", protect_names[READ_ONCE(farswap_settings.protect)]);
}

static const struct kernel_param_ops protect_param_ops = {
	.set	= protect_param_set,
	.get	= protect_param_get,
};
module_param_cb(protect, &protect_param_ops, NULL, 0444);
MODULE_PARM_DESC(protect, "what donors can't do with pages: none, verify (return others), or encrypt (nor read them) (default encrypt if the processor has instructions for AES-GCM, else none)");

static ssize_t protect_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return protect_param_get(buf, NULL);
}

/* Donors may have pages that are not protected, or are, as long as farswap is attached. */
static ssize_t protect_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	int err = -EBUSY;

	mutex_lock(&farswap_main_lock);
	if (farswap_attached())
		pr_err("protect: farswap is attached; write 0 to attached first\n");
	else
		err = protect_set(buf);
	mutex_unlock(&farswap_main_lock);
	return err ? err : count;
}

static struct kobj_attribute protect_attr = __ATTR_RW(protect);

static ssize_t cgroups_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return farswap_cgroup_show(buf);
}

static ssize_t cgroups_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	int err = farswap_cgroup_set(buf);

	return err ? err : count;
}

static struct kobj_attribute cgroups_attr = __ATTR_RW(cgroups);

static struct kparam_string settings_donors_string = {
	.maxlen	= sizeof(farswap_settings_donors),
	.string	= farswap_settings_donors,
};
module_param_cb(donors, &param_ops_string, &settings_donors_string, 0400);
MODULE_PARM_DESC(donors, "addresses of donors, with commas between: 10.0.0.2,10.0.0.3:9400");

static ssize_t donors_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	ssize_t len;

	mutex_lock(&farswap_main_lock);
	len = farswap_donors_show(buf);
	mutex_unlock(&farswap_main_lock);
	return len;
}

static ssize_t donors_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	int err;

	mutex_lock(&farswap_main_lock);
	err = farswap_donors_set(buf);
	mutex_unlock(&farswap_main_lock);
	return err ? err : count;
}

/* Only root may see which donors have this machine's pages. */
static struct kobj_attribute donors_attr = __ATTR_RW_MODE(donors, 0600);

static ssize_t attached_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%d\n", farswap_attached());
}

static ssize_t attached_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	bool attach;
	int err;

	/* Accept only 0 and 1, as the other files do: kstrtobool() also accepts "yes". */
	if (sysfs_streq(buf, "1")) {
		attach = true;
	} else if (sysfs_streq(buf, "0")) {
		attach = false;
	} else {
		pr_err("attached: \"%.*s\" is no good; give 1 to attach or 0 to drain and detach\n",
		       (int)strcspn(buf, "\n"), buf);
		return -EINVAL;
	}
	err = attach ? farswap_attach() : farswap_detach();
	return err ? err : count;
}

static struct kobj_attribute attached_attr = __ATTR_RW(attached);

static ssize_t instance_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%016llx\n", farswap_donor_client_instance());
}

/* farswapd reads this file, so that it does not lend memory to its own machine. */
static struct kobj_attribute instance_attr = __ATTR_RO(instance);

static struct attribute *settings_attrs[] = {
	&attached_attr.attr,
	&backup_attr.attr,
	&cgroups_attr.attr,
	&compress_attr.attr,
	&donors_attr.attr,
	&instance_attr.attr,
	&protect_attr.attr,
	&setting_coldslab.attr.attr,
	&setting_enabled.attr.attr,
	&setting_force.attr.attr,
	&setting_grace_ms.attr.attr,
	&setting_headroom_mb.attr.attr,
	&setting_hedge.attr.attr,
	&setting_hotslab.attr.attr,
	&setting_io_timeout_ms.attr.attr,
	&setting_poll_us.attr.attr,
	&setting_prefetch_pages.attr.attr,
	&setting_repair_mb.attr.attr,
	&setting_replicas.attr.attr,
	&setting_slab_mb.attr.attr,
	&setting_staging_mb.attr.attr,
	NULL
};

static const struct attribute_group settings_group = {
	.attrs	= settings_attrs,
};

static struct kobject *settings_kobj;

/**
 * farswap_settings_tell() - pass the settings of the transport to it
 * @transport:	the transport
 *
 * Context: may sleep; under farswap_main_lock, or not.
 */
void farswap_settings_tell(const struct farswap_transport *transport)
{
	mutex_lock(&settings_lock);
	transport->set_io_timeout(farswap_settings.io_timeout_ms);
	transport->set_grace(farswap_settings.grace_ms);
	mutex_unlock(&settings_lock);
}

/**
 * farswap_settings_init() - check the settings and create /sys/kernel/farswap/
 *
 * The parent is kernel_kobj since mm_kobj is not exported.
 *
 * Return: 0 or -errno; -EINVAL for parameters that are not consistent.
 */
int farswap_settings_init(void)
{
	int err;

	if (farswap_settings.staging_mb == FARSWAP_STAGING_UNSET)
		farswap_settings.staging_mb = clamp(totalram_pages() >> (26 - PAGE_SHIFT),
						    1UL, 64UL);
	if (farswap_settings.protect == FARSWAP_PROTECT_UNSET)
		farswap_settings.protect = farswap_cipher_processor_has_aes() ?
			FARSWAP_PROTECT_ENCRYPT : FARSWAP_PROTECT_NONE;
	if (IS_ENABLED(CONFIG_THP_SWAP) && farswap_settings.slab_mb < PMD_SIZE >> 20) {
		pr_err("slab_mb is %u, but a page can be of %lu MiB here: give that much at least\n",
		       farswap_settings.slab_mb, PMD_SIZE >> 20);
		return -EINVAL;
	}
	if (!coldslab_fits(farswap_settings.coldslab) ||
	    !staging_mb_fits(farswap_settings.staging_mb) ||
	    !headroom_mb_fits(farswap_settings.headroom_mb))
		return -EINVAL;
	err = compress_set(farswap_settings.compress);
	if (err)
		return err;
	settings_kobj = kobject_create_and_add("farswap", kernel_kobj);
	if (!settings_kobj)
		return -ENOMEM;
	err = sysfs_create_group(settings_kobj, &settings_group);
	if (err)
		kobject_put(settings_kobj);
	return err;
}

/**
 * farswap_settings_exit() - remove the files, and wait for writes to them to end
 */
void farswap_settings_exit(void)
{
	sysfs_remove_group(settings_kobj, &settings_group);
	kobject_put(settings_kobj);
}

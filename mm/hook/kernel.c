// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers: what the hook, and the core by the hook, use of a stock kernel's swap code, found
 * by name.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/btf.h>
#include <linux/farswap.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/pagemap.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/utsname.h>
#include <linux/vmstat.h>

#include "hook/kernel.h"
#include "hook/symbol.h"

/*
 * Finding the kernel's own functions, and making sure that they are the ones we
 * were made for: that they exist, that their prototypes, read from the kernel's
 * type information, are those we know, and that a call was not inlined.
 *
 * Every call to what is found must be a direct one (a static call): the
 * functions' ENDBR was sealed at boot, so an indirect call faults on CPUs with
 * indirect branch tracking.
 */

#define SYMBOL_PROTOTYPE_BYTES	160
/* How far before a function its call thunk's padding may begin. */
#define SYMBOL_PADDING		16
#define SYMBOL_CALL_BYTES	5
#define SYMBOL_CALL_OPCODE	0xe8

static struct btf *symbol_no_btf(void)
{
	return NULL;
}

static s32 symbol_no_find(const struct btf *btf, const char *name, u8 kind)
{
	return -ENOENT;
}

static const char *symbol_no_name(const struct btf *btf, u32 offset)
{
	return "";
}

static unsigned long symbol_no_lookup(const char *name)
{
	return 0;
}

DEFINE_STATIC_CALL(symbol_lookup, symbol_no_lookup);
DEFINE_STATIC_CALL(symbol_btf, symbol_no_btf);
DEFINE_STATIC_CALL(symbol_btf_find, symbol_no_find);
DEFINE_STATIC_CALL(symbol_btf_name, symbol_no_name);

/**
 * symbol_find() - where a function of the kernel is
 * @name:	its name
 *
 * A kprobe that is never armed resolves the name.
 *
 * Context: may sleep.
 * Return: the address just past ENDBR, if there is one, which is where ftrace
 * calls from; 0 if there is no such function, and then the log says so.
 */
static unsigned long symbol_find(const char *name)
{
	struct kprobe kp = {
		.symbol_name	= name,
		.flags		= KPROBE_FLAG_DISABLED,
	};
	unsigned long address;
	int err = register_kprobe(&kp);

	if (err) {
		pr_err("this kernel has no function %s that can be found (%d): farswap is made for Linux 6.12\n",
		       name, err);
		return 0;
	}
	address = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	return address;
}

/**
 * farswap_symbol_calls() - does one function call another, or is it inlined
 * @caller:	what symbol_find() returned for the one
 * @callee:	the same for the other
 *
 * Context: may sleep.
 * Return: true if there is such a call.
 */
bool farswap_symbol_calls(unsigned long caller, unsigned long callee)
{
	char text[KSYM_SYMBOL_LEN], *slash;
	unsigned long offset, size, at;
	s32 distance;

	/* "name+0x4/0x12f" */
	sprint_symbol(text, caller);
	slash = strrchr(text, '+');
	if (!slash || sscanf(slash, "+%lx/%lx", &offset, &size) != 2)
		return false;

	for (at = caller; at + SYMBOL_CALL_BYTES <= caller - offset + size; at++) {
		unsigned long target;

		if (*(const u8 *)at != SYMBOL_CALL_OPCODE)
			continue;
		memcpy(&distance, (const void *)(at + 1), sizeof(distance));
		target = at + SYMBOL_CALL_BYTES + distance;
		if (target <= callee && target + SYMBOL_PADDING + 4 >= callee)
			return true;
	}
	return false;
}

static bool symbol_is_qualifier(const struct btf_type *type)
{
	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return true;
	}
	return false;
}

/* The name of a type: structs, enums, typedefs and numbers by name, pointers. */
static void symbol_type(const struct btf *btf, u32 id, char *text)
{
	const struct btf_type *type = btf_type_by_id(btf, id);
	unsigned int stars = 0;

	while (type && (btf_type_is_ptr(type) || symbol_is_qualifier(type))) {
		if (btf_type_is_ptr(type))
			stars++;
		id = type->type;
		type = btf_type_by_id(btf, id);
	}
	strlcat(text, id && type ? static_call(symbol_btf_name)(btf, type->name_off) :
		"void", SYMBOL_PROTOTYPE_BYTES);
	while (stars--)
		strlcat(text, "*", SYMBOL_PROTOTYPE_BYTES);
}

static bool symbol_prototype(const struct btf *btf, const char *name, char *text)
{
	s32 id = static_call(symbol_btf_find)(btf, name, BTF_KIND_FUNC);
	const struct btf_type *func, *proto;
	const struct btf_param *param;
	unsigned int i;

	func = id > 0 ? btf_type_by_id(btf, id) : NULL;
	proto = func ? btf_type_by_id(btf, func->type) : NULL;
	if (!proto)
		return false;
	param = (const struct btf_param *)(proto + 1);
	symbol_type(btf, proto->type, text);
	strlcat(text, "(", SYMBOL_PROTOTYPE_BYTES);
	for (i = 0; i < btf_type_vlen(proto); i++) {
		if (i)
			strlcat(text, ",", SYMBOL_PROTOTYPE_BYTES);
		symbol_type(btf, param[i].type, text);
	}
	strlcat(text, ")", SYMBOL_PROTOTYPE_BYTES);
	return true;
}

/**
 * symbol_check() - is a function's prototype the one we know
 * @name:	the function
 * @prototype:	return type and parameters, as in "void(folio*,int)"
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if it differs or is not known, and the log says so.
 */
static int symbol_check(const char *name, const char *prototype)
{
	struct btf *btf = static_call(symbol_btf)();
	char text[SYMBOL_PROTOTYPE_BYTES] = "";

	if (IS_ERR_OR_NULL(btf)) {
		pr_err("this kernel has no type information (CONFIG_DEBUG_INFO_BTF), so %s can't be checked: not attached\n",
		       name);
		return -EOPNOTSUPP;
	}
	if (symbol_prototype(btf, name, text) && !strcmp(text, prototype))
		return 0;
	pr_err("%s is %s in this kernel, farswap is made for %s: not attached\n",
	       name, *text ? text : "of unknown type", prototype);
	return -EOPNOTSUPP;
}

/**
 * farswap_symbol_get() - find a function, and make sure that it is what we think
 * @name:	the function
 * @prototype:	as for symbol_check()
 * @address:	gets what symbol_find() returns
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP, and the log says why.
 */
int farswap_symbol_get(const char *name, const char *prototype, unsigned long *address)
{
	*address = symbol_find(name);
	return *address ? symbol_check(name, prototype) : -EOPNOTSUPP;
}

/**
 * symbol_data() - where a variable of the kernel is
 * @name:	its name
 *
 * Context: may sleep.
 * Return: its address; NULL if the kernel doesn't tell, which it need not.
 */
static const void *symbol_data(const char *name)
{
	return (const void *)static_call(symbol_lookup)(name);
}

/*
 * kernel.org's 6.12 releases as they are, and Debian's: "6.12.90", "6.12.43+deb13-amd64". Others
 * call a kernel 6.12 that has parts of later ones; names and prototypes don't show that.
 */
static bool symbol_release_is_known(const char *release)
{
	static const char *const debian[] = { "+deb", "+bpo" };
	unsigned int number, i;
	int length;

	if (sscanf(release, "6.12.%u%n", &number, &length) != 1)
		return false;
	release += length;
	if (!*release)
		return true;
	for (i = 0; i < ARRAY_SIZE(debian); i++) {
		size_t prefix = str_has_prefix(release, debian[i]);

		if (prefix) {
			release += prefix;
			release += strspn(release, "0123456789");
			break;
		}
	}
	return !strcmp(release, "-amd64") || !strcmp(release, "-cloud-amd64");
}

/**
 * farswap_symbol_release() - is this a release that farswap is made for
 * @force:	the user says that it is
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if not, and the log says so.
 */
int farswap_symbol_release(bool force)
{
	const char *release = init_utsname()->release;

	if (symbol_release_is_known(release))
		return 0;
	if (!force) {
		pr_err("Linux %s is neither kernel.org's nor Debian's 6.12, so its swap code may differ: not attached; force=1 attaches to it\n",
		       release);
		return -EOPNOTSUPP;
	}
	pr_warn("Linux %s is neither kernel.org's nor Debian's 6.12: attaching, as force=1 says\n",
		release);
	return 0;
}

/**
 * farswap_symbol_init() - find what the checks need
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP.
 */
int farswap_symbol_init(void)
{
	unsigned long btf = symbol_find("bpf_get_btf_vmlinux");
	unsigned long find = symbol_find("btf_find_by_name_kind");
	unsigned long name = symbol_find("btf_name_by_offset");
	unsigned long lookup;
	int err;

	if (!btf || !find || !name)
		return -EOPNOTSUPP;
	static_call_update(symbol_btf, (void *)btf);
	static_call_update(symbol_btf_find, (void *)find);
	static_call_update(symbol_btf_name, (void *)name);
	err = farswap_symbol_get("kallsyms_lookup_name", "long unsigned int(char*)", &lookup);
	if (!err)
		static_call_update(symbol_lookup, (void *)lookup);
	return err;
}

/* The kernel's own, where it can't be found. */
#define HELPER_PAGE_CLUSTER	3

/* setup_clusters() begins in each of them before it goes on in the first. */
#define HELPER_STRIDE_SHIFT	14

struct swap_iocb;

static struct folio *no_read_async(swp_entry_t entry, gfp_t gfp,
				   struct vm_area_struct *vma, unsigned long addr,
				   struct swap_iocb **plug)
{
	return NULL;
}

static struct folio *no_cached(swp_entry_t entry, struct vm_area_struct *vma,
			       unsigned long addr)
{
	return NULL;
}

static struct swap_info_struct *no_info(swp_entry_t entry) { return NULL; }
static void no_swapin(struct folio *folio) {}
static unsigned long no_pages(void) { return 0; }
static void no_unplug(struct swap_iocb *plug) {}
static void no_read(struct folio *folio, struct swap_iocb **plug) {}
static void no_lock_slots(void) {}

DEFINE_STATIC_CALL(helper_read_async, no_read_async);
DEFINE_STATIC_CALL(helper_cached, no_cached);
DEFINE_STATIC_CALL(helper_info, no_info);
DEFINE_STATIC_CALL(helper_get_device, no_info);
DEFINE_STATIC_CALL(helper_swapin, no_swapin);
DEFINE_STATIC_CALL(helper_zswap_pages, no_pages);
DEFINE_STATIC_CALL(helper_unplug, no_unplug);
DEFINE_STATIC_CALL(helper_lock_slots, no_lock_slots);
DEFINE_STATIC_CALL(farswap_kernel_read, no_read);

/* vm.page-cluster */
static const int *helper_cluster;

/**
 * farswap_helpers_find() - find them, and make sure that they are those we know
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP, and the log says why.
 */
int farswap_helpers_find(void)
{
	static const struct {
		const char *name;
		const char *prototype;
	} helpers[] = {
		{ "read_swap_cache_async",
		  "folio*(swp_entry_t,gfp_t,vm_area_struct*,long unsigned int,swap_iocb**)" },
		{ "swp_swap_info", "swap_info_struct*(swp_entry_t)" },
		{ "get_swap_device", "swap_info_struct*(swp_entry_t)" },
		{ "zswap_folio_swapin", "void(folio*)" },
		{ "zswap_total_pages", "long unsigned int()" },
		{ "__swap_read_unplug", "void(swap_iocb*)" },
		{ "disable_swap_slots_cache_lock", "void()" },
		{ "swap_cache_get_folio", "folio*(swp_entry_t,vm_area_struct*,long unsigned int)" },
	};
	unsigned long ip[ARRAY_SIZE(helpers)];
	int i, err;

	for (i = 0; i < ARRAY_SIZE(helpers); i++) {
		err = farswap_symbol_get(helpers[i].name, helpers[i].prototype, &ip[i]);
		if (err)
			return err;
	}
	static_call_update(helper_read_async, (void *)ip[0]);
	static_call_update(helper_info, (void *)ip[1]);
	static_call_update(helper_get_device, (void *)ip[2]);
	static_call_update(helper_swapin, (void *)ip[3]);
	static_call_update(helper_zswap_pages, (void *)ip[4]);
	static_call_update(helper_unplug, (void *)ip[5]);
	static_call_update(helper_lock_slots, (void *)ip[6]);
	static_call_update(helper_cached, (void *)ip[7]);
	helper_cluster = symbol_data("page_cluster");
	return 0;
}

/**
 * farswap_helper_page_cluster() - vm.page-cluster
 *
 * Context: any.
 * Return: it; 0: nothing is to be read ahead. What it is by default, in a kernel that keeps it
 * to itself (without CONFIG_KALLSYMS_ALL).
 */
int farswap_helper_page_cluster(void)
{
	return helper_cluster ? READ_ONCE(*helper_cluster) : HELPER_PAGE_CLUSTER;
}

/**
 * farswap_helper_info() - the device of a swap entry
 * @entry:	the entry
 *
 * Context: any.
 * Return: the device; NULL if there never was any of that type.
 */
struct swap_info_struct *farswap_helper_info(swp_entry_t entry)
{
	return static_call(helper_info)(entry);
}

/**
 * farswap_helper_get_device() - the same, kept by a reference
 * @entry:	the entry
 *
 * Context: any.
 * Return: the device, for put_swap_device(); NULL if it is not in use.
 */
struct swap_info_struct *farswap_helper_get_device(swp_entry_t entry)
{
	return static_call(helper_get_device)(entry);
}

/**
 * farswap_helper_lock_slots() - free what CPUs keep back of freed slots, and all from now on
 *
 * Until the kernel's reenable_swap_slots_cache_unlock().
 *
 * Context: may sleep.
 */
void farswap_helper_lock_slots(void)
{
	static_call(helper_lock_slots)();
}

/**
 * farswap_hook_count() - account for a folio that farswap takes
 * @folio:	locked, before its writeback begins
 *
 * The counters of cgroups and of folio sizes can't be reached from here.
 *
 * Context: any.
 */
void farswap_hook_count(struct folio *folio)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	if (folio_test_pmd_mappable(folio))
		count_vm_event(THP_SWPOUT);
#endif
	count_vm_events(PSWPOUT, folio_nr_pages(folio));
}

/**
 * farswap_hook_read() - read a folio as if farswap were not there
 * @folio:	locked, in the swap cache, not up to date
 *
 * Context: may sleep. Whoever calls it is waited for before the hook goes.
 */
void farswap_hook_read(struct folio *folio)
{
	static_call(farswap_kernel_read)(folio, NULL);
}

/**
 * farswap_hook_read_async() - begin to read a page into the swap cache
 * @entry:	a swap entry
 * @gfp:	how to allocate memory
 * @vma:	the area it belongs to
 * @address:	its place there
 * @urgent:	a task is about to wait for it
 *
 * Context: may sleep, for memory.
 * Return: its folio, with a reference, read or to be read by somebody; NULL without memory,
 * or if the entry is not in use any more.
 */
struct folio *farswap_hook_read_async(swp_entry_t entry, gfp_t gfp, struct vm_area_struct *vma,
				      unsigned long address, bool urgent)
{
	struct swap_iocb *plug = NULL;
	struct folio *folio;

	folio = static_call(helper_read_async)(entry, gfp, vma, address, urgent ? NULL : &plug);
	/* The entry's device may have gone, and another come, on a network's file system. */
	if (unlikely(plug))
		static_call(helper_unplug)(plug);
	return folio;
}

/**
 * farswap_hook_entry() - the swap entry of a page table's
 * @pte:	the page table's
 * @entry:	gets the swap entry
 *
 * Context: any.
 * Return: whether it is one, of a swap device.
 */
bool farswap_hook_entry(pte_t pte, swp_entry_t *entry)
{
	if (!is_swap_pte(pte))
		return false;
	*entry = pte_to_swp_entry(pte);
	return !non_swap_entry(*entry);
}

/**
 * farswap_hook_swapin() - tell zswap that a page came from below it
 * @folio:	locked
 *
 * Context: may sleep.
 */
void farswap_hook_swapin(struct folio *folio)
{
	static_call(helper_swapin)(folio);
}

/**
 * farswap_hook_loaded() - account for a folio that farswap has read
 * @folio:	locked
 *
 * Context: any.
 */
void farswap_hook_loaded(struct folio *folio)
{
	count_vm_events(PSWPIN, folio_nr_pages(folio));
}

/**
 * farswap_hook_give_up() - have a large folio read page by page; not that there are any
 * @folio:	locked, not up to date
 *
 * Context: any.
 */
void farswap_hook_give_up(struct folio *folio)
{
	folio_end_read(folio, false);
}

/**
 * farswap_hook_slot() - what the kernel knows of a slot
 * @si:		the device
 * @offset:	the slot, less than the device's size
 *
 * Context: any, until farswap_swapoff() has returned.
 * Return: flags of enum farswap_slot_flags; 0 while the device is neither on nor being
 * emptied.
 */
unsigned int farswap_hook_slot(struct swap_info_struct *si, pgoff_t offset)
{
	unsigned int slot = 0;
	unsigned char count;

	/* A swapoff that the hook is not there to hear of waits for this, too. */
	if (!percpu_ref_tryget_live(&si->users))
		return 0;
	count = READ_ONCE(si->swap_map[offset]);
	if (count && count != SWAP_MAP_BAD)
		slot |= FARSWAP_SLOT_USED;
	if (count & SWAP_HAS_CACHE)
		slot |= FARSWAP_SLOT_CACHED;
	if (test_bit(offset, si->zeromap))
		slot |= FARSWAP_SLOT_ZERO;
	percpu_ref_put(&si->users);
	return slot;
}

/**
 * farswap_hook_keep() - have a page stored again that is still in memory
 * @si:		the device
 * @offset:	the slot, less than the device's size
 *
 * Reclaim drops a clean folio of the swap cache without a store. It checks the dirty flag after it
 * has frozen the reference count, so a folio that is marked here while a reference is held is
 * stored first. The folio's lock is not taken: its holder may be waiting for the caller.
 *
 * Context: any but interrupts, until farswap_swapoff() has returned.
 * Return: false if the slot is used and its page is not in memory.
 */
bool farswap_hook_keep(struct swap_info_struct *si, pgoff_t offset)
{
	struct folio *folio = NULL;
	unsigned char count;
	bool kept;

	if (!percpu_ref_tryget_live(&si->users))
		return false;
	count = READ_ONCE(si->swap_map[offset]);
	/* Without a user the slot waits in a cache of free slots, or its folio will be dropped. */
	kept = count == SWAP_HAS_CACHE;
	if (count & SWAP_HAS_CACHE)
		folio = static_call(helper_cached)(swp_entry(si->type, offset), NULL, 0);
	if (folio) {
		/* Without this flag the page has not been read, or could not be. */
		if (folio_test_uptodate(folio)) {
			folio_mark_dirty(folio);
			kept = true;
		}
		folio_put(folio);
	}
	percpu_ref_put(&si->users);
	return kept;
}

/**
 * farswap_hook_zero() - does a slot hold zeroes, of which the kernel keeps a mark only
 * @si:		the device
 * @offset:	the slot, in use
 *
 * Context: any.
 * Return: whether it does.
 */
bool farswap_hook_zero(struct swap_info_struct *si, pgoff_t offset)
{
	return test_bit(offset, si->zeromap);
}

/**
 * farswap_hook_stride() - in which order the kernel hands out a new device's clusters
 * @si:		the device
 *
 * Context: any.
 * Return: log2 of the slots between two of them; 0: as they are.
 */
unsigned int farswap_hook_stride(const struct swap_info_struct *si)
{
	/* What else is in the flags changes. */
	return data_race(si->flags) & SWP_SOLIDSTATE ? HELPER_STRIDE_SHIFT : 0;
}

/**
 * farswap_hook_zswap_holds() - has zswap pages just now, perhaps since before the hook was
 * there
 *
 * Context: any.
 * Return: whether it has.
 */
bool farswap_hook_zswap_holds(void)
{
	return static_call(helper_zswap_pages)();
}

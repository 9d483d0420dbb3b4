// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of a stock kernel's swap code that the hook uses, for itself and for the core. They are
 * found by name, checked, and wrapped in helpers.
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
 * Symbols: finds functions of the kernel and checks that they are those that farswap was made for.
 * They must exist, their prototypes, read from the kernel's type information (BTF), must be the
 * expected ones, and a certain call must not be inlined.
 *
 * Every call of such a function must be a direct one (a static call): the function's ENDBR was
 * sealed at boot, so an indirect call faults on a CPU with indirect branch tracking.
 */

#define SYMBOL_PROTOTYPE_BYTES	160
/* Limit of the distance from the padding of a function's call thunk to the function, bytes. */
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
 * symbol_find() - find a function of the kernel
 * @name:	name of the function
 *
 * A kprobe that is never armed resolves the name.
 *
 * Context: may sleep.
 * Return: the address past the function's ENDBR, if there is one; ftrace calls from there. 0 if
 * there is no such function; the log has the reason.
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
 * farswap_symbol_calls() - check that a function calls another one and does not have it inlined
 * @caller:	address of the first function, from farswap_symbol_get()
 * @callee:	address of the second function, from farswap_symbol_get()
 *
 * Context: may sleep.
 * Return: true if there is such a call.
 */
bool farswap_symbol_calls(unsigned long caller, unsigned long callee)
{
	char text[KSYM_SYMBOL_LEN], *slash;
	unsigned long offset, size, at;
	s32 distance;

	/* The text has the form "name+0x4/0x12f". */
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

/* Append the name of a type to @text: a struct, enum, typedef or number, and a star per pointer. */
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
 * symbol_check() - check the prototype of a function
 * @name:	name of the function
 * @prototype:	expected return type and parameters, as in "void(folio*,int)"
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if the prototype differs or is unknown; the log has the reason.
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
 * farswap_symbol_get() - find a function of the kernel and check its prototype
 * @name:	name of the function
 * @prototype:	expected prototype, as for symbol_check()
 * @address:	set to the result of symbol_find()
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP; the log has the reason.
 */
int farswap_symbol_get(const char *name, const char *prototype, unsigned long *address)
{
	*address = symbol_find(name);
	return *address ? symbol_check(name, prototype) : -EOPNOTSUPP;
}

/**
 * symbol_data() - find a variable of the kernel
 * @name:	name of the variable
 *
 * Context: may sleep.
 * Return: address of the variable; NULL if the kernel does not tell it; the caller needs a default.
 */
static const void *symbol_data(const char *name)
{
	return (const void *)static_call(symbol_lookup)(name);
}

/*
 * The known releases are kernel.org's 6.12, unchanged, and Debian's: "6.12.90",
 * "6.12.43+deb13-amd64". Other vendors' 6.12 kernels have parts of later ones; names and prototypes
 * don't show that.
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
 * farswap_symbol_release() - check that farswap is made for the running release
 * @force:	the user asks to accept any release
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if it is not; the log has the reason.
 */
int farswap_symbol_release(bool force)
{
	const char *release = init_utsname()->release;

	if (symbol_release_is_known(release))
		return 0;
	if (!force) {
		pr_err("Linux %s is neither kernel.org's nor Debian's 6.12, so its swap code may differ: not attached; boot Debian's linux-image-6.12, or force=1 attaches to it\n",
		       release);
		return -EOPNOTSUPP;
	}
	pr_warn("Linux %s is neither kernel.org's nor Debian's 6.12: attaching, as force=1 says\n",
		release);
	return 0;
}

/**
 * farswap_symbol_init() - find the functions that the checks need
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP; the log has the reason.
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

/*
 * Helpers: wrap the functions that were found, for the hook and for the core.
 */

/* Default of vm.page-cluster, in case the variable can't be found. */
#define HELPER_PAGE_CLUSTER	3

/*
 * log2 of the slots in a range. setup_clusters() takes the first cluster of every range before the
 * second one of any.
 */
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

static struct folio *no_read_begin(swp_entry_t entry, gfp_t gfp, struct mempolicy *mpol,
				   pgoff_t ilx, bool *allocated, bool skip)
{
	*allocated = false;
	return NULL;
}

static struct swap_info_struct *no_info(swp_entry_t entry) { return NULL; }
static void no_swapin(struct folio *folio) {}
static void no_delete(struct folio *folio) {}
static unsigned long no_pages(void) { return 0; }
static void no_unplug(struct swap_iocb *plug) {}
static void no_read(struct folio *folio, struct swap_iocb **plug) {}
static void no_lock_slots(void) {}

DEFINE_STATIC_CALL(helper_read_async, no_read_async);
DEFINE_STATIC_CALL(helper_read_begin, no_read_begin);
DEFINE_STATIC_CALL(helper_cached, no_cached);
DEFINE_STATIC_CALL(helper_info, no_info);
DEFINE_STATIC_CALL(helper_get_device, no_info);
DEFINE_STATIC_CALL(helper_swapin, no_swapin);
DEFINE_STATIC_CALL(helper_delete, no_delete);
DEFINE_STATIC_CALL(helper_zswap_pages, no_pages);
DEFINE_STATIC_CALL(helper_unplug, no_unplug);
DEFINE_STATIC_CALL(helper_lock_slots, no_lock_slots);
DEFINE_STATIC_CALL(farswap_kernel_read, no_read);

/* The kernel's vm.page-cluster, or NULL. */
static const int *helper_cluster;

/**
 * farswap_helpers_find() - find the functions that the helpers call and check their prototypes
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP; the log has the reason.
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
		{ "__read_swap_cache_async",
		  "folio*(swp_entry_t,gfp_t,mempolicy*,long unsigned int,bool*,bool)" },
		{ "delete_from_swap_cache", "void(folio*)" },
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
	static_call_update(helper_read_begin, (void *)ip[8]);
	static_call_update(helper_delete, (void *)ip[9]);
	helper_cluster = symbol_data("page_cluster");
	return 0;
}

/**
 * farswap_helper_page_cluster() - get vm.page-cluster
 *
 * Context: any.
 * Return: its value; 0 disables readahead. The default if the kernel does not tell the address of
 * the variable (without CONFIG_KALLSYMS_ALL).
 */
int farswap_helper_page_cluster(void)
{
	return helper_cluster ? READ_ONCE(*helper_cluster) : HELPER_PAGE_CLUSTER;
}

/**
 * farswap_helper_info() - get the device of a swap entry
 * @entry:	the swap entry
 *
 * Context: any.
 * Return: the device, without a reference; NULL if there never was a device of that type.
 */
struct swap_info_struct *farswap_helper_info(swp_entry_t entry)
{
	return static_call(helper_info)(entry);
}

/**
 * farswap_helper_get_device() - get the device of a swap entry, with a reference
 * @entry:	the swap entry
 *
 * Context: any.
 * Return: the device, for put_swap_device(); NULL if it is not in use.
 */
struct swap_info_struct *farswap_helper_get_device(swp_entry_t entry)
{
	return static_call(helper_get_device)(entry);
}

/**
 * farswap_helper_lock_slots() - free the slots that CPUs cache, and stop the caching
 *
 * The kernel's reenable_swap_slots_cache_unlock() ends this state.
 *
 * Context: may sleep.
 */
void farswap_helper_lock_slots(void)
{
	static_call(helper_lock_slots)();
}

/**
 * farswap_hook_count() - account for a page-out by farswap
 * @folio:	the folio, locked, before its writeback begins
 *
 * The counters of cgroups and of folio sizes can't be reached from a module.
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
 * farswap_hook_read() - read a folio as the kernel does without farswap
 * @folio:	locked, in the swap cache, not up to date
 *
 * Context: may sleep. The hook is detached only after all callers have left.
 */
void farswap_hook_read(struct folio *folio)
{
	static_call(farswap_kernel_read)(folio, NULL);
}

/**
 * farswap_hook_read_async() - begin to read a page into the swap cache
 * @entry:	swap entry of the page
 * @gfp:	how to allocate memory
 * @vma:	area that the page belongs to
 * @address:	address of the page in @vma
 * @urgent:	a task is about to wait for the page
 *
 * Context: may sleep for memory.
 * Return: the folio, with a reference; it has been read, or its read is in flight. NULL without
 * memory, or if the entry is not in use any more.
 */
struct folio *farswap_hook_read_async(swp_entry_t entry, gfp_t gfp, struct vm_area_struct *vma,
				      unsigned long address, bool urgent)
{
	struct swap_iocb *plug = NULL;
	struct folio *folio;

	folio = static_call(helper_read_async)(entry, gfp, vma, address, urgent ? NULL : &plug);
	/* The entry's device may have been replaced by a swap file on a network file system. */
	if (unlikely(plug))
		static_call(helper_unplug)(plug);
	return folio;
}

/**
 * farswap_helper_read_begin() - put a new folio for a page into the swap cache
 * @entry:	swap entry of the page
 * @gfp:	how to allocate memory
 * @mpol:	where to allocate it
 * @ilx:	the page's index for @mpol
 *
 * Context: may sleep for memory.
 * Return: the folio, locked and with a reference, which the caller must read. NULL without memory,
 * or if the swap cache has a folio already.
 */
struct folio *farswap_helper_read_begin(swp_entry_t entry, gfp_t gfp, struct mempolicy *mpol,
					pgoff_t ilx)
{
	struct folio *folio;
	bool allocated;

	folio = static_call(helper_read_begin)(entry, gfp, mpol, ilx, &allocated, true);
	if (!folio)
		return NULL;
	if (!allocated) {
		folio_put(folio);
		return NULL;
	}
	return folio;
}

/**
 * farswap_hook_entry() - get the swap entry of a page table entry
 * @pte:	the page table entry
 * @entry:	set to the swap entry
 *
 * Context: any.
 * Return: true if @pte is the swap entry of a swap device.
 */
bool farswap_hook_entry(pte_t pte, swp_entry_t *entry)
{
	if (!is_swap_pte(pte))
		return false;
	*entry = pte_to_swp_entry(pte);
	return !non_swap_entry(*entry);
}

/**
 * farswap_hook_swapin() - notify zswap of a page-in from below it
 * @folio:	the folio, locked
 *
 * Context: may sleep.
 */
void farswap_hook_swapin(struct folio *folio)
{
	static_call(helper_swapin)(folio);
}

/**
 * farswap_hook_loaded() - account for a page-in by farswap
 * @folio:	the folio, locked
 *
 * Context: any.
 */
void farswap_hook_loaded(struct folio *folio)
{
	count_vm_events(PSWPIN, folio_nr_pages(folio));
}

/**
 * farswap_hook_give_up() - end the read of a large folio, to read its pages one by one
 * @folio:	locked, not up to date
 *
 * In this mode of the hook there are no large folios to read.
 *
 * Context: any.
 */
void farswap_hook_give_up(struct folio *folio)
{
	folio_end_read(folio, false);
}

/**
 * farswap_hook_abandon() - remove a folio from the swap cache before it has been read
 * @folio:	locked, in the swap cache, not up to date; the caller holds a reference
 *
 * Faults and readers of shared memory that wait for the folio's lock see that it is not in the swap
 * cache any more, and look again. A swapoff does not: it takes a folio without contents for a read
 * error.
 *
 * Context: process context; does not sleep.
 * Return: true if the folio was unlocked. False if it was not, because a swapoff may wait for it:
 * the caller must unlock it when it has its contents.
 */
bool farswap_hook_abandon(struct folio *folio)
{
	const struct swap_info_struct *si = static_call(helper_info)(folio->swap);

	static_call(helper_delete)(folio);
	/*
	 * The swap cache is written before the flags are read. A swapoff clears the flag before it
	 * looks into the swap cache, with full barriers between, so if it has found the folio the
	 * flag is clear here.
	 */
	smp_mb();
	/* The other flags may change concurrently. */
	if (!(data_race(si->flags) & SWP_WRITEOK))
		return false;
	folio_unlock(folio);
	return true;
}

/**
 * farswap_hook_slot() - get the kernel's state of a slot
 * @si:		the swap device
 * @offset:	offset of the slot, less than the size of the device
 *
 * Context: any, until farswap_swapoff() has returned.
 * Return: flags of enum farswap_slot_flags; 0 unless the device is active or being swapped off.
 */
unsigned int farswap_hook_slot(struct swap_info_struct *si, pgoff_t offset)
{
	unsigned int slot = 0;
	unsigned char count;

	/* A swapoff waits for this reference, even if the hook is not notified of it. */
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
 * farswap_hook_keep() - mark a page that is still in memory, so that it is stored again
 * @si:		the swap device
 * @offset:	offset of the slot, less than the size of the device
 *
 * Reclaim drops a clean folio of the swap cache without a store. It checks the dirty flag after it
 * has frozen the reference count, so a folio that is marked here, with a reference, is stored
 * first. The function does not lock the folio, because the holder of that lock may wait for the
 * caller.
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
	/* A slot without a user is in the cache of free slots, or its folio will be dropped. */
	kept = count == SWAP_HAS_CACHE;
	if (count & SWAP_HAS_CACHE)
		folio = static_call(helper_cached)(swp_entry(si->type, offset), NULL, 0);
	if (folio) {
		/* Without this flag the page has not been read, or its read has failed. */
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
 * farswap_hook_zero() - check whether a slot is a zero page, which the kernel keeps only as a flag
 * @si:		the swap device
 * @offset:	offset of the slot, in use
 *
 * Context: any.
 * Return: true if it is.
 */
bool farswap_hook_zero(struct swap_info_struct *si, pgoff_t offset)
{
	return test_bit(offset, si->zeromap);
}

/**
 * farswap_hook_stride() - tell in which order the kernel uses the clusters of a new device
 * @si:		the swap device
 *
 * Context: any.
 * Return: log2 of the slots between consecutive clusters; 0 if they are used in order.
 */
unsigned int farswap_hook_stride(const struct swap_info_struct *si)
{
	/* Only the other flags change concurrently. */
	return data_race(si->flags) & SWP_SOLIDSTATE ? HELPER_STRIDE_SHIFT : 0;
}

/**
 * farswap_hook_zswap_holds() - check whether zswap holds pages
 *
 * Such pages may be older than the hook.
 *
 * Context: any.
 * Return: true if zswap holds pages now.
 */
bool farswap_hook_zswap_holds(void)
{
	return static_call(helper_zswap_pages)();
}

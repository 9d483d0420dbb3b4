// SPDX-License-Identifier: GPL-2.0
/*
 * Finding the kernel's own functions, and making sure that they are the ones we
 * were made for: that they exist, that their prototypes, read from the kernel's
 * type information, are those we know, and that a call was not inlined.
 *
 * Every call to what is found must be a direct one (a static call): the
 * functions' ENDBR was sealed at boot, so an indirect call faults on CPUs with
 * indirect branch tracking.
 */
#define pr_fmt(fmt) "farswap: " fmt

#include <linux/btf.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "hook/symbol.h"

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
 * farswap_symbol_find() - where a function of the kernel is
 * @name:	its name
 *
 * A kprobe that is never armed resolves the name.
 *
 * Context: may sleep.
 * Return: the address just past ENDBR, if there is one, which is where ftrace
 * calls from; 0 if there is no such function, and then the log says so.
 */
unsigned long farswap_symbol_find(const char *name)
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
 * @caller:	what farswap_symbol_find() returned for the one
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
 * farswap_symbol_check() - is a function's prototype the one we know
 * @name:	the function
 * @prototype:	return type and parameters, as in "void(folio*,int)"
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if it differs or is not known, and the log says so.
 */
int farswap_symbol_check(const char *name, const char *prototype)
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
 * @prototype:	as for farswap_symbol_check()
 * @address:	gets what farswap_symbol_find() returns
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP, and the log says why.
 */
int farswap_symbol_get(const char *name, const char *prototype, unsigned long *address)
{
	*address = farswap_symbol_find(name);
	return *address ? farswap_symbol_check(name, prototype) : -EOPNOTSUPP;
}

/**
 * farswap_symbol_data() - where a variable of the kernel is
 * @name:	its name
 *
 * Context: may sleep.
 * Return: its address; NULL if the kernel doesn't tell, which it need not.
 */
const void *farswap_symbol_data(const char *name)
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
	unsigned long btf = farswap_symbol_find("bpf_get_btf_vmlinux");
	unsigned long find = farswap_symbol_find("btf_find_by_name_kind");
	unsigned long name = farswap_symbol_find("btf_name_by_offset");
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

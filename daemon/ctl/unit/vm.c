// SPDX-License-Identifier: GPL-2.0
/*
 * The commands for virtual machines. Those for units do the work.
 */
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/unit/unit.h"

struct vm_names {
	char text[512];
	size_t length;
};

static void vm_add_name(const struct machine *machine, void *arg)
{
	struct vm_names *names = arg;

	if (names->length < sizeof(names->text) - 1)
		names->length += snprintf(names->text + names->length,
					  sizeof(names->text) - names->length, "%s%s",
					  names->length ? ", " : "", machine->name);
}

static void vm_require(const char *name)
{
	struct vm_names names = { 0 };
	struct machine machine;

	if (machine_find(&machine, name))
		return;
	machine_each(vm_add_name, &names);
	ctl_fail(CTL_UNKNOWN, "there is no virtual machine '%s'; there %s%s", name,
		 names.length ? "are: " : "are none", names.text);
}

int cmd_vm(char **args, unsigned int nr)
{
	static const struct {
		const char *verb;
		const char *command;
		const char *args;
		unsigned int nr;
	} verbs[] = {
		{ "size", "shrink", "NAME SIZE", 2 },
		{ "min", "shrink", "NAME", 1 },
		{ "grow", "grow", "NAME SIZE|max", 2 },
		{ "pull", "pull", "NAME", 1 },
		{ "wss", "wss", "NAME", 1 },
		{ "hotplug", "hotplug", "NAME SIZE", 2 },
	};
	char *least[] = { nr > 1 ? args[1] : NULL, (char *)"min" };
	const struct ctl_command *command;
	unsigned int i;

	if (!strcmp(args[0], "list")) {
		if (nr > 1)
			ctl_fail(CTL_UNKNOWN, "unexpected argument '%s'", args[1]);
		return machine_list();
	}
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(args[0], verbs[i].verb))
			break;
	if (i == ARRAY_SIZE(verbs))
		ctl_fail(CTL_UNKNOWN, "vm: unknown word '%s' (list, size, min, grow, pull, wss or hotplug)",
			 args[0]);
	if (nr != verbs[i].nr + 1)
		ctl_fail(CTL_UNKNOWN, "vm %s: wrong number of arguments (%s)", args[0],
			 verbs[i].args);
	command = ctl_find_command(verbs[i].command);
	ctl_check_options(command);
	vm_require(args[1]);
	if (!strcmp(args[0], "min"))
		return command->run(least, 2);
	return command->run(args + 1, nr - 1);
}

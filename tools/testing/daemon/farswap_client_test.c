// SPDX-License-Identifier: GPL-2.0
/*
 * farswap-client, with a directory instead of the kernel's: which values it writes, and what it
 * says of a setting that is wrong.
 */
#define CLIENT_SYSFS "sysfs"
#define CLIENT_SWAPS "swaps"
#define CLIENT_MODULES "modules"
#define CLIENT_RELEASE "release"
#define CLIENT_LOCKDOWN "lockdown"
#define CLIENT_SIGNED "signed"
#define main client_main
#include "farswap-client.c"
#undef main
#include "config-file.c"
#include "key.c"
#include "keyring.c"

#include <sys/stat.h>

#include "tap.h"

static char said[1024];

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static bool has(const char *path, const char *text)
{
	char buf[256] = "";
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	if (!fgets(buf, sizeof(buf), file))
		buf[0] = '\0';
	fclose(file);
	buf[strcspn(buf, "\n")] = '\0';
	return !strcmp(buf, text);
}

/* Return the exit status; what it printed is in said[]. */
static int run(const char *verb)
{
	char *argv[] = { "farswap-client", "-f", "conf", (char *)verb, NULL };
	int pipes[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(pipes))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], STDERR_FILENO);
		optind = 1;
		exit(client_main(4, argv));
	}
	close(pipes[1]);
	n = read(pipes[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	close(pipes[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void kernel(const char *enabled, const char *attached)
{
	put("sysfs/donors", "          \n");
	put("sysfs/poll_us", "20\n");
	put("sysfs/hotslab", "2\n");
	put("sysfs/enabled", enabled);
	put("sysfs/attached", attached);
}

static void test_start(void)
{
	kernel("1\n", "0\n");
	put("conf", "poll_us = 30 # a comment\nhotslab = 3\ndonors = 10.0.0.2,a\n");
	put("conf.d/10.conf", "poll_us = 40\n");
	put("swaps", "Filename Type Size Used Priority\n/dev/vda partition 1000 0 -2\n");
	ok(!run("start") && !*said, "start: %s", said);
	ok(has("sysfs/poll_us", "40"), "a drop-in replaces a value of the file");
	ok(has("sysfs/hotslab", "3") && has("sysfs/donors", "10.0.0.2,a"), "others are written");
	ok(has("sysfs/attached", "1"), "and it attaches");
	put("conf.d/10.conf", "poll_us = 50\n");
	put("sysfs/attached", "0\n");
	ok(!run("reload") && has("sysfs/poll_us", "50") && has("sysfs/attached", "0"),
	   "reload writes values, and does not attach");
	put("sysfs/attached", "1\n");
	ok(!run("stop") && has("sysfs/attached", "0"), "stop detaches");
	kernel("0\n", "0\n");
	ok(!run("start") && has("sysfs/attached", "0"), "start does not attach if enabled is 0");
	put("swaps", "Filename Type Size Used Priority\n");
	ok(!run("start") && strstr(said, "there is no swap device, "), "no swap device is told");
}

static void test_cgroups(void)
{
	kernel("1\n", "0\n");
	put("sysfs/cgroups", "\n");
	put("cgroups", "# kept\n\n/a max=4G\n/b remote=0 # none\n");
	ok(!run("start"), "policies: %s", said);
	ok(has("sysfs/cgroups", "/b remote=0 "), "policies of cgroups are written, without comments");
	unlink("sysfs/cgroups");
	put("sysfs/attached", "0\n");
	ok(run("start") == 1 && strstr(said, "cgroups:3: invalid policy '/a max=4G'") &&
	   has("sysfs/attached", "0"), "one that the kernel refuses ends the start");
	unlink("cgroups");
}

/* modprobe fails: the reason is named, and what to type. */
static void test_load(void)
{
	char *path = strdup(getenv("PATH"));

	put("modprobe", "#!/bin/sh\nexit 1\n");
	chmod("modprobe", 0755);
	setenv("PATH", ".:/usr/bin:/bin", 1);
	put("conf", "poll_us = 30\n");
	if (rename("sysfs", "unloaded") || mkdir("modules", 0700) ||
	    mkdir("modules/6.1.0-9-amd64", 0700) || mkdir("modules/6.12.9", 0700))
		printf("Bail out!\n");
	put("release", "6.1.0-9-amd64\n");
	ok(run("start") == 1 && strstr(said, "no kernel module farswap for Linux 6.1.0-9-amd64, since farswap is made for 6.12: apt install linux-image-6.12-amd64"),
	   "a wrong kernel: %s", said);
	put("release", "6.12.9\n");
	ok(run("start") == 1 && strstr(said, "apt install linux-headers-6.12.9 farswap-dkms"),
	   "a kernel without the module: %s", said);
	put("modules/6.12.9/modules.dep", "kernel/a.ko:\nupdates/dkms/farswap.ko.xz:\n");
	put("lockdown", "none [integrity] confidentiality\n");
	ok(run("start") == 1 && strstr(said, "mokutil --import /var/lib/dkms/mok.pub"),
	   "a kernel that is locked down: %s", said);
	put("lockdown", "[none] integrity confidentiality\n");
	put("signed", "Y\n");
	ok(run("start") == 1 && strstr(said, "mokutil --import"), "a kernel that wants signatures");
	put("signed", "N\n");
	ok(run("start") == 1 && strstr(said, "the kernel's log may show why"), "another reason");
	if (rename("unloaded", "sysfs"))
		printf("Bail out!\n");
	setenv("PATH", path, 1);
	free(path);
}

static void test_wrong(const char *line, const char *says)
{
	char text[256];

	kernel("1\n", "0\n");
	snprintf(text, sizeof(text), "# first\n%s\n", line);
	put("conf", text);
	if (!ok(run("start") == 1 && !strncmp(said, "conf:2: ", 8) && strstr(said, says) &&
		has("sysfs/attached", "0"), "refused, and nothing is attached: %s", line))
		printf("# it said: %s\n", said);
}

int main(void)
{
	char dir[] = "/tmp/farswap-client-test-XXXXXX", command[64];

	if (!mkdtemp(dir) || chdir(dir) || mkdir("sysfs", 0700) || mkdir("conf.d", 0700))
		return 1;
	test_start();
	unlink("conf.d/10.conf");
	test_cgroups();
	test_load();
	test_wrong("nothing = 1", "unknown setting 'nothing'");
	test_wrong("../poll_us = 1", "not the name of a setting");
	test_wrong("attached = 1", "systemctl");
	test_wrong("poll_us", "no value");
	ok(run("restart") == 1 && strstr(said, "start, reload or stop"), "another word is refused");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command) ? 1 : tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * farswap.service runs this to start, change and stop the client: loads the kernel module, and
 * writes the settings of farswap.conf to sysfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config-file.h"
#include "keyring.h"

#define CLIENT_CONF		"/etc/farswap/farswap.conf"
#ifndef CLIENT_SYSFS
#define CLIENT_SYSFS		"/sys/kernel/farswap"
#endif
#ifndef CLIENT_SWAPS
#define CLIENT_SWAPS		"/proc/swaps"
#endif
#ifndef CLIENT_MODULES
#define CLIENT_MODULES		"/lib/modules"
#endif
#ifndef CLIENT_RELEASE
#define CLIENT_RELEASE		"/proc/sys/kernel/osrelease"
#endif
#ifndef CLIENT_LOCKDOWN
#define CLIENT_LOCKDOWN		"/sys/kernel/security/lockdown"
#endif
#ifndef CLIENT_SIGNED
#define CLIENT_SIGNED		"/sys/module/module/parameters/sig_enforce"
#endif
#define CLIENT_SETTINGS_MAX	64
#define CLIENT_WHERE_MAX	288
#define CLIENT_VALUE_MAX	4096

struct client_setting {
	char *key;
	char *value;
	char where[CLIENT_WHERE_MAX];	/* file and line */
};

/* In the order of the files; a key is there once, with its last value. */
static struct {
	struct client_setting setting[CLIENT_SETTINGS_MAX];
	int nr;
	char cgroups[CLIENT_VALUE_MAX];		/* file of the policies */
} client;

extern char **environ;

static const char usage[] =
"Usage: farswap-client [-f FILE] start|reload|stop\n"
"Run by farswap.service.\n"
"\n"
"  start    load the kernel module, apply the settings, and attach\n"
"  reload   apply the settings again\n"
"  stop     detach\n"
"\n"
"  -f FILE  read FILE and FILE.d/*.conf instead of " CLIENT_CONF "\n";

__attribute__((format(printf, 1, 2), noreturn))
static void client_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static struct client_setting *client_find(const char *key)
{
	int i;

	for (i = 0; i < client.nr; i++)
		if (!strcmp(client.setting[i].key, key))
			return &client.setting[i];
	return NULL;
}

static int client_set(void *data, const struct config_at *at, const char *key, const char *value)
{
	struct client_setting *setting = client_find(key);
	char *copy;

	(void)data;
	if (key[strspn(key, "abcdefghijklmnopqrstuvwxyz_0123456789")])
		return config_wrong(at, "'%s' is not the name of a setting; ls " CLIENT_SYSFS " shows them",
				    key);
	if (!strcmp(key, "attached"))
		return config_wrong(at, "attached: not a setting; systemctl start and stop do that");
	if (strlen(value) >= CLIENT_VALUE_MAX)
		return config_wrong(at, "%s: longer than %d characters", key, CLIENT_VALUE_MAX - 1);
	if (!setting) {
		if (client.nr == CLIENT_SETTINGS_MAX)
			return config_wrong(at, "more than %d settings", CLIENT_SETTINGS_MAX);
		setting = &client.setting[client.nr];
		setting->key = strdup(key);
		if (!setting->key)
			return -ENOMEM;
		client.nr++;
	}
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(setting->value);
	setting->value = copy;
	snprintf(setting->where, sizeof(setting->where), "%s:%u", at->where, at->line);
	return 0;
}

/* The policies of cgroups are beside the configuration. */
static void client_configure(const char *path)
{
	const char *slash = strrchr(path, '/');
	char error[CONFIG_ERROR_MAX] = "out of memory";
	int err = 0;

	snprintf(client.cgroups, sizeof(client.cgroups), "%.*scgroups",
		 slash ? (int)(slash + 1 - path) : 0, path);
	if (!access(path, F_OK))
		err = config_file_read(path, client_set, NULL, error);
	if (!err)
		err = config_file_read_drop_ins(path, client_set, NULL, error);
	if (err)
		client_fail("%s", error);
}

static int client_open(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), CLIENT_SYSFS "/%s", name);
	return open(path, flags | O_CLOEXEC);
}

/* Read a setting of the running kernel, without the newline. */
static bool client_read(const char *name, char value[CLIENT_VALUE_MAX])
{
	int fd = client_open(name, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, value, CLIENT_VALUE_MAX - 1);
	close(fd);
	if (n < 0)
		return false;
	value[n] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return true;
}

/* Return 0 or -errno. */
static int client_write(const char *name, const char *value)
{
	int fd = client_open(name, O_WRONLY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

static void client_apply(const struct client_setting *setting)
{
	char now[CLIENT_VALUE_MAX];
	int err;

	if (!client_read(setting->key, now))
		client_fail("%s: unknown setting '%s'; ls " CLIENT_SYSFS " shows them",
			    setting->where, setting->key);
	if (!strcmp(now, setting->value))
		return;
	err = client_write(setting->key, setting->value);
	if (err == -EACCES || err == -EPERM)
		client_fail("%s: %s: is %s, and can be changed only while the module is not loaded: systemctl stop farswap; modprobe -r farswap_rdma farswap; systemctl start farswap",
			    setting->where, setting->key, now);
	if (err)
		client_fail("%s: %s: invalid value '%s' (%s); the kernel's log shows the valid values: journalctl -k -g farswap",
			    setting->where, setting->key, setting->value, strerror(-err));
}

static void client_apply_cgroup(unsigned int nr, char *line)
{
	int err;

	line[strcspn(line, "#\n")] = '\0';
	if (!line[strspn(line, " \t")])
		return;
	err = client_write("cgroups", line);
	if (err)
		client_fail("%s:%u: invalid policy '%s' (%s); the kernel's log shows the reason: journalctl -k -g farswap",
			    client.cgroups, nr, line, strerror(-err));
}

static void client_apply_cgroups(void)
{
	FILE *file = fopen(client.cgroups, "re");
	char line[CLIENT_VALUE_MAX];
	unsigned int nr = 0;

	if (!file && errno != ENOENT)
		client_fail("%s: %s", client.cgroups, strerror(errno));
	while (file && fgets(line, sizeof(line), file))
		client_apply_cgroup(++nr, line);
	if (file)
		(void)fclose(file);
}

static bool client_modprobe(char *const argv[])
{
	int err, status;
	pid_t pid;

	err = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (err)
		client_fail("cannot run modprobe: %s", strerror(err));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Give this machine's key to the transport, if it has one. */
static void client_load_key(void)
{
	char *argv[] = { "modprobe", "farswap-rdma", NULL }, error[KEY_ERROR_MAX];
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES];
	int err;

	if (access(KEY_FILE, F_OK))
		return;
	if (!client_modprobe(argv))
		client_fail("cannot load the kernel module farswap-rdma; the kernel's log may show why: journalctl -k -g farswap");
	err = key_read(KEY_FILE, secret, error);
	if (!err)
		err = keyring_load(secret, error);
	farswap_noise_crypto_wipe(secret, sizeof(secret));
	if (err)
		client_fail("%s", error);
}

/* Donors come last, so that the other settings hold when the first page is sent. */
static void client_apply_all(void)
{
	struct client_setting *donors = client_find("donors");
	int i;

	for (i = 0; i < client.nr; i++)
		if (&client.setting[i] != donors)
			client_apply(&client.setting[i]);
	client_apply_cgroups();
	client_load_key();
	if (donors)
		client_apply(donors);
}

/* Return whether the first line of a file has a text in it; "" is in each line. */
static bool client_line_has(const char *path, const char *text, char line[CLIENT_VALUE_MAX])
{
	FILE *file = fopen(path, "re");
	bool has = file && fgets(line, CLIENT_VALUE_MAX, file) && strstr(line, text);

	if (file)
		(void)fclose(file);
	if (has)
		line[strcspn(line, "\n")] = '\0';
	return has;
}

static bool client_has_module(const char *release)
{
	char path[CLIENT_WHERE_MAX], line[CLIENT_VALUE_MAX];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), CLIENT_MODULES "/%.128s/modules.dep", release);
	file = fopen(path, "re");
	while (file && !has && fgets(line, sizeof(line), file))
		has = strstr(line, "/farswap.ko");
	if (file)
		(void)fclose(file);
	return has;
}

/* End with the reason why modprobe failed, if it is one of those that a new user meets. */
static void client_explain_load(void)
{
	char release[CLIENT_VALUE_MAX], line[CLIENT_VALUE_MAX];

	if (!client_line_has(CLIENT_RELEASE, "", release))
		return;
	if (!client_has_module(release) && strncmp(release, "6.12.", 5))
		client_fail("there is no kernel module farswap for Linux %s, since farswap is made for 6.12: apt install linux-image-6.12-amd64 linux-headers-6.12-amd64, and reboot",
			    release);
	if (!client_has_module(release))
		client_fail("there is no kernel module farswap for Linux %s: apt install linux-headers-%s farswap-dkms",
			    release, release);
	if (client_line_has(CLIENT_LOCKDOWN, "[integrity]", line) ||
	    client_line_has(CLIENT_LOCKDOWN, "[confidentiality]", line) ||
	    client_line_has(CLIENT_SIGNED, "Y", line))
		client_fail("this kernel is locked down (Secure Boot) and refuses the module farswap, whose key is not enrolled: mokutil --import /var/lib/dkms/mok.pub, and reboot");
}

static void client_load(void)
{
	/* The size of a slab is fixed once the module is loaded. */
	struct client_setting *slab = client_find("slab_mb");
	char option[64], *argv[] = { "modprobe", "farswap", slab ? option : NULL, NULL };

	if (slab)
		snprintf(option, sizeof(option), "slab_mb=%.32s", slab->value);
	if (client_modprobe(argv))
		return;
	client_explain_load();
	client_fail("cannot load the kernel module farswap%s%s; the kernel's log may show why: journalctl -k -g farswap",
		    slab ? " with " : "", slab ? option : "");
}

/* Swap may be turned on later, so this is no error. */
static void client_check_swap(void)
{
	FILE *file = fopen(CLIENT_SWAPS, "re");
	int lines = 0, c;

	while (file && (c = getc(file)) != EOF)
		lines += c == '\n';
	if (file && lines < 2)
		fputs("there is no swap device, and nothing is swapped without one: fallocate -l 8G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile\n",
		      stderr);
	if (file)
		(void)fclose(file);
}

static void client_start(void)
{
	char value[CLIENT_VALUE_MAX];
	int err;

	if (access(CLIENT_SYSFS, F_OK))
		client_load();
	client_apply_all();
	client_check_swap();
	if (client_read("enabled", value) && !strcmp(value, "0"))
		return;
	if (!client_read("attached", value))
		client_fail("cannot read " CLIENT_SYSFS "/attached: %s", strerror(errno));
	if (!strcmp(value, "1"))
		return;
	err = client_write("attached", "1");
	if (err)
		client_fail("cannot attach: %s; the kernel's log shows why: journalctl -k -g farswap",
			    strerror(-err));
}

static void client_stop(void)
{
	int err;

	if (access(CLIENT_SYSFS, F_OK))
		return;
	err = client_write("attached", "0");
	if (err)
		client_fail("cannot detach: %s; the kernel's log shows why: journalctl -k -g farswap",
			    strerror(-err));
}

int main(int argc, char **argv)
{
	const char *path = CLIENT_CONF, *verb;
	int opt;

	while ((opt = getopt(argc, argv, "f:h")) != -1) {
		switch (opt) {
		case 'f':
			path = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs("farswap-client -h shows the usage\n", stderr);
			return EXIT_FAILURE;
		}
	}
	verb = optind == argc - 1 ? argv[optind] : "";
	if (!strcmp(verb, "stop")) {
		client_stop();
	} else if (!strcmp(verb, "start")) {
		client_configure(path);
		client_start();
	} else if (!strcmp(verb, "reload")) {
		client_configure(path);
		client_apply_all();
	} else {
		client_fail("expected start, reload or stop; farswap-client -h shows the usage");
	}
	return EXIT_SUCCESS;
}

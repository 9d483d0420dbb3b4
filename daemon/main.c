// SPDX-License-Identifier: GPL-2.0
/*
 * farswapd lends memory to the swap of other machines. Options, start and stop: run() starts
 * everything in order and stops it in reverse order.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "auth.h"
#include "client.h"
#include "config.h"
#include "drain.h"
#include "evict.h"
#include "invite.h"
#include "key.h"
#include "listener.h"
#include "log.h"
#include "mem.h"
#include "meminfo.h"
#include "reclaim.h"
#include "release.h"
#include "sandbox.h"
#include "session.h"
#include "worker.h"

#define OPTIONS_MAX	32

#define BOOT_ID		"/proc/sys/kernel/random/boot_id"

/* BSD's EX_CONFIG: a restart is useless until the configuration is changed. */
#define EXIT_CONFIG	78

/* While stopping: the polling interval, and the limit for ending the sessions. */
#define LEAVE_POLL_MS	20
#define LEAVE_EXTRA_MS	3000

/* State of the shutdown. */
static struct {
	bool leaving;
	bool ended;			/* session_end_all() was called */
	uint64_t deadline_ms;
	struct loop_timer poll;
} leave;

/* Keep-alives for systemd's watchdog, two per period. */
static struct {
	uint64_t ms;
	struct loop_timer timer;
} watchdog;

/* As configured; only the clients change while the daemon runs. */
static struct config config;
static bool at_terminal;
static struct {
	const char *file;
	char *options[OPTIONS_MAX];
	int nr_options;
} arguments;
/* A failure is due to the configuration, not to the current state of the machine. */
static bool config_is_wrong;

static const char usage[] =
"Usage: farswapd [-n] [-t] [-f FILE] [-o KEY=VALUE]...\n"
"Lend memory of this machine to the swap of other machines.\n"
"\n"
"  -f FILE       read FILE and FILE.d/*.conf instead of " CONFIG_FILE "\n"
"  -h            print this and exit\n"
"  -n            print plain log lines, for a terminal, without the journal's priorities\n"
"  -o KEY=VALUE  override a setting of the file\n"
"  -t            check the configuration and exit\n"
"  -V            print the version and exit\n"
"\n"
"farswapd stays in the foreground. See farswapd(8) and farswapd.conf(5).\n";

static void notify(const char *state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	static int fd = -1;
	socklen_t len;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(addr.sun_path))
		return;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	len = offsetof(struct sockaddr_un, sun_path) + strlen(path);
	if (*path == '@')
		addr.sun_path[0] = '\0';
	/* Later ones are not allowed: see seal.c. */
	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr, len) < 0)
		log_warn("cannot notify the service manager: %s", strerror(errno));
}

/* Lets systemd notice a loop that hangs, as in a command that a device never completes. */
static void watchdog_feed(void *arg)
{
	(void)arg;
	notify("WATCHDOG=1");
	loop_timer_set(&watchdog.timer, watchdog.ms);
}

static void watchdog_start(void)
{
	const char *usec = getenv("WATCHDOG_USEC");

	watchdog.ms = usec ? strtoull(usec, NULL, 10) / 2000 : 0;
	loop_timer_init(&watchdog.timer, watchdog_feed, NULL);
	if (watchdog.ms)
		watchdog_feed(NULL);
}

/* Read hexadecimal digits, with or without hyphens. */
static bool node_read(const char *path, uint8_t node[FARSWAP_NODE_BYTES])
{
	FILE *file = fopen(path, "re");
	int i = 0;

	if (!file)
		return false;
	while (i < FARSWAP_NODE_BYTES && fscanf(file, "%*[-]") != EOF) {
		/* NOLINTNEXTLINE(cert-err34-c): two digits fit. */
		if (fscanf(file, "%2hhx", &node[i]) != 1)
			break;
		i++;
	}
	(void)fclose(file);
	return i == FARSWAP_NODE_BYTES;
}

/* Some containers mount a file of their own over it. */
static bool boot_id_is_kernels(void)
{
	struct statfs fs;

	return !statfs(BOOT_ID, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/*
 * The kernel's own boot id: all daemons of a machine report the same id, and two machines never
 * do, not even clones, which share their machine-id. The fallbacks are the machine-id, the boot
 * id that a container shows, and a random number.
 */
static void node_identity(uint8_t node[FARSWAP_NODE_BYTES])
{
	if ((boot_id_is_kernels() && node_read(BOOT_ID, node)) ||
	    node_read("/etc/machine-id", node) || node_read(BOOT_ID, node))
		return;
	if (getrandom(node, FARSWAP_NODE_BYTES, 0) < 0)
		memset(node, 0, FARSWAP_NODE_BYTES);
}

static int configure(struct config *into, char error[CONFIG_ERROR_MAX])
{
	const char *file = arguments.file ? arguments.file : CONFIG_FILE;
	int err = 0, i;

	config_init(into);
	/* The default file is optional; a file named on the command line is not. */
	if (arguments.file || !access(CONFIG_FILE, F_OK))
		err = config_read(into, file, error);
	if (!err)
		err = config_read_drop_ins(into, file, error);
	for (i = 0; i < arguments.nr_options && !err; i++)
		err = config_option(into, arguments.options[i], error);
	if (!err)
		err = config_check(into, error);
	return err;
}

/* Can the clients change to those of @fresh? Other settings are read at start only. */
static int reload_check(struct config *fresh, char *error)
{
	if (fresh->auth == CONFIG_AUTH_DEFAULT)
		fresh->auth = CONFIG_AUTH_REQUIRED;
	if (auth_is_on() && fresh->auth != CONFIG_AUTH_REQUIRED) {
		snprintf(error, ADMIN_LINE_MAX, "clients are authenticated: restart farswapd to change auth to none");
		return -EPERM;
	}
	if (fresh->auth == CONFIG_AUTH_REQUIRED && !auth_has_secret()) {
		snprintf(error, ADMIN_LINE_MAX, "farswapd has started without a key: run farswapctl key, then restart farswapd");
		return -ENOKEY;
	}
	if (fresh->auth == CONFIG_AUTH_REQUIRED && auth_set_clients(fresh->allow)) {
		snprintf(error, ADMIN_LINE_MAX, "a key of a client is unusable: no farswapctl key has printed it");
		return -EINVAL;
	}
	return 0;
}

/* Read the clients of the configuration again. */
static int reload(char *error)
{
	_Static_assert(CONFIG_ERROR_MAX <= ADMIN_LINE_MAX, "a line of an error fits");
	bool was_on = auth_is_on();
	struct config fresh;
	int err;

	err = configure(&fresh, error);
	if (!err)
		err = reload_check(&fresh, error);
	if (err) {
		auth_free_clients(fresh.allow);
		free(fresh.client.rules);
		return err;
	}
	free(config.client.rules);
	config.client = fresh.client;
	client_apply();
	session_end_denied();
	message_settle();
	if (!was_on && auth_is_on())
		log_info("clients are authenticated from now on; %u sessions without a key continue until they end",
			 session_count());
	log_info("the client lines of the configuration apply; other settings are read at start only");
	return 0;
}

/* End the sessions when nothing is lent or time is up, then stop when none is left. */
static void leave_poll(void *arg)
{
	uint64_t now = loop_now_ms();
	unsigned int lent = region_count(REGION_MAPPED) + region_count(REGION_EVICT_WAIT) +
		region_count(REGION_EVICTING);

	(void)arg;
	if (!leave.ended && (!lent || now >= leave.deadline_ms)) {
		leave.ended = true;
		leave.deadline_ms = now + LEAVE_EXTRA_MS;
		session_end_all(STAT_END_LEAVING, "farswapd stops");
	} else if (leave.ended && (!session_count() || now >= leave.deadline_ms)) {
		loop_stop();
		return;
	}
	loop_timer_set(&leave.poll, LEAVE_POLL_MS);
}

static void on_signal(int signo)
{
	char error[ADMIN_LINE_MAX];

	/* Without its terminal an interactive daemon has no purpose; a service continues. */
	if (signo == SIGHUP && !at_terminal) {
		if (reload(error))
			log_err("%s: %s", strsignal(signo), error);
		return;
	}
	if (leave.leaving) {
		log_info("%s again: stopping at once", strsignal(signo));
		loop_stop();
		return;
	}
	leave.leaving = true;
	leave.deadline_ms = loop_now_ms() + config.evict_ms + LEAVE_POLL_MS;
	log_info("%s: evicting %u regions within %u ms", strsignal(signo),
		 region_count(REGION_MAPPED), config.evict_ms);
	notify("STOPPING=1");
	session_leave();
	drain_stop(DRAIN_END_LEAVING);
	/* If this fails the deadline ends the sessions. */
	evict_start(EVICT_ALL, false, NULL, NULL);
	leave_poll(NULL);
}

static int init_signals(void)
{
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	return loop_signals(&set, on_signal);
}

static int init_pool(void)
{
	/* With headroom the pool can grow later, up to all memory. */
	struct meminfo now = meminfo_now();
	uint64_t most = config.headroom ? now.total : now.available;
	int err;

	mem_init();
	if (config.hugepages && now.huge_page && config.slab % now.huge_page) {
		log_info("huge pages of %" PRIu64 "M are not used: the slab size, %" PRIu64 "M, must be a multiple of that",
			 now.huge_page >> 20, config.slab >> 20);
		config.hugepages = false;
	}
	if (most && config.hugepages)
		most += now.huge_free;
	err = sandbox_check_memory(config.memory, most);
	if (!err) {
		err = region_init(config.memory, config.slab, config.ahead, config.hugepages);
		if (err)
			log_err("cannot create a pool of %" PRIu64 "M: %s; set memory lower",
				config.memory >> 20, strerror(-err));
	}
	/* Other programs may release memory, including huge pages, so a retry can succeed. */
	config_is_wrong = err == -EPERM || err == -E2BIG ||
			  (err && config.memory >> 10 >
				  meminfo_read("/proc/meminfo", "MemTotal", ':', 10));
	return err;
}

/* Before the privileges are dropped, because the key file is root's. */
static int init_auth(void)
{
	uint8_t secrets[AUTH_SECRETS][FARSWAP_NOISE_KEY_BYTES], public[FARSWAP_NOISE_KEY_BYTES];
	char text[FARSWAP_NOISE_TEXT_CHARS + 1], error[KEY_ERROR_MAX], next[KEY_PATH_MAX];
	unsigned int nr;
	int err;

	if (sodium_init() < 0) {
		log_err("libsodium does not work here");
		return -ENOSYS;
	}
	/* Clients may be allowed later, and the file can't be read then. */
	err = key_read(config.key_file, secrets[0], error);
	nr = err ? 0 : 1;
	snprintf(next, sizeof(next), "%s" KEY_NEXT, config.key_file);
	if (nr && !key_read(next, secrets[1], error))
		nr = 2;
	auth_init(secrets, nr);
	if (!nr || farswap_noise_public(public, secrets[0]))
		memset(public, 0, sizeof(public));
	explicit_bzero(secrets, sizeof(secrets));
	if (config.auth == CONFIG_AUTH_DEFAULT && err == -ENOENT) {
		log_err("auth is not set, and this machine has no key: run farswapctl key, or set auth = none to lend to every machine that reaches this one");
		return err;
	}
	if (config.auth == CONFIG_AUTH_NONE) {
		log_warn("auth is none: every machine that reaches this one can borrow memory, and the network can read and alter the messages");
		return 0;
	}
	if (err) {
		log_err("%s", error);
		return err;
	}
	err = auth_set_clients(config.allow);
	if (err) {
		log_err("a key in the configuration is unusable: no farswapctl key has printed it");
		return err;
	}
	if (!config.allow)
		log_warn("auth is required, but no client line has a key: nobody can connect");
	farswap_noise_text(text, public);
	log_info("clients are authenticated; the public key of this machine is %s", text);
	return 0;
}

static int init_protocol(void)
{
	uint8_t node[FARSWAP_NODE_BYTES];
	uint64_t instance = 0;
	int err;

	node_identity(node);
	if (getrandom(&instance, sizeof(instance), 0) < 0)
		instance = getpid();
	message_init(node, instance, config.queues, drain_check);
	session_init(config.client.clients);
	invite_init();
	err = client_init(&config.client);
	evict_init(config.evict_ms);
	grace_init(config.grace_ms, config.client.clients, config.resume_anywhere);
	loop_timer_init(&leave.poll, leave_poll, NULL);
	return err;
}

static int run(void)
{
	int err = loop_init();

	if (err)
		return err;
	err = init_signals();
	if (err)
		goto out_exit_loop;
	err = init_auth();
	config_is_wrong = err;
	if (err)
		goto out_exit_loop;
	err = init_pool();
	if (err)
		goto out_exit_loop;
	if (!config.listen_is_set && !config.client.listed_only)
		log_warn("listen and admit are not set: any machine that reaches any address of this one can borrow memory");
	sandbox_check_nodes();
	sandbox_raise_files(config.client.clients);
	err = init_protocol();
	if (err)
		goto out_exit_pool;
	err = admin_init(config.control, reload);
	/* The other farswapd of EADDRINUSE may end, so that is worth a retry. */
	config_is_wrong = err == -EEXIST || err == -EROFS || err == -EACCES || err == -ENOENT ||
			  err == -ENOTDIR;
	if (err)
		goto out_exit_pool;
	/* Must come before the privileges for PSI triggers are dropped. */
	err = reclaim_init(config.headroom, config.hugepages);
	config_is_wrong = err;
	if (err)
		goto out_exit_control;
	/*
	 * Must come before the RDMA devices are opened: the kernel rejects requests on them if the
	 * credentials of the process have changed since the open.
	 */
	sandbox_lock_memory();
	err = region_reserve();
	config_is_wrong = err;
	if (err) {
		log_err("cannot reserve addresses for %" PRIu64 "M: %s; set memory lower, or raise the limit on address space (RLIMIT_AS)",
			config.memory >> 20, strerror(-err));
		goto out_exit_reclaim;
	}
	sandbox_check_maps(config.client.clients, mem_is_scattered() ? region_total() : 0);
	err = sandbox_drop(config.user);
	config_is_wrong = err == -ENOENT;
	if (err)
		goto out_exit_reclaim;
	/* After the privileges are dropped, because a thread inherits the credentials. */
	err = worker_init();
	if (err)
		goto out_exit_reclaim;
	err = listener_init((struct sockaddr *)&config.listen);
	if (err)
		goto out_exit_worker;
	log_info("lending up to %" PRIu64 "M in %u regions, %" PRIu64 "M now; headroom %" PRIu64 "M",
		 config.memory >> 20, region_total(), region_free_bytes() >> 20,
		 config.headroom >> 20);
	notify("READY=1");
	watchdog_start();
#ifndef FARSWAPD_ASAN
	sandbox_seal();
#endif

	err = loop_run();
	if (err)
		log_err("event loop failed: %s", strerror(-err));
	/* After a second signal, or an error, the remaining sessions end with the process. */
	if (session_count()) {
		admin_exit();
		exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	listener_exit();
out_exit_worker:
	worker_exit();
out_exit_reclaim:
	reclaim_exit();
out_exit_control:
	admin_exit();
out_exit_pool:
	region_exit();
out_exit_loop:
	auth_exit();
	loop_exit();
	return err;
}

int main(int argc, char **argv)
{
	char error[CONFIG_ERROR_MAX];
	bool check = false;
	int opt;

	while ((opt = getopt(argc, argv, "f:hno:tV")) != -1) {
		switch (opt) {
		case 'f':
			arguments.file = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		case 'n':
			at_terminal = true;
			break;
		case 'o':
			if (arguments.nr_options == OPTIONS_MAX) {
				fprintf(stderr, "farswapd: more than %d -o options\n", OPTIONS_MAX);
				return EXIT_CONFIG;
			}
			arguments.options[arguments.nr_options++] = optarg;
			break;
		case 't':
			check = true;
			break;
		case 'V':
			printf("farswapd %s, protocol %d\n", FARSWAP_RELEASE, FARSWAP_VERSION);
			return EXIT_SUCCESS;
		default:
			fputs("farswapd -h shows the options\n", stderr);
			return EXIT_CONFIG;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "farswapd: unexpected argument '%s'; farswapd -h shows the usage\n",
			argv[optind]);
		return EXIT_CONFIG;
	}
	if (configure(&config, error)) {
		fprintf(stderr, "%s\n", error);
		return EXIT_CONFIG;
	}
	if (check)
		return EXIT_SUCCESS;
	log_init(!at_terminal);
	/* With either, libibverbs hides that the adapter has refused to deregister an MR. */
	unsetenv("RDMAV_ALLOW_DISASSOC_DESTROY");
	unsetenv("MLX4_DEVICE_FATAL_CLEANUP");
	if (!run())
		return EXIT_SUCCESS;
	return config_is_wrong ? EXIT_CONFIG : EXIT_FAILURE;
}

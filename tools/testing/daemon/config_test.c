// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration: accepted values, and error messages, which say where, what is
 * wrong and what would be right.
 */
#include "address.c"
#include "auth.c"
#include "config.c"
#include "config-file.c"
#include "meminfo.c"
#include "wire.c"

#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static struct config config;
static char error[CONFIG_ERROR_MAX];
static char path[] = "/tmp/farswap-config-test-XXXXXX";

static int read_text(const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	free(config.client.rules);
	auth_free_clients(config.allow);
	config_init(&config);
	error[0] = '\0';
	return config_read(&config, path, error);
}

static void wrong(const char *text, unsigned int line, const char *says)
{
	char where[64];
	int err = read_text(text);

	snprintf(where, sizeof(where), "%s:%u: ", path, line);
	if (!ok(err == -EINVAL && !strncmp(error, where, strlen(where)) && strstr(error, says) &&
		!strchr(error, '\n'), "refused, line %u, \"%s\"", line, says))
		printf("# it said: %s\n", error);
}

static void test_defaults(void)
{
	const struct sockaddr_in *in = (struct sockaddr_in *)&config.listen;

	ok(!read_text("") && !config_check(&config, error), "an empty file");
	ok(in->sin_family == AF_INET && ntohs(in->sin_port) == 9400 && !in->sin_addr.s_addr,
	   "listen is 0.0.0.0:9400");
	ok(config.memory == 1ULL << 30 && config.slab == 64 << 20 && config.evict_ms == 5000 && config.grace_ms == 60000 &&
	   config.headroom == meminfo_now().total / 8 && config.client.clients == 64 && config.ahead == 2 && config.hugepages &&
	   !strcmp(config.control, "/run/farswapd/control"), "and the rest as documented");
}

static void test_forms(void)
{
	ok(!read_text("memory 256M\n\n  # comment\nslab = 8M # more\n\tevict_ms=7\nclients =3\r\n"
		      "hugepages no\nahead\t0"), "all ways to write a line");
	ok(config.memory == 256 << 20 && config.slab == 8 << 20 && config.evict_ms == 7 &&
	   config.client.clients == 3 && !config.hugepages && !config.ahead, "are understood");
	ok(!read_text("control = /run/a#b # comment # more\n") &&
	   !strcmp(config.control, "/run/a#b"), "a # inside of a value is no comment");
	ok(!read_text("control = /run/a#b#\n") && !strcmp(config.control, "/run/a#b#"),
	   "nor is one at its end");
	ok(!read_text("#control = /run/a\n") && !strcmp(config.control, "/run/farswapd/control"),
	   "one at the start of the line is");
	ok(!read_text("memory = 16G\n") && config.memory == 16ULL << 30, "G");
	ok(!read_text("memory = 65536K\n") && config.memory == 64ULL << 20, "K");
	ok(!read_text("memory = 67108864\n") && config.memory == 64ULL << 20, "bytes");
	ok(!read_text("memory = 100m\n") && config.memory == 100ULL << 20 &&
	   !config_check(&config, error) && config.memory == 64ULL << 20, "rounded to slabs");
	ok(!read_text("headroom = 3M\n") && config.headroom == 3 << 20, "headroom");
	ok(!read_text("headroom = 0\n") && !config.headroom, "no headroom");
	ok(!read_text("control = /tmp/a b\n") && !strcmp(config.control, "/tmp/a b"),
	   "a blank in a value");
}

static void test_addresses(void)
{
	const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&config.listen;
	const struct sockaddr_in *in = (struct sockaddr_in *)&config.listen;

	ok(!read_text("listen = 10.0.0.2:1234\n") && ntohs(in->sin_port) == 1234 &&
	   ntohl(in->sin_addr.s_addr) == 0x0a000002, "address and port");
	ok(!read_text("listen = 10.0.0.2\n") && ntohs(in->sin_port) == 9400, "address alone");
	ok(!read_text("listen = [fe80::1]:9999\n") && in6->sin6_family == AF_INET6 &&
	   ntohs(in6->sin6_port) == 9999 && in6->sin6_addr.s6_addr[15] == 1, "IPv6 and port");
	ok(!read_text("listen = [::]\n") && in6->sin6_family == AF_INET6 &&
	   ntohs(in6->sin6_port) == 9400, "IPv6 alone");
	wrong("listen = 10.0.0.2:80\n", 1, "1024-65535");
	wrong("listen = donor:9400\n", 1, "numeric address");
	wrong("listen = ::1\n", 1, "[::]:9400");
	wrong("listen = [::1\n", 1, "listen: invalid");
	wrong("listen = [::1]9400\n", 1, "listen: invalid");
	wrong("listen = 10.0.0.1:\n", 1, "listen: invalid");
	wrong("listen = 10.0.0.1:0\n", 1, "listen: invalid");
	wrong("listen = 10.0.0.1:65536\n", 1, "listen: invalid");
	wrong("listen = 10.0.0.1:99x\n", 1, "listen: invalid");
}

static void test_wrong(void)
{
	wrong("memroy = 1G\n", 1, "keys: listen, memory");
	wrong("\n\nmemory = lots\n", 3, "a size, as in");
	wrong("memory = -1\n", 1, "a size, as in");
	wrong("memory = 1GB\n", 1, "a size, as in");
	wrong("headroom = 10%\n", 1, "a size, as in");
	wrong("memory = 99999999999999999999\n", 1, "a size, as in");
	wrong("memory = 99999999999999999G\n", 1, "a size, as in");
	wrong("memory\n", 1, "has no value");
	wrong("memory =\n", 1, "has no value");
	wrong("= 5\n", 1, "no key");
	wrong("slab = 3M\n", 1, "power of two, 2M-1G");
	wrong("slab = 1M\n", 1, "power of two, 2M-1G");
	wrong("slab = 2G\n", 1, "power of two, 2M-1G");
	wrong("slab = 0\n", 1, "power of two, 2M-1G");
	wrong("evict_ms = 0\n", 1, "range 1-600000");
	wrong("evict_ms = 600001\n", 1, "range 1-600000");
	wrong("grace_ms = 600001\n", 1, "range 0-600000");
	wrong("grace_ms = -1\n", 1, "range 0-600000");
	wrong("clients = many\n", 1, "range 1-4096");
	wrong("clients = 4 4\n", 1, "range 1-4096");
	wrong("ahead = 65\n", 1, "range 0-64");
	wrong("hugepages = maybe\n", 1, "yes or no");
	wrong("resume_from = all\n", 1, "same or any");
	ok(!read_text("") && !config.resume_anywhere && !read_text("resume_from=any\n") &&
	   config.resume_anywhere, "resume_from");
	wrong("control = run/x\n", 1, "absolute path");
	wrong("control = /12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890\n",
	      1, "at most 107 characters");
	ok(!read_text("memory = 32M\n") && config_check(&config, error) == -EINVAL &&
	   strstr(error, "at least one slab"), "memory of less than a slab");
	read_text("");
	ok(config_read(&config, "/nonexistent/x", error) == -ENOENT &&
	   !strncmp(error, "/nonexistent/x: cannot be read: ", 32), "a file that isn't there");
}

static void test_clients(void)
{
	const struct client_rule *rules;

	ok(!read_text("") && !config_check(&config, error) && config.client.sessions == 8 &&
	   config.client.usual.weight == 1 && !config.client.usual.min &&
	   config.client.usual.max == UINT64_MAX && !config.client.listed_only &&
	   !config.client.nr_rules && config.queues == 16, "clients have no limits");
	ok(!read_text("client_min = 64M\nclient_max 256M\nclient_sessions = 2\nqueues = 4\n"
		      "client = 10.0.0.5 weight=3 min=128M max=512M\n"
		      "client 10.0.0.0/24\tmax=1G\nclient fe80::/10\nadmit = listed\n") &&
	   !config_check(&config, error), "limits of clients");
	rules = config.client.rules;
	ok(config.client.nr_rules == 3 && rules[0].weight == 3 && rules[0].min == 128 << 20 &&
	   rules[0].max == 512 << 20 && rules[0].range.bits == 32, "of one address");
	ok(rules[1].weight == 1 && rules[1].min == 64 << 20 && rules[1].max == 1 << 30 &&
	   rules[1].range.bits == 24, "of a range, with the usual reserve");
	ok(rules[2].max == 256 << 20 && rules[2].range.bits == 10, "and the usual limit");
	ok(config.client.listed_only && config.client.sessions == 2 && config.queues == 4,
	   "and the rest");
	wrong("client = host\n", 1, "numeric, or a range, as in 10.0.0.0/24");
	wrong("client = 10.0.0.0/33\n", 1, "numeric, or a range");
	wrong("client = 10.0.0.1 max\n", 1, "(words: key=KEY, from=ADDRESS, weight=N, ");
	wrong("client = 10.0.0.1 most=1G\n", 1, "(words: key=KEY, from=ADDRESS, weight=N");
	wrong("client = 10.0.0.1 max=much\n", 1, "client: max: invalid value 'much' (a size");
	wrong("client = 10.0.0.1 weight=0\n", 1, "client: weight: invalid value '0' (range 1-1000)");
	wrong("client_min = x\n", 1, "a size, as in 512M, or 0");
	wrong("client_max = x\n", 1, "a size, as in 4G");
	wrong("client_sessions = 0\n", 1, "range 1-4096");
	wrong("user = 123456789012345678901234567890123\n", 1, "at most 32 characters");
	ok(!read_text("") && !*config.user && !read_text("user = 65534\n") &&
	   !strcmp(config.user, "65534"), "user");
	wrong("queues = 17\n", 1, "range 1-16");
	wrong("admit = none\n", 1, "any or listed");
	ok(!read_text("client_max = 1M\n") && config_check(&config, error) == -EINVAL &&
	   strstr(error, "at least one slab"), "a limit below a slab");
	ok(!read_text("client_min = 2G\n") && config_check(&config, error) == -EINVAL &&
	   strstr(error, "at most client_max and memory"), "a reserve above memory");
	ok(!read_text("client = 10.0.0.1 min=512M max=256M\n") &&
	   config_check(&config, error) == -EINVAL && strstr(error, "at most client_max"),
	   "a reserve above the limit");
	ok(!read_text("admit = listed\n") && config_check(&config, error) == -EINVAL &&
	   strstr(error, "there must be a client line"), "nobody may connect");
}

static void test_option(void)
{
	read_text("");
	ok(!config_option(&config, "memory=64M", error) && config.memory == 64 << 20, "-o");
	ok(config_option(&config, "memory=x", error) == -EINVAL && !strncmp(error, "-o: ", 4),
	   "-o with a wrong value");
	ok(config_option(&config, "", error) == -EINVAL, "-o with nothing");
	ok(config_option(&config, "memory", error) == -EINVAL, "-o without a value");
}

static void drop_in(const char *dir, const char *name, const char *text)
{
	char file[128];
	FILE *out;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	out = text ? fopen(file, "w") : NULL;
	if (out) {
		fputs(text, out);
		fclose(out);
	} else {
		unlink(file);
	}
}

static void test_drop_ins(void)
{
	char dir[64], where[96];

	ok(!read_text("memory = 1G\nslab = 8M\n") &&
	   !config_read_drop_ins(&config, path, error), "no directory of drop-ins");
	snprintf(dir, sizeof(dir), "%s.d", path);
	mkdir(dir, 0700);
	drop_in(dir, "20-later.conf", "memory = 3G\n");
	drop_in(dir, "10-sooner.conf", "memory = 2G\nclients = 5\n");
	drop_in(dir, ".hidden.conf", "clients = 6\n");
	drop_in(dir, "30-saved.conf~", "clients = 7\n");
	drop_in(dir, ".conf", "clients = 8\n");
	ok(!config_read_drop_ins(&config, path, error) && config.memory == 3ULL << 30 &&
	   config.client.clients == 5 && config.slab == 8 << 20,
	   "drop-ins override the file, in the order of their names, if they end in .conf");
	drop_in(dir, "20-later.conf", "slab = 8M\nmemory = x\n");
	snprintf(where, sizeof(where), "%s/20-later.conf:2: memory: ", dir);
	ok(config_read_drop_ins(&config, path, error) == -EINVAL &&
	   !strncmp(error, where, strlen(where)), "an error in one names it and its line");
	drop_in(dir, "10-sooner.conf", NULL);
	drop_in(dir, "20-later.conf", NULL);
	drop_in(dir, ".hidden.conf", NULL);
	drop_in(dir, "30-saved.conf~", NULL);
	drop_in(dir, ".conf", NULL);
	rmdir(dir);
}

/* systemd must not kill the daemon while it evicts all regions: evict_ms plus 3 s. */
static void test_stop_timeout(void)
{
	FILE *unit = fopen("../../../daemon/farswapd.service", "r");
	unsigned int seconds = 0;
	char line[256];

	while (unit && fgets(line, sizeof(line), unit) &&
	       sscanf(line, "TimeoutStopSec=%u", &seconds) != 1)
		;
	if (unit)
		fclose(unit);
	read_text("");
	ok(seconds * 1000 >= config.evict_ms + 3000,
	   "the unit's TimeoutStopSec, %u s, leaves the daemon its time", seconds);
}

#define PUBLIC	"hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

#define OTHER	"ASDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

static void test_auth(void)
{
	ok(!read_text("client = web1 key=" PUBLIC "\n") && config.allow &&
	   !strcmp(config.allow->name, "web1") && !config.allow->next &&
	   !config_check(&config, error) && config.auth == CONFIG_AUTH_REQUIRED,
	   "a client with a key");
	ok(!read_text("auth = required\nkey_file = /run/key\n") && !config_check(&config, error) &&
	   config.auth == CONFIG_AUTH_REQUIRED && !strcmp(config.key_file, "/run/key"),
	   "auth = required");
	ok(!read_text("auth = none\n") && config.auth == CONFIG_AUTH_NONE &&
	   !config_check(&config, error), "auth = none");
	ok(!read_text("client = web1 weight=3 key=" PUBLIC " from=10.0.0.0/24 key=" OTHER "\n") &&
	   config.allow->next && !strcmp(config.allow->next->name, "web1") &&
	   config.allow->has_from && config.allow->next->has_from && config.client.nr_rules == 1 &&
	   !strcmp(config.client.rules[0].name, "web1") && config.client.rules[0].weight == 3,
	   "two keys, addresses and a weight");
	wrong("auth = maybe", 1, "(none or required)");
	wrong("key_file = key", 1, "(an absolute path");
	wrong("client = web1", 1, "or a name with key=KEY");
	wrong("client = 10.0.0.0/24 key=" PUBLIC, 1, "addresses are given by from=");
	wrong("client = ../x key=" PUBLIC, 1, "invalid name '../x'");
	wrong("client = web1 from=10.0.0.0/24", 1, "from= without key=");
	wrong("client = web1 key=" PUBLIC " from=here", 1, "from: invalid address 'here'");
	wrong("client = web1 key=" PUBLIC "\nclient = web2 key=" PUBLIC, 2,
	      "the key of another line, 'web1'");
	wrong("client = web1 key=" PUBLIC "\nclient = web1 key=" OTHER, 2,
	      "the name or the key of another line, 'web1'");
	wrong("client = web1 key=" PUBLIC " key=" OTHER " key=" PUBLIC, 1, "more than two keys");
	wrong("client = web1 key=B" PUBLIC, 1, "invalid key");
	wrong("client = web1 key=farswap-secret:" PUBLIC, 1, "has a secret key");
	read_text("auth = none\nclient = web1 key=" PUBLIC "\n");
	ok(config_check(&config, error) && strstr(error, "client 'web1' has a key"),
	   "a key where none is checked");
	read_text("");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	test_defaults();
	test_forms();
	test_auth();
	test_addresses();
	test_wrong();
	test_clients();
	test_option();
	test_drop_ins();
	test_stop_timeout();
	free(config.client.rules);
	unlink(path);
	return tap_done();
}

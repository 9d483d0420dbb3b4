// SPDX-License-Identifier: GPL-2.0
/*
 * farswapctl on copies of machines: what it reads, prints and finds wrong; its JSON is valid and
 * each field is in the man page, as are its commands. Each command runs in a process of its own.
 */
#include "ctl-run.h"

#include "ctl/unit/action.c"

#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define BASH	"../../../daemon/ctl/completion.bash"
#define PROGRAM	"../../../daemon/farswapctl"

/* A client as it should be. */
static void make_client(void)
{
	put("/proc/sys/kernel/osrelease", "6.12.117+deb12-amd64\n");
	put("/proc/sys/kernel/ftrace_enabled", "1\n");
	put("/proc/sys/debug/kprobes-optimization", "1\n");
	put("/sys/module/zswap/parameters/enabled", "N\n");
	put("/sys/kernel/btf/vmlinux", "BTF");
	put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	put("/sys/module/farswap_rdma/refcnt", "1\n");
	put("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
	    "/dev/vda                                partition\t524284\t\t102400\t\t-2\n");
	put("/sys/kernel/farswap/attached", "1\n");
	put("/sys/kernel/farswap/enabled", "1\n");
	put("/sys/kernel/farswap/backup", "disk\n");
	put("/sys/kernel/farswap/slab_mb", "64\n");
	put("/sys/kernel/farswap/staging_mb", "16\n");
	put("/sys/kernel/farswap/force", "0\n");
	put("/sys/kernel/farswap/instance", "0123456789012345\n");
	put("/sys/kernel/farswap/donors", "10.0.0.2,10.0.0.3:9400\n");
	put("/sys/kernel/debug/farswap/stats", "store_remote 1000\nload_remote 500\nload_lost 0\n"
	    "lost 0\nbackup_failed 0\nnew_one 7\nremote_pages 5120\nbacked_pages 2560\n"
	    "staged_pages 256\nslabs 3\nmapped_slabs 2\npack_slabs 1\npacked_pages 2560\n"
	    "packed_bytes 3145728\npacked_units 10240\npacked_percent 40\n");
	put("/sys/kernel/debug/farswap/slabs",
	    "type index state donors remote backed activity missing single\n"
	    "0 0 mapped 10.0.0.2,10.0.0.3:9400 5000 2500 7 0 0\n"
	    "0 1 unmapped - 0 0 0 0 0\n");
	put("/sys/kernel/debug/farswap/donors",
	    "address state slabs free_mb node instance downs last_error suspects resumes same_machine slow tail_us\n"
	    "10.0.0.2 live 2 4096 71f7c1d0-5a6e-4e63-b28d-a56e2ad3ba7b 0000000000001234 0 0 0 0 - 0 900\n"
	    "10.0.0.3:9400 live 0 512 71f7c1d0-5a6e-4e63-b28d-a56e2ad3ba7c 0a00000000001234 1 0 1 1 10.0.0.2 1 90000\n");
	put("/sys/kernel/debug/farswap/latency",
	    "load_urgent count 0 p50_us 0 p99_us 0\n"
	    "load_remote count 4 p50_us 12 p99_us 40\n"
	    "load_remote_ns 1024 1\nload_remote_ns 12288 2\nload_remote_ns 40960 1\n");
	put("/sys/class/infiniband/rxe0/node_type", "1: CA\n");
	put("/sys/class/infiniband/rxe0/parent", "eth0\n");
	put("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
	put("/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth0\n");
	put("/sys/class/net/eth0/mtu", "1500\n");
	put("/dev/kmsg", "6,400,5000000,-;farswap: attached\n DEVICE=+x\n"
	    "6,401,5100000,-;farswap: donor 10.0.0.2: up\n");
}

static void test_status(void)
{
	run("status", NULL);
	ok(!status && has("client   attached, backup=disk\n") &&
	   has("remote   20M in 2 slabs of 64M, 10M also on the swap device, 1M staged\n") &&
	   has("packed   10M in 1 slabs are compressed to 3M, all pages there take 40 % of their size\n") &&
	   has("donors   2, 2 of them live\n") && has("10.0.0.3:9400  live, slow  ") && has("/dev/vda, partition, 100M of 511M used\n"),
	   "status shows the client half");
	run("--json", "status", NULL);
	ok(!status && is_json() && has("\"attached\":true") && has("\"store_remote\":1000") &&
	   has("\"gauges\":{\"remote_pages\":5120") && has("\"instance\":\"0000000000001234\"") &&
	   has("\"same_machine\":null") && has("\"same_machine\":\"10.0.0.2\"") &&
	   has("\"p99_us\":40") && has("\"device\":\"/dev/vda\"") && has("\"donor\":null"),
	   "status as JSON, each field in the man page");
	run("donors", NULL);
	ok(!status && has("\n10.0.0.3:9400 live 0 512 "), "donors");
	run("donors", "--json", NULL);
	ok(!status && is_json() && has("{\"donors\":[{\"address\":\"10.0.0.2\""), "donors as JSON");
	run("slabs", NULL);
	ok(!status && has("0 0 mapped 10.0.0.2,10.0.0.3:9400 5000"), "slabs");
	run("slabs", "--json", NULL);
	ok(!status && is_json() && has("\"donors\":[\"10.0.0.2\",\"10.0.0.3:9400\"],\"remote\":5000") &&
	   has("\"donors\":[],"), "slabs as JSON");
	run("stats", NULL);
	ok(!status && has("        1000  store_remote\n"), "stats");
	run("stats", "--json", NULL);
	ok(!status && is_json() && has("\"new_one\":7"), "stats as JSON, with an unknown counter");
	run("explain", "lost", NULL);
	ok(!status && has("lost: counter, "), "explain");
	run("explain", "all", "--json", NULL);
	ok(!status && is_json() && has("\"name\":\"slab_bytes\",\"kind\":\"gauge\""), "explain all as JSON");
}

#define KEY_A	"hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
#define KEY_B	"ASDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
#define KEY_C	"BSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

static void test_donors(void)
{
	char line[256];

	run("donors", "add", "10.0.0.4", "10.0.0.2", "fe80::2%eth0", NULL);
	ok(!status && file_line("/sys/kernel/farswap/donors", line, sizeof(line)) &&
	   !strcmp(line, "10.0.0.2,10.0.0.3:9400,10.0.0.4,fe80::2%eth0"),
	   "donors add writes the new line, each address once");
	run("donors", "remove", "10.0.0.3:9400", "fe80::2%eth0", "10.0.0.2", NULL);
	ok(!status && file_line("/sys/kernel/farswap/donors", line, sizeof(line)) &&
	   !strcmp(line, "10.0.0.4"), "donors remove");
	run("donors", "add", "10.0.0.5:9401#" KEY_A, "10.0.0.4#" KEY_B, NULL);
	run("donors", "add", "10.0.0.5:9401#" KEY_C, "10.0.0.4", NULL);
	ok(!status && file_line("/sys/kernel/farswap/donors", line, sizeof(line)) &&
	   !strcmp(line, "10.0.0.4#" KEY_B ",10.0.0.5:9401#" KEY_C), "a donor gets another key");
	run("donors", "remove", "10.0.0.5:9401", NULL);
	ok(!status && file_line("/sys/kernel/farswap/donors", line, sizeof(line)) &&
	   !strcmp(line, "10.0.0.4#" KEY_B), "its key need not be given to remove it");
	run("donors", "remove", "10.0.0.9", NULL);
	ok(status == CTL_PROBLEM && has("'10.0.0.9' is not a donor of this machine"),
	   "an address that is no donor can't be removed");
	run("donors", "add", "no-such-host.invalid:9400", "--json", NULL);
	ok(status == CTL_UNKNOWN &&
	   has("farswapctl: the host name 'no-such-host.invalid' does not resolve: ") &&
	   has("{\"error\":\"the host name "), "a name that does not resolve is named");
	run("donors", "add", NULL);
	ok(status == CTL_UNKNOWN && has("missing address"), "add without an address");
	run("donors", "replace", NULL);
	ok(status == CTL_UNKNOWN && has("unknown word 'replace' (add, remove or sync)"), "an unknown word");
	make_client();
}

/*
 * A resolver whose answers are a file of the copied machine: lines of "NAME ADDRESS TIER WEIGHT", or
 * of "NAME error".
 */
static bool fake_answer(const char *wanted, struct targets *targets, char error[RESOLVE_ERROR])
{
	char *text = file_read("/answers"), *cursor = text, *line, name[64], host[64];
	struct target target = { 0 };
	bool good = false;

	snprintf(error, RESOLVE_ERROR, "server failure");
	while (text && (line = file_next(&cursor))) {
		int n = sscanf(line, "%63s %63s %u %u", name, host, &target.tier, &target.weight);

		if (strcmp(name, wanted) != 0 || n != 4)
			continue;
		resolve_spell(target.address, host, RESOLVE_PORT);
		targets_add(targets, &target);
		good = true;
	}
	free(text);
	return good;
}

bool resolve_host(const char *host, unsigned int port, struct targets *targets,
		  char error[RESOLVE_ERROR])
{
	(void)port;
	return fake_answer(host, targets, error);
}

bool resolve_srv(const char *name, struct targets *targets, char error[RESOLVE_ERROR])
{
	return fake_answer(name, targets, error);
}

bool resolve_avahi(const char *type, struct targets *targets, char error[RESOLVE_ERROR])
{
	return fake_answer(type, targets, error);
}

/* Whether "donors sync" ends with this status, and the list is this. */
static bool synced(int expected, const char *list)
{
	char line[DONORS_LINE] = "";

	run("donors", "sync", NULL);
	if (!file_line("/sys/kernel/farswap/donors", line, sizeof(line)) || strcmp(line, list) != 0 ||
	    status != expected) {
		printf("# status %d, list \"%.300s\", expected %d, \"%.300s\"; %s\n", status, line,
		       expected, list, output);
		return false;
	}
	return true;
}

static void test_sync(void)
{
	put("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	put("/run/utmp", "x");
	put("/sys/kernel/farswap/donors", "10.0.0.7,10.0.0.3:9400\n");
	run("donors", "sync", NULL);
	ok(status == CTL_UNKNOWN && has("no donor is named in /etc/farswap/donors.d"),
	   "sync without a source");
	put("/etc/farswap/donors.d/10-fixed.conf", "donor = 10.0.0.9\ndonor 10.0.0.3\n"
	    "donor = FD00:0::9\ndonor = 127.0.0.1\nexclude = 10.0.0.5\n");
	ok(synced(CTL_OK, "10.0.0.3:9400,10.0.0.9,fd00::9") &&
	   has("+ 10.0.0.9\n+ fd00::9\n- 10.0.0.7\n3 donors, 2 added, 1 removed, 0 left out (most = 64)\n"),
	   "sync keeps the spelling of donors that stay, and leaves this machine's own address out");
	put("/etc/farswap/donors.d/20-names.conf", "srv = _farswap._tcp.test\ndonor = rack\navahi = _farswap._tcp\n");
	put("/answers", "_farswap._tcp.test 10.0.0.20 1 10\n_farswap._tcp.test 10.0.0.5 1 10\n"
	    "rack 10.0.0.21 0 1\n_farswap._tcp 10.0.0.22 1 1\n_farswap._tcp 10.0.0.20 1 1\n");
	ok(synced(CTL_OK, "10.0.0.3:9400,10.0.0.9,fd00::9,10.0.0.20,10.0.0.21,10.0.0.22"),
	   "addresses, names, SRV records and Avahi add up, without those that are excluded");
	put("/answers", "rack 10.0.0.23 0 1\n_farswap._tcp error\n");
	ok(synced(CTL_PROBLEM, "10.0.0.3:9400,10.0.0.9,fd00::9,10.0.0.20,10.0.0.21,10.0.0.22,10.0.0.23") &&
	   has("srv = _farswap._tcp.test: server failure; its donors stay as they are; check the name in /etc/farswap/donors.d"),
	   "an error of a source changes nothing of it, and other sources count");
	run("donors", "sync", "--json", NULL);
	/* The lines on standard error come first. */
	memmove(output, strchr(output, '{'), strlen(strchr(output, '{')) + 1);
	ok(status == CTL_PROBLEM && is_json() && has("\"donors\":7,\"added\":[],\"removed\":[],\"left_out\":0") &&
	   has("{\"source\":\"_farswap._tcp.test\",\"error\":\"server failure\"}"), "sync as JSON");
	ok(synced(CTL_PROBLEM, "10.0.0.3:9400,10.0.0.9,fd00::9,10.0.0.20,10.0.0.22,10.0.0.23") &&
	   has("- 10.0.0.21\n"), "the third answer in a row without a donor removes it");
	put("/answers", "_farswap._tcp.test 10.0.0.24 1 1\nrack 10.0.0.23 0 1\n");
	ok(synced(CTL_PROBLEM, "10.0.0.3:9400,10.0.0.9,fd00::9,10.0.0.20,10.0.0.22,10.0.0.23,10.0.0.24"),
	   "one answer without a donor does not");
	gone("/run/farswap/donors");
	put("/answers", "rack 10.0.0.25 0 1\n");
	ok(synced(CTL_PROBLEM, "10.0.0.3:9400,10.0.0.9,fd00::9,10.0.0.20,10.0.0.22,10.0.0.23,10.0.0.24,10.0.0.25"),
	   "an error with no known answer removes no donor at all");
	put("/etc/farswap/farswap.conf", "backup = disk\n donors = 10.0.0.2\n");
	run("donors", "sync", NULL);
	ok(status == CTL_UNKNOWN && has("farswap.conf:2: donors: is set here and in "),
	   "two lists of donors are refused");
	gone("/etc/farswap/farswap.conf");
	put("/etc/farswap/donors.d/30-wrong.conf", "most = 65\n");
	run("donors", "sync", NULL);
	ok(status == CTL_UNKNOWN && has("30-wrong.conf:1: most: invalid value '65' (range 1-64)"),
	   "a wrong line is named");
	gone("/etc/farswap/donors.d/30-wrong.conf");
	gone("/etc/farswap/donors.d/20-names.conf");
	put("/etc/farswap/donors.d/10-fixed.conf", "donor = 10.0.0.3\ndonor = 10.0.0.9#new # comment\n"
	    "donor = 10.0.0.4#four\n");
	put("/sys/kernel/farswap/donors", "10.0.0.3:9400#three,10.0.0.9#old\n");
	ok(synced(CTL_OK, "10.0.0.3:9400#three,10.0.0.9#new,10.0.0.4#four"),
	   "a key stays, unless another is given");
	put("/etc/farswap/donors.d/30-wrong.conf", "donor = rack#key\n");
	run("donors", "sync", NULL);
	ok(status == CTL_UNKNOWN && has("30-wrong.conf:1: donor: invalid value 'rack#key' (only an address"),
	   "a name has no key");
	gone("/etc/farswap/donors.d/30-wrong.conf");
}

/* Let a machine choose; count the choices of each of @nr donors. */
static void choose(const char *machine, unsigned int nr, unsigned int *chosen)
{
	char line[DONORS_LINE], *word, *save = NULL;

	put("/etc/machine-id", "%s\n", machine);
	put("/sys/kernel/farswap/donors", "\n");
	run("donors", "sync", NULL);
	if (status || !file_line("/sys/kernel/farswap/donors", line, sizeof(line)))
		printf("# status %d: %s\n", status, output);
	for (word = strtok_r(line, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		unsigned int at = strtoul(strrchr(word, '.') + 1, NULL, 10);

		if (at < nr)
			chosen[at]++;
	}
}

/* 200 donors, of which each machine takes 64, unless @without; return how many @machine takes. */
static unsigned int choose_of(unsigned int nr, unsigned int without, const char *machine,
			      unsigned int *chosen)
{
	char text[8192];
	unsigned int i, n = 0, sum = 0;

	for (i = 0; i < nr; i++)
		if (i != without)
			n += snprintf(text + n, sizeof(text) - n, "rack 10.1.0.%u 1 %u\n", i,
				      i < nr / 2 ? 1 : 4);
	put("/answers", "%s", text);
	choose(machine, nr, chosen);
	for (i = 0; i < nr; i++)
		sum += chosen[i];
	return sum;
}

static void test_sync_many(void)
{
	unsigned int first[200] = { 0 }, again[200] = { 0 }, all[200] = { 0 }, i, changed = 0, heavy = 0;
	unsigned int used = 0, most = 0;
	char machine[64];

	gone("/etc/farswap/donors.d/10-fixed.conf");
	put("/etc/farswap/donors.d/20-names.conf", "donor = rack\n");
	gone("/run/farswap/donors");
	ok(choose_of(200, 200, "1111", first) == 64 && has("136 left out"), "64 of 200 donors are chosen");
	for (i = 0; i < 200 && !first[i]; i++)
		;
	gone("/run/farswap/donors");
	ok(choose_of(200, i, "1111", again) == 64, "a donor is gone");
	for (i = 0; i < 200; i++)
		changed += first[i] != again[i];
	if (!ok(changed == 2, "only its place is given to another"))
		printf("# %u donors changed\n", changed);
	for (i = 0; i < 30; i++) {
		snprintf(machine, sizeof(machine), "%032x", i * 7919);
		gone("/run/farswap/donors");
		choose_of(200, 200, machine, all);
	}
	for (i = 0; i < 200; i++) {
		used += !!all[i];
		most = all[i] > most ? all[i] : most;
		heavy += i >= 100 ? all[i] : 0;
	}
	if (!ok(used > 180 && most < 30 && heavy > 30 * 64 * 3 / 5 && heavy < 30 * 64 * 9 / 10,
		"30 machines choose different ones, by their weight"))
		printf("# %u used, one by %u, %u of %u choices of the heavy half\n", used, most, heavy,
		       30 * 64);
	gone("/etc/farswap/donors.d/20-names.conf");
	make_client();
}

/* Functions that farswap hooks, in tracefs; all but swap_writepage(). */
#define HOOKED	"swap_read_folio\n__swap_writepage\nzswap_store\nzswap_swapon\nzswap_swapoff\n" \
		"reenable_swap_slots_cache_unlock\n__folio_lock_or_retry\nswapin_readahead\n" \
		"swap_cluster_readahead\nclear_shadow_from_swap_cache\n"

/* One line of check names the mistake, and what to type. */
static void finds(const char *what, const char *start, const char *names, const char *cure)
{
	char *line;

	run("check", NULL);
	for (line = output; line; line = strchr(line, '\n')) {
		char *end;

		line += *line == '\n';
		end = strchrnul(line, '\n');
		if (!strncmp(line, start, strlen(start)) &&
		    memmem(line, end - line, names, strlen(names)) &&
		    memmem(line, end - line, cure, strlen(cure)))
			break;
	}
	if (!ok(line && status == !strncmp(start, "fail", 4), "check: %s", what))
		printf("# status %d, no \"%s...%s...%s\" in: %s\n", status, start, names, cure, output);
	make_client();
}

static void donor_says(const char *state, int error, const char *log)
{
	put("/sys/kernel/debug/farswap/donors",
	    "address state slabs free_mb node instance downs last_error suspects resumes same_machine slow tail_us\n"
	    "10.0.0.2 %s 0 0 0-0 00 3 %d 0 0 - 0 0\n", state, error);
	put("/dev/kmsg", "4,9,700000,-;farswap_rdma: donor 10.0.0.22: can't connect: doesn't answer\n"
	    "4,10,800000,-;%s\n", log);
}

static void test_check(void)
{
	run("check", NULL);
	ok(!status && has("ok    kernel: Linux 6.12.117+deb12-amd64\n") && has("ok    swap: 1 devices, 511M") &&
	   has("ok    rdma: port 1 of rxe0 is active, over eth0 with MTU 1500") &&
	   has("ok    donor: 10.0.0.2 is live, 2 slabs, 4096 MiB free") && has(" 0 wrong\n"),
	   "check: a good machine");
	run("check", "--json", NULL);
	ok(!status && is_json() && has("\"cure\":null") && has("\"fail\":0}"), "check as JSON");

	put("/proc/sys/kernel/osrelease", "6.1.0-31-amd64\n");
	finds("the wrong kernel", "fail  kernel: ", "Linux 6.1.0-31-amd64", "type: apt install linux-image-6.12");
	put("/proc/sys/kernel/osrelease", "6.12.0-55.9.1.el10_0.x86_64\n");
	finds("another vendor's kernel", "fail  kernel: ", "6.12.0-55.9.1.el10_0.x86_64", "type: apt");
	gone("/sys/module/zswap/parameters/enabled");
	finds("a kernel without zswap", "fail  kernel: ", "CONFIG_ZSWAP", "type: apt");
	put("/proc/sys/kernel/ftrace_enabled", "0\n");
	finds("ftrace is off", "fail  kernel: ", "ftrace_enabled is 0", "type: sysctl kernel.ftrace_enabled=1");
	put("/sys/kernel/farswap/attached", "0\n");
	put("/dev/kmsg", "3,1,1,-;farswap: a live patch, or another module, has redirected a function of the swap code: not attached\n");
	finds("not attached", "fail  module: ", "a live patch", "type: echo 1 >/sys/kernel/farswap/attached");
	put("/sys/kernel/farswap/attached", "0\n");
	put("/sys/kernel/tracing/available_filter_functions", "swap_read_folio_bdev_async\n" HOOKED);
	put("/sys/kernel/tracing/enabled_functions",
	    "__swap_writepage (1) R\ttramp: 0xffff I\nswap_read_folio (1) R I     M\ttramp: 0xffff\n");
	finds("a live patch", "fail  hooks: ", "a live patch has redirected swap_read_folio,", "type: ls /sys/kernel/livepatch");
	ok(!has("redirected __swap_writepage"),
	   "check: a function that is only traced is not reported");
	put("/sys/kernel/farswap/attached", "0\n");
	put("/sys/kernel/tracing/available_filter_functions", HOOKED "swap_writepage_2\n");
	gone("/sys/kernel/tracing/enabled_functions");
	finds("a function that is inlined", "fail  hooks: ", "no function swap_writepage to trace", "type: apt install");
	gone("/sys/kernel/tracing/available_filter_functions");
	gone("/sys/kernel/farswap/attached");
	finds("no module", "fail  module: ", "not installed", "type: apt install farswap-dkms");
	gone("/sys/kernel/farswap/attached");
	put("/lib/modules/6.12.117+deb12-amd64/modules.dep", "updates/dkms/farswap.ko.xz:\n");
	put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	finds("a locked-down kernel", "fail  module: ", "locked down", "type: mokutil --import");
	gone("/sys/kernel/farswap/attached");
	put("/dev/kmsg", "3,1,1,-;farswap: donors: \"rack7\" is not an address; give numeric ones\n");
	finds("a host name as a parameter", "fail  module: ", "\"rack7\" is not an address", "editor /etc/farswap/farswap.conf");
	put("/proc/swaps", "Filename Type Size Used Priority\n");
	finds("no swap", "fail  swap: ", "no swap device", "mkswap /swapfile && swapon /swapfile");
	put("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1000 0 100\n");
	finds("only zram", "fail  swap: ", "/dev/zram0, which is memory itself", "swapon /swapfile");
	put("/sys/class/infiniband/rxe0/ports/1/state", "1: DOWN\n");
	finds("a port that is down", "warn  rdma: ", "state 1: DOWN", "type: ip link set dev eth0 up");
	put("/sys/class/net/eth0/mtu", "1280\n");
	finds("a small MTU", "warn  mtu: ", "MTU of eth0 is 1280", "type: ip link set dev eth0 mtu 1500");
	put("/sys/kernel/debug/farswap/stats", "load_lost 3\n");
	finds("lost pages", "fail  counters: ", "load_lost is 3", "type: dmesg");
}

static void test_check_donors(void)
{
	donor_says("connecting", -110, "farswap_rdma: donor 10.0.0.2: can't connect: doesn't answer");
	finds("a donor that is silent", "fail  donor: ", "10.0.0.2 does not answer", "type: ping 10.0.0.2");
	donor_says("connecting", -111, "farswap_rdma: donor 10.0.0.2: can't connect: no farswapd at this address: invalid service ID");
	finds("no farswapd there", "fail  donor: ", "10.0.0.2 is not used: the machine answers", "type: systemctl enable --now farswapd (there)");
	donor_says("connecting", -22, "farswap_rdma: donor 10.0.0.2: can't connect: lends slabs of 32 MiB, slab_mb here is 64");
	finds("another slab size", "fail  donor: ", "lends slabs of 32 MiB, slab_mb here is 64", "type: echo 'slab = 64M' >/etc/farswapd.conf.d/slab.conf");
	donor_says("connecting", -113, "farswap_rdma: donor 10.0.0.2: can't connect: address error (-113)");
	finds("an address of no machine", "fail  donor: ", "10.0.0.2 does not answer", "type: ping 10.0.0.2");
	donor_says("connecting", -5, "farswap_rdma: donor 10.0.0.2: can't connect: packets of 2048 bytes to it are lost, of 1024 not: MTU is 9000 on eth0, less there or on the way");
	finds("a smaller MTU on the way", "fail  donor: ", "MTU is 9000 on eth0", "type: ip link set dev INTERFACE mtu 1500");
	donor_says("connecting", -EACCES, "farswap_rdma: donor 10.0.0.2: can't connect: has a key, but this machine has none: run farswapctl key");
	finds("no key", "fail  donor: ", "this machine has none", "type: farswapctl key &&");
	donor_says("connecting", -EACCES, "farswap_rdma: donor 10.0.0.2: can't connect: does not know this machine's key, or has another key: see its log");
	finds("a wrong key", "fail  donor: ", "does not know this machine's key", "farswapctl allow NAME KEY (there)");
	donor_says("connecting", -EACCES, "farswap_rdma: donor 10.0.0.2: can't connect: is not the donor that has this key");
	finds("a donor with another key", "fail  donor: ", "is not the donor that has this key", "type: farswapctl key (there)");
	donor_says("connecting", -EACCES, "farswap_rdma: donor 10.0.0.2: can't connect: does not lend to this machine: see its log; or it wants a key, as in ADDRESS#KEY");
	finds("a donor that wants a key", "fail  donor: ", "it wants a key", "type: farswapctl key (there)");
	donor_says("connecting", -ENODEV, "farswap_rdma: donor 10.0.0.2: can't connect: no RDMA device for this address");
	finds("no RDMA device in that network", "fail  donor: ", "no RDMA device in the network", "type: rdma link add");
	donor_says("connecting", -ELOOP, "farswap: donor 10.0.0.2: is this machine: not used");
	finds("only itself in the list", "fail  donors: ", "10.0.0.2 is this machine itself", "type: farswapctl donors add");
	put("/sys/kernel/debug/farswap/timing", "address reads fastest_ns slowest_ns error\n10.0.0.9 8 1 1 0\n10.0.0.2 0 0 0 -5\n");
	donor_says("live", 0, "farswap: donor 10.0.0.2: up");
	finds("a donor whose pages can't be read", "fail  donor: ", "10.0.0.2 is live, and a READ of a page failed: Input/output error", "type: dmesg");
	put("/sys/kernel/debug/farswap/timing", "address reads fastest_ns slowest_ns error\n10.0.0.2 8 12345 99999 0\n");
	donor_says("live", 0, "farswap: donor 10.0.0.2: up");
	finds("the time of a READ", "ok    donor: ", "a page is read in 12 us", "");
	gone("/sys/kernel/debug/farswap/timing");
	donor_says("live", 0, "farswap: donor 10.0.0.2: up\n6,1,1,-;farswap: donor 10.0.0.2: is full: it has no memory for another slab");
	finds("a full donor", "warn  donor: ", "10.0.0.2 is full", "/etc/farswapd.conf");
	donor_says("connecting", 0, "farswap: attached");
	finds("a donor that was never tried", "fail  donor: ", "it was not tried yet", "type: dmesg");
	put("/sys/kernel/debug/farswap/donors", "address state\n");
	finds("no donors", "fail  donors: ", "no donors", "type: farswapctl donors add ADDRESS");
	put("/etc/farswap/donors.d/10.conf", "donor = 10.0.0.2\ndonor = no-such.invalid:9401\n");
	finds("a name that does not resolve", "fail  donors: ", "the name in donor=no-such.invalid:9401 does not resolve: ",
	      "type: getent hosts no-such.invalid; editor ");
	put("/etc/farswap/donors.d/10.conf", "donors = 10.0.0.2\n");
	finds("a wrong line in donors.d", "fail  donors: ", "10.conf:1: unknown key 'donors'", "type: editor ");
	gone("/etc/farswap/donors.d/10.conf");
	put("/sys/kernel/debug/farswap/donors", "address state\n");
	put("/dev/kmsg", "3,1,1,-;farswap: donors: \"rack7\" is not an address; give numeric ones\n");
	finds("a line that was refused", "fail  donors: ", "\"rack7\" is not an address",
	      "type: editor /etc/farswap/farswap.conf");
	gone("/sys/module/farswap_rdma/refcnt");
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/sys/module/farswap_rdma", root);
		rmdir(path);
	}
	finds("no transport", "fail  module: ", "farswap-rdma", "type: modprobe farswap-rdma");
}

/* farswapd's words about a low limit, as in sandbox.c. */
static void test_farswapd(void)
{
	ok(!strncmp(donor_cure("RLIMIT_MEMLOCK is 64K, but 70M are needed: ..."), "systemctl revert", 16),
	   "a limit on locked memory has a cure");
	ok(!strncmp(donor_cure("auth is not set, and this machine has no key: ..."), "farswapctl key &&", 17),
	   "a donor without a key has a cure");
	ok(!strncmp(donor_cure("no RDMA: load the device's driver"), "modprobe rdma_rxe", 17),
	   "no RDMA device has a cure");
	ok(strstr(donor_cure("/etc/farswapd.conf:3: slab: invalid value"), "editor /etc/farswapd.conf"),
	   "a wrong configuration has a cure");
}

static void test_gsi(void)
{
	char good[] = "link rxe0/1 lqpn 17 type RC state RTS pid 7 comm farswapd\n"
		"link rxe0/1 lqpn 1 type GSI state RTS sq-psn 0\n";
	char bad[] = "link rxe0/1 lqpn 17 type RC state ERR\n"
		"link rxe7/1 lqpn 1 type GSI state ERR sq-psn 0 comm [ib_core]\n";
	char device[NAME_BYTES];

	ok(!rdma_gsi_broken(good, device), "a GSI queue pair that works");
	ok(rdma_gsi_broken(bad, device) && !strcmp(device, "rxe7"), "a GSI queue pair in ERR");
}

static void test_metrics(void)
{
	char *line, *next, name[128];
	bool all = true;

	run("metrics", NULL);
	ok(!status && has("# TYPE farswap_store_remote counter\n# HELP farswap_store_remote ") &&
	   has("\nfarswap_store_remote_total 1000\n") && has("\nfarswap_remote_pages 5120\n") &&
	   has("\nfarswap_new_one 7\n") && has("\nfarswap_donors{state=\"live\"} 2\n") &&
	   has("\nfarswap_donor_free_bytes{donor=\"10.0.0.2\"} 4294967296\n") &&
	   has("# TYPE farswap_build info\n") && !strcmp(output + strlen(output) - 6, "# EOF\n"),
	   "metrics are OpenMetrics");
	ok(has("farswap_latency_seconds_bucket{kind=\"load_remote\",le=\"1.024e-06\"} 1\n") &&
	   has("kind=\"load_remote\",le=\"1.6384e-05\"} 3\n") &&
	   has("kind=\"load_remote\",le=\"6.5536e-05\"} 4\n") &&
	   has("farswap_latency_seconds_bucket{kind=\"load_remote\",le=\"+Inf\"} 4\n") &&
	   has("farswap_latency_seconds_count{kind=\"load_remote\"} 4\n") &&
	   has("farswap_latency_seconds_sum{kind=\"load_remote\"} 0.000064480\n"),
	   "the histogram has the samples of the kernel's buckets");
	for (line = output; (next = strstr(line, "# TYPE ")); line = next + 1) {
		char entry[160];

		sscanf(next, "# TYPE farswap_%100s", name);
		if (explain_find(name) || !strcmp(name, "new_one"))
			continue;
		snprintf(entry, sizeof(entry), "\n.B farswap_%s", name);
		if (strstr(man, entry))
			continue;
		printf("# farswap_%s is not in the man page\n", name);
		all = false;
	}
	ok(all, "each metric is in the man page or is a counter of the guide");
	run("metrics", "--plain", NULL);
	ok(!status && has("# TYPE farswap_store_remote_total counter\n") &&
	   has("# TYPE farswap_build_info gauge\n") && has("# TYPE farswap_new_one untyped\n") &&
	   !strstr(output, "EOF"), "metrics in Prometheus's older format");
	snprintf(name, sizeof(name), "%s/farswap.prom", root);
	run("metrics", "--output", name, NULL);
	ok(!status && !*output && (line = file_read("/farswap.prom")) && strstr(line, "# EOF\n"),
	   "metrics go to a file");
	free(line);
	run("metrics", "--output", "/no/such/directory", NULL);
	ok(status == CTL_PROBLEM && has("/no/such/directory.new: No such file"),
	   "a file that can't be written is named");
	run("metrics", "--json", NULL);
	ok(status == CTL_UNKNOWN && has("--json is not valid"), "metrics have no JSON");
}

static void test_http(void)
{
	char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n", *body;
	FILE *in = fmemopen(request, strlen(request), "r");
	char other[] = "POST /metrics HTTP/1.1\r\n\r\n";
	char path[] = "GET / HTTP/1.1\r\n\r\n";
	FILE *keep = stdin;

	stdin = in;
	run("metrics", "--http", NULL);
	body = strstr(output, "\r\n\r\n");
	ok(!status && has("HTTP/1.1 200 OK\r\n") && has("application/openmetrics-text; version=1.0.0") &&
	   body && strtoul(strstr(output, "Content-Length: ") + 16, NULL, 10) == strlen(body + 4),
	   "an HTTP request is answered");
	fclose(in);
	stdin = fmemopen(other, strlen(other), "r");
	run("metrics", "--http", NULL);
	ok(has("HTTP/1.1 404 "), "another method is refused");
	fclose(stdin);
	stdin = fmemopen(path, strlen(path), "r");
	run("metrics", "--http", NULL);
	ok(has("HTTP/1.1 404 "), "another path is refused");
	fclose(stdin);
	stdin = keep;
}

static unsigned int wider_than_screen(unsigned int *rows)
{
	char *text = output, *line;
	unsigned int wide = 0;

	for (*rows = 0; (line = file_next(&text)); ++*rows)
		wide += strlen(line) > TOP_COLUMNS;
	return wide;
}

/* Not a terminal: one frame, after one interval, in which nothing grows. */
static void test_top(void)
{
	struct metrics_histogram histogram = { 0 };
	struct top top = { .out = tmpfile(), .seconds = 2 };
	unsigned int rows, wide;
	size_t n;

	run("top", NULL);
	ok(!status && has("farswap  attached  backup=disk  2 of 2 donors live") &&
	   has("remote 20 MiB in 2 slabs of 64 MiB, 10 MiB also on the device, 1 MiB staged") &&
	   has("\n10.0.0.3:9400 "), "top shows a frame");
	wide = wider_than_screen(&rows);
	ok(!wide && rows <= TOP_ROWS, "in 80 columns and 24 rows");
	top_read(&top.before);
	put("/sys/kernel/debug/farswap/stats", "store_remote 3000\nload_remote 500\n");
	put("/sys/kernel/debug/farswap/latency", "load_urgent count 3 p50_us 12 p99_us 40\n"
	    "load_urgent_ns 8192 99\nload_urgent_ns 65536 1\n");
	top_read(&top.now);
	top_frame(&top);
	rewind(top.out);
	n = fread(output, 1, sizeof(output) - 1, top.out);
	output[n] = '\0';
	ok(has("out  donors        1000      3.9  ########################################\n") &&
	   has("in   donors           0      0.0  \n") &&
	   has("100 faults, p50 below 8 us, p99 below 8 us\n"), "the rates are those of the interval");
	top_free(&top.before);
	top_free(&top.now);
	fclose(top.out);
	metrics_histogram_add(&histogram, 3000, 98);
	metrics_histogram_add(&histogram, 100000, 2);
	ok(top_percentile(&histogram, 50) == 4096 && top_percentile(&histogram, 99) == 131072,
	   "percentiles are bounds of buckets");
	make_client();
}

static void test_bench(void)
{
	run("bench", NULL);
	ok(status == CTL_UNKNOWN && has("--root is not valid"), "bench measures this machine only");
	ok(bench_size("64") == 64 && bench_percent(3, 1) == 75 && !bench_percent(0, 0),
	   "bench computes shares");
}

static void test_usage(void)
{
	run("frobnicate", NULL);
	ok(status == CTL_UNKNOWN && has("unknown command 'frobnicate'"), "an unknown command");
	run("status", "--watch", "1", NULL);
	ok(status == CTL_UNKNOWN && has("--watch is not valid for status"), "another command's option");
	run("drain", "--timeout", "0", NULL);
	ok(status == CTL_UNKNOWN && has("--timeout: invalid value '0' (range 1-86400 seconds)"),
	   "a value out of range");
	run("slabs", "all", NULL);
	ok(status == CTL_UNKNOWN && has("unexpected argument 'all'"), "an argument too many");
	run("explain", NULL);
	ok(status == CTL_UNKNOWN && has("missing argument (COUNTER|all)"), "an argument too few");
	run("explain", "frob", NULL);
	ok(status == CTL_UNKNOWN && has("unknown counter 'frob'"), "an unknown counter");
	gone("/sys/kernel/farswap/attached");
	run("status", "--json", NULL);
	ok(status == CTL_UNKNOWN && has("neither farswapd nor the module farswap is running") &&
	   has("{\"error\":"), "a machine without farswap");
	make_client();
	gone("/sys/kernel/debug/farswap/stats");
	run("status", NULL);
	ok(status == CTL_UNKNOWN && has("mount -t debugfs"), "debugfs is not mounted");
	make_client();
}

/* The man page's synopsis has each command with its arguments, and the script is this table's. */
static void test_table(void)
{
	char *text = NULL, *script, line[512];
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	unsigned int i, n;
	bool all = true;

	for (i = 0; i < ctl_commands_nr; i++) {
		const char *args = ctl_commands[i].args;

		n = snprintf(line, sizeof(line), "\n\\fBfarswapctl\\fR [\\fIOPTION\\fR...] \\fB%s\\fR%s",
			     ctl_commands[i].name, *args ? " " : "");
		for (; *args; args++)
			n += snprintf(line + n, sizeof(line) - n, *args == '-' ? "\\-" : "%c", *args);
		snprintf(line + n, sizeof(line) - n, "\n");
		if (strstr(man, line))
			continue;
		printf("# the man page lacks%s", line);
		all = false;
	}
	ok(all, "the man page has the table's commands and arguments");
	ctl_completion(out);
	fclose(out);
	script = file_read(BASH);
	if (!ok(script && !strcmp(script, text), "the completion for bash is up to date"))
		printf("# it should be:\n%s", text);
	free(script);
	free(text);
}

/* Prints the processor time; the goal is 50 ms. */
static void test_many(void)
{
	char path[512];
	struct rusage usage;
	FILE *file;
	int i, fd;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/sys/kernel/debug/farswap/donors", root);
	file = fopen(path, "w");
	fputs("address state slabs free_mb node instance downs last_error suspects resumes same_machine slow tail_us\n", file);
	for (i = 0; i < 64; i++)
		fprintf(file, "10.0.1.%d live 157 1000 71f7c1d0-5a6e-4e63-b28d-a56e2ad3ba7b 0000000000001234 0 0 0 0 -\n", i);
	fclose(file);
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/farswap/slabs", root);
	file = fopen(path, "w");
	fputs("type index state donors remote backed activity missing single\n", file);
	for (i = 0; i < 10000; i++)
		fprintf(file, "0 %d mapped 10.0.1.%d,10.0.1.%d 16384 16384 100 0 0\n", i, i % 64, (i + 1) % 64);
	fclose(file);
	run("slabs", "--json", NULL);
	ok(!status && is_json() && has("\"index\":9999,"), "10,000 slabs as JSON");
	run("status", NULL);
	ok(!status && has("donors   64, 64 of them live\n"), "64 donors");
	pid = access(PROGRAM, X_OK) ? -1 : fork();
	if (!pid) {
		fd = open("/dev/null", O_WRONLY);
		dup2(fd, STDOUT_FILENO);
		execl(PROGRAM, PROGRAM, "--root", root, "--json", "status", NULL);
		_exit(1);
	}
	if (pid > 0 && wait4(pid, &i, 0, &usage) == pid && !i)
		printf("# status with 64 donors and 10,000 slabs: %ld us of CPU\n",
		       (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L +
		       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	make_client();
}

#define WEB1	"/etc/farswapd.conf.d/client-web1.conf"

static bool file_has(const char *path, const char *text)
{
	char *got = file_read(path);
	bool found = got && strstr(got, text);

	free(got);
	return found;
}

#define CODE_OF(address)	"farswap:" address "#" KEY_A "#" KEY_B
#define CONF		"/etc/farswap/farswap.conf"
#define JOINED		CONF ".d/donors.conf"

/* What the configuration of a client is after it has joined. */
static void test_join(void)
{
	static const char *const bad[] = {
		"", "farswap:", "farswap:10.0.0.2", "farswap:10.0.0.2#" KEY_A,
		"farswap:donor#" KEY_A "#" KEY_B, "farswap:10.0.0.2#short#" KEY_B,
		"farswap:10.0.0.2#" KEY_A "#short", CODE_OF("10.0.0.2") "x", CODE_OF("10.0.0.2:0"),
		CODE_OF("10.0.0.2:65536"), CODE_OF("[10.0.0.2"), "http:10.0.0.2#" KEY_A "#" KEY_B,
	};
	unsigned int i;
	bool all = true;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		run("join", bad[i], NULL);
		all &= status == CTL_UNKNOWN && has("join: invalid code");
	}
	ok(all, "invalid codes are refused");
	join_wrong = "it refuses the code";
	run("join", CODE_OF("10.0.0.2"), NULL);
	ok(status == CTL_PROBLEM && has("donor 10.0.0.2: it refuses the code") && !has(KEY_B) &&
	   !file_has(JOINED, "donors"), "a donor that refuses is not configured");
	join_wrong = NULL;
	run("join", CODE_OF("10.0.0.2"), NULL);
	ok(!status && has("may have seen the code") && !has(KEY_B) &&
	   file_has(JOINED, "\ndonors = 10.0.0.2#" KEY_A "\n"), "the first donor");
	run("join", CODE_OF("[fd00::2]:9401"), "--json", NULL);
	ok(!status && file_has(JOINED, "\ndonors = 10.0.0.2#" KEY_A ",[fd00::2]:9401#" KEY_A "\n"),
	   "a second one");
	run("join", "farswap:10.0.0.2#" KEY_C "#" KEY_B, NULL);
	ok(!status && file_has(JOINED, "\ndonors = [fd00::2]:9401#" KEY_A ",10.0.0.2#" KEY_C "\n"),
	   "another key of the first");
	gone(JOINED);
	put(CONF, "# mine\nbackup = replica\ndonors = 10.0.0.9 # ours\n# last\n");
	run("join", CODE_OF("10.0.0.2"), NULL);
	ok(!status && file_has(CONF, "# mine\nbackup = replica\ndonors = 10.0.0.9,10.0.0.2#" KEY_A "\n# last\n") &&
	   !file_has(JOINED, "donors"), "a donors line is extended where it is");
	put(CONF, "backup = replica\n");
	put("/etc/farswap/donors.d/rack.conf", "donor = 10.0.0.9\n");
	run("join", CODE_OF("10.0.0.2"), NULL);
	ok(!status && file_has("/etc/farswap/donors.d/joined-10.0.0.2.conf", "\ndonor = 10.0.0.2#" KEY_A "\n") &&
	   !file_has(JOINED, "donors"), "with files of donors it gets one of its own");
	gone("/etc/farswap/donors.d/rack.conf");
	gone("/etc/farswap/donors.d/joined-10.0.0.2.conf");
	gone(CONF);
}

/* An address of the donor, as its clients write it. */
static void test_invite(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(9400) };
	char address[CODE_ADDRESS];

	put("/sys/class/infiniband/rxe0/ports/1/gids/0", "fe80:0000:0000:0000:5054:00ff:fe00:0002\n");
	put("/sys/class/infiniband/rxe0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0002\n");
	ok(code_own_address(address, (struct sockaddr *)&any) && !strcmp(address, "10.0.0.2"),
	   "the address of the RDMA device");
	any.sin_port = htons(9500);
	any.sin_addr.s_addr = htonl(0x0a000003);
	ok(code_own_address(address, (struct sockaddr *)&any) && !strcmp(address, "10.0.0.3:9500"),
	   "or that of the configuration, with its port");
	run("invite", "web1", "wieght=3", NULL);
	ok(status == CTL_UNKNOWN && has("client: unknown word 'wieght'"), "a wrong word");
	run("invite", "web1", "--for", "10d", NULL);
	ok(status == CTL_UNKNOWN && has("--for: invalid time '10d' (1s-24h"), "a wrong time");
	run("invite", "web1", "--for", "25h", NULL);
	ok(status == CTL_UNKNOWN && has("--for: invalid time '25h'"), "a time that is too long");
	run("allow", "web1", KEY_A, "--for", "1m", NULL);
	ok(status == CTL_UNKNOWN && has("--for is not valid for allow"), "a time for another command");
	run("invite", "web1", "--for", "10m", NULL);
	ok(status == CTL_PROBLEM && has("farswapd does not run here") && !file_has(WEB1, "client"),
	   "without farswapd there is no invitation");
	gone("/sys/class/infiniband/rxe0/ports/1/gids/0");
	gone("/sys/class/infiniband/rxe0/ports/1/gids/1");
}

static void test_allow(void)
{
	char key[64];

	put("/etc/hostname", "donor\n");
	run("key", NULL);
	snprintf(key, sizeof(key), "%.44s", output);
	run("allow", "web1", KEY_A, "max=8G", NULL);
	ok(!status && has(key), "allow says the donor's own key");
	ok(file_has(WEB1, "\nclient = web1 key=" KEY_A " max=8G\n") &&
	   file_has("/etc/farswapd.conf.d/auth.conf", "\nauth = required\n"), "and writes a file");
	run("allow", "web1", KEY_B, NULL);
	ok(!status && has("deny web1 " KEY_A) &&
	   file_has(WEB1, "\nclient = web1 key=" KEY_A " key=" KEY_B " max=8G\n"), "a second key");
	run("allow", "web1", KEY_C, "weight=3", "--json", NULL);
	ok(!status && is_json() &&
	   file_has(WEB1, "\nclient = web1 key=" KEY_B " key=" KEY_C " weight=3\n"),
	   "a third one replaces the first");
	run("deny", "web1", KEY_A, NULL);
	ok(status == CTL_PROBLEM && has("has no key"), "a key that it does not have");
	run("deny", "web1", KEY_B, NULL);
	ok(!status && file_has(WEB1, "\nclient = web1 key=" KEY_C " weight=3\n"), "one key less");
	run("allow", "web1", KEY_C, "wieght=3", NULL);
	ok(status == CTL_UNKNOWN && has("client: unknown word 'wieght'") &&
	   file_has(WEB1, "weight=3"), "a wrong word changes nothing");
	run("allow", "../x", KEY_A, NULL);
	ok(status == CTL_UNKNOWN && has("invalid name '../x'"), "a wrong name");
	run("allow", "web2", "farswap-secret:" KEY_A, NULL);
	ok(status == CTL_UNKNOWN && has("invalid key"), "a secret key");
	run("deny", "web1", NULL);
	ok(!status && !file_has(WEB1, "client") &&
	   file_has("/etc/farswapd.conf.d/auth.conf", "\nauth = required\n"),
	   "deny removes it, and admits nobody else");
	run("deny", "web1", NULL);
	ok(status == CTL_PROBLEM && has("no client 'web1'"), "deny says that there is none");
	run("key", "commit", NULL);
	ok(status == CTL_PROBLEM && has("farswapctl key next"), "no next key");
	run("key", "next", NULL);
	ok(!status && !has(key), "the next key is another");
	snprintf(key, sizeof(key), "%.44s", output);
	run("key", "commit", NULL);
	ok(!status && has(key), "and becomes the key");
	run("key", NULL);
	ok(!status && has(key), "it is");
	run("key", "now", NULL);
	ok(status == CTL_UNKNOWN && has("(next or commit)"), "a wrong word");
}

/* A machine of the real QEMU, which never runs. It has a virtio-mem device, and one slot. */
static void test_real_machine(void)
{
	char name[32], socket[300], option[340];
	char *argv[] = { "qemu-system-x86_64", "-S", "-nodefaults", "-display", "none", "-name", name,
			 "-m", "64M,slots=1,maxmem=4G", "-object",
			 "memory-backend-ram,id=mem0,size=512M", "-device",
			 "virtio-mem-pci,id=vm0,memdev=mem0", "-qmp", option, NULL };
	const char *const grow[] = { PROGRAM, "vm", "hotplug", name, "+256M", NULL };
	const char *const plug[] = { PROGRAM, "vm", "hotplug", name, "+1G", NULL };
	unsigned int tries = 0;
	pid_t pid;

	snprintf(name, sizeof(name), "farswap-test-%d", getpid());
	snprintf(socket, sizeof(socket), "%s/qmp", root);
	snprintf(option, sizeof(option), "unix:%s,server=on,wait=off", socket);
	pid = access(PROGRAM, X_OK) ? -1 : fork();
	if (!pid) {
		dup2(open("/dev/null", O_RDWR), STDERR_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	while (pid > 0 && access(socket, F_OK) && tries++ < 300 && !waitpid(pid, NULL, WNOHANG))
		usleep(100000);
	if (pid < 0 || access(socket, F_OK)) {
		printf("# no farswapctl or no qemu-system-x86_64: no real machine to test\n");
		return;
	}
	ok(!check_run(grow, output, sizeof(output)) && has("256M more by vm0\n"),
	   "a device of a real QEMU grows");
	ok(!check_run(plug, output, sizeof(output)) && has("1024M more by farswap-dimm1\n"),
	   "a module is plugged into a real QEMU");
	ok(check_run(plug, output, sizeof(output)), "and none without a slot");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With --plain, print the metrics of the copied machine only, for promtool. */
static void reply(int fd, const char *text)
{
	struct admin_reply reply = {
		.magic = ADMIN_MAGIC,
		.version = ADMIN_VERSION,
		.bytes = strlen(text),
	};

	if (send(fd, &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply) ||
	    send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		exit(1);
	close(fd);
}

/* A farswapd that gets one of four regions back each time it is asked. It ends with the drain. */
static void draining_farswapd(int listener)
{
	struct admin_request request;
	int fd, drain = -1, lent = 4;
	char text[128];

	while (drain < 0 || lent >= 0) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0 || recv(fd, &request, sizeof(request), MSG_WAITALL) != sizeof(request))
			exit(1);
		if (request.command == ADMIN_DRAIN) {
			drain = fd;
			continue;
		}
		snprintf(text, sizeof(text), "farswapd_regions{state=\"mapped\"} %d\n"
			 "farswapd_regions{state=\"evicting\"} 0\n", lent--);
		reply(fd, text);
	}
	reply(drain, "4 regions evicted\n");
	exit(0);
}

/* On a terminal a drain shows how far it is. */
static void test_drain(void)
{
	static const char *const frames[] = {
		"\r[##########                              ] 3 of 4 regions still lent ",
		"\r[####################                    ] 2 of 4 regions still lent ",
		"\r[##############################          ] 1 of 4 regions still lent ",
		"\r[########################################] 0 of 4 regions still lent ",
		"\r\033[K4 regions evicted\r\n",
	};
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), terminal, i;
	char *argv[] = { "farswapctl", "-s", addr.sun_path, "drain" };
	pid_t daemon, client;
	size_t len = 0;
	ssize_t n;
	char *at;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/drain", root);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 8)) {
		ok(false, "a socket for farswapd");
		return;
	}
	fflush(stdout);
	daemon = fork();
	if (!daemon)
		draining_farswapd(listener);
	close(listener);
	client = forkpty(&terminal, NULL, NULL, NULL);
	if (!client)
		exit(ctl_main(4, argv));
	/* EIO when nobody has the terminal any more. */
	while (len + 1 < sizeof(output) &&
	       (n = read(terminal, output + len, sizeof(output) - 1 - len)) > 0)
		len += n;
	output[len] = '\0';
	close(terminal);
	waitpid(client, &status, 0);
	waitpid(daemon, NULL, 0);
	for (i = 0, at = output; at && i < (int)ARRAY_SIZE(frames); i++)
		at = strstr(at, frames[i]);
	if (!ok(at && !status, "drain shows its progress on a terminal"))
		printf("# no frame %d in: %s\n", i, output);
}

int main(int argc, char **argv)
{
	const char *const remove[] = { "rm", "-rf", root, NULL };

	if (!mkdtemp(root))
		return 1;
	man = file_read(MAN);
	if (!man)
		return 1;
	make_client();
	if (argc == 2 && !strcmp(argv[1], "--plain")) {
		run("metrics", "--plain", NULL);
		fputs(output, stdout);
		return check_run(remove, output, sizeof(output));
	}
	test_usage();
	test_status();
	ctl.root = root;
	test_donors();
	test_sync();
	test_sync_many();
	test_check();
	test_check_donors();
	test_farswapd();
	test_gsi();
	test_metrics();
	test_http();
	test_top();
	test_bench();
	test_allow();
	test_invite();
	test_join();
	ctl.root = NULL;
	test_drain();
	test_table();
	test_many();
	test_real_machine();
	check_run(remove, output, sizeof(output));
	free(man);
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the RDMA devices, and finds out from the kernel's log why a donor is not in use.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "client.h"
#include "donors.h"
#include "kmsg.h"

#define RDMA_CLASS	"/sys/class/infiniband"
#define RDMA_PORTS_MAX	8
#define NAME_BYTES	64
#define PATH_BYTES	320

/* The network interface of a device, or "" for InfiniBand. */
static void rdma_netdev(const char *device, unsigned int port, char netdev[NAME_BYTES])
{
	char path[PATH_BYTES];

	netdev[0] = '\0';
	snprintf(path, sizeof(path), RDMA_CLASS "/%s/ports/%u/gid_attrs/ndevs/0", device, port);
	(void)file_line(path, netdev, NAME_BYTES);
}

/* Soft RoCE has a file that names its interface. */
static bool rdma_is_soft(const char *device, char netdev[NAME_BYTES])
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/parent", device);
	return file_line(path, netdev, NAME_BYTES);
}

static void rdma_check_port(const char *device, unsigned int port)
{
	char path[PATH_BYTES], state[64] = "", netdev[NAME_BYTES], mtu[16] = "", cure[256];

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/ports/%u/state", device, port);
	(void)file_line(path, state, sizeof(state));
	rdma_netdev(device, port, netdev);
	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", netdev);
	if (*netdev)
		(void)file_line(path, mtu, sizeof(mtu));
	if (!strstr(state, "ACTIVE")) {
		snprintf(cure, sizeof(cure), "ip link set dev %s up", *netdev ? netdev : "INTERFACE");
		check_say(CHECK_WARN, "rdma", cure, "port %u of %s is in state %s, not ACTIVE", port,
			  device, *state ? state : "unknown");
	} else if (*mtu && strtoul(mtu, NULL, 10) < 1500) {
		snprintf(cure, sizeof(cure), "ip link set dev %s mtu 1500", netdev);
		check_say(CHECK_WARN, "mtu", cure, "the MTU of %s is %s: small packets cost processor time",
			  netdev, mtu);
	} else {
		check_say(CHECK_OK, "rdma", NULL, "port %u of %s is active%s%s%s%s", port, device,
			  *netdev ? ", over " : "", netdev, *mtu ? " with MTU " : "", mtu);
	}
}

static void rdma_check_device(const char *device)
{
	char path[PATH_BYTES], type[64];
	unsigned int port;

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/node_type", device);
	if (file_line(path, type, sizeof(type)) && strstr(type, "RNIC")) {
		check_say(CHECK_WARN, "rdma", "rdma link", "%s is an iWARP device, which farswap does not support",
			  device);
		return;
	}
	for (port = 1; port <= RDMA_PORTS_MAX; port++) {
		snprintf(path, sizeof(path), RDMA_CLASS "/%s/ports/%u", device, port);
		if (file_exists(path))
			rdma_check_port(device, port);
	}
}

/*
 * Find the device of a GSI queue pair in ERR in the output of "rdma resource show qp", whose lines
 * are such as "link rxe0/1 lqpn 1 type GSI state ERR ...".
 */
static bool rdma_gsi_broken(char *text, char device[NAME_BYTES])
{
	char *line;

	while ((line = file_next(&text)))
		if (strstr(line, "type GSI") && strstr(line, "state ERR") &&
		    sscanf(line, "link %63[^/ ]", device) == 1)
			return true;
	return false;
}

static void rdma_check_gsi(void)
{
	static const char *const show[] = { "rdma", "resource", "show", "qp", NULL };
	char device[NAME_BYTES], netdev[NAME_BYTES], cure[512];
	static char text[1 << 16];

	if (ctl.root || check_run(show, text, sizeof(text)) || !rdma_gsi_broken(text, device))
		return;
	if (!rdma_is_soft(device, netdev)) {
		check_say(CHECK_FAIL, "rdma", "rdma resource show qp",
			  "the queue pair of %s for new connections is in ERR", device);
		return;
	}
	snprintf(cure, sizeof(cure),
		 "rdma link del %s && rdma link add %s type rxe netdev %s && systemctl try-restart farswapd",
		 device, device, netdev);
	check_say(CHECK_FAIL, "rdma", cure,
		  "the queue pair of %s for new connections is in ERR, because %s refused a packet once: nobody can connect",
		  device, netdev);
}

void check_rdma(void)
{
	static const char make[] = "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0";
	char path[PATH_BYTES];
	struct dirent *entry;
	unsigned int nr = 0;
	DIR *dir;

	file_path(path, sizeof(path), RDMA_CLASS);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		rdma_check_device(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!nr)
		check_say(CHECK_FAIL, "rdma", make, "this machine has no RDMA device");
	else
		rdma_check_gsi();
}

/* A log message that explains why a donor is not used, and the command that cures it. */
struct donor_reason {
	const char *log;		/* a part of the line */
	const char *message;		/* after the address; NULL: what the log says */
	const char *cure;
};

static const struct donor_reason donor_reasons[] = {
	{ "no RDMA device for this address",
	  "this machine has no RDMA device in the network of that donor",
	  "rdma link add rxe0 type rxe netdev INTERFACE" },
	{ "whose port is down", NULL, "ip link set dev INTERFACE up" },
	{ "no farswapd at this address", "the machine answers, and no farswapd listens there",
	  "systemctl enable --now farswapd (there)" },
	{ "speaks version", NULL, "apt install farswapd farswap-dkms (on the older side)" },
	{ "MTU is", NULL, "ip link set dev INTERFACE mtu 1500 (on both sides)" },
	{ "check the MTU", NULL, "ip link set dev INTERFACE mtu 1500 (on both sides)" },
	{ "moves no page", "messages arrive and pages do not: packets are lost on the way",
	  "ip link set dev INTERFACE mtu 1500 (on both sides)" },
	{ "too many clients", "it has as many clients as its configuration allows",
	  "echo 'clients = 256' >/etc/farswapd.conf.d/clients.conf && systemctl restart farswapd (there)" },
	{ "this machine has none: run farswapctl key", NULL,
	  "farswapctl key && systemctl restart farswap; farswapctl allow NAME KEY (there)" },
	{ "does not know this machine's key", NULL,
	  "farswapctl key; farswapctl allow NAME KEY (there); farswapctl key (there) shows its own key" },
	{ "is not the donor that has this key", NULL,
	  "farswapctl key (there); editor /etc/farswap/farswap.conf && systemctl reload farswap" },
	{ "it wants a key", NULL,
	  "farswapctl key (there); editor /etc/farswap/farswap.conf && systemctl reload farswap" },
	{ "is the same farswapd as", NULL, "farswapctl donors remove ADDRESS" },
	{ "restored to an earlier state", NULL, "systemctl restart farswapd (there)" },
	{ "can't be resolved", NULL, "ip route get ADDRESS" },
	{ "iWARP", NULL, "rdma link" },
};

/* A host without its port and brackets, for ping. */
static void donor_host(const char *address, char host[128])
{
	const char *colon = strchr(address, ':');

	if (*address == '[')
		snprintf(host, 128, "%.*s", (int)strcspn(address + 1, "]"), address + 1);
	else if (colon && !strchr(colon + 1, ':'))
		snprintf(host, 128, "%.*s", (int)(colon - address), address);
	else
		snprintf(host, 128, "%s", address);
}

/* A donor that does not answer: tell a machine that is off from a closed port. */
static void donor_silent(const char *address)
{
	char output[4096], host[128], cure[256];
	const char *const ping[] = { "ping", "-c", "1", "-W", "2", host, NULL };
	int status = -1;

	donor_host(address, host);
	if (!ctl.root)
		status = check_run(ping, output, sizeof(output));
	if (!status) {
		check_say(CHECK_FAIL, "donor",
			  "nft insert rule inet filter input udp dport 4791 accept; rdma link (there)",
			  "%s answers ping and not RDMA: UDP port 4791 is closed there or on the way, or it has no RDMA device",
			  address);
		return;
	}
	snprintf(cure, sizeof(cure), "ping %s", host);
	check_say(CHECK_FAIL, "donor", cure, "%s does not answer%s: the machine is off, the address is wrong, or UDP port 4791 is closed",
		  address, status > 0 ? ", nor to ping" : "");
}

/* Slabs of different sizes: the donor has to change, because slab_mb is fixed while loaded. */
static bool donor_other_slabs(const char *address, const char *why)
{
	uint64_t there = file_number(why, "lends slabs of ");
	uint64_t here = file_number(why, "slab_mb here is ");
	char cure[256];

	if (!there || !here)
		return false;
	snprintf(cure, sizeof(cure),
		 "echo 'slab = %" PRIu64 "M' >/etc/farswapd.conf.d/slab.conf && systemctl restart farswapd (there)",
		 here);
	check_say(CHECK_FAIL, "donor", cure, "%s is not used: it lends slabs of %" PRIu64 " MiB, slab_mb here is %" PRIu64,
		  address, there, here);
	return true;
}

static void donor_unused(const char *address, const char *state, long error)
{
	static const char *const silent[] = { "answer", "unreachable", "address error",
		"route error", "lost" };
	static const char failed[] = "can't connect: ";
	const struct kmsg_line *line;
	const char *why;
	char mark[160], cure[256];
	unsigned int i;

	snprintf(mark, sizeof(mark), "donor %s: ", address);
	line = kmsg_last(mark, "");
	if (!line) {
		snprintf(cure, sizeof(cure), "dmesg | grep 'donor %s'", address);
		check_say(CHECK_FAIL, "donor", cure, "%s is %s (%s)", address, state,
			  error ? strerror((int)labs(error)) : "it was not tried yet");
		return;
	}
	why = strstr(line->text, mark) + strlen(mark);
	if (!strncmp(why, failed, strlen(failed)))
		why += strlen(failed);
	if (donor_other_slabs(address, why))
		return;
	for (i = 0; i < ARRAY_SIZE(donor_reasons); i++) {
		if (!strstr(why, donor_reasons[i].log))
			continue;
		check_say(CHECK_FAIL, "donor", donor_reasons[i].cure, "%s is not used: %s", address,
			  donor_reasons[i].message ? donor_reasons[i].message : why);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(silent); i++)
		if (strstr(why, silent[i])) {
			donor_silent(address);
			return;
		}
	snprintf(cure, sizeof(cure), "dmesg | grep 'donor %s'", address);
	check_say(CHECK_FAIL, "donor", cure, "%s is %s; the log says: %s", address, state, why);
}

/* A donor is asked for its memory when a slab is to be mapped; free_mb is 0 until then. */
static bool donor_was_full(const char *address)
{
	const struct kmsg_line *full, *up;
	char mark[160];

	snprintf(mark, sizeof(mark), "donor %s: is full", address);
	full = kmsg_last(mark, "");
	snprintf(mark, sizeof(mark), "donor %s: up", address);
	up = kmsg_last(mark, "");
	return full && full > up;
}

/* How long a READ of a page from a donor takes. */
struct donor_timing {
	char address[128];
	uint64_t us;
	int error;
};

static struct donor_timing donor_timings[DONORS_MAX];
static unsigned int donor_nr_timings;

/* The kernel READs from each live donor when the file is read. */
static void donors_time(void)
{
	struct table table;

	if (!table_open(&table, CLIENT_DEBUGFS "timing"))
		return;
	while (donor_nr_timings < DONORS_MAX && table_next(&table)) {
		struct donor_timing *timing = &donor_timings[donor_nr_timings++];

		snprintf(timing->address, sizeof(timing->address), "%s",
			 table_get(&table, "address"));
		timing->us = (table_number(&table, "fastest_ns") + 500) / 1000;
		timing->error = (int)strtol(table_get(&table, "error"), NULL, 10);
	}
	table_close(&table);
}

static const struct donor_timing *donor_timing(const char *address)
{
	unsigned int i;

	for (i = 0; i < donor_nr_timings; i++)
		if (!strcmp(donor_timings[i].address, address))
			return &donor_timings[i];
	return NULL;
}

static void donor_live(const struct table *table, uint64_t slab_mb)
{
	const char *address = table_get(table, "address");
	const struct donor_timing *timing = donor_timing(address);
	int error = timing ? timing->error : 0;
	char read[64] = "", cure[256];

	if (timing && !error)
		snprintf(read, sizeof(read), ", a page is read in %" PRIu64 " us", timing->us);
	snprintf(cure, sizeof(cure), "dmesg | grep 'donor %s'", address);
	/* A donor without a region for the test has no error. */
	if (error && error != -ENOSPC && error != -ENOMEM)
		check_say(CHECK_FAIL, "donor", cure, "%s is live, and a READ of a page failed: %s",
			  address, strerror(-error));
	else if (table_number(table, "free_mb") < slab_mb && donor_was_full(address))
		check_say(CHECK_WARN, "donor",
			  "farswapctl status (there), then a larger memory or a smaller headroom in /etc/farswapd.conf",
			  "%s is full: it has no memory for another slab; this machine has %s slabs there",
			  address, table_get(table, "slabs"));
	else
		check_say(CHECK_OK, "donor", NULL, "%s is live, %s slabs, %s MiB free%s", address,
			  table_get(table, "slabs"), table_get(table, "free_mb"), read);
}

/* A name of a file in donors.d, as "donor=NAME:PORT" or "srv=NAME", or a file that is wrong. */
static void donors_unnamed(const char *source, const char *error)
{
	static const char file[] = "editor /etc/farswap/donors.d/*.conf";
	const char *name = source ? strchr(source, '=') + 1 : NULL;
	char cure[NI_MAXHOST + sizeof(file) + 32];

	if (!source) {
		check_say(CHECK_FAIL, "donors", file, "%s", error);
		return;
	}
	if (!strncmp(source, "avahi", 5))
		snprintf(cure, sizeof(cure), "avahi-browse -rpt %s", name);
	else if (!strncmp(source, "srv", 3))
		snprintf(cure, sizeof(cure), "host -t SRV %s; %s", name, file);
	else
		snprintf(cure, sizeof(cure), "getent hosts %.*s; %s", (int)strcspn(name, ":"), name, file);
	check_say(CHECK_FAIL, "donors", cure, "the name in %s does not resolve: %s", source, error);
}

void check_donors(void)
{
	unsigned int nr = 0, self = 0;
	char slab_mb[32] = "0", self_address[128] = "", why[KMSG_TEXT];
	struct table table;

	if (!file_exists("/sys/module/farswap_rdma"))
		check_say(CHECK_FAIL, "module", "modprobe farswap-rdma",
			  "farswap-rdma, the way to the donors, is not loaded");
	(void)file_line(CLIENT_SYSFS "slab_mb", slab_mb, sizeof(slab_mb));
	donors_time();
	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		return;
	for (; table_next(&table); nr++) {
		const char *address = table_get(&table, "address");
		const char *state = table_get(&table, "state");
		long error = strtol(table_get(&table, "last_error"), NULL, 10);

		if (error == -ELOOP) {
			self++;
			snprintf(self_address, sizeof(self_address), "%s", address);
		} else if (!strcmp(state, "live")) {
			donor_live(&table, strtoull(slab_mb, NULL, 10));
		} else {
			donor_unused(address, state, error);
		}
	}
	table_close(&table);
	donors_check(donors_unnamed);
	if (!nr && kmsg_text("farswap: donors: ", why))
		check_say(CHECK_FAIL, "donors", "editor /etc/farswap/farswap.conf && systemctl reload farswap",
			  "this machine has no donors; the log says: %s", why);
	else if (!nr)
		check_say(CHECK_FAIL, "donors", "farswapctl donors add ADDRESS",
			  "this machine has no donors");
	else if (self == nr)
		check_say(CHECK_FAIL, "donors", "farswapctl donors add ADDRESS",
			  "%s is this machine itself, which can't lend to itself, and there is no other donor",
			  self_address);
	else if (self)
		check_say(CHECK_OK, "donors", NULL, "%s is this machine itself and not used",
			  self_address);
}

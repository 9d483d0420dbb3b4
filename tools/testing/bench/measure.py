# SPDX-License-Identifier: GPL-2.0
"""The cost of a load to the machines of a cluster: counters before and after it."""

import time

# Ticks of a processor's time, in /proc/stat: each column's name, in order.
COLUMNS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
TICKS_PER_S = 100
READ = ("cat /proc/stat /proc/vmstat; cd /sys/class/net/eth0/statistics; "
        "echo net $(cat rx_bytes tx_bytes rx_packets tx_packets); "
        "for p in $(pidof farswapd nbd-server); do "
        "echo daemon $(cut -d' ' -f1,3 /proc/$p/task/*/schedstat); done")


def sample(vm):
    """{counter: value} of a machine at this moment; times in ms."""
    values = {"rx": 0, "tx": 0, "packets": 0, "daemon": 0, "daemon_runs": 0}
    for words in map(str.split, vm.check(READ).splitlines()):
        if words[0] == "cpu":
            values |= {name: int(word) * 1000 / TICKS_PER_S
                       for name, word in zip(COLUMNS, words[1:])}
        elif words[0] == "net":
            values["rx"], values["tx"] = int(words[1]), int(words[2])
            values["packets"] = int(words[3]) + int(words[4])
        elif words[0] == "daemon":
            # Per thread, in nanoseconds: sampling memory takes far less than a tick.
            # Includes the time of interrupts, unless the kernel accounts for them separately.
            values["daemon"] += sum(map(int, words[1::2])) / 1e6
            values["daemon_runs"] += sum(map(int, words[2::2]))
        elif words[0] in ("pswpin", "pswpout"):
            values[words[0]] = int(words[1])
    return values


class Costs:
    """The costs of a "with" block, in costs: {name: value}."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.costs = {}
        self.before, self.began = [], 0

    def _samples(self):
        return [sample(vm) for vm in self.cluster.machines.values()]

    def __enter__(self):
        self.before = self._samples()
        self.began = time.monotonic()
        return self

    def __exit__(self, kind, value, traceback):
        if kind:
            return
        seconds = time.monotonic() - self.began
        client, *donors = [{name: now - before[name] for name, now in after.items()}
                           for before, after in zip(self.before, self._samples())]
        pages = client["pswpin"] + client["pswpout"]
        self.costs = {
            "pages_in": client["pswpin"], "pages_out": client["pswpout"],
            "out_mb_per_s": client["pswpout"] / 256 / seconds,
            "client_user_ms": client["user"] + client["nice"],
            "client_system_ms": client["system"],
            "client_softirq_ms": client["irq"] + client["softirq"],
            "donor_user_ms": sum(donor["user"] + donor["nice"] for donor in donors),
            "donor_system_ms": sum(donor["system"] for donor in donors),
            "donor_softirq_ms": sum(donor["irq"] + donor["softirq"] for donor in donors),
            "donor_daemon_ms": sum(donor["daemon"] for donor in donors),
            "donor_daemon_ms_per_s": sum(donor["daemon"] for donor in donors) / seconds,
            "donor_daemon_runs_per_s": sum(donor["daemon_runs"] for donor in donors) / seconds,
            "wire_mb": (client["rx"] + client["tx"]) / 1e6,
        }
        if client["pswpin"]:
            self.costs["pages_out_per_in"] = client["pswpout"] / client["pswpin"]
        if pages:
            kernel = client["system"] + client["irq"] + client["softirq"]
            self.costs["client_kernel_us_per_page"] = kernel * 1000 / pages
            self.costs["wire_bytes_per_page"] = (client["rx"] + client["tx"]) / pages
            self.costs["wire_packets_per_page"] = client["packets"] / pages

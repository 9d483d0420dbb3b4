#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs verified loads on clients, donors and machines that are both, and injects every kind of fault
in a random order given by a seed. Prints each event with its result, the longest wait of an access,
and every error; an error fails the run.

Equal seeds, times, kinds and machines give equal events. All machines end with this program.
"""

import argparse
import collections
import os
import random
import re
import sys
import threading
import time

import harness
from harness import farswap, image
import actions
import loads
import losses
import schedule

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
SELFTESTS = os.path.join(TOP, "tools/testing/selftests/farswap")

HUNG = re.compile(r"blocked for more than|INFO: task")
# Limit of the time from the last event until all donors are in use again, in seconds, scaled by the
# slowness of the client's kernel.
RECOVERY = 60
# Longest time in which no donor is usable.
ALONE = 120
# Extra time of a run, to undo the last event and to verify.
EXTRA = 240
# What the event "backup" may set, by what it is at first.
MODES = {"disk": (), "replica": ("disk", "replica", "replica+disk"),
         "none": ("disk", "replica", "none"), "replica+disk": ("disk", "replica+disk")}
# With these the disk has not every page.
SOLE = ("replica", "none")
# The grace with those, in ms: longer than any network outage, so that no living donor is given up.
# With the others this may happen. A load gives up later (loads.STUCK).
GRACE_MS = 45000
# Lines of a console after a complaint that are shown.
CONTEXT = 60
COUNTERS = """store_remote load_remote load_device load_fallback load_split load_lost
    load_waited store_write_failed rebuilt stopgap slab_mapped slab_evicted slab_lost slab_cold
    zswap_accepted donor_up donor_down""".split()


class Run:
    """One cluster, from its start to the verdict."""

    def __init__(self, cluster, args, events):
        self.cluster = cluster
        self.args = args
        self.events = events
        self.failures = []
        self.running = {}
        self.begun = collections.Counter()
        self.done = collections.Counter()
        self.late = 0
        self.over = False
        self.console_bytes = 0
        self.lock = threading.Lock()
        self.slow = image.machine_of(args.client_kernel)[0]["slow"]
        may_lose = args.backup == "none"
        self.losses = losses.Losses(cluster, args.backup, self.slow, self.fail, args.careless)
        self.actions = actions.Actions(cluster, may_lose, loads.part_of(self.slow), self.losses,
                                       self.power, GRACE_MS if args.backup in SOLE else None)
        self.loads = {vm.name: loads.Loads(vm, args.machines.loads(vm.name), args.seed, may_lose,
                                           self.slow, self.fail) for vm in cluster.clients}
        self.began = time.monotonic()

    def say(self, text):
        with self.lock:
            if not self.over:
                print(f"{time.monotonic() - self.began:7.1f}  {text}", flush=True)

    def fail(self, reason):
        if not self.failures:
            self.say(f"FAILURE: {reason}")
        self.failures.append(reason)

    def new_complaints(self):
        """The complaints on the consoles that have new lines."""
        size = sum(os.path.getsize(os.path.join(vm.directory, "console"))
                   for vm in self.cluster.machines.values())
        if size == self.console_bytes:
            return []
        self.console_bytes = size
        if not self.cluster.complaints():
            return []
        # A warning may still be incomplete; its last line tells which one it is.
        time.sleep(2)
        return self.cluster.complaints()

    def failed(self):
        for line in self.new_complaints()[:1]:
            self.fail(line)
        for vm in self.cluster.clients:
            if vm.name in self.losses.ledgers and not vm.is_on():
                self.fail(f"{vm.name} has died")
        return bool(self.failures)

    @staticmethod
    def live_donors(vm):
        _, text = vm.run(f"cat {farswap.DEBUG}/donors", 20)
        return len(farswap.live(text))

    def wait_for_donors(self, clients, seconds):
        """Returns the time it took, or None if a donor is still unused after so many seconds."""
        began = time.monotonic()
        while any(self.live_donors(vm) < len(self.cluster.lenders(vm)) for vm in clients):
            if time.monotonic() - began > seconds:
                return None
            time.sleep(0.2)
        return time.monotonic() - began

    def set_up_client(self, vm):
        # One gets large folios whole and is read ahead by address, one as a disk that turns.
        vm.check("echo 0 >/sys/block/vda/queue/rotational; "
                 "echo 1 >/sys/block/vdb/queue/rotational; "
                 "for disk in vda vdb; do mkswap /dev/$disk >/dev/null && "
                 "swapon_at 5 /dev/$disk || exit 1; done; modprobe farswap "
                 f"protect={self.args.protect} && "
                 f"cd {farswap.SYSFS} && echo 0 >hotslab && echo {self.args.backup} >backup")
        if self.args.backup in SOLE:
            vm.check(f"echo {GRACE_MS} >{farswap.SYSFS}/grace_ms")
        if self.args.compress != "none":
            vm.check(f"echo {self.args.compress} >{farswap.SYSFS}/compress")

    def set_up_adapter(self, vm):
        """Load what makes it fail, before farswap makes its queue pairs."""
        if any(event.kind == "adapter" for event in self.events):
            vm.run("modprobe -q farswap-adapter")

    def power(self, vm, on):
        """Called before a client loses power, and after it is back."""
        if not on:
            self.loads[vm.name].power_off()
            self.losses.off(vm)
            return
        self.set_up_adapter(vm)
        self.set_up_client(vm)
        self.losses.booted(vm)
        self.loads[vm.name].set_up()

    def set_up(self):
        for vm in self.cluster.clients:
            self.set_up_adapter(vm)
        for vm in self.cluster.clients:
            self.set_up_client(vm)
        if self.wait_for_donors(self.cluster.clients, RECOVERY * self.slow) is None:
            raise harness.ClusterError("not all donors can be used")
        for vm in self.cluster.clients:
            self.losses.booted(vm)
            self.loads[vm.name].set_up()
        for kind, why in self.actions.probe().items():
            left = sum(event.kind == kind for event in self.events)
            if left:
                print(f"left out: {kind}, {left} times: {why}")
                self.events = [event for event in self.events if event.kind != kind]

    def lane(self, events):
        for event in events:
            while time.monotonic() - self.began < event.at:
                if self.actions.stopping.wait(0.05):
                    return
            text = schedule.describe(event)
            # The first of each kind comes, however slow the machines are.
            if time.monotonic() - self.began > self.args.seconds and self.begun[event.kind]:
                self.late += 1
                self.say(f"{text}: left out, too late")
                continue
            self.say(text)
            self.running[event.number] = text
            self.begun[event.kind] += 1
            try:
                outcome = self.actions.perform(event)
            # Catch every exception: without this lane the run would prove less than it reports.
            except Exception as error:      # pylint: disable=broad-exception-caught
                if not self.actions.stopping.is_set():
                    self.fail(f"{text}: {error}")
                return
            del self.running[event.number]
            self.done[event.kind] += 1
            self.say(f"#{event.number} {event.kind} {event.lane}: {outcome}")

    def play(self):
        """Runs all events; those of one lane run one after the other."""
        lanes = collections.defaultdict(list)
        for event in self.events:
            lanes[event.lane].append(event)
        threads = [threading.Thread(target=self.lane, args=(list_,), daemon=True)
                   for list_ in lanes.values()]
        self.began = time.monotonic()
        for one in self.loads.values():
            one.start()
        for thread in threads:
            thread.start()
        alone, looked = dict.fromkeys(self.losses.ledgers, 0), 0
        while not self.failed():
            now = time.monotonic() - self.began
            if now - looked > ALONE * self.slow / 10:
                looked = now
                alone.update((vm.name, now) for vm in self.cluster.clients
                             if vm.name not in self.losses.ledgers or self.live_donors(vm))
            for name, since in alone.items():
                if now - since > ALONE * self.slow:
                    self.fail(f"{name}: no donor has been in use for {ALONE * self.slow} s")
            if now > self.args.seconds and not any(thread.is_alive() for thread in threads):
                return
            if now > self.args.seconds + EXTRA * self.slow:
                self.fail("not over: " + "; ".join(self.running.values()))
            time.sleep(0.2)

    def finish(self):
        """Checks after the last event that every machine works and no data is wrong."""
        clients = self.cluster.clients
        for vm in self.cluster.machines.values():
            mended = self.actions.mend(vm)
            if mended:
                self.say(vm.name + mended)
        took = self.wait_for_donors(clients, RECOVERY * self.slow)
        if took is None:
            self.fail(f"not all donors are in use {RECOVERY * self.slow} s after the last event")
            return
        self.say(f"all donors are in use again, after {took:.1f} s; the loads verify and end")
        self.finish_loads()
        self.say("the loads have ended")
        self.losses.check()
        # One event may have no effect, because some faults concern rare commands.
        if self.done["adapter"] > 2 and not self.actions.faults.total():
            self.fail("nothing happened: no adapter has failed")
        # One that has just been booted may have done nothing yet.
        for name in ("store_remote", "load_remote"):
            if not any(self.stats(vm).get(name) for vm in clients):
                self.fail(f"nothing happened: {name} is 0")
        for vm in clients:
            # A slot may be seen while it is being freed.
            orphaned = min(self.stats(vm).get("orphaned_pages", 0) for _ in range(3))
            if orphaned:
                self.fail(f"{vm.name}: {orphaned} remote bits have outlived their slots")
        leaks = self.cluster.leaks()
        if leaks:
            self.fail(f"unreferenced memory in the client\n{leaks}")

    def finish_loads(self):
        """Have the loads verify all their memory and end."""
        began = time.monotonic()
        while not self.failed():
            for one in self.loads.values():
                one.tell()
            running = [label for one in self.loads.values() for label in one.running()]
            if not running:
                return
            if time.monotonic() - began > loads.FINISH * self.slow:
                self.fail(f"load {' '.join(running)}: not verified "
                          f"{loads.FINISH * self.slow} s after its end")
            time.sleep(0.1)

    @staticmethod
    def stats(vm):
        _, text = vm.run(f"cat {farswap.DEBUG}/stats", 20)
        return farswap.counters(text)

    def show(self):
        """Prints information about a failure."""
        for one in self.loads.values():
            print(f"--- loads\n{one.tail()}")
        for vm in self.cluster.clients:
            if vm.is_on():
                _, text = vm.run(
                    "echo w >/proc/sysrq-trigger; head -n 5 /proc/meminfo; cat /proc/swaps; "
                    f"rdma resource show qp; cd {farswap.DEBUG} && cat donors slabs; "
                    "grep -v ' 0$' stats", 20)
                print(f"--- {vm.name}\n{text}")
        for vm in self.cluster.machines.values():
            for line in vm.complaints()[:1]:
                # Its stack is no longer at the end of the console.
                after = vm.console().replace("\r", "").partition(line)[2].splitlines()[:CONTEXT]
                print(f"--- complaint of {vm.name}\n" + "\n".join([line, *after]))
            print(f"--- console of {vm.name}\n{vm.log_tail(60)}")
            if vm in self.cluster.donors and vm.is_on():
                print(vm.run("tail -n 15 /run/farswapd.log", 10)[1])

    def verdict(self):
        with self.lock:
            self.over = True
        complaints = self.cluster.complaints()
        hung = [line for line in complaints if HUNG.search(line)]
        reads, writes, wrong, lost = map(sum, zip(*(one.sum() for one in self.loads.values())))
        every = [load for one in self.loads.values() for load in one.loads]
        worst = max(every, key=lambda load: load.longest_ms)
        stats = sum((collections.Counter(self.stats(vm)) for vm in self.cluster.clients
                     if vm.is_on()), collections.Counter())
        self.failures += [line for line in complaints if line not in self.failures]
        if wrong and not self.failures:
            self.failures.append("wrong bytes")
        gone, could = stats["lost"], self.losses.allowed()
        if lost and not could and not self.failures:
            self.failures.append("SIGBUS, though no donor has died with pages that only it had")
        print("\nevents           " + ", ".join(f"{n} {kind}" for kind, n in self.done.items()) +
              (f"; {self.late} were too late" if self.late else ""))
        print(f"load             {reads} verified reads, {writes} writes, "
              f"{sum(load.rounds for load in every)} process groups")
        print(f"longest wait     {worst.longest_ms} ms, an access of load {worst.label}"
              f" before {max(worst.longest_at - self.began, 0):.0f} s")
        print(f"wrong bytes      {wrong}")
        print(f"SIGBUS           {lost}; {gone} pages were lost, of {could} that might be")
        print(f"hung tasks       {len(hung)}")
        print(f"kernel warnings  {len(complaints) - len(hung)}")
        if self.actions.faults:
            print("adapters         " + ", ".join(f"{count} {name}" for name, count
                                                  in self.actions.faults.items() if count))
        if self.losses.waited:
            print(f"repairs          donors that were to die waited {self.losses.waited:.1f} s "
                  "for them")
        print("farswap          " + ", ".join(f"{stats[name]} {name}" for name in COUNTERS
                                              if stats.get(name)))


def report(run):
    """Print the end of it; the exit status."""
    if run.failures:
        time.sleep(1.5)         # The loads say once a second what they have found.
    run.verdict()
    if run.failures:
        run.show()
    replay = f"seed {run.args.seed}, {run.args.seconds} s, {run.args.cluster}"
    if run.args.events:
        replay += f", events {run.args.events}"
    if run.args.backup != "disk":
        replay += f", backup {run.args.backup}"
    if run.args.compress != "none":
        replay += f", compress {run.args.compress}"
    if run.args.protect != "none":
        replay += f", protect {run.args.protect}"
    reason = run.failures[0].strip().splitlines()[0] if run.failures else ""
    print(f"\nchaos: {replay}: " + (f"FAILED: {reason}" if reason else "clean"), flush=True)
    return 1 if reason else 0


def attempt(args, events):
    """The exit status, or None where the emulator failed."""
    programs = [("/usr/bin/" + name, os.path.join(SELFTESTS, name), None)
                for name in ("load", "swapon_at")]
    # The second gets full.
    small = round(24 * loads.part_of(image.machine_of(args.client_kernel)[0]["slow"]))
    # A region that is not returned in time is lost; no client is cut off for longer.
    daemon = "memory=96M,slab=8M" + (f",evict_ms={GRACE_MS}" if args.backup in SOLE else "")
    machines = args.machines
    with harness.Cluster(clients=machines.clients, donors=machines.donors, both=machines.both,
                         client_mem=320 if machines.both else 224, donor_mem=args.donor_mem,
                         disks=((512, 0), (small, 0)), daemon=daemon,
                         extra_programs=programs, client_root=args.client_kernel) as cluster:
        run = Run(cluster, args, events)
        try:
            run.set_up()
            run.play()
            if not run.failures:
                run.finish()
        except (harness.ClusterError, OSError) as error:
            run.fail(str(error))
        except SystemExit:
            run.over = True         # what breaks from here on is our own doing
            run.actions.stopping.set()
            print(f"\nchaos: seed {args.seed}, {args.seconds} s: interrupted", flush=True)
            raise
        run.actions.stopping.set()
        status = report(run)
        return None if status and cluster.emulator_failed() else status


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="events:\n" + "".join(f"  {name:9} {kind.what}\n"
                                     for name, kind in schedule.KINDS.items()))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1000000))
    parser.add_argument("--seconds", type=int, default=120, help="default 120")
    parser.add_argument("--events", default="", metavar="KIND,KIND",
                        help="only these; to find out which one it takes")
    parser.add_argument("--backup", choices=tuple(MODES), default="disk",
                        help="at first; with none, pages may be lost that a donor had which died")
    parser.add_argument("--compress", choices=("none", "lz4"), default="none", help="at first")
    parser.add_argument("--protect", choices=("none", "verify", "encrypt"), default="none")
    parser.add_argument("--clients", type=int, metavar="N",
                        help="default: one, or none with --both")
    parser.add_argument("--donors", type=int, metavar="N", help="default: 3, or none with --both")
    parser.add_argument("--both", type=int, default=0, metavar="N",
                        help="machines that swap and lend")
    parser.add_argument("--careless", action="store_true",
                        help="with replica, donors die before what the last one had is repaired: "
                        "to see such a run fail")
    parser.add_argument("--donor-mem", type=int, default=384, help="MB")
    parser.add_argument("--client-kernel", metavar="DIR",
                        help="what the client runs, as tools/testing/tree/kernel.sh prints it")
    parser.add_argument("--plan", action="store_true", help="print the events, and no more")
    args = parser.parse_args()
    unknown = set(filter(None, args.events.split(","))) - set(schedule.KINDS)
    if unknown:
        parser.error(f"unknown events: {', '.join(sorted(unknown))}")
    args.machines = schedule.Machines(
        (0 if args.both else 1) if args.clients is None else args.clients,
        (0 if args.both else 3) if args.donors is None else args.donors, args.both)
    args.cluster = f"{args.machines.clients} clients, {args.machines.donors} donors, " \
                   f"{args.machines.both} both"
    if not args.machines.swap() or len(set(args.machines.swap() + args.machines.lend())) < 2 or \
            not args.machines.lend():
        parser.error(f"{args.cluster}: there must be one that swaps and another one that lends")
    if args.seconds < 1:
        parser.error("--seconds: 1 at the least")
    return args


def main():
    args = arguments()
    modes = MODES[args.backup]
    kinds = [kind for kind in schedule.KINDS
             if (not args.events or kind in args.events.split(",")) and
             (modes or kind != "backup")]
    events = schedule.schedule(args.seed, args.seconds, kinds, modes, args.machines)
    if args.plan:
        for event in events:
            print(f"{event.at:7.1f}  {schedule.describe(event)}")
        return 0
    harness.exit_on_signals()
    print(f"chaos: seed {args.seed}, {args.seconds} s, {args.cluster}, {len(events)} events",
          flush=True)
    try:
        return harness.once_more(lambda: attempt(args, events))
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"chaos: {error}")


if __name__ == "__main__":
    sys.exit(main())

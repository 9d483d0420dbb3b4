# SPDX-License-Identifier: GPL-2.0
"""
A cluster of QEMU machines on this one: clients, donors and machines that are both,
on Debian's stock kernel, with soft RoCE over an emulated network. All machines end with the
program.

Examples:
  # a shell command in the client, with two donors beside it
  cluster.py run --donors 2 -- 'ip addr; rdma link; on 10.0.0.2 "free -m"'

  # swap on, farswap loaded and its donors connected before the command
  cluster.py run --donors 2 --up -- 'cat /sys/kernel/debug/farswap/donors'

  # the same with an interactive line-by-line shell ("donor1: CMD" for a donor)
  cluster.py shell --up

  # two clients, and three machines that swap and lend; the command runs in the first client
  cluster.py run --clients 2 --both 3 --up -- 'on 10.0.0.2 "swapon -s"'

In the client:
  on ADDRESS COMMAND        run COMMAND on another guest: the clients have 10.0.0.1 and the
                            next addresses, then come the donors, then the machines that are both
  host poweroff donorN      power loss; host boot donorN: power on, wait for it
  host pause|resume donorN  the whole machine stands still
  host link donorN up|down  pull its network plug
  host delay donorN MS      what the network brings it comes so much later (0: no more)
  host lose donorN PERCENT  of the packets to and from it, on the way (0: no more)
  host repeat donorN MS     each RDMA READ and WRITE that it sends comes once more, so much later
  host iops vda N           limit a disk of the guest that asks (0: no limit)
A machine's address will do for its name: client, client2, ..., donor1, ..., both1, ....
On a donor, and on a machine that is both:
  donor-start [KEY=VALUE..] start farswapd, wait until it answers
Disks are /dev/vda, /dev/vdb, .... Nothing is swapped on or loaded without --up.
A command's files: put them in with --file HOST:GUEST. FARSWAP_ACCEL in the
environment is QEMU's -accel: tcg,thread=multi if unset, kvm where that works;
FARSWAP_CPU its -cpu.

As a library:
  with Cluster(donors=2, client_mem=192, disks=[(1024, 0)]) as cluster:
      rc, output = cluster.client.run("uname -a", timeout=10)
"""

import argparse
import re
import sys

from harness import image
from harness.cluster import Cluster, exit_on_signals, print_bytes
from harness.errors import ClusterError


def run_command(cluster, args):
    status, _ = cluster.client.run(" ".join(args.command), args.timeout, print_bytes)
    if status == 124:
        print(f"(killed after {args.timeout} s)")
    return status


def shell(cluster, _args):
    names = "|".join(cluster.machines)
    print(f"one command a line; '({names}): COMMAND' for one machine; ^D ends")
    while True:
        try:
            line = input(f"{cluster.client.name}# ")
        except EOFError:
            return 0
        match = re.match(rf"({names}):\s*(.*)", line)
        vm = cluster.machines[match[1]] if match else cluster.client
        try:
            status, _ = vm.run(match[2] if match else line, 3600, print_bytes)
            if status:
                print(f"({status})")
        except ClusterError as error:
            print(error)


def parse_disk(text):
    size, _, iops = text.partition(":")
    return int(size), int(iops or 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "shell"))
    parser.add_argument("--clients", type=int, metavar="N",
                        help="default: one, or none with --both")
    parser.add_argument("--donors", type=int, metavar="N", help="default: 2, or none with --both")
    parser.add_argument("--both", type=int, default=0, metavar="N",
                        help="machines that swap and lend; --mem, --cpus, --disk and "
                             "--client-kernel are for them too")
    parser.add_argument("--mem", type=int, default=192, help="client's memory, MB")
    parser.add_argument("--donor-mem", type=int, default=768, help="each donor's memory, MB")
    parser.add_argument("--cpus", type=int, default=1, help="client's processors")
    parser.add_argument("--one-thread", action="store_true",
                        help="emulate all processors of a machine by one thread")
    parser.add_argument("--disk", type=parse_disk, action="append", metavar="MB[:IOPS]",
                        help="a disk of the client; default one of 1024 MB")
    parser.add_argument("--append", default="", help="client's kernel arguments, added")
    parser.add_argument("--client-kernel", metavar="DIR",
                        help="what the client runs, as tools/testing/tree/kernel.sh prints it")
    parser.add_argument("--daemon", help="farswapd's options: key=value,key=value")
    parser.add_argument("--file", action="append", default=[], metavar="HOST:GUEST",
                        help="put a program into the guests, with its libraries")
    parser.add_argument("--up", action="store_true",
                        help="swap on, load farswap, wait for the donors")
    parser.add_argument("--timeout", type=float, default=300, help="of the command, seconds")
    parser.add_argument("--console", action="store_true", help="print the consoles at the end")
    parser.usage = "%(prog)s run|shell [options] [-- COMMAND]"
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:at])
    args.command = words[at + 1:]
    if args.donors is None:
        args.donors = 0 if args.both else 2
    if (args.action == "run") != bool(args.command):
        parser.error("run takes a command after --, shell takes none")
    return args


def main() -> int:
    args = arguments()
    exit_on_signals()
    programs = [(guest, host, None) for host, guest in
                (word.split(":", 1) for word in args.file)]
    status = 1
    try:
        with Cluster(clients=args.clients, donors=args.donors, both=args.both,
                     client_mem=args.mem, donor_mem=args.donor_mem, client_cpus=args.cpus,
                     disks=args.disk or ((1024, 0),),
                     append=args.append, daemon=args.daemon,
                     one_thread=args.one_thread,
                     extra_programs=programs, client_root=args.client_kernel) as cluster:
            try:
                if args.up:
                    cluster.up()
                status = {"run": run_command, "shell": shell}[args.action](cluster, args)
            finally:
                bad = cluster.complaints()
                if status or bad or args.console:
                    for vm in cluster.machines.values():
                        print(f"--- console of {vm.name}", file=sys.stderr)
                        print(vm.log_tail(4000 if args.console else 60), file=sys.stderr)
            for line in bad:
                print(f"kernel: {line}", file=sys.stderr)
            return status or bool(bad)
    except (ClusterError, image.ImageError) as error:
        sys.exit(f"cluster: {error}")


if __name__ == "__main__":
    sys.exit(main())

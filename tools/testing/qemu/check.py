#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Everything that decides whether this tree is good: fetch, build with warnings as
errors, lint, unit tests, the model, and the selftests and a short run of chaos in
clusters of virtual machines. These wait a third of the time: so the selftests are run
from both ends, after chaos and beside it, and lint and the models when the processors
have nothing else to do; a kernel that looks for its own mistakes is built then too. What
may have failed for that is run again at the end, alone, as is chaos on that kernel.
The last line is "N passed, N failed", with ", N skipped" where some were.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import ktap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
FETCH = os.path.join(HERE, "fetch.sh")
# Seconds: twice as long as they take on two slow processors, which others may make slower.
# Together with all else they stay under 90 minutes even if one of them hangs.
SELFTESTS_DEADLINE = 2700
SELFTESTS_TIMEOUT = SELFTESTS_DEADLINE + 330
# More than these don't fail by chance.
AGAIN_AT_MOST = 3
AGAIN_TIMEOUT = 600
# What runs when the processors are idle may have to wait for all selftests.
IDLE_TIMEOUT = SELFTESTS_TIMEOUT + 600
# With this seed every kind of event is in them.
CHAOS = [os.path.join(TOP, "tools/testing/chaos/chaos.py"), "--seed=9", "--seconds=32"]
# The kernel is built once for what it is made of.
KERNEL = [os.path.join(TOP, "tools/testing/tree/kernel.sh"), "debug"]
KERNEL_TIMEOUT = 3600
CHAOS_THERE_TIMEOUT = 900

# Below DESTDIR, with PREFIX=/usr.
INSTALLED = """lib/modules/*/extra/mm/farswap.ko* lib/modules/*/extra/rdma/farswap-rdma.ko*
    usr/sbin/farswapd usr/sbin/farswapctl usr/share/man/man8/farswapd.8
    usr/share/man/man8/farswapctl.8 usr/share/man/man5/farswapd.conf.5
    usr/lib/systemd/system/farswapd.service etc/farswapd.conf""".split()

TOTALS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")

# Each session is scheduled as one, where the kernel does that.
WHEN_IDLE = ["sh", "-c", "echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 \"$@\"", "sh"]

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)

children = set()


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def stop(child):
    try:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, timeout, show=True, **kwargs):
    """(status, output), the output passed on as it comes. 124: out of time."""
    # pylint: disable=consider-using-with
    child = subprocess.Popen(command, cwd=TOP, text=True, errors="replace",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True,
                             preexec_fn=die_with_parent, **kwargs)
    children.add(child)
    signal.alarm(int(timeout))
    lines = []
    try:
        for line in child.stdout:
            lines.append(line)
            if show and not TOTALS.match(line):
                print(line, end="", flush=True)
        status = child.wait()
    except TimeoutError:
        stop(child)
        status = 124
        print(f"(killed after {timeout} s)")
    finally:
        signal.alarm(0)
        children.discard(child)
    return status, "".join(lines)


class Job(threading.Thread):
    """
    A step in the background, perhaps after another one; what it prints is shown at its
    end. The thread waits for it too, or it would die with the thread.
    """

    def __init__(self, name, command, timeout, count=None, *, idle=True, after=None, env=None):
        super().__init__(daemon=True)
        self.title = name
        self.count = count
        self.after = after
        self.command = ["timeout", str(timeout), *(WHEN_IDLE if idle else []), *command]
        self.env = env
        self.seconds = 0
        self.status = 1
        # pylint: disable=consider-using-with
        self.output = tempfile.TemporaryFile("w+", errors="replace")
        self.start()

    def run(self):
        if self.after:
            self.after.join()
        started = time.monotonic()
        # pylint: disable=consider-using-with
        child = subprocess.Popen(self.command, cwd=TOP, env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=self.output,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 preexec_fn=die_with_parent)
        children.add(child)
        self.status = child.wait()
        self.seconds = time.monotonic() - started
        children.discard(child)

    def wait(self):
        """(status, output)"""
        self.join()
        self.output.seek(0)
        return self.status, self.output.read()


class Check:
    """The steps, and the sum of their results."""

    def __init__(self):
        self.total = ktap.Tally()
        self.failures = []

    def step(self, name, command, timeout, count=None, **kwargs):
        """One step; count() makes a Tally of its output, else it is one test."""
        print(f"== {name}", flush=True)
        started = time.monotonic()
        status, output = run(command, timeout, **kwargs)
        seconds = time.monotonic() - started
        return not self.add(name, status, output, seconds, count).failed, output

    def end(self, job):
        """Of a step in the background; its Tally."""
        print(f"== {job.title}", flush=True)
        status, output = job.wait()
        print("".join(line for line in output.splitlines(True) if not TOTALS.match(line)), end="")
        if status == 124:
            print("(killed, out of time)")
        return self.add(job.title, status, output, job.seconds, job.count)

    def add(self, name, status, output, seconds, count):
        """Report a result."""
        result = count(output, status) if count else ktap.Tally(passed=int(not status),
                                                                failed=int(bool(status)))
        self.total.add(result)
        if result.failed:
            self.failures.append(name)
        verdict = "FAILED" if result.failed else "ok"
        print(f"== {name}: {verdict}, {result} ({seconds:.0f} s)\n", flush=True)
        return result


def count_totals(output, status):
    """Of a program that ends with the line of totals itself."""
    for line in reversed(output.splitlines()):
        match = TOTALS.match(line)
        if match:
            total = ktap.Tally(*(int(word or 0) for word in match.groups()))
            break
    else:
        total = ktap.Tally()
        status = status or 1
    if status and not total.failed:
        total.failed = 1
    return total


def install_step(checks, make):
    with tempfile.TemporaryDirectory(prefix="farswap-install-") as directory:
        checks.step("install", [
            "sh", "-c", '"$@" >/dev/null && cd "$0" && ls -d ' + " ".join(INSTALLED),
            directory, *make, "install", f"DESTDIR={directory}", "PREFIX=/usr"], 120)


def unit_directories():
    for name in ("tools/testing/unit", "tools/testing/daemon"):
        if os.path.exists(os.path.join(TOP, name, "Makefile")):
            yield name


def selftests_step(checks, beside):
    """The selftests from both ends, chaos, and to their end the jobs beside them."""
    chaos = Job("chaos, for a short time", CHAOS, 600, idle=False)
    runner = os.path.join(HERE, "run-selftests.py")
    with tempfile.TemporaryDirectory(prefix="farswap-check-") as directory:
        share = os.path.join(directory, "begun")
        os.mkdir(share)
        again = os.path.join(directory, "again")
        command = [runner, f"--share={share}", f"--deadline={SELFTESTS_DEADLINE}",
                   f"--again={again}"]
        others = Job("selftests in virtual machines, from the last", [*command, "--backwards"],
                     SELFTESTS_TIMEOUT, count_totals, idle=False, after=chaos)
        checks.step("selftests in virtual machines, from the first", command,
                    SELFTESTS_TIMEOUT, count_totals)
        for job in [*beside, chaos, others]:
            checks.end(job)
        names = []
        if os.path.exists(again):
            with open(again, encoding="ascii") as file:
                names = file.read().split()
    if len(names) > AGAIN_AT_MOST:
        print(f"== {len(names)} selftests failed beside others: too many for chance\n")
        checks.total.failed += len(names)
        checks.failures += names
    elif names:
        checks.step("selftests that failed beside others, alone", [runner, *names],
                    AGAIN_TIMEOUT, count_totals)


def kernel_step(checks, kernel):
    """Chaos again, with farswap built into a kernel that looks for all mistakes there are."""
    if checks.end(kernel).failed:
        return
    where = kernel.wait()[1].splitlines()[-1]
    checks.step("chaos, on a kernel with KASAN, lockdep and others",
                [*CHAOS, f"--client-kernel={where}"], CHAOS_THERE_TIMEOUT)


def check():
    checks = Check()
    good, output = checks.step("fetch", [FETCH], 900)
    if not good:
        print("nothing can be checked without the kernel and its tools")
        return checks
    kdir = output.strip().splitlines()[-1]
    # The same words for all that is built, or it is built anew.
    make = ["make", "--no-print-directory", f"-j{os.cpu_count()}", f"KDIR={kdir}", "W=1",
            "KCFLAGS=-Werror", "WERROR=1"]
    built = [
        checks.step("kernel modules, W=1, warnings are errors",
                    [*make, "modules"], 600)[0],
        checks.step("daemon, warnings are errors",
                    [*make, "daemon"], 300)[0],
        checks.step("selftests' programs", [*make, "tests"], 300)[0]]
    if all(built):
        install_step(checks, make)
    for name in unit_directories():
        checks.step(f"unit tests in {name}",
                    ["make", "--no-print-directory", "-C", name, "check"], 600, ktap.tally)
    beside = [
        Job("lint", [os.path.join(TOP, "tools/testing/lint/lint.sh")], IDLE_TIMEOUT, count_totals,
            env=dict(os.environ, KDIR=kdir)),
        Job("models of slabs, replicas and staging",
            [os.path.join(TOP, "tools/testing/model/check.sh")], IDLE_TIMEOUT, ktap.tally)]
    if all(built):
        kernel = Job("a kernel with farswap in it", KERNEL, KERNEL_TIMEOUT)
        selftests_step(checks, beside)
        kernel_step(checks, kernel)
    else:
        print("== selftests and chaos in virtual machines: FAILED, nothing was built to run\n")
        checks.total.failed += 1
        checks.failures.append("selftests in virtual machines")
        for job in beside:
            checks.end(job)
    return checks


def out_of_time(_number, _frame):
    raise TimeoutError


def leave(number, _frame):
    for child in list(children):
        stop(child)
    print("0 passed, 1 failed", flush=True)
    os._exit(128 + number)


def main():
    signal.signal(signal.SIGALRM, out_of_time)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    started = time.monotonic()
    checks = check()
    print(f"total time: {(time.monotonic() - started) / 60:.1f} min")
    for name in checks.failures:
        print(f"failed: {name}")
    print(checks.total, flush=True)
    return 1 if checks.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

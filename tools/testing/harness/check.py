# SPDX-License-Identifier: GPL-2.0
"""
The complete check of this tree: fetch, build with warnings as
errors, lint, unit tests, the model, and the selftests and a short run of chaos in
clusters of virtual machines. Clusters wait a third of the time. So two lanes run selftests, from
both ends, and a third one chaos. Steps without a cluster use the idle processors: first the build
of a debug kernel, on which the third lane runs KUnit, chaos, fault injection and some of the
selftests, then lint and the models. Tests that may have failed because of the load are repeated
alone at the end. The last line is "N passed, N failed", with ", N skipped" where some
were.
"""

import ctypes
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from harness import image, ktap

TOP = image.TOP
# Limit in seconds: twice the time on two slow, shared processors. The whole check stays under 90
# minutes even if a selftest hangs.
SELFTESTS_DEADLINE = 2700
SELFTESTS_TIMEOUT = SELFTESTS_DEADLINE + 480
# More failures than these are not random.
AGAIN_AT_MOST = 6
AGAIN_TIMEOUT = 900
# A step that runs on idle processors may have to wait for all selftests.
IDLE_TIMEOUT = SELFTESTS_TIMEOUT + 600
# With this seed the runs contain every kind of event, whatever the machines.
CHAOS = [os.path.join(TOP, "tools/testing/chaos/chaos.py"), "--seed=1487", "--seconds=36"]
CHAOS_OF_EQUALS = [*CHAOS, "--clients=1", "--both=2"]
# The kernel is built once for what it is made of; the file says where, when it is there.
KERNEL = ["sh", "-c", 'kernel=$("$0" debug) && echo "$kernel" | tee "$1.new" && mv "$1.new" "$1"',
          os.path.join(TOP, "tools/testing/tree/kernel.sh")]
KERNEL_TIMEOUT = 3600
ON_KERNEL = ["sh", "-c", 'kernel=$(cat "$0") && exec "$@" --client-kernel="$kernel"']
ON_KERNEL_TIMEOUT = 900
# All selftests would take hours on that kernel, so each commit runs a few in rotation, and one kind
# of fault.
ON_KERNEL_SOME_TIMEOUT = 1500
ON_KERNEL_SOME = ["--twice", "--env=SECONDS_EACH=3", "fault_injection.sh", "large_partly.sh"]

# Installed files, relative to DESTDIR, with PREFIX=/usr.
INSTALLED = """lib/modules/*/extra/mm/farswap.ko* lib/modules/*/extra/rdma/farswap-rdma.ko*
    usr/sbin/farswapd usr/sbin/farswapctl usr/share/man/man8/farswapd.8
    usr/share/man/man8/farswapctl.8 usr/share/man/man5/farswapd.conf.5
    usr/lib/systemd/system/farswapd.service usr/lib/systemd/system/farswap.service
    usr/lib/systemd/system/farswap-textfile.timer usr/lib/systemd/system/farswap-metrics@.service
    usr/share/farswap/farswap.rules.yml usr/share/farswap/farswap-dashboard.json
    usr/lib/sysusers.d/farswapd.conf usr/libexec/farswap/farswap-client
    usr/share/man/man5/farswap.conf.5 usr/share/bash-completion/completions/farswapctl
    etc/farswapd.conf etc/farswap/farswap.conf""".split()

# Lines that name what failed. They are printed again at the end, because a log may be cut short.
FAILED = re.compile(r"^\s*(FAIL|not ok) ")
REPEATED = 12

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
    A step that runs in the background, perhaps after others; its output is shown at its end. The
    thread waits for the process, which would otherwise die with the thread.
    """

    def __init__(self, name, command, timeout, count=None, *, idle=True, after=(), env=None):
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
        for job in self.after:
            job.join()
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
        """Runs one step; count() makes a Tally of its output, otherwise it counts as one test."""
        print(f"== {name}", flush=True)
        started = time.monotonic()
        status, output = run(command, timeout, **kwargs)
        seconds = time.monotonic() - started
        return not self.add(name, status, output, seconds, count).failed, output

    def end(self, job):
        """Waits for a step in the background; returns its Tally."""
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
            self.failures += [f"  {line.strip()}" for line in output.splitlines()
                              if FAILED.match(line)][:REPEATED]
        verdict = "FAILED" if result.failed else "ok"
        print(f"== {name}: {verdict}, {result} ({seconds:.0f} s)\n", flush=True)
        return result


def count_totals(output, status):
    """The Tally of a program that prints the line of totals itself."""
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


def count_named(*names):
    """The same, of a run in which these are not to be skipped: the kernel is made for them."""
    def count(output, status):
        total = count_totals(output, status)
        for name in names:
            if not re.search(rf"^(ok  |FAIL) {re.escape(name)} ", output, re.MULTILINE):
                print(f"{name} was skipped, or not run")
                total.failed += 1
        return total
    return count


def install_step(checks, make):
    with tempfile.TemporaryDirectory(prefix="farswap-install-") as directory:
        checks.step("install", [
            "sh", "-c", '"$@" >/dev/null && cd "$0" && ls -d ' + " ".join(INSTALLED),
            directory, *make, "install", f"DESTDIR={directory}", "PREFIX=/usr"], 120)
    with tempfile.TemporaryDirectory(prefix="farswap-install-") as directory:
        checks.step("install, so that modprobe finds it", [
            "sh", "-c", '"$@" >/dev/null && cd "$0/lib/modules" && '
            'PATH=$PATH:/usr/sbin:/sbin modprobe -d "$0" -S * --show-depends farswap-rdma',
            directory, *make, "install", f"INSTALL_MOD_PATH={directory}",
            f"PREFIX={directory}/usr", f"SYSCONFDIR={directory}/etc"], 120)


def commits():
    """The number of commits up to the checked one; 0 if git does not know."""
    counted = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, "rev-list", "--count",
                              "HEAD"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False)
    return int(counted.stdout or 0)


def unit_directories():
    for name in ("tools/testing/unit", "tools/testing/daemon", "tools/testing/harness",
                 "tools/testing/chaos"):
        if os.path.exists(os.path.join(TOP, name, "Makefile")):
            yield name


def clusters_step(checks, lint_and_models):
    """
    One lane runs the selftests from the first, another from the last. The third runs chaos, and the
    steps on the debug kernel as soon as it is built. lint_and_models(): starts jobs once the debug
    kernel has been built.
    """
    runner = os.path.join(image.QEMU, "run-selftests.py")
    with tempfile.TemporaryDirectory(prefix="farswap-check-") as directory:
        share = os.path.join(directory, "begun")
        os.mkdir(share)
        again = os.path.join(directory, "again")
        built = os.path.join(directory, "kernel")
        turn = commits()
        command = [runner, f"--share={share}", f"--deadline={SELFTESTS_DEADLINE}",
                   f"--again={again}", f"--rare={turn}"]
        kernel = Job("a kernel with farswap in it", [*KERNEL, built], KERNEL_TIMEOUT)
        chaos = Job("chaos, for a short time, with machines that swap and lend",
                    CHAOS_OF_EQUALS, 600, idle=False)
        last = Job("selftests in virtual machines, from the last", [*command, "--backwards"],
                   SELFTESTS_TIMEOUT, count_totals, idle=False)
        kunit = Job("KUnit, on a kernel with KASAN, lockdep and others",
                    [*ON_KERNEL, built, runner, "kunit.sh"], ON_KERNEL_TIMEOUT,
                    count_named("kunit.sh"), idle=False, after=[chaos, kernel])
        there = Job("chaos, on the same kernel", [*ON_KERNEL, built, *CHAOS],
                    ON_KERNEL_TIMEOUT, idle=False, after=[kunit])
        faults = Job("faults on purpose, large folios and one more selftest, on the same kernel",
                     [*ON_KERNEL, built, runner, *ON_KERNEL_SOME, f"--env=TURN={turn}",
                      f"--turn={turn}"],
                     ON_KERNEL_SOME_TIMEOUT,
                     count_named("fault_injection.sh", "large_partly.sh"), idle=False,
                     after=[there])
        beside = lint_and_models([kernel])
        checks.step("selftests in virtual machines, from the first", command,
                    SELFTESTS_TIMEOUT, count_totals)
        for job in [last, chaos, kernel, kunit, there, faults, *beside]:
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
        checks.step("selftests that failed beside others, alone",
                    [runner, "--twice", *names],
                    AGAIN_TIMEOUT, count_totals)


def check():
    checks = Check()
    good, output = checks.step("fetch", [image.FETCH], 900)
    if not good:
        print("nothing can be checked without the kernel and its tools")
        return checks
    kdir = output.strip().splitlines()[-1]
    # All builds use the same arguments, because make rebuilds everything when these change.
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

    def lint_and_models(after):
        return [Job("lint", [os.path.join(TOP, "tools/testing/lint/lint.sh")], IDLE_TIMEOUT,
                    count_totals, after=after, env=dict(os.environ, KDIR=kdir)),
                Job("models of slabs, replicas and staging",
                    [os.path.join(TOP, "tools/testing/model/check.sh")], IDLE_TIMEOUT,
                    ktap.tally, after=after)]

    if all(built):
        clusters_step(checks, lint_and_models)
    else:
        print("== selftests and chaos in virtual machines: FAILED, nothing was built to run\n")
        checks.total.failed += 1
        checks.failures.append("selftests in virtual machines")
        for job in lint_and_models([]):
            checks.end(job)
    return checks


def out_of_time(_number, _frame):
    raise TimeoutError


def leave(number, _frame):
    for child in list(children):
        stop(child)
    print("0 passed, 1 failed", flush=True)
    os._exit(128 + number)


def main() -> int:
    signal.signal(signal.SIGALRM, out_of_time)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    started = time.monotonic()
    checks = check()
    print(f"total time: {(time.monotonic() - started) / 60:.1f} min")
    if checks.failures:
        print("failed:", *checks.failures, sep="\n  ")
    print(checks.total, flush=True)
    return 1 if checks.total.failed else 0

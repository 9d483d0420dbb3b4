# SPDX-License-Identifier: GPL-2.0
"""The tables and plots of bench.py."""

import report

HPBD = ("testswap", "quicksort")
SERVERS = tuple(f"{server} {mix}" for server in ("redis", "memcached") for mix in ("ETC", "SYS"))


def all_swaps(results, load, value):
    return list(dict.fromkeys(swap for setting in results.settings(load, value)
                              for swap in results.swaps(load, setting, value)))


def show(results):
    def numbers(load, setting, value):
        return lambda swap: results.numbers.get((load, swap, setting, value))

    def costs(load):
        return [(heading, numbers(load, "", value), 0) for heading, value in (
            ("client kernel µs/page", "client_kernel_us_per_page"),
            ("wire bytes/page", "wire_bytes_per_page"),
            ("donor ms", "donor_system_ms"), ("daemon ms", "donor_daemon_ms"))]

    loads = list(dict.fromkeys(key[0] for key in results.numbers if key[3] == "remote_percent"))
    swaps = list(dict.fromkeys(key[1] for key in results.numbers if key[3] == "remote_percent"))
    if swaps:
        report.table("Of all pages that farswap read, per cent from donors", swaps, [
            (load, lambda swap, load=load: next(
                (found for key, found in results.numbers.items()
                 if (key[0], key[1], key[3]) == (load, swap, "remote_percent")), None), 1)
            for load in loads])
    for load, value in (("raw READ", "p50_us"), ("raw WRITE", "mb_per_s")):
        parts = results.settings(load, value)
        if parts:
            report.table(f"{load} of 4 KiB, before and after each part, "
                         f"{'µs' if value == 'p50_us' else 'MB/s'}",
                         all_swaps(results, load, value),
                         [(part, numbers(load, part, value), 0) for part in parts])
    for load in ("read", "mixed", "strided"):
        swaps = results.swaps(load, "", "p50_us")
        if swaps:
            report.table(f"{load}: page faults", swaps, [
                ("p50 µs", numbers(load, "", "p50_us"), 0),
                ("p99 µs", numbers(load, "", "p99_us"), 0),
                ("raw READ µs", numbers("raw READ", "faults", "p50_us"), 0),
                ("a second", numbers(load, "", "accesses_per_s"), 0),
                ("out/in", numbers(load, "", "pages_out_per_in"), 2),
                *costs(load)])
    swaps = results.swaps("idle", "", "donor_daemon_ms_per_s")
    if swaps:
        report.table("farswapd, while pages are read and while nothing is", swaps, [
            (f"{heading} a second, {load}", numbers(load, "", f"donor_daemon_{value}_per_s"), 1)
            for heading, value in (("ms", "ms"), ("times run", "runs"))
            for load in ("read", "idle")])
    for load in ("fill", "sequential"):
        swaps = results.swaps(load, "", "mb_per_s")
        if swaps:
            report.table(f"{load}: all pages in order", swaps, [
                ("MB/s", numbers(load, "", "mb_per_s"), 1),
                ("out, MB/s", numbers(load, "", "out_mb_per_s"), 1),
                ("raw WRITE, MB/s", numbers("raw WRITE", "faults", "mb_per_s"), 1),
                *costs(load)])
    for load in ("read", "mixed"):
        for what in ("local", "threads"):
            settings = [setting for setting in results.settings(load, "accesses_per_s")
                        if what in setting]
            if settings:
                report.table(
                    f"{load}, accesses a second", results.swaps(load, settings[0],
                                                                "accesses_per_s"),
                    [(setting, numbers(load, setting, "accesses_per_s"), 0)
                     for setting in settings])
    swaps = results.swaps("read", "beside", "p50_us")
    if swaps:
        report.table("Reads at random beside a program that only writes, and without it", swaps, [
            (heading, numbers("read", setting, value), digits)
            for setting in ("alone", "beside") for heading, value, digits in (
                (f"p50 µs, {setting}", "p50_us", 0), ("p99 µs", "p99_us", 0),
                ("a second", "accesses_per_s", 0), ("out, MB/s", "out_mb_per_s", 1))])
    settings = [(load, setting) for load in HPBD
                for setting in results.settings(load, "seconds")]
    if settings:
        report.table("HPBD's programs, seconds", all_swaps(results, HPBD[0], "seconds"), [
            (f"{load}, {setting}", numbers(load, setting, "seconds"), 1)
            for load, setting in settings])
    swaps = results.swaps("counted", "", "read p50_us")
    if swaps:
        report.table("Thousands of instructions; farswap over farswap-ram, twice", swaps, [
            (heading, numbers("counted", "", value), 2) for heading, value in (
                ("load, median", "read p50_us"), ("p99", "read p99_us"),
                ("load, pages rewritten", "mixed p50_us"), ("store, mean", "out us_per_page"))])
    for load in SERVERS:
        settings = results.settings(load, "per_s")
        if settings:
            report.table(f"{load}, commands a second", all_swaps(results, load, "per_s"),
                         [(setting, numbers(load, setting, "per_s"), 0)
                          for setting in settings])


def plot(results, directory):
    for load in ("read", "mixed", "strided"):
        lines = {swap: report.cumulated(counts)
                 for (other, swap, setting), counts in results.histograms.items()
                 if other == load and not setting}
        report.plot_lines(directory, f"faults-{load}", f"Page faults, {load}",
                          ("µs", "per cent of all faults"), lines, "set logscale x")
        report.plot_bars(directory, f"percentiles-{load}", f"Page faults, {load}", "µs",
                         [("", "p50", "p99"), *(
                             (swap, results.median(load, swap, "", "p50_us"),
                              results.median(load, swap, "", "p99_us"))
                             for swap in results.swaps(load, "", "p50_us"))], "set logscale y")
    for load in SERVERS:
        lines = {f"{swap}, {setting}": report.cumulated(counts)
                 for (other, swap, setting), counts in results.histograms.items()
                 if other == load and setting == ("100" if swap == "local" else "50") + " % local"}
        report.plot_lines(directory, f"commands-{load.replace(' ', '-')}", f"Commands, {load}",
                          ("µs", "per cent of all commands"), lines, "set logscale x")
    for load in ("fill", "sequential"):
        report.plot_bars(directory, load, f"All pages in order, {load}", "MB/s",
                         [("", "MB/s"), *((swap, results.median(load, swap, "", "mb_per_s"))
                                          for swap in results.swaps(load, "", "mb_per_s"))])
    report.plot_bars(directory, "hpbd", "testswap and quicksort", "seconds", [("", *HPBD), *(
        (f"{swap}, {setting}", *(results.median(load, swap, setting, "seconds")
                                 for load in HPBD))
        for load, swap, setting, value in results.numbers
        if (load, value) == (HPBD[0], "seconds"))])
    series = [(load, "accesses_per_s") for load in ("read", "mixed")]
    series += [(load, "per_s") for load in SERVERS]
    for load, value in series:
        for what, label in (("local", "per cent of memory local"), ("threads", "threads")):
            lines = {}
            for key, found in results.numbers.items():
                if (key[0], key[3]) == (load, value) and what in key[2]:
                    lines.setdefault(key[1], []).append(
                        (float(key[2].split()[0]), sum(found) / len(found)))
            report.plot_lines(directory, f"{what}-{load.replace(' ', '-')}",
                              load, (label, "a second"), lines, "set yrange [0:]")

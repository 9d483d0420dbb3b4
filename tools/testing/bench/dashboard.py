#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Draws the graphs of the Grafana dashboard from a real run, as an SVG: Debian's Prometheus scrapes a
client and two donors while a verified load swaps, a program on a donor takes its memory back, and
the other donor loses power and returns. Evaluates the dashboard's own expressions by Prometheus'
HTTP API. The exit status is 1 if an expression has no data, or if a page was wrong.

Prometheus reaches the machines by a server on this host, which runs farswapctl metrics there for
each request; both are in a network namespace of their own. Needs root, or user namespaces.
"""

import argparse
import concurrent.futures
import http.server
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from xml.sax import saxutils

import harness
from harness import host, image
import plot
from programs import Program

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
DASHBOARD = os.path.join(TOP, "daemon/monitoring/farswap-dashboard.json")
PICTURE = os.path.join(TOP, "Documentation/admin-guide/mm/farswap-dashboard.svg")
DATA = os.path.join(TOP, "out/dashboard/series.json")
PROMETHEUS = "prometheus/usr/bin/prometheus"
PORT, GATEWAY = 9090, 9490

# Grafana's $__rate_interval is four times the interval of the scrapes.
SCRAPE, RATE = 4, 16
# MB in the client, and what a cgroup lets it keep there.
LOAD, LOCAL = 96, 24
# After it has filled its memory.
LOAD_SECONDS = 180
# Seconds from the start of the graphs to each event.
EVENTS = ((8, "a program swaps"), (80, "donor1 needs its memory"), (125, "donor1 has memory again"),
          (160, "donor2 loses power"), (195, "donor2 is back"), (250, "end"))

WIDTH, MARGIN, LEFT, HEIGHT, ROW = 1000, 12, 58, 120, 16
UNITS = {"ops": ((1, "/s"),), "short": ((1, ""),),
         "s": ((1, " s"), (1e-3, " ms"), (1e-6, " µs")),
         "bytes": ((1 << 30, " GiB"), (1 << 20, " MiB"), (1 << 10, " KiB"))}


class Gateway(http.server.BaseHTTPRequestHandler):
    """/NAME gives the metrics of the machine with this name."""

    machines: dict = {}

    def do_GET(self):           # pylint: disable=invalid-name # http.server wants this name
        vm = self.machines.get(self.path.strip("/"))
        try:
            status, text = (vm.run("farswapctl metrics --plain", 20) if vm else
                            (1, "no such machine"))
        except harness.ClusterError as error:
            status, text = 1, str(error)
        try:
            self.send_response(503 if status else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())
        except OSError:
            pass                # Prometheus has given up

    def log_message(self, *args):           # pylint: disable=arguments-differ
        pass


class Prometheus:
    """Debian's, which scrapes the machines until end()."""

    def __init__(self, machines, directory):
        Gateway.machines = machines
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", GATEWAY), Gateway)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        jobs = [{"targets": [f"127.0.0.1:{GATEWAY}"],
                 "labels": {"instance": name, "__metrics_path__": f"/{name}"}}
                for name in machines]
        config = os.path.join(directory, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:       # JSON is YAML
            json.dump({"global": {"scrape_interval": f"{SCRAPE}s", "scrape_timeout": f"{SCRAPE}s"},
                       "scrape_configs": [{"job_name": "farswap", "static_configs": jobs}]}, file)
        with open(os.path.join(directory, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(image.cache_dir(), PROMETHEUS), f"--config.file={config}",
                 f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{PORT}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(directory, "log"), encoding="utf-8") as file:
                    raise harness.ClusterError(f"Prometheus did not start\n{file.read()[-2000:]}")
            time.sleep(0.5)

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def series(self, expression, first, last):
        """[(labels, [(seconds from first, value)])]"""
        words = urllib.parse.urlencode({"query": expression, "start": first, "end": last,
                                        "step": SCRAPE / 2})
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/v1/query_range?{words}",
                                    timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
        return [(one["metric"], [(at - first, float(value)) for at, value in one["values"]])
                for one in found]

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        self.server.shutdown()


def events(cluster, begun):
    """Cause each of EVENTS at its time. Return the load, which may still run."""
    client, (donor1, donor2) = cluster.client, cluster.donors

    def wait_for(number):
        time.sleep(max(0.0, begun + EVENTS[number][0] - time.time()))
        print(f"{time.time() - begun:5.0f} s  {EVENTS[number][1]}", flush=True)
        if number < len(EVENTS) - 1 and load.job.ended.is_set():
            raise harness.ClusterError(f"the load has ended\n{load.job.output[-500:]}")

    client.check("echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
    time.sleep(EVENTS[0][0])
    load = Program(client, f"load -m {LOAD} -p 2 -w 30 -d {LOAD_SECONDS} -i 5", LOCAL)
    wait_for(0)
    wait_for(1)
    spare = donor1.check("awk '$1 == \"MemAvailable:\" { print int($2 / 1024) - 16 }' "
                         "/proc/meminfo").strip()
    # It grows by 10 MB a second, and then keeps what it has.
    program = donor1.spawn(f"exec grow steps {int(spare) + 9999} {spare} 9999 1024 100 100")
    wait_for(2)
    program.kill()
    program.wait(20)
    wait_for(3)
    donor2.kill()
    wait_for(4)
    with concurrent.futures.ThreadPoolExecutor() as other:
        boot = other.submit(donor2.start)
        wait_for(5)
        boot.result()
    return load


def panels():
    """The dashboard's graphs; the expressions without Grafana's variables."""
    with open(DASHBOARD, encoding="utf-8") as file:
        found = json.load(file)["panels"]
    for panel in found:
        for target in panel["targets"]:
            target["expr"] = target["expr"].replace("$__rate_interval", f"{RATE}s") \
                                           .replace("$instance", ".*")
    return found


def query(prometheus, first, last):
    """[(panel, {legend: points})], and the expressions without data."""
    found, empty = [], []
    for panel in panels():
        curves = {}
        for target in panel["targets"]:
            series = prometheus.series(target["expr"], first, last)
            if not series:
                empty.append(target["expr"])
            for labels, points in series:
                name = re.sub(r"{{(\w+)}}", lambda match, labels=labels:
                              labels.get(match.group(1), ""), target["legendFormat"])
                curves[name] = points
        found.append((panel, curves))
    return found, empty


def pieces(points):
    """The parts of a curve between gaps."""
    piece = []
    for point in points:
        if math.isnan(point[1]) or (piece and point[0] - piece[-1][0] > SCRAPE):
            if piece:
                yield piece
            piece = []
        if not math.isnan(point[1]):
            piece.append(point)
    if piece:
        yield piece


def legend(curves, left, top, width):
    """The lines of a legend: (x, y, name)"""
    x, y = left, top
    for name in curves:
        wide = 28 + 6.2 * len(name)
        if x > left and x + wide > left + width:
            x, y = left, y + ROW
        yield x, y, name
        x += wide


def draw_panel(panel, curves, left, top):
    """(lines of the SVG, the panel's height)"""
    wide = WIDTH // 2 - MARGIN - 8
    most = max((value for points in curves.values() for _, value in points
                if not math.isnan(value)), default=0)
    unit = panel["fieldConfig"]["defaults"]["unit"]
    scale, suffix = next((one for one in UNITS[unit] if one[0] <= most), UNITS[unit][-1])
    # A curve that is 0 all the time is at the bottom, not in the middle.
    most = max(most / scale * 1.08, 1 if unit == "short" or not most else 0)
    axes = plot.Axes(0, EVENTS[-1][0], most, top + 32, HEIGHT, left + LEFT, left + wide)
    step = max(plot.nice(most * 1000, 5) / 1000, 1 if unit == "short" else 0)
    ticks = [(number * step, f"{number * step:g}{suffix}")
             for number in range(int(most / step) + 1)]
    title = panel["title"] + (f", {panel['description'].lower()}" if panel["description"] else "")
    yield f'<text x="{left + LEFT}" y="{top + 14}" font-size="13">{title}</text>'
    for value, _ in ticks:
        yield (f'<path d="M{axes.left} {axes.at_y(value):.1f}H{axes.right}" stroke="#ddd"/>')
    for number, (second, _) in enumerate(EVENTS[:-1], 1):
        x = axes.at_x(second)
        yield (f'<path d="M{x:.1f} {axes.top}v{HEIGHT}" stroke="#999" stroke-dasharray="3 3"/>'
               f'<text x="{x - 3:.1f}" y="{axes.top - 3}" fill="#555" font-size="10">{number}'
               '</text>')
    colours = {name: plot.LINES[number % len(plot.LINES)] for number, name in enumerate(curves)}
    for name, points in curves.items():
        for piece in pieces(points):
            yield axes.line([(x, y / scale) for x, y in piece], colours[name], 'stroke-width="1.5"')
    yield from axes.frame("", up=ticks)
    for x, y, name in legend(curves, axes.left, axes.top + HEIGHT + 34, wide - LEFT):
        yield (f'<path d="M{x:.0f} {y - 4}h12" stroke="{colours[name]}" stroke-width="3"/>'
               f'<text x="{x + 16:.0f}" y="{y}" font-size="11">{saxutils.escape(name)}</text>')


def draw(found):
    """The SVG; the places of the panels are the dashboard's."""
    lines = [f'<text x="{MARGIN}" y="24" font-size="16">farswap</text>']
    x = MARGIN
    for number, (_, what) in enumerate(EVENTS[:-1], 1):
        lines.append(f'<text x="{x}" y="46" fill="#555">{number}: {what}</text>')
        x += 34 + int(6.6 * len(what))
    top = 58
    for row in sorted({panel["gridPos"]["y"] for panel, _ in found}):
        rows = 1
        for panel, curves in found:
            if panel["gridPos"]["y"] != row:
                continue
            left = MARGIN + (WIDTH // 2 - MARGIN // 2) * (panel["gridPos"]["x"] > 0)
            lines += draw_panel(panel, curves, left, top)
            rows = max([rows] + [1 + y // ROW for _, y, _ in
                                 legend(curves, 0, 0, WIDTH // 2 - MARGIN - LEFT)])
        top += HEIGHT + 58 + ROW * rows
    lines.append(f'<text x="{WIDTH // 2}" y="{top + 8}" text-anchor="middle">seconds</text>')
    height = top + 20
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *lines, "</svg>"]) + "\n"


def run(args, directory):
    with harness.Cluster(
            donors=2, client_mem=args.mem, donor_mem=args.donor_mem, disks=[(LOAD * 3, 0)],
            daemon=f"memory={args.donor_mem * 2 // 5}M,slab=8M",
            append="farswap.hotslab=0 farswap.slab_mb=8 farswap.backup=disk",
            extra_programs=[("/usr/bin/grow", os.path.join(HERE, "grow"), None),
                            ("/usr/bin/load", os.path.join(
                                TOP, "tools/testing/selftests/farswap/load"), None)]) as cluster:
        cluster.up()
        prometheus = Prometheus(cluster.machines, directory)
        # A rate needs scrapes before the first point of a graph.
        time.sleep(RATE + SCRAPE)
        up = prometheus.series("min(up)", time.time(), time.time())
        if not up or up[0][1][0][1] != 1:
            raise harness.ClusterError("Prometheus can't scrape each machine")
        begun = time.time()
        load = events(cluster, begun)
        found, empty = query(prometheus, begun, begun + EVENTS[-1][0])
        prometheus.end()
        load.job.wait(120)
        last = load.job.output.strip().splitlines()[-1]
        print(last, flush=True)
        right = "wrong_pages=0 wrong_bytes=0 lost_pages=0" in last
        return right, found, empty, cluster.complaints()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="FILE", default=PICTURE, help="of the SVG")
    parser.add_argument("--redraw", action="store_true", help="from the data of the last run")
    parser.add_argument("--mem", type=int, default=192, help="of the client, MB")
    parser.add_argument("--donor-mem", type=int, default=512, help="MB")
    args = parser.parse_args()
    if args.redraw:
        with open(DATA, encoding="utf-8") as file:
            found = json.load(file)
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(draw(found))
        return 0
    if "FARSWAP_APART" not in os.environ:
        host.build(host.fetch(), HERE, "modules", "daemon", "tests")
        os.execvpe("unshare", ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
                               sys.executable, *sys.argv], {**os.environ, "FARSWAP_APART": "1"})
    harness.exit_on_signals()
    with tempfile.TemporaryDirectory(prefix="farswap-dashboard-") as directory:
        right, found, empty, complaints = run(args, directory)
    os.makedirs(os.path.dirname(DATA), exist_ok=True)
    with open(DATA, "w", encoding="utf-8") as file:
        json.dump(found, file)
    with open(args.output, "w", encoding="utf-8") as file:
        file.write(draw(found))
    print(os.path.relpath(args.output))
    for text in [f"no data: {expression}" for expression in empty] + complaints:
        print(text)
    print("no page was wrong or lost" if right else "a page was WRONG or lost")
    return 1 if empty or complaints or not right else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"dashboard: {error}")

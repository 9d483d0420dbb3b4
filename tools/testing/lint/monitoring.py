#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks the alerts and the dashboard of daemon/monitoring with the promtool given as argument.

Each expression is valid, its metrics are in farswapctl(8) or are counters of the admin guide, the
alerts' tests pass and cover each alert. Prints what is wrong; exit status 1 if anything is."""

import json
import re
import subprocess
import sys
import tempfile

FOLDER = "daemon/monitoring/"
MAN = "daemon/ctl/farswapctl.8"
GUIDE = "Documentation/admin-guide/mm/farswap.rst"


def known_metrics():
    """The names of all metrics that farswapctl prints."""
    with open(MAN, encoding="utf-8") as file:
        names = set(re.findall(r"^\.B (farswapd?_\w+)$", file.read(), re.M))
    table = subprocess.run(["awk", "-f", "daemon/ctl/counters.awk", GUIDE], check=True,
                           capture_output=True, text=True).stdout
    for name, gauge in re.findall(r'\{ "(\w+)", (true|false),', table):
        names.add(f"farswap_{name}" + ("" if gauge == "true" else "_total"))
    return names | {name + "_bucket" for name in names if name.endswith("_seconds")}


def promtool(tool, *args):
    """Run it; return what it said if it failed."""
    done = subprocess.run([tool, *args], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def dashboard():
    """The expressions of the panels, with Grafana's variables replaced."""
    with open(FOLDER + "farswap-dashboard.json", encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    for panel in panels:
        for target in panel["targets"]:
            yield target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")


def main():
    tool, wrong = sys.argv[1], []
    with open(FOLDER + "farswap.rules.yml", encoding="utf-8") as file:
        rules = file.read()
    with open(FOLDER + "farswap.rules.test.yml", encoding="utf-8") as file:
        tests = file.read()
    expressions = list(dashboard())
    wrong.append(promtool(tool, "check", "rules", FOLDER + "farswap.rules.yml"))
    wrong.append(promtool(tool, "test", "rules", FOLDER + "farswap.rules.test.yml"))
    with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
        groups = [{"name": "dashboard", "rules": [
            {"record": f"panel_{number}", "expr": expr}
            for number, expr in enumerate(expressions)]}]
        json.dump({"groups": groups}, file)
        file.flush()
        wrong.append(promtool(tool, "check", "rules", file.name))
    known = known_metrics()
    for name in sorted(set(re.findall(r"\bfarswapd?_\w+", "\n".join([rules, *expressions])))):
        if name not in known:
            wrong.append(f"{FOLDER}: there is no metric {name}")
    for alert in re.findall(r"alert: (\w+)", rules):
        if not re.search(rf"alertname: {alert}\n +exp_alerts:", tests):
            wrong.append(f"{FOLDER}farswap.rules.test.yml: no test in which {alert} fires")
    if not expressions or not known:
        wrong.append(f"{FOLDER}: nothing to check")
    for line in filter(None, wrong):
        print(line)
    return any(wrong)


if __name__ == "__main__":
    sys.exit(main())

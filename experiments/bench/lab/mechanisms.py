# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own mechanisms on a machine with a second memory tier, at their default settings."""

from experiments.bench.lab import inside
from experiments.bench.lab.mechanisms_inside import PAGES
from experiments.bounds import Outcome
from experiments.lab import kernels

MACHINE = "cxl-3n"  # nodes 0 and 1 have CPUs, node 2 is slow memory
WITHOUT_TIERS = ("6.1",)  # which takes memory that is there at its start for one tier, whatever the firmware says
PROGRAM = "experiments/bench/lab/mechanisms_inside.py"
TIERS = ["0-1", "2"]
# Between the first two scans of a task: scan_period_min_ms, by default. The only user of its memory, all of it local, takes
# no hint faults, which would change its period (kernel/sched/fair.c, update_task_scan_period()).
SCAN_PERIOD_S, MOST_APART = 1.0, 0.05
LEAST_DEMOTED = 0.95


def run_program(series: str, *what: str, timed: bool = True) -> dict[str, dict]:
    """Boots the kernel and returns the records of mechanisms_inside.py by its words, `what`; timed=False: on the host's time."""
    records = inside.run_program(MACHINE, "python3", PROGRAM, *what, timeout=1500, timed=timed, kernel=series)
    return {record["what"]: record for record in records}


def say_home(out: Outcome, series: str, record: dict):
    """Says how long a mechanism took to bring the program's pages home, in s, and checks that it brought all.

    record: of measure_return()."""
    seconds = record["seconds"]
    shown = "not all" if seconds is None else f"{seconds:.1f} s"
    counters = ", ".join(f"{name} {value}" for name, value in record["counted"].items())
    out.say(f"{series:8}{record['what']:11}{record['away']:6} pages away, home after {shown}; {counters}")
    out.check(f"{series}: {record['what']} brings 64 MiB home", seconds or 0, "{:.1f} s", "all",
              record["away"] == PAGES and seconds is not None)


def measure_mechanisms() -> Outcome:
    """Measures balancing, tiers, demotion and promotion at default settings on each kernel, and checks them; returns the outcome."""
    out, records = Outcome(), []
    for series in kernels.known_series():
        parts = ("tiers", "demotion", "promotion") if series not in WITHOUT_TIERS else ()
        found = run_program(series, "scans", "balancing", *parts)
        scans_s = found["scans"]["at"]  # when each has ended, from the begin of the run
        out.say(f"{series:8}scans at {', '.join(f'{end_s:.3f}' for end_s in scans_s)} s")
        deviation = abs((scans_s[1] - scans_s[0]) / SCAN_PERIOD_S - 1) if len(scans_s) > 1 else 1.0  # no period seen
        out.at_most(f"{series}: deviation of the period of NUMA balancing's scans from {SCAN_PERIOD_S:.0f} s", deviation, MOST_APART)
        say_home(out, series, found["balancing"])
        if series not in WITHOUT_TIERS:
            tiers, demoted = found["tiers"], found["demotion"]
            out.say(f"{series:8}tiers of nodes {' and '.join(tiers['tiers'])}, interleave weights {tiers['weights']}")
            out.check(f"{series}: memory tiers", len(tiers["tiers"]), "{:.0f}", " and ".join(TIERS), tiers["tiers"] == TIERS)
            out.say(f"{series:8}demotion   {demoted['home']} pages on node 0, {demoted['away']} then on node 2; "
                    f"pgdemote {demoted['counted']}")
            out.at_least(f"{series}: demoted, of the pages that a cgroup gives up", demoted["away"] / PAGES, LEAST_DEMOTED)
            say_home(out, series, found["promotion"])
        records.append({"kernel": series, **found})
    out.data = {"kernels": records}
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""Exact runs: the same to the bit, on a quiet and on a busy host, and what the fast mode measures."""

import re
import shutil
import subprocess
import time
from statistics import median

from experiments.bench.lab.inside import ROOT, load_host
from experiments.bounds import Outcome
from experiments.lab.command import build_words

MACHINE = "demo-2s"
PROGRAM = "experiments/bench/lab/exact_inside.sh"
RUNS, LOAD = 30, 4  # LOAD: busy processes beside every second run
APART = 0.01
BOOTS = 3  # of the fast mode


def run_program(*options: str) -> tuple[dict[str, float], str, float]:
    """Runs PROGRAM in the lab; returns its figures by name, the digest of an exact run, '' of another, and the host's seconds.

    RuntimeError: it fails. options: of `lab run`."""
    begin = time.monotonic()
    run = subprocess.run(build_words(MACHINE, ["sh", PROGRAM], ["--no-module", *options]), cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=900)
    if run.returncode:
        raise RuntimeError(f"{PROGRAM} in {MACHINE} ended with status {run.returncode}: {run.stderr[-2000:]}")
    figures = {name: float(value) for name, value in (line.split() for line in run.stdout.splitlines())}
    found = re.search(r"exact run (\w+)", run.stderr)
    return figures, found[1] if found else "", time.monotonic() - begin


def measure_exact() -> Outcome:
    """Measures exact runs, every second one on a busy host, and the fast mode beside them; checks that exact ones are equal."""
    out = Outcome()
    programs = [str(ROOT / "build/lab/programs" / name) for name in ("chase", "triad")]
    files = [word for path in (*programs, shutil.which("numactl")) for word in ("--file", path)]
    runs = []  # busy processes, and what run_program() returns
    for index in range(RUNS):
        load = LOAD * (index % 2)
        with load_host(load):
            runs.append((load, *run_program("--exact", *files)))
    fast = [run_program("--timed", "--no-snapshot") for _ in range(BOOTS)]
    _, figures, _, _ = runs[0]  # of all, where they are the same
    out.say(f"{'':14}{'exact':>10}{'fast, by boot':>30}")
    for name, value in figures.items():
        fast_values = [boot_figures[name] for boot_figures, _, _ in fast]
        out.say(f"{name:14}{value:10.2f}{'  '.join(f'{other:.2f}' for other in fast_values):>30}")
        out.at_most(f"{name}: fast mode apart from an exact run", max(abs(other / value - 1) for other in fast_values), APART)
    quiet_s, fast_s = [seconds for load, _, _, seconds in runs if not load], [seconds for _, _, seconds in fast]
    out.say(f"host s of a run, median: exact {median(quiet_s):.1f}, fast {median(fast_s):.1f}")
    digests = {digest for _, _, digest, _ in runs}
    out.at_most(f"different digests of {RUNS} exact runs, every second on a host with {LOAD} busy processes", len(digests), 1, "{:.0f}")
    out.data = {"digests": sorted(digests), "exact": figures, "fast": [boot_figures for boot_figures, _, _ in fast]}
    return out

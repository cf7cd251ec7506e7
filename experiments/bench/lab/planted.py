# SPDX-License-Identifier: GPL-2.0-only
"""A table on the wrong node: whether a bound on accesses finds it, names it, and lets the right one pass; what counting costs."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from experiments.bench.lab.inside import ROOT
from experiments.bounds import Outcome
from experiments.lab.command import build_words

MACHINE = "2x2"
RUNS = 20
ROUNDS = 5  # of each mode
START_S = 60  # host s, of the longest run
SAYS = ("--region", "scan", "--fail-if", "remote_share > 10%")
NAMES = ("anonymous mapping, 10.0 MiB", "by scan (planted_table)")
MODES = {"functional": ["--functional"], "count": ["--count", "--json", "counts.json"], "timed": ["--timed"],
         "timed, with counts": ["--timed", "--json", "counts.json"]}
WORK = "for i in 1 2 3 4 5 6 7 8; do ./planted_table remote; done"
FAILED_IF = 4


def build_program(folder: Path):
    """Compiles planted_table.c into `folder`. CalledProcessError: it does not compile."""
    subprocess.run(["cc", "-O1", "-g", "-I", ROOT / "experiments/lab/region", "-o", folder / "planted_table",
                    ROOT / "experiments/bench/lab/programs/planted_table.c"], check=True)


def run_lab(folder: Path, options: list[str], *command: str) -> tuple[subprocess.CompletedProcess, float, float]:
    """Runs a command in the lab, in `folder`, whatever its status; returns it with its seconds, and those of the host's processors."""
    begin, before = time.monotonic(), getrusage(RUSAGE_CHILDREN)
    run = subprocess.run(build_words(MACHINE, command, options), cwd=folder,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(Path.home())},
                          capture_output=True, text=True, check=False, timeout=900)
    after = getrusage(RUSAGE_CHILDREN)
    return run, time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def is_named(run: subprocess.CompletedProcess) -> bool:
    """Checks whether a run failed by its bound, and named the table and its reader."""
    lines = run.stderr.splitlines()
    return run.returncode == FAILED_IF and any(all(name in line for name in NAMES) for line in lines)


def measure_verdicts(out: Outcome, folder: Path):
    """Counts runs that find and name the table on the wrong node, and runs that pass with the right one, and checks both and their time."""
    found, passed, seconds, shares = 0, 0, [], []
    for _ in range(RUNS):
        wrong, wrong_s, _ = run_lab(folder, ["--count", *SAYS, "--json", "counts.json"], "./planted_table", "remote")
        shares.append(json.loads((folder / "counts.json").read_text(encoding="utf-8"))["metrics"]["remote_dram"])
        right, right_s, _ = run_lab(folder, ["--count", *SAYS], "./planted_table")
        found, passed, seconds = found + is_named(wrong), passed + (right.returncode == 0), [*seconds, wrong_s, right_s]
    out.say(f"host s of a run, boot included: median {median(seconds):.1f}, longest {max(seconds):.1f}")
    out.say(f"remote lines of the table's scan, least and most: {min(shares):,} and {max(shares):,}")
    out.at_least(f"of {RUNS} runs with the table on the wrong node, those that fail and name it", found, RUNS, "{:.0f}")
    out.at_least(f"of {RUNS} runs with the table on the right node, those that pass", passed, RUNS, "{:.0f}")
    out.at_most("longest run, host s", max(seconds), START_S, "{:.0f}")


def measure_costs(out: Outcome, folder: Path):
    """Measures the host's processor s of WORK in each mode: of a command with it twice, less one with it once, so without boot."""
    costs_s: dict[str, list[float]] = {name: [] for name in MODES}
    for _ in range(ROUNDS):
        for name, options in MODES.items():
            *_, long = run_lab(folder, options, "sh", "-c", f"{WORK}; {WORK}")
            *_, short = run_lab(folder, options, "sh", "-c", WORK)
            costs_s[name].append(long - short)
    out.say(f"processor s of the host for 8 programs that fill and read 10 MiB, median of {ROUNDS}")
    for name, seconds in costs_s.items():
        out.say(f"  {name:20}{median(seconds):6.2f}   {median(seconds) / median(costs_s['functional']):4.1f} times functional")
    out.data["costs"] = costs_s


def measure_planted() -> Outcome:
    """Builds the program and measures verdicts and costs; returns the outcome."""
    out = Outcome()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        build_program(Path(name))
        measure_verdicts(out, Path(name))
        measure_costs(out, Path(name))
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""make bench-migrate: boots the lab and prints the table.

    python -m experiments.bench.migration [--kernel SERIES] [--mib N] [--repeats N] timed|functional ..
"""

import argparse
import os
import sys

from experiments.bench.lab import inside
from experiments.bench.migration import table
from experiments.bounds import verdicts
from experiments.errors import get_exit_status

OBSERVE = "experiments/bench/migration/observe.py"
MACHINE = "demo-2s"
TIME_LIMIT = 1700  # s
LABELS = {
    "timed": "lab-timed: times are those of the described machine",
    "functional": "lab-functional: ratios and counts of one boot; its times are the host's, not performance",
}


def parse_arguments() -> argparse.Namespace:
    """Parses the command line: kernel series, MiB of pages, repeats, seed of the order, and one or both clocks."""
    parser = argparse.ArgumentParser(prog="experiments.bench.migration", description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("clocks", nargs="+", choices=LABELS)
    return parser.parse_args()


def run_observe(clock: str, options: argparse.Namespace) -> list[dict]:
    """Boots the lab, runs observe.py in it, and returns its observations. ExperimentError: the machine has failed."""
    words = [str(word) for word in (options.mib, options.repeats, options.seed)]
    return inside.run_program(MACHINE, "python3", OBSERVE, *words, timed=clock == "timed", kernel=options.kernel, module=True, timeout=TIME_LIMIT)


def print_report(clock: str, options: argparse.Namespace, observations: list[dict]):
    """Prints the tables of both states of the target and the verdicts of the claims, of one clock."""
    rows = table.build_rows(observations)
    print(f"\n{LABELS[clock]}\n{MACHINE}, kernel {options.kernel}, {options.mib} MiB of 4 KiB pages, "
          f"median of {options.repeats}, order shuffled with seed {options.seed}")
    for state in ("asleep", "running"):
        print(f"\ntarget {state}")
        print("\n".join(table.format_lines(rows, state, with_times=clock == "timed")))
    if clock == "timed":
        print("\nGB/s by kind of memory; those that are not private are mapped by other processes too and are half as large")
        print("\n".join(table.format_kinds(observations)))
    print()
    print("\n".join(verdicts(table.check_claims(rows, with_times=clock == "timed").checks + table.check_kinds(observations).checks)))


def main():
    """Observes under each clock that the command line names, and prints the reports."""
    options = parse_arguments()
    print(f"{os.cpu_count()} processors of the host, load {os.getloadavg()[0]:.1f}", flush=True)
    for clock in options.clocks:
        print_report(clock, options, run_observe(clock, options))


if __name__ == "__main__":
    sys.exit(get_exit_status("bench-migrate", main))

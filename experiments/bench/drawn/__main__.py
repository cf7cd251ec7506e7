# SPDX-License-Identifier: GPL-2.0-only
"""make check-statistics: what the commands and the report answer of runs whose truth is known, since they are drawn.

A line for each bound: how often a printed interval holds the truth, how often a word is false, how far a mean is off. The share
has Wilson's 95 % interval, by runs. A line fails where the share's 99.9 % interval is outside its bound, and the answer does not
itself say so. Status 1 where a line fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path

from ...analysis.runs.results import read_results
from ...runner.repeats import bootstrap
from . import commands, intervals, reports, tally
from .tally import Case, Line

SEED = 1
RESAMPLES = 400  # of the runner's 2000: a run's limits are looked at after each of its blocks


def list_cases() -> list[Case]:
    return [*intervals.build_cases(), *commands.build_cases(), *reports.build_cases()]


def tally_measured(folders: list[Path]) -> Iterator[Line]:
    """Tallies measured runs of one policy as two levels, none and none#2."""
    case = Case("levels", f"{len(folders)} measured runs", len(folders), intervals.compare_levels)
    runs = [list(intervals.compare_levels(read_results(folder))) for folder in folders]
    for bound in dict.fromkeys(event.bound for events in runs for event in events):
        yield tally.build_line(case, bound, [[e for e in events if e.bound == bound] for events in runs])


def print_lines(lines: Iterator[Line]) -> bool:
    """Prints lines as they come, with a head for each case, and their number; returns whether one failed."""
    failed = 0
    total = 0
    for (name, drawn), group in groupby(lines, key=lambda line: (line.name, line.drawn)):
        print(f"{name}: {drawn}")
        for line in group:
            total, failed = total + 1, failed + (line.verdict == tally.FAILS)
            values = (f"{100 * share:6.2f}" for share in (line.value, line.low, line.high))
            print("  {:36} {:6} {} % [{},{}]  {:15} {}".format(line.what, line.n, *values, line.bound, line.verdict), flush=True)
    print(f"{failed} of {total} lines fail")
    return failed > 0


def main(words: list[str] | None = None) -> int:
    """Carries the command line out: draws the cases and prints their lines; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench.drawn", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="the cases of this name, or pattern, as 'worth *'")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N")
    parser.add_argument("--json", action="store_true", help="the lines in JSON")
    parser.add_argument("--measured", type=Path, nargs="+", metavar="DIR", help="instead: runs with the policies none,none#2")
    args = parser.parse_args(words)
    cases = [case for case in list_cases() if not args.only or fnmatch(case.name, args.only)]
    if not cases:
        names = ", ".join(dict.fromkeys(case.name for case in list_cases()))
        print(f"check-statistics: no case is named '{args.only}': name one of {names}", file=sys.stderr)
        return 2
    bootstrap.RESAMPLES = RESAMPLES
    lines = tally_measured(args.measured) if args.measured else (line for case in cases for line in tally.build_lines(case, args.seed))
    if not args.json:
        return int(print_lines(lines))
    lines_made = list(lines)
    print(json.dumps([asdict(line) for line in lines_made], indent=1))
    return int(any(line.verdict == tally.FAILS for line in lines_made))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Prints the status of each kind of page after a move by each engine on every kernel series: `make kinds-of-pages`."""

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from experiments.lab import kernels  # noqa: E402
from experiments.lab.command import build_words  # noqa: E402


def observed(series: str) -> dict[tuple[str, str], str]:
    """The outcome by kind and engine."""
    done = subprocess.run(
        build_words("demo-2s", [".venv/bin/python", "kmod/tests/guest/kinds_table.py"], functional=True, kernel=series, seconds=600),
        cwd=TOP, stdout=subprocess.PIPE, text=True, check=False)
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2]
    if done.returncode or not rows:
        sys.exit(f"print_kinds: no table on kernel series {series}: the lab machine ended with {done.returncode}: "
                 f"{done.stdout}")
    return {(kind, engine): outcome for kind, engine, outcome in rows}


def main():
    all_series = kernels.known_series()
    tables = {series: observed(series) for series in all_series}
    rows = [("kind of page", "engine", *all_series)]
    last = None
    for kind, engine in tables[all_series[0]]:
        rows.append((kind if kind != last else "", engine, *(table[kind, engine] for table in tables.values())))
        last = kind
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()

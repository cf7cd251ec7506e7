# SPDX-License-Identifier: GPL-2.0-only
"""The papers' printed tables, from experiments/reference."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "reference"


def read_rows(name: str) -> list[dict[str, str]]:
    with open(FOLDER / name, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def read_luo(machine: str) -> dict[tuple[int, int], float]:
    """Reads the paper's total bandwidths of a machine, by numbers of (local, remote) threads, in parts of 4L0R."""
    return {
        (int(row["local_threads"]), int(column[:-1])): float(value)
        for row in read_rows(f"luo-table1-{machine}.csv")
        for column, value in row.items()
        if column != "local_threads"
    }

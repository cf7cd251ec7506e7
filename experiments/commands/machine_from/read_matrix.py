# SPDX-License-Identifier: GPL-2.0-only
"""A matrix of latencies between CPUs as CSV, as core-to-core-latency --csv prints it."""

from __future__ import annotations

import math
import re

from ...errors import UsageError
from .describe import MOST_CPUS, Description, Sourced, parse_number

CELL = r"\s*(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|nan)?\s*"
LINE = re.compile(rf"{CELL}(?:,{CELL})*", re.IGNORECASE)


def is_matrix(text: str) -> bool:
    """Checks whether a text has lines of numbers with commas only."""
    lines = [line for line in text.splitlines() if line.strip()]
    return any("," in line for line in lines) and all(LINE.fullmatch(line) for line in lines)


def parse_cell(text: str, where: str) -> float | None:
    """Parses a cell; None for one that is empty, 0 or not a number."""
    word = text.strip()
    return None if not word or word.lower() == "nan" else parse_number(word, where) or None


def describe_matrix(text: str, file: str) -> Description:
    """Describes the machine of a matrix between CPUs. UsageError: it is not square."""
    rows = [[parse_cell(cell, f"{file}:{number}") for cell in line.split(",")]
            for number, line in enumerate(text.rstrip().splitlines(), 1)]
    cpus = max(len(rows), *map(len, rows))
    if len(rows) not in (cpus, cpus - 1) or cpus > MOST_CPUS:
        raise UsageError(f"{file} has {len(rows)} rows of up to {cpus} cells: give one matrix, with a row of each CPU")
    square = [row + [None] * (cpus - len(row)) for row in rows + [[]] * (cpus - len(rows))]
    if not any(value for row in square for value in row):
        raise UsageError(f"{file} has no number: give the CSV of core-to-core-latency --csv")
    return Description(file, core_matrix=square, core_matrix_name=file)


def compute_mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def name_pair(near: tuple[int, int], far: tuple[int, int]) -> tuple[str, str]:
    """Returns the key in [model.c2c] of the cost of a line between two CPUs, and its words. near, far: a CPU's node and last level."""
    if near == far:
        return "local_ns", "of a last level"
    (near_node, _), (far_node, _) = near, far
    return ("node_ns", "of two last levels of a node") if near_node == far_node else ("remote_ns", "of two nodes")


def fold_cores(description: Description, all_cpus: list[int], place_of: dict[int, tuple[int, int]]) -> dict[str, Sourced]:
    """Computes what CPUs of a last level, of a node, and of two, cost each other. all_cpus: those that the rows are of, where there are
    as many; else they are of the CPUs in place_of: a node and a last level of it. UsageError: there are as many of neither."""
    rows, name = description.core_matrix, description.core_matrix_name
    kept = sorted(place_of)
    cpus = next((cpus for cpus in (all_cpus, kept) if len(cpus) == len(rows)), None)
    if cpus is None:
        raise UsageError(f"{name} has {len(rows)} rows, and the machine {len(all_cpus)} CPUs on {len(kept)} cores that are kept: give a "
                         "matrix with a row of each CPU, or of each core")
    values: dict[tuple[str, str], list[float]] = {}
    for near, row in zip(cpus, rows):
        for far, value in zip(cpus, row):
            if value and near != far and near in place_of and far in place_of:
                values.setdefault(name_pair(place_of[near], place_of[far]), []).append(value)
    return {key: Sourced(compute_mean(found), f"{name}, mean of pairs of CPUs {which}") for (key, which), found in values.items()}

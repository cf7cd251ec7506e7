# SPDX-License-Identifier: GPL-2.0-only
"""What Intel's Memory Latency Checker prints: its matrices of latency, bandwidth, and cache to cache."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...errors import UsageError
from .describe import Description, Sourced, parse_number

BEGIN = re.compile(r"Memory Latency Checker|Measuring (idle latenc|Memory Bandwidths between|cache-to-cache)", re.IGNORECASE)
TITLES = {  # of a matrix, or of lines that are none of this reader's
    "latency": re.compile(r"Measuring idle latenc", re.IGNORECASE),
    "bandwidth": re.compile(r"Measuring Memory Bandwidths between nodes", re.IGNORECASE),
    "remote_ns": re.compile(r"Remote Socket .*HITM.*homed in writer", re.IGNORECASE),
    "remote_home_ns": re.compile(r"Remote Socket .*HITM.*homed in reader", re.IGNORECASE),
    "": re.compile(r"Measuring |Remote Socket "),
}
HEAD = re.compile(r"^[\sA-Za-z]*((?:\s+\d{1,4})+)\s*$", re.ASCII)
ROW = re.compile(r"^\s*(\d{1,4})((?:\s+(?:[\d.]+|-|N/A))+)\s*$", re.ASCII)
LOCAL = re.compile(r"Local Socket .*HITM\s+latency\s+(\S+)", re.IGNORECASE)


@dataclass
class Matrix:
    kind: str  # a key of TITLES
    columns: list[int] | None = None
    values: dict[tuple[int, int], float] = field(default_factory=dict)  # (row, column)


def find_kind(line: str) -> str | None:
    """Returns the kind of the matrix that a line is the title of; "" for one that is not read, None for a line that is no title."""
    return next((kind for kind, title in TITLES.items() if title.search(line)), None)


def read_row(matrix: Matrix, line: str, where: str) -> None:
    """Adds a row to a matrix, or its columns where it has none yet; no cell without a number. UsageError: the row is not whole."""
    row = ROW.match(line) if matrix.columns else None
    if row:
        words = row[2].split()
        if len(words) != len(matrix.columns):
            raise UsageError(f"{where} has {len(words)} numbers for {len(matrix.columns)} nodes: give the whole output of mlc")
        matrix.values |= {(int(row[1]), column): parse_number(word, where) for column, word in zip(matrix.columns, words)
                          if word not in ("-", "N/A")}
    elif not matrix.columns:
        head = HEAD.match(line)
        matrix.columns = [int(word) for word in head[1].split()] if head else None


def read_matrices(text: str, file: str) -> dict[str, Matrix]:
    """Reads the matrices, by their kinds; of two of a kind the first."""
    matrices: dict[str, Matrix] = {}
    matrix: Matrix | None = None
    for number, line in enumerate(text.splitlines(), 1):
        kind = find_kind(line)
        if kind is not None:
            matrix = matrices.setdefault(kind, Matrix(kind)) if kind and kind not in matrices else None
        elif matrix:
            read_row(matrix, line, f"{file}:{number}")
    return {kind: matrix for kind, matrix in matrices.items() if matrix.values}


def source_pairs(matrix: Matrix | None, what: str) -> dict[tuple[int, int], Sourced]:
    """Returns each number that is not 0 with its source; {} without a matrix. what: file and kind, for the source."""
    return {pair: Sourced(value, f"{what} of nodes {pair[0]} to {pair[1]}")
            for pair, value in (matrix.values.items() if matrix else []) if value}


def read_c2c(text: str, matrices: dict[str, Matrix], file: str) -> dict[str, Sourced]:
    """Reads what a line costs that another core has modified, on average over the nodes: ns by the keys of [model.c2c]."""
    costs = {}
    local = LOCAL.search(text)
    if local:
        costs["local_ns"] = Sourced(parse_number(local[1], f"{file}, Local Socket HITM"), f"{file}, local HITM latency")
    for key in ("remote_ns", "remote_home_ns"):
        values = [value for (row, column), value in matrices[key].values.items() if row != column] if key in matrices else []
        if values:
            home = "writer" if key == "remote_ns" else "reader"
            costs[key] = Sourced(sum(values) / len(values), f"{file}, remote HITM latency, homed in the {home}'s socket")
    return costs


def describe_mlc(text: str, file: str) -> Description:
    """Describes the machine of an output of mlc. UsageError: it has no matrix."""
    matrices = read_matrices(text, file)
    c2c = read_c2c(text, matrices, file)
    latencies = source_pairs(matrices.get("latency"), f"{file}, mlc latency")
    bandwidths = source_pairs(matrices.get("bandwidth"), f"{file}, mlc bandwidth")
    if not (c2c or latencies or bandwidths):
        raise UsageError(f"{file} has no matrix of mlc with numbers: give the output of mlc --latency_matrix, --bandwidth_matrix "
                         "or --c2c_latency")
    return Description(file, latencies=latencies, bandwidths=bandwidths, c2c=c2c)

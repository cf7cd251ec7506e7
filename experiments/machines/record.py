# SPDX-License-Identifier: GPL-2.0-only
"""The file of one machine, of format 1: JSON with sorted keys, a row of a matrix or of a table on a line of its own."""

import json
from pathlib import Path
from typing import Any

from ..errors import ExperimentError

FORMAT = 1
MOST_BYTES = 64 << 10  # that is easily read
WIDTH = 180        # of a row
LOAD = 0.5         # above it others used the machine, as check-machine doubts it

# format; numaplace (version); machine: cpu_model, kernel, virtual, load_most, nodes (each id, cpus, memory_mib), distances;
# measured: by suite or matrix, what runs.collect_record() collects; missing: the reason by name of what was not measured; model: lines of the model's text, where fitted.
Record = dict[str, Any]


def format_record(record: Record) -> str:
    """Formats a record as the text of its file."""
    return _format_value(record, "") + "\n"


def _format_value(value: Any, indent: str) -> str:
    """Formats a value inside `indent` as JSON; one that holds neither lists nor objects, but the whole record, stands on one line of up to
    WIDTH characters."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not inside or indent and len(line) <= WIDTH and not any(isinstance(item, (dict, list)) for item in inside):
        return line
    deeper = indent + " "
    lines = [_format_value(item, deeper) for item in value] if isinstance(value, list) else [
        f"{json.dumps(key)}: {_format_value(value[key], deeper)}" for key in sorted(value)]
    first, last = "[]" if isinstance(value, list) else "{}"
    return f"{first}\n{deeper}" + f",\n{deeper}".join(lines) + f"\n{indent}{last}"


def write_record(file: Path, record: Record) -> None:
    """Writes a record to a file. ExperimentError: it cannot be written."""
    try:
        file.write_text(format_record(record), encoding="utf-8")
    except OSError as error:
        raise ExperimentError(f"cannot write {file}: {error.strerror}: name another file") from None


def read_record(file: Path) -> Record:
    """Reads a record and checks its form; ExperimentError where the file cannot be read, is too large, or is no record."""
    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{file}: cannot be read ({error}): give the file of a machine") from None
    if len(content.encode()) > MOST_BYTES:
        raise ExperimentError(f"{file}: is larger than {MOST_BYTES >> 10} KiB: it is no record")
    try:
        record = json.loads(content, parse_constant=_refuse_constant)
    except ValueError as error:
        raise ExperimentError(f"{file}: not JSON ({error}): take what --record wrote") from None
    try:
        problem = _find_problem(record)
    except (AttributeError, TypeError):  # a part of another type
        problem = "is not of the form of a record"
    if problem:
        raise ExperimentError(f"{file}: {problem}: take what --record wrote")
    return record


def _refuse_constant(word: str) -> None:
    """Refuses NaN and infinities, which JSON has not, with a ValueError."""
    raise ValueError(f"{word} is no number")


def _find_problem(record: Any) -> str | None:
    """Returns what is wrong with a record, its nodes and matrices, as the end of a sentence; None where nothing is."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return f"is not of format {FORMAT}"
    lacking = [key for key in ("machine", "measured", "missing") if not isinstance(record.get(key), dict)]
    if lacking:
        return f"has no {', '.join(lacking)}"
    machine = record["machine"]
    nodes, distances = machine.get("nodes"), machine.get("distances")
    if not isinstance(nodes, list) or not nodes or not all(_is_node(node) for node in nodes):
        return "machine.nodes is no list of nodes with id, cpus and memory_mib"
    if not isinstance(distances, list) or [len(row) for row in distances] != [len(nodes)] * len(nodes):
        return "machine.distances has not a row and a column for each node"
    ids = {node["id"] for node in nodes}
    for name in ("latency", "bandwidth"):
        matrix = record["measured"].get(name)
        if matrix and not _is_matrix(matrix, ids):
            return f"measured.{name} is no matrix of the machine's nodes"
    return None


def _is_node(node: Any) -> bool:
    """Checks whether a value of a record describes a node."""
    return isinstance(node, dict) and all(isinstance(node.get(key), int) for key in ("id", "cpus", "memory_mib"))


def _is_matrix(matrix: Any, ids: set[int]) -> bool:
    """Checks whether a value has the form of runs.make_matrix(), of nodes with these ids."""
    rows, columns, mean = (matrix.get(key) for key in ("from", "to", "mean"))
    return (isinstance(rows, list) and isinstance(columns, list) and {*rows, *columns} <= ids
            and isinstance(mean, list) and [len(row) for row in mean] == [len(columns)] * len(rows)
            and all(isinstance(value, (int, float, type(None))) for row in mean for value in row))

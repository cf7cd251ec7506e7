# SPDX-License-Identifier: GPL-2.0-only
"""Levels that are parts of the machine: sizes of its caches and nodes, threads of its cores.

A suite that names them asks its question of every machine: "0.5 L2", "0.9 L3", "4 L3", "0.1 node"; "1/4", "all".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import UsageError
from ...host.host_nodes import Node
from ...host.topology import order_cpus
from ..kinds import footprint
from .suite import PARAMETERS, SIZE, Suite, Workload, is_data_size, is_size

PART = re.compile(r"(\d+)/([1-9]\d*)")
WHOLE = 64 << 10  # bytes: whole pages on every machine
# Factors that count threads, and whether it is the whole machine's cores that they are parts of.
THREADS = {"local": False, "remote": False, "reference": False, "opposite": False, "load": False, "threads": True}


def resolve_suite(suite: Suite, nodes: list[Node]) -> Suite:
    """Returns the suite with numbers for this machine in the place of every part."""
    parameters = {kind: {key: _resolve_parameter(kind, key, values, nodes) for key in values}
                  for kind, values in suite.parameters.items()}
    suite = replace(suite, parameters=parameters, workloads=tuple(_resolve_memory(w, nodes) for w in suite.workloads))
    return replace(suite, levels={name: _drop_equal_levels(name, suite, nodes) for name in suite.levels})


def _resolve_memory(workload: Workload, nodes: list[Node]) -> Workload:
    """Returns the memory of a command, which has it among its own options."""
    memory = workload.options.get("memory")
    return replace(workload, options=workload.options | {"memory": str(resolve_size(memory, nodes))}) if is_size(memory) else workload


def _resolve_parameter(kind: str, key: str, values: dict[str, Any], nodes: list[Node]) -> Any:
    value = values[key]
    if is_data_size(kind, key, value) and values.keys() == PARAMETERS[kind].keys():  # else check_suite() says what is missing
        return footprint.count_for_size(kind, resolve_size(value, nodes), values)
    return str(resolve_size(value, nodes)) if key.endswith("size") and is_size(value) else value


def resolve_size(text: str, nodes: list[Node]) -> int:
    """Returns the bytes of a part of the smallest cache or node of the machine."""
    part, what = SIZE.fullmatch(text).groups()
    of: dict[str, Callable[[], list[int]]] = {
        "L2": lambda: [cpu.l2_bytes or cpu.l3_bytes for node in nodes for cpu in node.places],
        "L3": lambda: [cpu.l3_bytes for node in nodes for cpu in node.places],
        "node": lambda: [estimate_installed(node.total_kib << 10) for node in nodes if node.total_kib]}
    whole = min(filter(None, of[what]()), default=0)
    if not whole:
        raise UsageError(f"size '{text}': this machine does not say how large its {what} is; give bytes, as in 64M")
    return max(WHOLE, round(float(part) * whole) // WHOLE * WHOLE)


def estimate_installed(total: int) -> int:
    """Estimates a node's memory from what its kernel manages: that is tens of MiB less, and by boot more or less so, as the kernel lies on
    one node or another. Rounded up to a quarter of the power of two below it."""
    quarter = 1 << max(0, total.bit_length() - 3)
    return -(-total // quarter) * quarter


def resolve_threads(text: str, cores: int) -> int:
    """Returns the threads of a part: at least one, whatever the part."""
    if text == "all":
        return cores
    part = PART.fullmatch(text)
    if not part:
        raise UsageError(f"'{text}' is no number of threads: give a number, a part as '1/4', or 'all'")
    return max(1, cores * int(part[1]) // int(part[2]))


def _drop_equal_levels(name: str, suite: Suite, nodes: list[Node]) -> list[Any]:
    """Returns the levels without those that come to the same on this machine."""
    values = suite.levels[name]
    if name in THREADS:
        cores = [len({cpu.core for cpu in node.places} or node.cpus) for node in nodes if node.cpus]
        count = sum(cores) if THREADS[name] else min(cores, default=1)
        return list(dict.fromkeys(resolve_threads(v, count) if isinstance(v, str) else v for v in values))
    if name == "size_kb":
        return list(dict.fromkeys(resolve_size(v, nodes) >> 10 if is_size(v) else v for v in values))
    if name == "size":
        return list(dict.fromkeys(_resolve_elements(v, suite, nodes) if is_size(v) else v for v in values))
    if name == "case":
        return [_resolve_case(case, suite.design, nodes) for case in values]
    if name == "spread":
        first: dict[tuple[tuple[int, ...], ...], str] = {}
        for spread in values:
            first.setdefault(tuple(order_cpus(node.places, spread) for node in nodes), spread)
        return list(first.values())
    return values


def _resolve_elements(text: str, suite: Suite, nodes: list[Node]) -> int:
    """Returns the elements of a structure of Redis, whose data are then so large."""
    structures = suite.levels["experiment"]
    if len(structures) > 1 or structures == ["tokens"]:
        raise UsageError(f"size '{text}': of {', '.join(structures)} it says no number of elements; give a number")
    return footprint.count_elements(structures[0], resolve_size(text, nodes), suite.parameters["redis-times"]["max_length"])


def _resolve_case(case: dict[str, Any], design: str, nodes: list[Node]) -> dict[str, Any]:
    """Returns the ints of an array, or the keys of a server."""
    found = dict(case)
    for key, value in case.items():
        if is_data_size(design, key, value):
            found[key] = footprint.count_for_size(design, resolve_size(value, nodes), case)
        elif is_size(value):
            found[key] = resolve_size(value, nodes) // 4
    return found

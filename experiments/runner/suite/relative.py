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
from ...host import host_nodes
from ...host.host_nodes import Node
from ...host.topology import order_cpus
from ..kinds import footprint
from .suite import PARAMETERS, SIZE, Suite, Workload, is_data_size, is_size

PART = re.compile(r"(\d+)/([1-9]\d*)")
WHOLE = 64 << 10  # bytes: whole pages on every machine
INT = 4  # bytes
TIMES = ("seconds", "warm", "interval")  # parameters: a machine at 1/S of its speed has S times as long for the same work
# Factors that count threads, and whether it is the whole machine's cores that they are parts of.
THREADS = {"local": False, "remote": False, "reference": False, "opposite": False, "load": False, "threads": True}


def resolve_suite(suite: Suite, nodes: list[Node]) -> Suite:
    """Returns the suite with numbers for this machine in the place of every part, and its times for the machine's speed."""
    parameters = {kind: {key: _resolve_parameter(kind, key, values, nodes) for key in values}
                  for kind, values in suite.parameters.items()}
    suite = replace(suite, parameters=parameters, workloads=tuple(_resolve_memory(w, nodes) for w in suite.workloads))
    return replace(suite, levels={name: _drop_equal_levels(name, suite, nodes) for name in suite.levels})


def _resolve_memory(workload: Workload, nodes: list[Node]) -> Workload:
    """Returns the workload with its memory in bytes where it is a part of the machine; only commands have it among their options."""
    memory = workload.options.get("memory")
    return replace(workload, options=workload.options | {"memory": str(resolve_size(memory, nodes))}) if is_size(memory) else workload


def _resolve_parameter(kind: str, key: str, values: dict[str, Any], nodes: list[Node]) -> Any:
    """Returns parameter `key` of `values`, all of its kind: a part of the machine as a number, a time by its speed, others as they are."""
    value = values[key]
    if is_data_size(kind, key, value) and values.keys() == PARAMETERS[kind].keys():  # else check_suite() says what is missing
        return footprint.count_for_size(kind, resolve_size(value, nodes), values)
    if key in TIMES:
        return value * host_nodes.read_lab_scale()
    return str(resolve_size(value, nodes)) if key.endswith("size") and is_size(value) else value


def resolve_size(text: str, nodes: list[Node]) -> int:
    """Returns the bytes of a part of the smallest cache or node of the machine, in multiples of WHOLE. UsageError: no size is known."""
    part, unit = SIZE.fullmatch(text).groups()
    list_bytes: dict[str, Callable[[], list[int]]] = {
        "L2": lambda: [cpu.l2_bytes or cpu.l3_bytes for node in nodes for cpu in node.places],
        "L3": lambda: [cpu.l3_bytes for node in nodes for cpu in node.places],
        "node": lambda: [estimate_installed(node.total_kib << 10) for node in nodes if node.total_kib]}
    smallest = min(filter(None, list_bytes[unit]()), default=0)
    if not smallest:
        raise UsageError(f"size '{text}': this machine does not say how large its {unit} is; give bytes, as in 64M")
    return max(WHOLE, round(float(part) * smallest) // WHOLE * WHOLE)


def estimate_installed(managed: int) -> int:
    """Estimates a node's installed bytes from the bytes that its kernel manages: rounded up to a quarter of the power of two below."""
    # The kernel manages tens of MiB less, and by boot more or less so, as it lies on one node or another.
    power_below = 1 << (managed.bit_length() - 1)
    quarter = max(1, power_below // 4)
    return -(-managed // quarter) * quarter


def resolve_threads(text: str, cores: int) -> int:
    """Returns the number of threads of a part of the cores, such as '1/4' or 'all': at least one. UsageError: it is no part."""
    if text == "all":
        return cores
    part = PART.fullmatch(text)
    if not part:
        raise UsageError(f"'{text}' is no number of threads: give a number, a part as '1/4', or 'all'")
    return max(1, cores * int(part[1]) // int(part[2]))


def _drop_equal_levels(name: str, suite: Suite, nodes: list[Node]) -> list[Any]:
    """Returns the levels of the factor `name` as numbers for this machine, without those that come to the same on it."""
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
        by_order: dict[tuple[tuple[int, ...], ...], str] = {}
        for spread in values:
            by_order.setdefault(tuple(order_cpus(node.places, spread) for node in nodes), spread)
        return list(by_order.values())
    return values


def _resolve_elements(text: str, suite: Suite, nodes: list[Node]) -> int:
    """Returns the elements of a structure of Redis, whose data are then so large. UsageError: the structure says no such number."""
    structures = suite.levels["experiment"]
    if len(structures) > 1 or structures == ["tokens"]:
        raise UsageError(f"size '{text}': of {', '.join(structures)} it says no number of elements; give a number")
    return footprint.count_elements(structures[0], resolve_size(text, nodes), suite.parameters["redis-times"]["max_length"])


def _resolve_case(case: dict[str, Any], design: str, nodes: list[Node]) -> dict[str, Any]:
    """Returns the case with counts in the place of sizes: of the ints of an array, or of the keys of a server."""
    resolved = dict(case)
    for key, value in case.items():
        if is_data_size(design, key, value):
            resolved[key] = footprint.count_for_size(design, resolve_size(value, nodes), case)
        elif is_size(value):
            resolved[key] = resolve_size(value, nodes) // INT
    return resolved

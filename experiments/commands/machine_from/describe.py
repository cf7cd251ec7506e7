# SPDX-License-Identifier: GPL-2.0-only
"""What is known of a machine, each number with the file that it is from, and several such descriptions made one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from ...errors import UsageError

MOST_CPUS = 8192  # NP_MAX_CPUS of the tools
Pair = tuple[int, int]


@dataclass(frozen=True)
class Sourced:
    value: float  # in the unit of the field that it is in
    source: str   # "FILE, what"


@dataclass
class Node:
    id: int
    cpus: list[int] | None = None  # None: not said
    bytes: int | None = None       # likewise


@dataclass(frozen=True)
class Cache:
    level: int
    bytes: int  # of the whole cache
    ways: int  # 0: not said
    line: int  # bytes; 0: not said
    cpus: tuple[int, ...]  # that share it; empty: not said


def find_caches(cpus: Iterable[int], list_caches: Callable[[int], list[Cache | None]]) -> tuple[list[Cache], int]:
    """Finds the caches of the first CPU that has any, and returns that CPU, too."""
    for cpu in cpus:
        known = sorted((cache for cache in list_caches(cpu) if cache and cache.level and cache.bytes), key=lambda cache: cache.level)
        if known:
            return known, cpu
    return [], 0


@dataclass
class Description:
    """Holds what one file, or several, say of a machine. Pairs are (from, to), by the nodes' own numbers."""
    name: str  # of the file
    nodes: dict[int, Node] = field(default_factory=dict)
    nodes_source: str = ""
    distances: dict[Pair, float] = field(default_factory=dict)
    distances_source: str = ""
    latencies: dict[Pair, Sourced] = field(default_factory=dict)   # ns
    bandwidths: dict[Pair, Sourced] = field(default_factory=dict)  # MB/s
    cores: dict[int, Hashable] = field(default_factory=dict)       # of each CPU
    caches: list[Cache] = field(default_factory=list)
    caches_source: str = ""
    mhz: Sourced | None = None
    c2c: dict[str, Sourced] = field(default_factory=dict)  # by the keys of [model.c2c], ns
    core_matrix: list[list[float | None]] = field(default_factory=list)  # ns between CPUs, by their order
    core_matrix_name: str = ""  # its file
    remarks: list[str] = field(default_factory=list)

    @property
    def cpus(self) -> list[int]:
        """Returns all CPUs, sorted."""
        return sorted(cpu for node in self.nodes.values() for cpu in node.cpus or [])


def parse_number(text: str, what: str) -> float:
    """Parses a number from 0, not infinite. what: where it stands, for the message. UsageError: it is none."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise UsageError(f"{what}: '{text.strip()[:40]}' is not a number from 0: correct it, or leave the file out")
    return value


def parse_whole(text: str, what: str) -> int:
    """Parses a whole number from 0. what: where it stands, for the message. UsageError: it is none."""
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text, re.ASCII):
        raise UsageError(f"{what}: '{text.strip()[:40]}' is not a whole number from 0: correct it, or leave the file out")
    return int(text)


def parse_cpu_list(text: str, what: str) -> list[int]:
    """Parses a kernel's list such as 0-3,8. what: where it stands. UsageError: it is none, or has a CPU that no kernel has."""
    cpus: set[int] = set()
    for part in text.strip().split(",") if text.strip() else []:
        first, dash, last = part.partition("-")
        begin, end = parse_whole(first, what), parse_whole(last if dash else first, what)
        if end < begin or end >= MOST_CPUS:
            raise UsageError(f"{what}: '{part}' is not a range of CPUs below {MOST_CPUS}: correct it, or leave the file out")
        cpus |= set(range(begin, end + 1))
    return sorted(cpus)


def parse_cpu_mask(text: str, what: str) -> list[int]:
    """Parses words of 32 bits, the highest first, such as 0x1,0x0000000f or 00000000,0000000f; 0xf...f is all above. UsageError: it is
    none."""
    words = text.strip().split(",")
    endless = words[0] == "0xf...f"
    words = words[1:] if endless else words
    if not all(re.fullmatch(r"(0x)?[0-9a-fA-F]{0,8}", word) for word in words) or len(words) > MOST_CPUS // 32:
        raise UsageError(f"{what}: '{text.strip()[:40]}' is not a mask of CPUs below {MOST_CPUS}: correct it, or leave the file out")
    bits = 0
    for word in words:
        bits = bits << 32 | int(word.removeprefix("0x") or "0", 16)
    above = range(32 * len(words), MOST_CPUS) if endless else ()
    return [*(cpu for cpu in range(32 * len(words)) if bits >> cpu & 1), *above]


def check_pairs(pairs: Iterable[Pair], nodes: dict[int, Node], file: str, of: str) -> None:
    """Raises UsageError where the numbers of `file` are of a node that the machine, known by the file `of`, does not have."""
    for node in sorted({node for pair in pairs for node in pair}):
        if node not in nodes:
            raise UsageError(f"{file} has numbers of node {node}, which {of} does not have: give files of one machine")


def check_ranges(description: Description) -> None:
    """Raises UsageError where a number is none that a machine file may have."""
    for numbers, highest, unit in ((description.latencies, 1e6, "ns"), (description.bandwidths, 1e9, "MB/s"), (description.c2c, 1e5, "ns")):
        for number in numbers.values():
            if not 1 <= number.value <= highest:
                raise UsageError(f"{number.source}: {number.value:.6g} {unit} is outside 1 to {highest:g}: correct it, or leave the file out")


def merge_nodes(into: Description, added: Description) -> None:
    """Adds CPUs and memory of nodes that another file describes, too. UsageError: it has other nodes."""
    if into.nodes.keys() != added.nodes.keys():
        raise UsageError(f"{added.name} has nodes {sorted(added.nodes)} and {into.name} nodes {sorted(into.nodes)}: "
                         "give files of one machine")
    for number, node in into.nodes.items():
        other = added.nodes[number]
        if node.cpus is None:
            node.cpus = other.cpus
        if node.bytes is None:
            node.bytes = other.bytes


def merge_numbers(into: Description, added: Description) -> None:
    """Adds to `into` what `added`, another file, has and none before it had."""
    if not into.distances:
        into.distances, into.distances_source = added.distances, added.distances_source
    if not into.caches:
        into.caches, into.caches_source = added.caches, added.caches_source
    into.latencies = added.latencies | into.latencies
    into.bandwidths = added.bandwidths | into.bandwidths
    into.cores = into.cores or added.cores
    into.mhz = into.mhz or added.mhz
    into.c2c = added.c2c | into.c2c
    if not into.core_matrix:
        into.core_matrix, into.core_matrix_name = added.core_matrix, added.core_matrix_name


def list_pairs(description: Description) -> set[Pair]:
    return {*description.distances, *description.latencies, *description.bandwidths}


def merge_descriptions(descriptions: list[Description]) -> Description:
    """Makes one description of several: of two files that say the same thing the first counts, and a measured matrix before what the
    firmware says. UsageError: they are of different machines, or none has nodes."""
    with_nodes = [description for description in descriptions if description.nodes]
    into = with_nodes[0] if with_nodes else infer_nodes(descriptions)
    for description in descriptions:
        check_ranges(description)
        if description is into:
            continue
        if description.nodes:
            merge_nodes(into, description)
        check_pairs(list_pairs(description), into.nodes, description.name, into.name)
    remarks = [remark for description in descriptions for remark in description.remarks]
    merged = Description(into.name, into.nodes, into.nodes_source, remarks=remarks)
    for description in sorted(descriptions, key=lambda description: bool(description.nodes)):
        merge_numbers(merged, description)
    return merged


def infer_nodes(descriptions: list[Description]) -> Description:
    """Returns nodes without CPUs and memory of their own from the pairs that a matrix has. UsageError: there is no pair either."""
    for description in descriptions:
        numbers = sorted({node for pair in list_pairs(description) for node in pair})
        if numbers:
            from_cpus = {near for near, _ in list_pairs(description)}
            nodes = {number: Node(number, None if number in from_cpus else []) for number in numbers}
            return Description(description.name, nodes, f"{description.name}, rows and columns of its matrix")
    raise UsageError(f"{descriptions[0].name} has no nodes: give one more --from FILE, lstopo's XML, a /sys or what numactl -H prints")

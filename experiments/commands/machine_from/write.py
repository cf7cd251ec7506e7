# SPDX-License-Identifier: GPL-2.0-only
"""The machine file."""

from __future__ import annotations

import re

from ...calibrate.picture import format_entry, format_ranges
from .describe import Description, Sourced
from .estimate import HEADER_BYTES, Speed, build_distances, estimate_base, estimate_c2c, estimate_dram, estimate_links
from .reduce import Kept, Reduced, Written, choose_caches

LONGEST_NAME = 60
SHAPE = re.compile(r"[0-9x+.-]+")  # names of the lab's machines without a file are like this
ASSUMED_MHZ, MOST_MHZ = 2500, 1e5
CACHE_NS = {2: 4, 3: 20, 4: 40}


def clean_text(text: str) -> str:
    """Returns a text that may stand in a string and in a comment of a machine file."""
    return re.sub(r'[^ -~]|["\\]', "?", text)


def make_name(text: str) -> str:
    """Makes a machine's name of a file's."""
    stem = re.sub(r"\.(xml|txt|log|csv|out|sys)$", "", text.lower())
    name = re.sub(r"[^a-z0-9.-]+", "-", stem).strip(".-")[:LONGEST_NAME]
    return f"machine-{name}".rstrip("-") if not name or SHAPE.fullmatch(name) else name


def count_things(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def build_head(name: str, described: Description, reduced: Reduced, files: list[str]) -> list[str]:
    """Builds the lines before the tables. files: names of what describes the machine."""
    distances, source = build_distances(described, reduced.nodes)
    cpus, memory_mib = len(reduced.node_of), sum(node.mib for node in reduced.nodes)
    real = sum(node.bytes or 0 for node in described.nodes.values()) >> 20
    things = f"{count_things(len(reduced.nodes), 'node')}, {count_things(cpus, 'CPU')}"
    lines = ["# Written by numaplace machine --from. CPUs are numbered by node.", *(f"# {remark}" for remark in reduced.remarks),
             f'name = "{name}"', f'summary = "{things}, as described by {", ".join(files)}"',
             f'source = "calibrated: {described.nodes_source}"', f"cpus = {cpus}",
             f'memory = "{memory_mib} MiB"' + (f"  # the nodes have {real} MiB; less boots faster" if real else ""),
             f"# {source}" if source else "", "distances = [", *(f"    {row}," for row in distances), "]", ""]
    return [line for line in lines if line] + [""]


def build_nodes(reduced: Reduced, described: Description) -> list[str]:
    """Builds the tables of nodes."""
    lines, first = [], 0
    for node in reduced.nodes:
        own = f", CPUs {format_ranges(node.cpus)}" if node.cpus else ""
        lines += [f"# node {node.id} of {described.name}{own}", "[[node]]",
                  f'cpus = "{format_ranges(list(range(first, first + len(node.cpus))))}"',
                  f'memory = "{node.mib} MiB"' if node.mib else 'memory = "0"', ""]
        first += len(node.cpus)
    return lines


def format_size(size: int) -> str:
    return f"{size >> 10} KiB" if size % 1024 == 0 else str(size)


def build_cache(written: Written, source: str) -> list[str]:
    """Builds the table of a cache. The latency of a first level is in the core's speed."""
    cache = written.cache
    latency = [f"latency_ns = {CACHE_NS[cache.level]}"] if cache.level in CACHE_NS else []
    source_text = "assumed: common" if "size" in written.assumed else f"calibrated: {source}"
    if written.assumed and "size" not in written.assumed:
        source_text += f"; assumed: {', '.join(written.assumed)}"
    return ["[[cache]]", f"level = {cache.level}", f'size = "{format_size(cache.bytes)}"', f"ways = {cache.ways}",
            f"line_bytes = {cache.line}", f"shared_by_cpus = {written.shared_by}", *latency, f'source = "{source_text}"', ""]


def build_caches(caches: list[Written], described: Description) -> list[str]:
    """Builds the tables of caches."""
    lines = ["# The lab simulates caches of the last level of so many CPUs of a node, and the others of each CPU."]
    for written in caches:
        lines += build_cache(written, described.caches_source)
    return lines


def build_speed(speed: Speed) -> list[str]:
    numbers = {"bandwidth_mb_s": speed.bandwidth_mb_s, "latency_ns": speed.latency_ns}
    return [format_entry(key, one.value, one.source) for key, one in numbers.items()]


def build_core(described: Description, line: int, line_given: bool) -> list[str]:
    """Builds the tables of the cache line, the core and the port. line: bytes, which a file says where `line_given`."""
    clock = described.mhz
    known = clock is not None and 1 <= clock.value <= MOST_MHZ
    mhz = Sourced(clock.value, f"calibrated: {clock.source}") if known else Sourced(ASSUMED_MHZ, "assumed: a server")
    return ["[model.line]", format_entry("bytes", line, f"calibrated: {described.caches_source}" if line_given else "assumed: common"), "",
            "[model.core]", format_entry("mhz", mhz.value, mhz.source),
            format_entry("instructions_per_cycle", 2, "assumed: compiled loops whose data is in the cache"),
            format_entry("outstanding", 10, "assumed: as Intel's line fill buffers"), "",
            "[model.port]", format_entry("bandwidth_mb_s", 0, "assumed: no limit of its own"),
            format_entry("remote_weight", 1, "assumed: no difference"),
            format_entry("variability", 0, "assumed: without a limit nothing queues"), ""]


def build_controllers(base: Speed, drams: dict[int, Speed], nodes: list[Kept]) -> list[str]:
    """Builds the table of the memory controller `base`, and that of each node whose own in `drams`, by its id, is another."""
    lines = ["[model.dram]", *build_speed(base), format_entry("variability", 0.1, "assumed: little queueing before saturation"), ""]
    for index, node in enumerate(nodes):
        if node.mib and drams[node.id] != base:
            lines += ["[[model.node]]", f"node = {index}", "", "[model.node.dram]", *build_speed(drams[node.id]), ""]
    return lines


def build_link(link: Speed, pairs: list[tuple[int, int]]) -> list[str]:
    return ["[[model.link]]", f"between = {[list(pair) for pair in pairs]}", *build_speed(link),
            format_entry("header_bytes", HEADER_BYTES, "assumed: as QPI"), format_entry("variability", 0.1, "assumed: as the controller"), ""]


def build_c2c(found: dict[str, Sourced]) -> list[str]:
    """Builds the table of lines that another core has modified; nothing where no file says it."""
    entries = [format_entry(key, one.value, f"calibrated: {one.source}") for key, one in sorted(found.items())]
    return ["[model.c2c]", *entries, ""] if entries else []


def build_model(described: Description, reduced: Reduced, line: int, sharing: int) -> list[str]:
    """Builds the tables of the contention model. line: bytes of a cache line; sharing: the CPUs of a last level."""
    base = estimate_base(described, reduced)
    drams = {node.id: estimate_dram(described, node, base) for node in reduced.nodes}
    links = estimate_links(described, reduced.nodes, drams, line)
    line_given = any(cache.line == line for cache in described.caches)
    lines = [*build_core(described, line, line_given), *build_controllers(base, drams, reduced.nodes),
             *build_c2c(estimate_c2c(described, reduced, sharing))]
    for link, pairs in links.items():
        lines += build_link(link, pairs)
    return lines


def build_toml(name: str, described: Description, reduced: Reduced, files: list[str]) -> str:
    """Builds the machine file. Warnings about what had to be changed are added to `reduced`."""
    caches, line = choose_caches(described, reduced)
    reduced.remarks += [f"{warning}." for warning in reduced.warnings]
    lines = (build_head(name, described, reduced, files) + build_nodes(reduced, described) + build_caches(caches, described)
             + build_model(described, reduced, line, caches[-1].shared_by))
    return "\n".join(lines).rstrip() + "\n"

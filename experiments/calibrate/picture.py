# SPDX-License-Identifier: GPL-2.0-only
"""A machine as it was measured, and the machine file that describes it."""

from dataclasses import dataclass, field

from experiments.calibrate.hardware import Cache
from experiments.calibrate.measure import Value
from experiments.calibrate.pattern_search import Numbers
from experiments.host.host_nodes import Node

HEADER_BYTES = 8
DEFAULT_LINE, DEFAULT_MHZ = 64, 1000  # bytes and MHz, where the kernel reports no cache or no clock
REPORTED, UNREPORTED = "data sheet: as the kernel reports it", "assumed: the kernel reports none"


@dataclass(frozen=True)
class Cell:
    node: int    # whose memory it is, by the kernel's number
    other: int   # of the remote threads
    local: int   # threads on `node`
    remote: int  # threads on `other`
    local_mb_s: Value | None
    remote_mb_s: Value | None


@dataclass
class Picture:
    """Holds what was measured of a machine."""
    name: str
    source: str  # where, and when
    nodes: list[Node]
    caches: list[Cache]
    mhz: float | None
    latency: dict[tuple[int, int], Value] = field(default_factory=dict)   # ns, by node ids (of the CPU, of the memory)
    bandwidth: dict[tuple[int, int], Value] = field(default_factory=dict)  # MB/s of all the node's threads, by the same
    contention: list[Cell] = field(default_factory=list)
    numbers: Numbers | None = None
    residual: float = 0  # mean, in parts of the largest total

    def compute_local_ns(self) -> float:
        """Computes the mean of the nodes' latencies to their own memory."""
        values = [value.mean for (near, far), value in self.latency.items() if near == far]
        return sum(values) / len(values)

    def compute_link_ns(self, a: int, b: int) -> float:
        """Computes the ns that the way between two nodes, by ids, adds to a local access: the mean of both ways, 0 or more."""
        ways = [value.mean for pair, value in self.latency.items() if set(pair) == {a, b}]
        return max(0.0, sum(ways) / len(ways) - self.compute_local_ns())


def format_entry(name: str, value: float, source: str) -> str:
    return f'{name} = {{ value = {value:.6g}, source = "{source}" }}'


def format_ranges(cpus: list[int]) -> str:
    """Formats sorted CPUs as a list of ranges, such as 0-3,8."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def build_head(picture: Picture) -> list[str]:
    """Builds the lines of the machine file before its tables."""
    cpus = sum(len(node.cpus) for node in picture.nodes)
    return ["# Written by numaplace calibrate-machine. Nodes and CPUs are numbered from 0 in their order.",
            f'name = "{picture.name}"', f'summary = "as measured: {len(picture.nodes)} nodes, {cpus} CPUs"',
            f'source = "{picture.source}"', f"cpus = {cpus}",
            f'memory = "{sum(node.total_kib >> 10 for node in picture.nodes)} MiB"', "distances = [",
            *(f"    {list(node.distances.values())}," for node in picture.nodes), "]", ""]


def build_node_tables(picture: Picture) -> list[str]:
    """Builds the lines of [[node]]; CPUs are numbered from 0 in the order of the kernel's numbers."""
    numbers = {cpu: n for n, cpu in enumerate(sorted(cpu for node in picture.nodes for cpu in node.cpus))}
    lines = []
    for node in picture.nodes:
        lines += ["[[node]]", f'cpus = "{format_ranges([numbers[cpu] for cpu in node.cpus])}"',
                  f'memory = "{node.total_kib >> 10} MiB"' if node.total_kib else 'memory = "0"', ""]
    return lines


def build_cache_tables(picture: Picture) -> list[str]:
    """Builds the lines of [[cache]], a table for each level."""
    lines = []
    for cache in picture.caches:
        lines += ["[[cache]]", f"level = {cache.level}", f'size = "{cache.bytes >> 10} KiB"', f"ways = {cache.ways}",
                  f"line_bytes = {cache.line}", f"shared_by_cpus = {cache.shared_by}",
                  'source = "the kernel: /sys/devices/system/cpu"', ""]
    return lines


def build_model_tables(picture: Picture) -> list[str]:
    """Builds the lines of the contention model: each number with its source, and a link for each pair of nodes that was measured."""
    numbers = picture.numbers
    fitted = f"calibrated: contention table below, mean residual {picture.residual:.1%}"
    chase = "calibrated: pointer chase"
    line = picture.caches[-1].line if picture.caches else DEFAULT_LINE
    lines = ["[model.line]", format_entry("bytes", line, REPORTED if picture.caches else UNREPORTED), "",
             "[model.core]", format_entry("mhz", picture.mhz or DEFAULT_MHZ, REPORTED if picture.mhz else UNREPORTED),
             format_entry("instructions_per_cycle", 2, "assumed: compiled loops whose data is in the cache"),
             format_entry("outstanding", numbers.outstanding, fitted), "",
             "[model.port]", format_entry("bandwidth_mb_s", numbers.port_mb_s, fitted),
             format_entry("remote_weight", 1, "assumed: no difference"), format_entry("variability", 0.1, "assumed: little"), "",
             "[model.dram]", format_entry("bandwidth_mb_s", numbers.dram_mb_s, fitted),
             format_entry("latency_ns", picture.compute_local_ns(), chase),
             format_entry("variability", numbers.dram_variability, fitted), ""]
    for i, a in enumerate(picture.nodes):
        for j, b in enumerate(picture.nodes[:i]):
            if any(set(pair) == {a.id, b.id} for pair in picture.latency):
                lines += ["[[model.link]]", f"between = [[{j}, {i}]]", format_entry("bandwidth_mb_s", numbers.link_mb_s, fitted),
                          format_entry("latency_ns", picture.compute_link_ns(a.id, b.id), chase),
                          format_entry("header_bytes", HEADER_BYTES, "assumed: a packet's head"),
                          format_entry("variability", numbers.link_variability, fitted), ""]
    return lines


def format_value(prefix: str, value: Value | None) -> str:
    """Formats a mean and half of its 95 % interval as two entries of TOML; "" where nothing was measured."""
    return f"{prefix} = {value.mean:.1f}, {prefix}_half = {value.half:.1f}" if value else ""


def build_measured_tables(picture: Picture) -> list[str]:
    """Builds the table [measured]: ns and MB/s, nodes by the kernel's numbers; NAME_half is half of NAME's 95 % interval."""
    lines = ["[measured]", "latency = ["]
    lines += [f"    {{ from = {a}, to = {b}, {format_value('ns', value)} }}," for (a, b), value in picture.latency.items()]
    lines += ["]", "bandwidth = ["]
    lines += [f"    {{ from = {a}, to = {b}, {format_value('mb_s', v)} }}," for (a, b), v in picture.bandwidth.items()]
    lines += ["]", "contention = ["]
    for cell in picture.contention:
        entries = [f"node = {cell.node}, other = {cell.other}, local = {cell.local}, remote = {cell.remote}",
                   format_value("local_mb_s", cell.local_mb_s), format_value("remote_mb_s", cell.remote_mb_s)]
        lines.append(f"    {{ {', '.join(entry for entry in entries if entry)} }},")
    return [*lines, "]"]


def build_toml(picture: Picture) -> str:
    """Builds the text of the machine file; `numbers` of the picture must be fitted."""
    parts = (build_head, build_node_tables, build_cache_tables, build_model_tables, build_measured_tables)
    return "\n".join(line for build in parts for line in build(picture)) + "\n"

# SPDX-License-Identifier: GPL-2.0-only
"""A machine as it was measured, and the machine file that describes it."""

from dataclasses import dataclass, field

from experiments.calibrate.hardware import Cache, Node
from experiments.calibrate.measure import Value
from experiments.calibrate.pattern_search import Numbers

HEADER_BYTES = 8


@dataclass(frozen=True)
class Cell:
    node: int    # whose memory it is
    other: int
    local: int   # threads on each
    remote: int
    local_mb_s: Value | None
    remote_mb_s: Value | None


@dataclass
class Picture:
    name: str
    source: str  # where, and when
    nodes: list[Node]
    caches: list[Cache]
    mhz: float
    latency: dict[tuple[int, int], Value] = field(default_factory=dict)   # by node ids
    bandwidth: dict[tuple[int, int], Value] = field(default_factory=dict)  # of all the node's threads
    contention: list[Cell] = field(default_factory=list)
    numbers: Numbers | None = None
    residual: float = 0

    def with_cpus(self) -> list[Node]:
        return [node for node in self.nodes if node.cpus]

    def with_memory(self) -> list[Node]:
        return [node for node in self.nodes if node.mib]

    def local_ns(self) -> float:
        values = [value.mean for (near, far), value in self.latency.items() if near == far]
        return sum(values) / len(values)

    def link_ns(self, a: int, b: int) -> float:
        """That the way between two nodes adds, the mean of both ways."""
        ways = [value.mean for pair, value in self.latency.items() if set(pair) == {a, b}]
        return max(0.0, sum(ways) / len(ways) - self.local_ns())


def entry(name: str, value: float, source: str) -> str:
    return f'{name} = {{ value = {value:.6g}, source = "{source}" }}'


def ranges(cpus: list[int]) -> str:
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def head(p: Picture) -> list[str]:
    cpus = sorted(cpu for node in p.nodes for cpu in node.cpus)
    return ["# Written by numaplace calibrate-machine. Nodes and CPUs are numbered from 0 in their order.",
            f'name = "{p.name}"', f'summary = "as measured: {len(p.nodes)} nodes, {len(cpus)} CPUs"',
            f'source = "{p.source}"', f"cpus = {len(cpus)}",
            f'memory = "{sum(node.mib for node in p.nodes)} MiB"', "distances = [",
            *(f"    {node.distances}," for node in p.nodes), "]", ""]


def node_tables(p: Picture) -> list[str]:
    number = {cpu: n for n, cpu in enumerate(sorted(cpu for node in p.nodes for cpu in node.cpus))}
    lines = []
    for node in p.nodes:
        lines += ["[[node]]", f'cpus = "{ranges([number[cpu] for cpu in node.cpus])}"',
                  f'memory = "{node.mib} MiB"' if node.mib else 'memory = "0"', ""]
    return lines


def cache_tables(p: Picture) -> list[str]:
    lines = []
    for cache in p.caches:
        lines += ["[[cache]]", f"level = {cache.level}", f'size = "{cache.bytes >> 10} KiB"', f"ways = {cache.ways}",
                  f"line_bytes = {cache.line}", f"shared_by_cpus = {cache.shared_by}",
                  'source = "the kernel: /sys/devices/system/cpu"', ""]
    return lines


def model_tables(p: Picture) -> list[str]:
    n = p.numbers
    fitted = f"calibrated: contention table below, mean residual {p.residual:.1%}"
    chase = "calibrated: pointer chase"
    line = p.caches[-1].line if p.caches else 64
    lines = ["[model.line]", entry("bytes", line, "data sheet: as the kernel reports it"), "",
             "[model.core]", entry("mhz", p.mhz, "data sheet: as the kernel reports it"),
             entry("instructions_per_cycle", 2, "assumed: compiled loops whose data is in the cache"),
             entry("outstanding", n.outstanding, fitted), "",
             "[model.port]", entry("bandwidth_mb_s", n.port_mb_s, fitted),
             entry("remote_weight", 1, "assumed: no difference"), entry("variability", 0.1, "assumed: little"), "",
             "[model.dram]", entry("bandwidth_mb_s", n.dram_mb_s, fitted), entry("latency_ns", p.local_ns(), chase),
             entry("variability", n.dram_variability, fitted), ""]
    for i, a in enumerate(p.nodes):
        for j, b in enumerate(p.nodes[:i]):
            if any(set(pair) == {a.id, b.id} for pair in p.latency):
                lines += ["[[model.link]]", f"between = [[{j}, {i}]]", entry("bandwidth_mb_s", n.link_mb_s, fitted),
                          entry("latency_ns", p.link_ns(a.id, b.id), chase),
                          entry("header_bytes", HEADER_BYTES, "assumed: a packet's head"),
                          entry("variability", n.link_variability, fitted), ""]
    return lines


def value_words(prefix: str, value: Value | None) -> str:
    return f"{prefix} = {value.mean:.1f}, {prefix}_half = {value.half:.1f}" if value else ""


def measured_tables(p: Picture) -> list[str]:
    """The measurements that the numbers above were found from; _half is half of the 95 % interval."""
    lines = ["[measured]", "latency = ["]
    lines += [f"    {{ from = {a}, to = {b}, {value_words('ns', value)} }}," for (a, b), value in p.latency.items()]
    lines += ["]", "bandwidth = ["]
    lines += [f"    {{ from = {a}, to = {b}, {value_words('mb_s', v)} }}," for (a, b), v in p.bandwidth.items()]
    lines += ["]", "contention = ["]
    for cell in p.contention:
        words = [f"node = {cell.node}, other = {cell.other}, local = {cell.local}, remote = {cell.remote}",
                 value_words("local_mb_s", cell.local_mb_s), value_words("remote_mb_s", cell.remote_mb_s)]
        lines.append(f"    {{ {', '.join(word for word in words if word)} }},")
    return [*lines, "]"]


def toml(p: Picture) -> str:
    return "\n".join([*head(p), *node_tables(p), *cache_tables(p), *model_tables(p), *measured_tables(p)]) + "\n"

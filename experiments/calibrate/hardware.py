# SPDX-License-Identifier: GPL-2.0-only
"""The machine as the kernel describes it: nodes, distances, caches, clock."""

import platform
import re
from dataclasses import dataclass
from pathlib import Path

NODES = Path("/sys/devices/system/node")
CPU = Path("/sys/devices/system/cpu")
LEAST_CACHE = 8 << 20  # where the kernel knows none
MIB = 1 << 20
DEFAULT_MHZ = 1000  # where the kernel says none


@dataclass(frozen=True)
class Node:
    id: int
    cpus: list[int]
    mib: int
    distances: list[int]  # in the order of read_nodes()


@dataclass(frozen=True)
class Cache:
    level: int
    bytes: int
    ways: int
    line: int       # bytes
    shared_by: int  # CPUs


def read_text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()


def parse_cpu_list(words: str) -> list[int]:
    """Parses a list of CPUs or nodes as the kernel writes it, such as 0-3,8; ValueError: it is none."""
    cpus = []
    for part in words.split(",") if words else []:
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def read_nodes() -> list[Node]:
    """Reads the nodes that are online, in their order."""
    nodes = []
    for number in parse_cpu_list(read_text(NODES / "online")):
        folder = NODES / f"node{number}"
        kib = re.search(r"MemTotal:\s+(\d+) kB", read_text(folder / "meminfo"))
        nodes.append(Node(number, parse_cpu_list(read_text(folder / "cpulist")), int(kib[1]) // 1024,
                          [int(word) for word in read_text(folder / "distance").split()]))
    return nodes


def parse_size(size: str) -> int:
    """Returns the bytes of a size such as 32K."""
    return int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]]


def read_caches(cpu: int) -> list[Cache]:
    """Reads the data and unified caches of a CPU, by level; [] where the kernel knows none."""
    caches = []
    for index in sorted((CPU / f"cpu{cpu}" / "cache").glob("index*")):
        if read_text(index / "type") == "Instruction":
            continue
        caches.append(Cache(int(read_text(index / "level")), parse_size(read_text(index / "size")),
                            int(read_text(index / "ways_of_associativity")), int(read_text(index / "coherency_line_size")),
                            len(parse_cpu_list(read_text(index / "shared_cpu_list")))))
    return sorted(caches, key=lambda cache: cache.level)


def find_largest_cache(cpu: int) -> int:
    """Returns the bytes of the largest cache of a CPU, LEAST_CACHE at least."""
    return max([LEAST_CACHE, *(cache.bytes for cache in read_caches(cpu))])


def read_megahertz() -> float:
    """Reads the first CPU's clock in MHz: its base, else its highest, else that of now; DEFAULT_MHZ where the kernel says none."""
    for name in ("base_frequency", "cpuinfo_max_freq"):
        if (file := CPU / "cpu0/cpufreq" / name).exists():
            return int(read_text(file)) / 1000  # kHz
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("cpu MHz"):
            return float(line.split(":")[1])
    return DEFAULT_MHZ


def read_platform() -> tuple[str, str]:
    """Reads the machine's name, with what `lab run --set` changed, and real, lab-timed or lab-functional."""
    options = Path("/proc/cmdline").read_text(encoding="utf-8")
    lab = re.search(r"\bnumaplace_lab=([^, ]+),(\w+)", options)
    changes = re.search(r"\bnumaplace_lab_set=(\S+)", options)
    return (lab[1] + (f"+{changes[1]}" if changes else ""), f"lab-{lab[2]}") if lab else (platform.node(), "real")

# SPDX-License-Identifier: GPL-2.0-only
"""The machine as the kernel describes it: caches, clock."""

from dataclasses import dataclass
from pathlib import Path

from experiments.host.topology import parse_list

CPU = Path("/sys/devices/system/cpu")
CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Cache:
    level: int
    bytes: int
    ways: int
    line: int       # bytes
    shared_by: int  # CPUs


def read_text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()


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
                            len(parse_list(read_text(index / "shared_cpu_list")))))
    return sorted(caches, key=lambda cache: cache.level)


def read_megahertz(cpu: int) -> float | None:
    """Reads a CPU's clock in MHz: its base, else its highest, else that of now of the first one; None where the kernel says none."""
    for name in ("base_frequency", "cpuinfo_max_freq"):
        if (file := CPU / f"cpu{cpu}/cpufreq" / name).exists():
            return int(read_text(file)) / 1000  # kHz
    for line in CPUINFO.read_text(encoding="utf-8").splitlines():
        if line.startswith("cpu MHz"):
            return float(line.split(":")[1])
    return None

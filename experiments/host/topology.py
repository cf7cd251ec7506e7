# SPDX-License-Identifier: GPL-2.0-only
"""Cores and caches: what levels relative to the machine are parts of, and the order in which CPUs are taken."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError

SPREADS = ("l3", "cores", "compact")


@dataclass(frozen=True)
class Cpu:
    """Describes a CPU; the last level counts as L3, whatever its number."""

    id: int
    core: int  # its first CPU
    l3: int    # the first CPU that shares the last-level cache
    l2_bytes: int = 0
    l3_bytes: int = 0


def parse_list(text: str) -> tuple[int, ...]:
    """Parses a list as the kernel writes it, such as '0-2,5'; returns its numbers. ValueError: it is none."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            numbers.extend(range(int(first), int(last or first) + 1))
    return tuple(numbers)


def read_host_cpus(cpus: Iterable[int], root: Path) -> tuple[Cpu, ...]:
    """Reads the CPUs from sysfs' folder of them."""
    return tuple(_read_cpu(number, root / f"cpu{number}") for number in cpus)


def _read_cpu(number: int, folder: Path) -> Cpu:
    """Reads a CPU from its folder in sysfs; where the kernel says nothing of cores or caches, it is alone in them and their size is 0."""
    siblings = _read_text(folder / "topology/thread_siblings_list") or str(number)
    caches = {}
    for index in folder.glob("cache/index*"):
        if _read_text(index / "type") in ("Data", "Unified"):
            caches[int(_read_text(index / "level"))] = index
    last = caches.get(max(caches, default=0))
    shared = (_read_text(last / "shared_cpu_list") if last else "") or str(number)
    return Cpu(number, min(parse_list(siblings)), min(parse_list(shared)),
               _read_size(caches.get(2)), _read_size(last))


def _read_text(path: Path) -> str:
    """Reads a file of sysfs; "" where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _read_size(cache: Path | None) -> int:
    """Reads the size of a cache in bytes from its folder; 0 where it is not known."""
    match = re.fullmatch(r"(\d+)([KM]?)", _read_text(cache / "size") if cache else "")
    return int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]] if match else 0


def make_lab_cpus(cpus: Sequence[int], caches: list[dict[str, Any]]) -> tuple[Cpu, ...]:
    """Makes the CPUs of a node of a lab machine, each a core of its own, with the caches of the machine file (Machine.cache)."""
    sizes = {cache["level"]: cache["size"] for cache in caches}
    last = max(caches, key=lambda cache: cache["level"], default=None)
    sharing = last["shared_by_cpus"] if last else 1
    return tuple(Cpu(cpu, cpu, cpus[k - k % sharing], sizes.get(2, 0), last["size"] if last else 0)
                 for k, cpu in enumerate(cpus))


def order_cpus(cpus: Iterable[Cpu], spread: str) -> tuple[int, ...]:
    """Orders the ids of a node's CPUs as its threads take them. UsageError: no such spread.

    l3: a CPU of each core, the last-level caches in turn; cores: one cache after the other; compact: the siblings of
    a core beside each other too. A sibling comes after all cores but in compact."""
    if spread not in SPREADS:
        raise UsageError(f"spread '{spread}': is not one of {', '.join(SPREADS)}")
    cpus = sorted(cpus, key=lambda cpu: (cpu.l3, cpu.core, cpu.id))
    if spread == "compact":
        return tuple(cpu.id for cpu in cpus)
    in_core: dict[int, int] = defaultdict(int)  # CPUs of the core so far
    in_l3: dict[tuple[int, int], int] = defaultdict(int)  # CPUs of the cache, with this rank in their cores, so far
    sort_keys = {}
    for cpu in cpus:
        rank = in_core[cpu.core]
        in_core[cpu.core] += 1
        turn = in_l3[cpu.l3, rank]
        in_l3[cpu.l3, rank] += 1
        sort_keys[cpu.id] = (rank, turn if spread == "l3" else 0, cpu.l3, cpu.core, cpu.id)
    return tuple(sorted(sort_keys, key=sort_keys.__getitem__))

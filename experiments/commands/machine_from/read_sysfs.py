# SPDX-License-Identifier: GPL-2.0-only
"""A tree of /sys: of this machine, or a copy of another one's."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import UsageError
from . import describe
from .describe import Cache, Description, Node, Sourced, parse_cpu_list, parse_cpu_mask, parse_number, parse_whole

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def find_tree(folder: Path) -> Path | None:
    """Returns the folder devices/system of a /sys, or of a folder with one; None where there is none."""
    for place in (folder / "devices/system", folder / "sys/devices/system", folder):
        if (place / "cpu").is_dir():
            return place
    return None


def read_text(path: Path) -> str:
    """Returns what a file has, "" where it is missing or cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip("\0 \t\n")
    except OSError:
        return ""


def read_cpus(folder: Path, lists: tuple[str, ...], masks: tuple[str, ...]) -> list[int] | None:
    """Reads CPUs from the first of the files `lists`, then of `masks`, that is there; None where none is. UsageError: it is wrong."""
    for parse, names in ((parse_cpu_list, lists), (parse_cpu_mask, masks)):
        for name in names:
            text = read_text(folder / name)
            if text or parse is parse_cpu_list and (folder / name).exists():
                return parse(text, str(folder / name))
    return None


def list_numbered(folder: Path, prefix: str) -> dict[int, Path]:
    """Returns the folders PREFIX0, PREFIX1 and so on by their numbers."""
    found = {int(path.name[len(prefix):]): path for path in folder.glob(f"{prefix}[0-9]*") if path.name[len(prefix):].isdecimal()}
    return dict(sorted(found.items()))


def read_memory(folder: Path) -> int | None:
    """Reads a node's memory in bytes; None where the kernel says none."""
    total = re.search(r"MemTotal:\s+(\d+) kB", read_text(folder / "meminfo"))
    return int(total[1]) << 10 if total else None


def read_nodes(system: Path, online: list[int]) -> dict[int, Node]:
    """Reads the nodes, or makes one of all CPUs where there are none."""
    folders = list_numbered(system / "node", "node")
    nodes = {}
    for number, folder in folders.items():
        cpus = read_cpus(folder, ("cpulist",), ("cpumap",))
        if cpus is None:
            cpus = list(list_numbered(folder, "cpu"))
        nodes[number] = Node(number, [cpu for cpu in cpus if cpu in online], read_memory(folder))
    return nodes or {0: Node(0, online)}


def read_distances(system: Path, nodes: dict[int, Node]) -> dict[tuple[int, int], float]:
    """Reads the SLIT. A row has a number of each node that was online."""
    distances, numbers = {}, sorted(nodes)
    for near in numbers:
        path = system / f"node/node{near}/distance"
        words = read_text(path).split()
        if len(words) == len(numbers):
            distances |= {(near, far): parse_number(word, str(path)) for far, word in zip(numbers, words)}
    return distances


def read_access(system: Path, nodes: dict[int, Node], entry: str, what: str, file: str) -> dict[tuple[int, int], Sourced]:
    """Reads a number of the HMAT, of each node and its nearest nodes with CPUs. entry: its name in sysfs; what, file: for the source."""
    number_of_pair = {}
    for far in nodes:
        for access in ("access1", "access0"):  # the second may be of a node that has a device alone
            folder = system / f"node/node{far}" / access / "initiators"
            text = read_text(folder / entry)
            value = parse_number(text, str(folder / entry)) if text else 0
            near = [node for node in list_numbered(folder, "node") if node in nodes and nodes[node].cpus]
            for node in near if value else []:
                number_of_pair.setdefault((node, far), Sourced(value, f"{file}, HMAT {what} of node {far}"))
    return number_of_pair


def list_online(system: Path) -> list[int]:
    """Lists the CPUs that are online."""
    folders = list_numbered(system / "cpu", "cpu")
    online = read_cpus(system / "cpu", ("online",), ())
    if online is None:
        return [cpu for cpu, folder in folders.items() if read_text(folder / "online") != "0"]
    return [cpu for cpu in online if cpu in folders]


def read_cores(system: Path, cpus: list[int]) -> dict[int, int]:
    """Returns the first CPU of the core that each CPU is on; empty where the kernel does not say it of all."""
    cores = {}
    for cpu in cpus:
        folder = system / f"cpu/cpu{cpu}/topology"
        siblings = read_cpus(folder, ("core_cpus_list", "thread_siblings_list"), ("core_cpus", "thread_siblings"))
        if siblings:
            cores[cpu] = min(siblings)
    return cores if len(cores) == len(cpus) else {}


def parse_size(text: str, what: str) -> int:
    """Parses a size such as 32K. Returns bytes. what: where it stands, for the message. UsageError: it is none."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)", text)
    if not match:
        raise UsageError(f"{what}: '{text[:40]}' is not a size such as 32K: correct it, or leave the file out")
    return int(match[1]) * UNITS[match[2]]


def read_cache(folder: Path) -> Cache | None:
    """Reads a data or unified cache, cpuN/cache/indexM, sizes in bytes; None for one of instructions, or without level or size."""
    words = {key: read_text(folder / key) for key in ("type", "level", "size", "ways_of_associativity", "coherency_line_size")}
    if words["type"] == "Instruction" or not words["level"] or not words["size"]:
        return None
    shared = read_cpus(folder, ("shared_cpu_list",), ("shared_cpu_map",)) or []
    level, ways, line = (parse_whole(words[key] or "0", str(folder / key))
                         for key in ("level", "ways_of_associativity", "coherency_line_size"))
    return Cache(level, parse_size(words["size"], str(folder / "size")), ways, line, tuple(shared))


def read_megahertz(system: Path, cpus: list[int], file: str) -> Sourced | None:
    """Reads the clock of the first CPU, in MHz: its base where the kernel says it, else its highest; None where it says neither."""
    for entry in ("base_frequency", "cpuinfo_max_freq"):
        path = system / f"cpu/cpu{cpus[0]}/cpufreq" / entry
        text = read_text(path)
        if text:
            return Sourced(parse_number(text, str(path)) / 1000, f"{file}, {entry} of CPU {cpus[0]}")
    return None


def describe_sysfs(folder: Path, file: str) -> Description:
    """Describes the machine of a tree of /sys. UsageError: it is none."""
    system = find_tree(folder)
    online = list_online(system) if system else []
    if not system or not online:
        raise UsageError(f"{file} has no devices/system/cpu with CPUs, nor sys/devices/system/cpu: give /sys, or a copy of it")
    nodes = read_nodes(system, online)
    caches, cpu = describe.find_caches(online, lambda cpu: [
        read_cache(folder) for folder in list_numbered(system / f"cpu/cpu{cpu}/cache", "index").values()])
    return Description(
        file, nodes, f"{file}, devices/system/node", distances=read_distances(system, nodes), distances_source=f"{file}, SLIT",
        latencies=read_access(system, nodes, "read_latency", "latency", file),
        bandwidths=read_access(system, nodes, "read_bandwidth", "bandwidth", file), cores=read_cores(system, online),
        caches=caches, caches_source=f"{file}, caches of CPU {cpu}", mhz=read_megahertz(system, online, file))

# SPDX-License-Identifier: GPL-2.0-only
"""lstopo's XML, of hwloc 1 and 2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ...errors import UsageError
from .describe import Cache, Description, Node, Sourced, find_caches, parse_cpu_mask, parse_number, parse_whole

# Objects that stand beside CPUs, not above them.
ASIDE = {"Bridge", "PCIDev", "OSDev", "Misc", "NUMANode", "MemCache"}
# Memory of these kinds is beside that of the CPUs' own node, which Linux counts the CPUs to.
WITHOUT_CPUS = re.compile(r"MCDRAM|HBM|NVM|SPM|GPU|CXL", re.IGNORECASE)
INSTRUCTIONS = "2"  # cache_type
LATENCIES, BANDWIDTHS = {"Latency", "ReadLatency"}, {"Bandwidth", "ReadBandwidth"}
MIB_IN_MB = 1.048576
MOST_DEPTH = 64  # levels, of a topology
MEANS_LATENCY = 4  # HWLOC_DISTANCES_KIND_MEANS_LATENCY


@dataclass(frozen=True)
class Found:
    """Holds an object with those above it, the nearest last."""
    element: Element
    above: tuple[Element, ...]

    @property
    def type(self) -> str:
        return self.element.get("type", "")


def list_objects(top: Element) -> list[Found]:
    """Lists all objects, each after the one that it is in."""
    objects, waiting = [], [Found(obj, ()) for obj in reversed(top.findall("object"))]
    while waiting:
        obj = waiting.pop()
        objects.append(obj)
        waiting += [Found(child, (*obj.above, obj.element)) for child in reversed(obj.element.findall("object"))]
    return objects


def get_number(element: Element, key: str, what: str) -> int:
    """Returns a whole number of an object, 0 where it is missing or below 0. what: for the message. UsageError: it is none."""
    text = element.get(key, "")
    return 0 if not text or text.startswith("-") else parse_whole(text, f"{what}, {element.get('type')} {key}")


def list_cpus_of(obj: Found, units: dict[int, Found], file: str) -> list[int]:
    """Lists the CPUs, of those in `units`, of an object: those of its cpuset, or those below it. UsageError: the cpuset is wrong."""
    text = obj.element.get("cpuset")
    if text is None:
        return sorted(cpu for cpu, unit in units.items() if obj.element in unit.above)
    return [cpu for cpu in parse_cpu_mask(text, f"{file}, {obj.type} cpuset") if cpu in units]


def is_without_cpus(element: Element) -> bool:
    """Checks whether a node is memory of a kind of its own."""
    words = [element.get("subtype", ""), element.get("name", "")]
    words += [info.get("value", "") for info in element.findall("info") if info.get("name") == "Type"]
    return any(WITHOUT_CPUS.search(word) for word in words)


def read_nodes(objects: list[Found], units: dict[int, Found], file: str) -> tuple[dict[int, Node], list[str]]:
    """Reads the nodes, and remarks about them. hwloc gives several nodes the same CPUs: they are the first one's, which is never a memory
    of a kind of its own. UsageError: a node is there twice."""
    described = []
    for obj in objects:
        if obj.type == "NUMANode":
            cpus = list_cpus_of(obj, units, file)
            described.append((is_without_cpus(obj.element), len(cpus), get_number(obj.element, "os_index", file), cpus,
                              get_number(obj.element, "local_memory", file)))
    nodes, taken, remarks = {}, set(), []
    # Memory of a kind of its own comes last, so that it takes no CPUs from others; before that the nodes with few CPUs.
    for _, _, number, cpus, memory_bytes in sorted(described):
        if number in nodes:
            raise UsageError(f"{file} has node {number} twice: correct it, or leave it out")
        nodes[number] = Node(number, [cpu for cpu in cpus if cpu not in taken], memory_bytes)
        if cpus and not nodes[number].cpus:
            remarks.append(f"Node {number} has no CPUs of its own in {file}, but those of another node.")
        taken |= set(cpus)
    return dict(sorted(nodes.items())), remarks


def make_only_node(objects: list[Found], units: dict[int, Found], file: str) -> dict[int, Node]:
    """Makes the one node, with all CPUs in `units`, of a machine whose file has none."""
    machine = next((obj.element for obj in objects if obj.type == "Machine"), None)
    memory_bytes = get_number(machine, "local_memory", file) if machine is not None else 0
    return {0: Node(0, sorted(units), memory_bytes or None)}


def read_cache(element: Element, units: dict[int, Found], file: str) -> Cache | None:
    """Reads a cache of data and its CPUs; None for another object, and for memory that caches other memory. UsageError: it is wrong."""
    kind = element.get("type", "")
    if (not re.fullmatch(r"L[1-9]Cache|Cache", kind) or element.get("cache_type") == INSTRUCTIONS
            or element.get("subtype") == "MemorySideCache"):
        return None
    level = get_number(element, "depth", file) or int(re.sub(r"\D", "", kind) or 0)
    shared = tuple(sorted(cpu for cpu, unit in units.items() if any(above is element for above in unit.above)))
    return Cache(level, get_number(element, "cache_size", file), get_number(element, "cache_associativity", file),
                 get_number(element, "cache_linesize", file), shared)


def read_cores(units: dict[int, Found]) -> dict[int, int]:
    """Returns a number of the core that each CPU is on; empty where the file has no cores."""
    cores = {}
    for cpu, unit in units.items():
        above = [element for element in unit.above if element.get("type") == "Core"]
        if above:
            cores[cpu] = id(above[-1])
    return cores


def list_below(element: Element, levels: int) -> Iterator[Element]:
    """Lists the objects that are so many levels of normal objects deeper, as hwloc 1 counts them."""
    if not levels:
        yield element
        return
    for child in element.findall("object"):
        if child.get("type") not in ASIDE - {"NUMANode"}:
            yield from list_below(child, levels - 1)


def make_pairs(numbers: list[int], values: list[float]) -> dict[tuple[int, int], float]:
    """Makes a matrix of a list of its values, row by row; {} where there are more or fewer values."""
    pairs = [(near, far) for near in numbers for far in numbers]
    return dict(zip(pairs, values)) if len(pairs) == len(values) else {}


def read_old_distances(objects: list[Found], file: str) -> dict[tuple[int, int], float]:
    """Reads hwloc 1's first matrix between nodes; {} without one."""
    for obj in objects:
        for matrix in obj.element.findall("distances"):
            depth = min(get_number(matrix, "relative_depth", file), MOST_DEPTH)
            below = list(list_below(obj.element, depth))
            if not below or {element.get("type") for element in below} != {"NUMANode"}:
                continue
            numbers = [get_number(element, "os_index", file) for element in below]
            values = [parse_number(value.get("value", ""), f"{file}, distances") for value in matrix.findall("latency")]
            pairs = make_pairs(numbers, values)
            if pairs:
                return pairs
    return {}


def read_distances(top: Element, file: str) -> dict[tuple[int, int], float]:
    """Reads hwloc 2's first matrix of latencies between nodes, or the last that is named after the firmware's; {} without one."""
    distances = {}
    for matrix in top.findall("distances2"):
        means_latency = get_number(matrix, "kind", file) & MEANS_LATENCY
        if matrix.get("type") != "NUMANode" or not means_latency or matrix.get("indexing", "os") != "os":
            continue
        words = " ".join(part.text or "" for part in matrix.findall("indexes")).split()
        values = " ".join(part.text or "" for part in matrix.findall("u64values")).split()
        pairs = make_pairs([parse_whole(word, f"{file}, indexes of distances2") for word in words],
                           [parse_number(word, f"{file}, u64values of distances2") for word in values])
        if pairs and (not distances or matrix.get("name") == "NUMALatency"):
            distances = pairs
    return distances


def read_attributes(top: Element, objects: list[Found], nodes: dict[int, Node], names: set[str], scale: float,
                    file: str) -> dict[tuple[int, int], Sourced]:
    """Reads the memory attribute of one of `names`, by pairs of nodes of which the first has all its CPUs in the initiator. scale: to ns
    or MB/s. Other entries are left out. UsageError: a number is none."""
    numbers = {obj.element.get("gp_index"): get_number(obj.element, "os_index", file) for obj in objects if obj.type == "NUMANode"}
    number_of_pair = {}
    for attribute in top.findall("memattr"):
        for entry in attribute.findall("memattr_value") if attribute.get("name") in names else []:
            far, text = numbers.get(entry.get("target_obj_gp_index")), entry.get("initiator_cpuset")
            if far is None or text is None or entry.get("target_obj_type") != "NUMANode":
                continue
            cpus = set(parse_cpu_mask(text, f"{file}, initiator_cpuset"))
            value = parse_number(entry.get("value", ""), f"{file}, memattr_value") * scale
            for near in nodes.values():
                if near.cpus and set(near.cpus) <= cpus and value:
                    number_of_pair[near.id, far] = Sourced(value, f"{file}, memory attribute {attribute.get('name')} of node {far}")
    return number_of_pair


def read_megahertz(objects: list[Found], top: Element, file: str) -> Sourced | None:
    """Reads the clock, in MHz, that the file `top` gives for a kind of CPUs, or that is in the name of the processor; None without one."""
    infos = [info for kind in top.findall("cpukind") for info in kind.findall("info")]
    infos += [info for obj in objects for info in obj.element.findall("info")]
    for key in ("FrequencyBaseMHz", "FrequencyMaxMHz", "CPUModel"):
        for info in infos:
            text = info.get("value", "") if info.get("name") == key else ""
            clock = re.search(r"@ *([0-9.]+) *GHz", text) if key == "CPUModel" else re.fullmatch(r"([0-9]+)", text)
            if clock:
                value = parse_number(clock[1], f"{file}, {key}")
                return Sourced(value * 1000 if key == "CPUModel" else value, f"{file}, {key}")
    return None


def describe_hwloc(text: str, file: str) -> Description:
    """Describes the machine of an XML file of hwloc's. UsageError: it is none."""
    try:
        top = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UsageError(f"{file} is not well-formed XML, {error}: write it with lstopo FILE.xml") from None
    objects = list_objects(top)
    units = {get_number(obj.element, "os_index", file): obj for obj in objects if obj.type == "PU"}  # by CPU
    if top.tag != "topology" or not units:
        raise UsageError(f"{file} is XML without PUs of hwloc: write it with lstopo FILE.xml")
    nodes, remarks = read_nodes(objects, units, file)
    nodes = nodes or make_only_node(objects, units, file)
    if not any(node.bytes for node in nodes.values()):
        nodes = {number: Node(number, node.cpus) for number, node in nodes.items()}
    caches, cpu = find_caches(sorted(units), lambda cpu: [read_cache(element, units, file) for element in units[cpu].above])
    pairs = read_distances(top, file) or read_old_distances(objects, file)
    return Description(
        file, nodes, f"{file}, NUMANode and PU", distances=pairs, distances_source=f"{file}, distances of hwloc",
        latencies=read_attributes(top, objects, nodes, LATENCIES, 1, file),
        bandwidths=read_attributes(top, objects, nodes, BANDWIDTHS, MIB_IN_MB, file), cores=read_cores(units), caches=caches,
        caches_source=f"{file}, caches of CPU {cpu}", mhz=read_megahertz(objects, top, file), remarks=remarks)

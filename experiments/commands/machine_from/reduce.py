# SPDX-License-Identifier: GPL-2.0-only
"""What of a machine the lab can boot: its nodes, CPUs, memory and caches, made to fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...errors import UsageError
from .describe import Cache, Description, Node

MOST_NODES, MOST_CPUS = 32, 255  # NP_LAB_MAX_NODES of experiments/lab/guest/shared.h, MAX_CPUS of experiments/lab/qemu.py
LEAST_MIB, STEP_MIB = 256, 128   # of a node with memory; the kernel's sections are of a step
ASSUMED_CPUS = 4                 # of a node whose CPUs are not said
# Limits of userspace/lib/files/machine_caches.c
PAGE, MOST_FIRST, LEAST_CACHE, MOST_CACHE, MOST_WAYS, MOST_LEVEL = 4096, 65536, 4096, 1_000_000_000, 64, 4
LINES = (16, 32, 64, 128, 256)
MOST_LAST_LEVELS = 32  # NP_MAX_LLCS of experiments/lab/plugin/config.h
ASSUMED_LINE = 64
ASSUMED_WAYS = {1: 8, 2: 16, 3: 16, 4: 16}
ASSUMED_CACHES = {1: 32 << 10, 2: 1 << 20, 3: 16 << 20}


@dataclass(frozen=True)
class Choice:
    """Holds what the user wants to keep of the machine."""
    nodes: list[int] | None = None
    cpus_per_node: int | None = None
    all_threads: bool = False
    total_mib: int = 2048


@dataclass
class Kept:
    """Holds a node that is written."""
    id: int          # in the file that it is from
    cpus: list[int]  # likewise
    mib: int


@dataclass
class Reduced:
    nodes: list[Kept]
    choice: Choice
    remarks: list[str] = field(default_factory=list)   # for the file
    warnings: list[str] = field(default_factory=list)  # for the user, too

    @property
    def node_of(self) -> dict[int, int]:
        """Returns the node of each CPU, both as the file numbers them."""
        return {cpu: node.id for node in self.nodes for cpu in node.cpus}


def choose_nodes(described: Description, wanted_ids: list[int] | None) -> list[Node]:
    """Returns the nodes that are wanted, all by default. UsageError: one is not there."""
    for number in wanted_ids or []:
        if number not in described.nodes:
            raise UsageError(f"{described.name} has no node {number}: it has {', '.join(map(str, sorted(described.nodes)))}")
    return [node for number, node in sorted(described.nodes.items()) if wanted_ids is None or number in wanted_ids]


def number_cpus(nodes: list[Node]) -> dict[int, list[int]]:
    """Returns the CPUs of each node, made up where a file has nodes and not their CPUs."""
    if not any(node.cpus is None for node in nodes):
        return {node.id: sorted(node.cpus) for node in nodes}
    free = 1 + max((cpu for node in nodes for cpu in node.cpus or []), default=-1)
    cpus_by_node = {}
    for node in nodes:
        count = ASSUMED_CPUS if node.cpus is None else 0
        cpus_by_node[node.id] = node.cpus if node.cpus is not None else list(range(free, free + count))
        free += count
    return cpus_by_node


def keep_cores(cpus: list[int], described: Description) -> list[int]:
    """Returns the first CPU of each core."""
    seen, kept = set(), []
    for cpu in cpus:
        core = described.cores.get(cpu, ("CPU", cpu))
        if core not in seen:
            seen.add(core)
            kept.append(cpu)
    return kept


def share_memory(nodes: list[Node], total_mib: int) -> dict[int, int]:
    """Shares out MiB to the nodes in proportion, in whole steps; a node that has memory gets LEAST_MIB at least, one of which it is
    not said as much as the others on average."""
    known_bytes = [node.bytes for node in nodes if node.bytes]
    mean = sum(known_bytes) / len(known_bytes) if known_bytes else 1
    weight = {node.id: mean if node.bytes is None else node.bytes for node in nodes}
    total_weight = sum(weight.values())
    return {number: max(LEAST_MIB, int(total_mib * node_weight / total_weight) // STEP_MIB * STEP_MIB) if node_weight else 0
            for number, node_weight in weight.items()}


def say_what_is_left_out(reduced: Reduced, described: Description, nodes: list[Node], cpus_by_node: dict[int, list[int]]) -> None:
    """Adds to `reduced` a remark about each thing of the machine that the file lacks, and about what is assumed. nodes: those chosen;
    cpus_by_node: all CPUs of these."""
    choice = reduced.choice
    empty = [node.id for node in nodes if node.id not in {kept.id for kept in reduced.nodes}]
    if empty:
        reduced.remarks.append(f"Left out: nodes {empty}, which have neither CPUs nor memory.")
    if choice.nodes is not None and len(described.nodes) > len(nodes):
        reduced.remarks.append(f"Left out: all nodes but {[node.id for node in nodes]} (--nodes).")
    numbers = [kept.id for kept in reduced.nodes]
    if numbers != list(range(len(numbers))):
        reduced.remarks.append(f"Nodes 0 to {len(numbers) - 1} are nodes {', '.join(map(str, numbers))} of {described.name}.")
    before, after = sum(map(len, cpus_by_node.values())), len(reduced.node_of)
    if before > after:
        reduced.remarks.append(f"{after} of {before} CPUs: " + ", ".join(
            ["one of each core"] * (not choice.all_threads and bool(described.cores))
            + [f"the first {choice.cpus_per_node} of each node (--cpus-per-node)"] * (choice.cpus_per_node is not None)) + ".")
    if not described.cores and not choice.all_threads:
        reduced.remarks.append("Which CPUs share a core is not known: each is taken as a core.")
    if any(node.cpus is None for node in nodes):
        reduced.remarks.append(f"Assumed: {ASSUMED_CPUS} CPUs of each node.")
    if any(node.bytes is None for node in nodes):
        reduced.remarks.append("Assumed: nodes whose memory is not said have as much as the others on average.")


def check_owners(described: Description, cpus_by_node: dict[int, list[int]]) -> None:
    """Raises UsageError where a CPU is on two nodes."""
    owner: dict[int, int] = {}
    for number, cpus in cpus_by_node.items():
        for cpu in cpus:
            if cpu in owner:
                raise UsageError(f"{described.name} has CPU {cpu} on node {owner[cpu]} and on node {number}: correct it, or keep one of "
                                 "the nodes with --nodes")
            owner[cpu] = number


def check_size(reduced: Reduced, described: Description) -> None:
    """Raises UsageError where the machine is larger than the lab takes, or cannot start a kernel."""
    cpus = len(reduced.node_of)
    if len(reduced.nodes) > MOST_NODES:
        raise UsageError(f"{described.name} has {len(reduced.nodes)} nodes, and the lab simulates {MOST_NODES} at most: "
                         f"choose some with --nodes LIST, as in --nodes {reduced.nodes[0].id}-{reduced.nodes[MOST_NODES - 1].id}")
    if cpus > MOST_CPUS:
        with_cpus = sum(bool(node.cpus) for node in reduced.nodes)
        raise UsageError(f"{described.name} has {cpus} CPUs, and the lab's QEMU takes {MOST_CPUS}: keep fewer with "
                         f"--cpus-per-node {MOST_CPUS // with_cpus}, or some nodes with --nodes LIST")
    if not any(node.cpus and node.mib for node in reduced.nodes):
        raise UsageError(f"{described.name} has no node with both CPUs and memory, and a kernel needs one to start on: "
                         "give a file of a whole machine")


def reduce_machine(described: Description, choice: Choice) -> Reduced:
    """Chooses what is written of the machine. UsageError: it is more than the lab takes."""
    nodes = choose_nodes(described, choice.nodes)
    cpus_by_node = number_cpus(nodes)
    check_owners(described, cpus_by_node)
    memory = share_memory(nodes, choice.total_mib)
    kept = {number: (cpus if choice.all_threads else keep_cores(cpus, described))[:choice.cpus_per_node]
            for number, cpus in cpus_by_node.items()}
    reduced = Reduced([Kept(node.id, kept[node.id], memory[node.id]) for node in nodes if kept[node.id] or memory[node.id]],
                      choice, list(described.remarks))
    say_what_is_left_out(reduced, described, nodes, cpus_by_node)
    check_size(reduced, described)
    return reduced


def fit_cache(cache: Cache, line: int, reduced: Reduced) -> Cache:
    """Returns a cache that the lab can simulate, as near to this one as there is, with lines of `line` bytes; warns of what differs."""
    most, step = (MOST_FIRST, PAGE) if cache.level == 1 else (MOST_CACHE, 1024)
    size = max(LEAST_CACHE, min(cache.bytes, most) // step * step)
    if size != cache.bytes:
        reduced.warnings.append(f"L{cache.level} of {cache.bytes} bytes is written as {size} bytes: the lab takes "
                                f"{LEAST_CACHE} to {most}, in multiples of {step}")
    ways = cache.ways or ASSUMED_WAYS[cache.level]
    if ways > MOST_WAYS:
        reduced.warnings.append(f"L{cache.level} of {ways} ways is written with {MOST_WAYS}: the lab takes no more")
    return replace(cache, bytes=size, ways=min(ways, MOST_WAYS, size // line), line=line)


def count_sharing(cache: Cache, described: Description, reduced: Reduced) -> int:
    """Counts the CPUs that share a cache, of those that are kept."""
    cpus = list(cache.cpus) if reduced.choice.all_threads else keep_cores(list(cache.cpus), described)
    largest = max((len(node.cpus) for node in reduced.nodes), default=1)
    return max(1, len(cpus) if reduced.choice.cpus_per_node is None else min(len(cpus), largest))


def count_sharing_last(cache: Cache, described: Description, reduced: Reduced) -> int:
    """Counts the CPUs that share a last level: all of a node where no file says. Warns where the lab has not so many of them."""
    sizes = [len(node.cpus) for node in reduced.nodes if node.cpus]
    if not cache.cpus or not sizes:
        return max([1, *sizes])
    own = count_sharing(cache, described, reduced)
    shared = next(own * times for times in range(1, max(sizes) + 1) if sum(-(-size // (own * times)) for size in sizes) <= MOST_LAST_LEVELS)
    if shared != own:
        reduced.warnings.append(f"L{cache.level} of {own} CPUs is written as one of {shared}: the lab has up to {MOST_LAST_LEVELS} last levels")
    return shared


def choose_line(caches: list[Cache], reduced: Reduced) -> int:
    """Returns the length of a line, which is one of all levels: that of the last that says it."""
    given_lines = [cache.line for cache in caches if cache.line]
    line = given_lines[-1] if given_lines else ASSUMED_LINE
    if line in LINES and len(set(given_lines)) < 2:
        return line
    fit = line if line in LINES else ASSUMED_LINE
    reduced.warnings.append(f"cache lines of {', '.join(map(str, sorted(set(given_lines))))} bytes are written as {fit}: the lab takes one of "
                            f"{', '.join(map(str, LINES))} for all levels")
    return fit


@dataclass(frozen=True)
class Written:
    """Holds a cache as it is written."""
    cache: Cache
    shared_by: int
    assumed: list[str]  # what no file says of it; "size": nothing is known


def list_assumed(cache: Cache, given: bool) -> list[str]:
    """Lists what is assumed of a cache."""
    if not given:
        return ["size"]
    return [word for word, known in (("ways", cache.ways), ("line", cache.line), ("sharing", cache.cpus)) if not known] + [
        "latency"] * (cache.level > 1)


def choose_caches(described: Description, reduced: Reduced) -> tuple[list[Written], int]:
    """Returns the caches that are written, and the bytes of their line. There is a first level, and one more; what lacks is assumed."""
    given = {cache.level: cache for cache in described.caches if cache.level <= MOST_LEVEL and cache.bytes <= MOST_CACHE}
    reduced.warnings += [f"L{cache.level} of {cache.bytes} bytes is left out: the lab takes up to {MOST_CACHE} bytes, "
                         f"and {MOST_LEVEL} levels"
                         for cache in described.caches if cache.level not in given]
    line = choose_line(list(given.values()), reduced)
    needed = {1} if set(given) - {1} else set(ASSUMED_CACHES)
    largest, last = max((tuple(node.cpus) for node in reduced.nodes), key=len, default=()), max(ASSUMED_CACHES)
    assumed = {level: Cache(level, ASSUMED_CACHES[level], 0, line, largest if level == last else ()) for level in needed - set(given)}
    caches = given | assumed
    return [Written(fit_cache(cache, line, reduced), (count_sharing_last if level == max(caches) else count_sharing)(cache, described, reduced),
                    list_assumed(cache, level in given))
            for level, cache in sorted(caches.items())], line

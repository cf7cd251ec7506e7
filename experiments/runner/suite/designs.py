# SPDX-License-Identifier: GPL-2.0-only
"""Designs: the workloads that a suite's factor levels make on a given machine.

Each paper's experiment is one function here. Most need two nodes, HOME and FAR: they become the two
that are farthest apart. A combination that the machine has no CPUs or nodes for is left out, never
squeezed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product
from typing import Any

from ...errors import UsageError
from ...host.distance import find_far_pair, find_far_shift, list_with_cpus
from ...host.host_nodes import Node
from ...host.topology import order_cpus
from . import relative
from .schedule import is_static
from .suite import ALONE, MEMORY_ONLY, Suite, Task, Workload, check_suite

Levels = Mapping[str, list[Any]]
HOME, FAR = 0, 1  # until the two nodes are chosen
PAGE = 4096
INT = 4  # bytes


def expand_suite(suite: Suite, nodes: list[Node]) -> Suite:
    """Returns the suite with its workloads on this machine; one without a design has them already. UsageError: a factor is missing or
    unknown, or its design is, no combination fits the nodes, or it has placements and may not."""
    suite = relative.resolve_suite(suite, nodes)
    if not suite.design:
        listed = [w for workload in suite.workloads for w in expand_memory_only(workload, nodes)]
        return replace_workloads(suite, place_far_apart(listed, nodes) if suite.nodes == 2 else listed, nodes)
    if suite.design not in DESIGNS:
        raise UsageError(f"suite {suite.name}: design '{suite.design}' is not one of {', '.join(DESIGNS)}")
    design = DESIGNS[suite.design]
    check_levels(suite, design)
    if why := explain_unplaceable(suite):
        raise UsageError(f"suite {suite.name}: has no placement: {why}: leave --placements out")
    candidates = design.make(suite.levels, nodes)
    workloads = tuple(w for w in (candidates if design.all_nodes else place_far_apart(candidates, nodes)) if fits_nodes(w, nodes))
    if not workloads:
        raise UsageError(f"suite {suite.name}: no combination of its levels fits this machine's "
                         f"{len(nodes)} nodes of {min(len(node.cpus) for node in nodes)} CPUs and more")
    return replace_workloads(suite, expand_spread(suite, workloads), nodes)


def explain_unplaceable(suite: Suite) -> str:
    """Returns why it cannot be run under the placements that were asked for; "" where it can."""
    return DESIGNS[suite.design].fixed if suite.design and not is_static(suite) else ""


def check_levels(suite: Suite, design: Design) -> None:
    """Checks that the suite has the factors of its design, and no other. UsageError: it has not."""
    if "spread" in suite.levels and design.no_spread:
        raise UsageError(f"suite {suite.name}: factor 'spread': {design.no_spread}")
    for name in suite.levels:
        if name not in design.factors:
            raise UsageError(f"suite {suite.name}: factor '{name}' is not one of "
                             f"{', '.join(design.factors)}, which design {suite.design} has")
    missing = [name for name, needed in design.factors.items() if needed and name not in suite.levels]
    if missing:
        raise UsageError(f"suite {suite.name}: design {suite.design} needs the factor {missing[0]}")


def expand_memory_only(workload: Workload, nodes: list[Node]) -> Iterator[Workload]:
    """Yields a listed workload; one with memory on a node of memory alone once for each such node, so not at all where there is none.
    Where there are several, -ID of the node is added to its name."""
    if not any(ALONE in task.memory_on for task in workload.tasks):
        yield workload
        return
    for level, position in list_memory_only(nodes):
        yield replace(workload, name=workload.name + level.removeprefix(MEMORY_ONLY), tasks=tuple(
            replace(task, memory_on=tuple(position if n == ALONE else n for n in task.memory_on)) for task in workload.tasks))


def expand_spread(suite: Suite, workloads: Iterable[Workload]) -> Iterator[Workload]:
    """Yields each workload with every order of taking CPUs that the suite has; a single one is no factor of it."""
    spreads = suite.levels.get("spread", [])
    for workload, spread in product(workloads, spreads or [None]):
        if spread is None:
            yield workload
            continue
        changes = {"factors": workload.factors | {"spread": spread}} if len(spreads) > 1 else {}
        name = workload.name + (f"-{spread}" if len(spreads) > 1 else "")
        yield replace(workload, name=name, options=workload.options | {"spread": spread}, **changes)


def replace_workloads(suite: Suite, workloads: Iterable[Workload], nodes: list[Node]) -> Suite:
    replaced = replace(suite, workloads=tuple(workloads), nodes=len(nodes))
    check_suite(replaced)
    return replaced


def place_far_apart(workloads: Iterable[Workload], nodes: list[Node]) -> Iterator[Workload]:
    """Yields the workloads with the two nodes that are farthest apart in the place of HOME and FAR. Other positions, which are of nodes of
    memory alone, stay."""
    places = dict(zip((HOME, FAR), find_far_pair(nodes), strict=True))
    for workload in workloads:
        yield replace(workload, tasks=tuple(
            replace(task, runs_on=places[task.runs_on], memory_on=tuple(places.get(n, n) for n in task.memory_on))
            for task in workload.tasks))


def fits_nodes(workload: Workload, nodes: list[Node]) -> bool:
    """Checks whether its nodes are there, each with a CPU for every thread on it."""
    threads = [0] * len(nodes)  # by position
    for task in workload.tasks:
        if max(task.runs_on, *task.memory_on) >= len(nodes):
            return False
        threads[task.runs_on] += task.threads
    return all(count <= len(node.cpus) for count, node in zip(threads, nodes))


def make_workers(group: str, count: int, runs_on: int, memory_on: int, as_threads: bool) -> list[Task]:
    """Makes the task of one process of `count` threads, none for 0, or else so many of one thread each. runs_on, memory_on: a node each."""
    if as_threads:
        return [Task(group, runs_on, (memory_on,), threads=count, group=group)] if count else []
    return [Task(f"{group}-{k}", runs_on, (memory_on,), group=group) for k in range(count)]


def make_flows(levels: Levels, nodes: list[Node], first: str, second: str,
               place_groups: Callable[[int], dict[str, tuple[int, int]]], label: str) -> Iterator[Workload]:
    """Yields workloads of two groups of triad workers, whose numbers are the levels of the factors `first` and `second`.

    place_groups: from the node of a level of `memory`, the node that each group runs on and the node of its memory. label: the name, of the
    numbers x and y. Kind of worker and memory are factors only where they have several levels."""
    kinds, memories = levels.get("workers", ["processes"]), list(choose_targets(levels.get("memory", ["local"]), nodes, HOME, FAR))
    for kind, (memory_level, memory_node), x, y in product(kinds, memories, levels[first], levels[second]):
        if not x + y:
            continue
        places = place_groups(memory_node)
        tasks = [*make_workers(first, x, *places[first], as_threads=kind == "threads"),
                 *make_workers(second, y, *places[second], as_threads=kind == "threads")]
        more_factors = {"workers": kind} if len(kinds) > 1 else {}
        more_factors |= {"memory": memory_level} if len(memories) > 1 else {}
        name = label.format(x=x, y=y) + ("-threads" if kind == "threads" else "") + (
            f"-{memory_level}" if memory_level.startswith(MEMORY_ONLY) else "")
        about = ", ".join(f"{count} {group}" for group, count in ((first, x), (second, y)) if count)
        yield Workload(name, "memory", about, tuple(tasks), {first: x, second: y} | more_factors, {"operation": "triad"})


def make_contention(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes the workloads of Luo, Fig. 4(a): all memory on one node, threads on both."""
    return make_flows(levels, nodes, "local", "remote", lambda on: {"local": (HOME, on), "remote": (FAR, on)},
                      "contention-{x}L{y}R")


def make_cross(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes the workloads of Luo, Fig. 4(b): each node's threads use the other's memory."""
    return make_flows(levels, nodes, "reference", "opposite", lambda _: {"reference": (HOME, FAR), "opposite": (FAR, HOME)},
                      "cross-{x}x{y}")


def make_split(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes the workloads of Luo, Fig. 4(c): threads of one node use the memory of both; or of theirs and of a node of memory alone."""
    levels = {"memory": ["remote"]} | levels
    return make_flows(levels, nodes, "local", "remote", lambda on: {"local": (HOME, HOME), "remote": (HOME, on)},
                      "split-{x}L{y}R")


def make_numa_stream(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes Bergstrom's workloads: threads spread sparsely over the nodes, a process for each node in use."""
    shift, count = find_far_shift(nodes), len(list_with_cpus(nodes))
    # From the position of the node that a process runs on, that of its memory's.
    memories: dict[str, Callable[[int], int]] = {"local": lambda k: k, "remote": lambda k: (k + shift) % count}
    memories = {name: memories[name] for name in levels["memory"] if name in memories} | (
        {name: lambda _, node=node: node for name, node in list_memory_only(nodes)} if MEMORY_ONLY in levels["memory"] else {})
    for operation, access, (memory_level, memory_of), threads in product(
            levels["operation"], levels["access"], memories.items(), levels["threads"]):
        active = min(threads, count)  # nodes in use; the first of them have one thread more where it does not divide
        tasks = tuple(
            Task(f"node-{k}", k, (memory_of(k),),
                 threads=threads // active + (k < threads % active)) for k in range(active))
        options = {"operation": operation} | ({"stride": 1} if access == "strided" else {})
        yield Workload(f"{operation}-{access}-{memory_level}-{threads}t", "memory",
                       f"{operation}, {access}, {memory_level} memory, {threads} threads on {active} nodes",
                       tasks, {"operation": operation, "access": access, "memory": memory_level,
                               "threads": threads}, options)


def make_cachetest(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes the workloads of Heard and Shafiee: memory on the CPU's node or on another."""
    # A walker on node 0 would share it with kernel and runner.
    walker, other = (FAR, HOME) if len(nodes) > 1 else (HOME, FAR)
    shapes = [(pattern, alpha) for pattern in levels["pattern"]
              for alpha in (levels["alpha"] if pattern == "zipf" else [None])]
    memories = list(choose_targets(levels["memory"], nodes, walker, other))
    for (pattern, alpha), size_kb, (memory_level, memory_node) in product(shapes, levels["size_kb"], memories):
        size = round_to_pages(size_kb * 1024)
        options = {"operation": "cachetest", "pattern": pattern, "size": str(size)}
        factors = {"pattern": pattern, "size_kb": size_kb, "memory": memory_level}
        if alpha is not None:
            options["alpha"] = factors["alpha"] = alpha
        shape = pattern if alpha is None else f"{pattern}{alpha:g}"
        yield Workload(f"{shape}-{size_kb}K-{memory_level}", "memory",
                       f"{shape}, {size_kb} KB, {memory_level}",
                       (Task("walker", walker, (memory_node,)),), factors, options)


def round_to_pages(size: int) -> int:
    """Rounds bytes up to whole pages."""
    return -(-size // PAGE) * PAGE


def make_memory_times(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes the workloads of Prabhanjan's experiments 1 and 2: so many ints, on the process's node or on another."""
    memories = list(choose_targets(levels["memory"], nodes, HOME, FAR))
    for experiment, case, (memory_level, memory_node) in product(levels["experiment"], levels["case"], memories):
        size = round_to_pages(case["size"] * INT)
        factors = {"experiment": experiment, "size": case["size"]}
        options = {"operation": "sort" if experiment == "sort" else "update", "size": str(size)}
        label = f"{experiment}-{case['size']}"
        if "accesses" in case:
            options["accesses"] = factors["accesses"] = case["accesses"]
            label += f"-{case['accesses']}"
        factors["memory"] = memory_level
        yield Workload(f"{label}-{memory_level}", "memory", f"{label} ints, {memory_level} memory",
                       (Task("worker", HOME, (memory_node,)),), factors, options)


def make_server_and_client(memory_node: int) -> tuple[Task, ...]:
    """Makes the tasks of a server with its memory on that node and of its client beside it."""
    return (Task("server", HOME, (memory_node,)), Task("client", HOME, (HOME,)))


def make_redis_times(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes the workloads of Prabhanjan's experiments 3 to 6: a structure of Redis is filled, then all its elements are updated."""
    memories = list(choose_targets(levels["memory"], nodes, HOME, FAR))
    for experiment, size, pipeline, (memory_level, memory_node) in product(
            levels["experiment"], levels["size"], levels["pipeline"], memories):
        yield Workload(f"{experiment}-{size}-p{pipeline}-{memory_level}", "redis-times",
                       f"{experiment} of {size}, {pipeline} commands in flight, {memory_level} memory",
                       make_server_and_client(memory_node),
                       {"experiment": experiment, "size": size, "pipeline": pipeline, "memory": memory_level},
                       {"structure": experiment, "elements": size, "pipeline": pipeline})


def define_foreign_client(kind: str, program: str) -> Callable[[Levels, list[Node]], Iterator[Workload]]:
    """Returns the design of a Redis server that another program loads: Prabhanjan's experiment 7 with redis-benchmark, and the same
    question by other programs. A case has options of its own and is known by the size of its values."""
    def make_workloads(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
        """Makes the server's workloads; the runner starts the client by itself."""
        memories = list(choose_targets(levels["memory"], nodes, HOME, FAR))
        for case, pipeline, (memory_level, memory_node) in product(levels.get("case", [{}]), levels["pipeline"], memories):
            size = {"value_bytes": case["value_bytes"]} if case else {}
            yield Workload("-".join([kind, *(f"{n}B" for n in size.values()), f"p{pipeline}", memory_level]), kind,
                           f"{program}, {pipeline} commands in flight, {memory_level} memory"
                           + "".join(f", values of {n} bytes" for n in size.values()),
                           make_server_and_client(memory_node)[:1], size | {"pipeline": pipeline, "memory": memory_level},
                           case | {"pipeline": pipeline})

    return make_workloads


def make_work_stealing(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes Deters' workloads: workers on every CPU of every node, one arena for all or one for each node."""
    everywhere = tuple(list_with_cpus(nodes))
    asked = levels.get("data", [""])
    # From a level of `data`, the positions of the memory's nodes and np-steal's word for it.
    places = {data_level: (everywhere, data_level) for data_level in asked if data_level != MEMORY_ONLY}
    if MEMORY_ONLY in asked:
        places |= {data_level: ((position,), str(nodes[position].id)) for data_level, position in list_memory_only(nodes)}
    for benchmark, runtime, (data_level, (memory_on, data_word)) in product(levels["benchmark"], levels["runtime"], places.items()):
        factors = {"runtime": runtime, "benchmark": benchmark} | ({"data": data_level} if data_level else {})
        yield Workload(f"{benchmark}-{runtime}" + (f"-{data_level}" if data_level else ""), "stealing",
                       f"{benchmark}, {runtime} runtime" + (f", data {data_level}" if data_level else ""),
                       (Task("workers", 0, memory_on),), factors,
                       {"benchmark": benchmark, "runtime": runtime} | ({"data": data_word} if data_level else {}))


def make_latency_matrix(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes a chase for each pair of a node with CPUs and a node with memory, also one without CPUs."""
    for chains, runs_on, memory_on in product(levels["chains"], list_with_cpus(nodes), range(len(nodes))):
        a, b = nodes[runs_on].id, nodes[memory_on].id
        yield Workload(f"latency-{a}to{b}-{chains}", "memory", f"a core of node {a}, memory of node {b}, {chains} in flight",
                       (Task("chase", runs_on, (memory_on,)),), {"chains": chains, "from": a, "to": b},
                       {"operation": "chase", "chains": chains})


def make_loaded_latency(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes workloads of a chase on one core of a node and a load on its other cores, both in the same memory: its own, that of the
    farthest node, and of each node of memory alone."""
    home, far = find_far_pair(nodes)
    for memory_level, memory_node in choose_targets(levels["memory"], nodes, home, far):
        for mix, load, delay in product(levels["mix"], levels["load"], levels["delay"]):
            cores = len({cpu.core for cpu in nodes[home].places} or nodes[home].cpus)  # CPUs where the machine names no cores
            threads = min(load, cores - 1)  # one core is the chase's
            if threads < 1:
                continue
            yield Workload(f"loaded-{memory_level}-{mix.replace(':', 'r')}w-{threads}t-d{delay}", "loaded",
                           f"a chase beside {threads} threads, {mix} lines read to written, {delay} steps apart, {memory_level} memory",
                           (Task("chase", home, (memory_node,)), Task("load", home, (memory_node,), threads=threads)),
                           {"memory": memory_level, "mix": mix, "load": threads, "delay": delay}, {"mix": mix, "delay": delay})


def choose_targets(levels: list[str], nodes: list[Node], home: int, far: int) -> Iterator[tuple[str, int]]:
    """Yields each of the levels of `memory` that this machine has with its node's position: `home` for local, `far` for remote, each node
    of memory alone for MEMORY_ONLY."""
    if "local" in levels:
        yield "local", home
    if "remote" in levels and len(list_with_cpus(nodes)) > 1:
        yield "remote", far
    if MEMORY_ONLY in levels:
        yield from list_memory_only(nodes)


def list_memory_only(nodes: list[Node]) -> list[tuple[str, int]]:
    """Lists the level of each node of memory alone, MEMORY_ONLY or, where there are several, MEMORY_ONLY-ID, with the node's position."""
    positions = [position for position, node in enumerate(nodes) if node.memory_only]
    return [(MEMORY_ONLY + (f"-{nodes[position].id}" if len(positions) > 1 else ""), position) for position in positions]


def make_core_to_core(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Makes handovers of lines between two cores of one cache, of two caches of a node, and of each pair of nodes; the lines' memory is
    on the reader's node or on the owner's."""
    for apart, (owner_node, owner_cpu), (reader_node, reader_cpu) in list_core_pairs(nodes):
        if apart not in levels["apart"]:
            continue
        for state, home in product(levels["state"], levels["home"] if owner_node != reader_node else ["reader"]):
            memory_node = owner_node if home == "owner" else reader_node
            owner_id, reader_id = nodes[owner_node].id, nodes[reader_node].id
            label = f"{owner_id}to{reader_id}" if owner_id != reader_id else f"node{owner_id}"
            yield Workload(f"{apart.replace(' ', '-')}-{label}-{state}-{home}", "handover",
                           f"{state} lines of CPU {owner_cpu} read by CPU {reader_cpu}, memory on node {nodes[memory_node].id}",
                           (Task("reader", reader_node, (memory_node,)),),
                           {"apart": apart, "state": state, "home": home, "owner": owner_id, "reader": reader_id},
                           {"state": state, "owner_cpu": owner_cpu, "reader_cpu": reader_cpu})


def list_core_pairs(nodes: list[Node]) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Yields how far apart two cores are, then position of the node and ID of the CPU of the owner of lines, and of their reader."""
    first_cpus = {k: order_cpus(nodes[k].places, "cores")[0] for k in list_with_cpus(nodes)}  # by position
    for k, cpu in first_cpus.items():
        owner = next(place for place in nodes[k].places if place.id == cpu)
        others = [place for place in nodes[k].places if place.core == place.id != owner.core]  # the first CPU of each other core
        for apart, same_l3 in (("same L3", True), ("same node", False)):
            readers = [place.id for place in others if (place.l3 == owner.l3) == same_l3]
            if readers:
                yield apart, (k, cpu), (k, readers[0])
    for a, b in permutations(first_cpus, 2):
        yield "other node", (a, first_cpus[a]), (b, first_cpus[b])


class Design:
    """Holds a design, with its factors by name, those that a suite needs and those that it may have. no_spread: why not `spread`; fixed:
    why it has no placement. all_nodes: its workloads are made for all nodes, not for HOME and FAR."""

    def __init__(self, make: Callable[[Levels, list[Node]], Iterator[Workload]], *needed: str,
                 may: tuple[str, ...] = (), all_nodes: bool = False, no_spread: str = "", fixed: str = "") -> None:
        self.make, self.all_nodes, self.no_spread, self.fixed = make, all_nodes, no_spread, fixed
        spread = () if no_spread else ("spread",)
        self.factors = dict.fromkeys(needed, True) | dict.fromkeys((*may, *spread), False)


ONE_THREAD = "it measures with one thread a node, which takes the same CPU in every order"
SERVER = "the server and its client may use every CPU of their node"
EVERY_CPU = "a worker runs on every CPU of every node"
BESIDE = "which cores are beside each other is its question"
PAIR = "it measures CPUs and memory of nodes that it names, which a placement would change"
RUNTIME = "its runtimes bind a worker to every CPU and place the arrays, which is what they are compared for"
DESIGNS = {
    "contention": Design(make_contention, "local", "remote", may=("workers", "memory")),
    "cross": Design(make_cross, "reference", "opposite", may=("workers",)),
    "split": Design(make_split, "local", "remote", may=("workers", "memory")),
    "numa-stream": Design(make_numa_stream, "operation", "access", "memory", "threads", all_nodes=True),
    "cachetest": Design(make_cachetest, "pattern", "alpha", "size_kb", "memory", no_spread=ONE_THREAD),
    "latency-matrix": Design(make_latency_matrix, "chains", all_nodes=True, no_spread=ONE_THREAD, fixed=PAIR),
    "loaded-latency": Design(make_loaded_latency, "memory", "mix", "load", "delay", all_nodes=True, fixed=PAIR),
    "core-to-core": Design(make_core_to_core, "apart", "state", "home", all_nodes=True, no_spread=BESIDE, fixed=PAIR),
    "memory-times": Design(make_memory_times, "experiment", "case", "memory", no_spread=ONE_THREAD),
    "redis-times": Design(make_redis_times, "experiment", "size", "pipeline", "memory", no_spread=SERVER),
    "redis-benchmark": Design(define_foreign_client("redis-benchmark", "redis-benchmark"), "pipeline", "memory", may=("case",),
                              no_spread=SERVER),
    "redis-memtier": Design(define_foreign_client("redis-memtier", "memtier_benchmark"), "pipeline", "memory", no_spread=SERVER),
    "work-stealing": Design(make_work_stealing, "benchmark", "runtime", may=("data",), all_nodes=True, no_spread=EVERY_CPU, fixed=RUNTIME),
}

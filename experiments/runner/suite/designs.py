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
    """Returns the suite with its workloads on this machine; one without a design has them already."""
    suite = relative.resolve_suite(suite, nodes)
    if not suite.design:
        listed = [w for workload in suite.workloads for w in expand_memory_only(workload, nodes)]
        return replace_workloads(suite, far_apart(listed, nodes) if suite.nodes == 2 else listed, nodes)
    design = DESIGNS[suite.design]
    check_levels(suite, design)
    if why := explain_unplaceable(suite):
        raise UsageError(f"suite {suite.name}: has no placement: {why}: leave --placements out")
    made = design.make(suite.levels, nodes)
    workloads = tuple(w for w in (made if design.all_nodes else far_apart(made, nodes)) if fits_nodes(w, nodes))
    if not workloads:
        raise UsageError(f"suite {suite.name}: no combination of its levels fits this machine's "
                         f"{len(nodes)} nodes of {min(len(node.cpus) for node in nodes)} CPUs and more")
    return replace_workloads(suite, expand_spread(suite, workloads), nodes)


def explain_unplaceable(suite: Suite) -> str:
    """Returns why it cannot be run under the placements that were asked for; "" where it can."""
    return DESIGNS[suite.design].fixed if suite.design and not is_static(suite) else ""


def check_levels(suite: Suite, design: Design) -> None:
    """Checks that the suite has the factors of its design, and no other."""
    if "spread" in suite.levels and "spread" in design.lacks:
        raise UsageError(f"suite {suite.name}: factor 'spread': {design.lacks['spread']}")
    for name in suite.levels:
        if name not in design.factors:
            raise UsageError(f"suite {suite.name}: factor '{name}' is not one of "
                             f"{', '.join(design.factors)}, which design {suite.design} has")
    missing = [name for name, needed in design.factors.items() if needed and name not in suite.levels]
    if missing:
        raise UsageError(f"suite {suite.name}: design {suite.design} needs the factor {missing[0]}")


def expand_memory_only(workload: Workload, nodes: list[Node]) -> Iterator[Workload]:
    """Yields a listed workload whose memory is to be on a node of memory alone once for each such node; none where there is none."""
    if not any(ALONE in task.memory_on for task in workload.tasks):
        yield workload
        return
    for level, k in choose_targets([MEMORY_ONLY], nodes, HOME, FAR):
        yield replace(workload, name=workload.name + level.removeprefix(MEMORY_ONLY), tasks=tuple(
            replace(task, memory_on=tuple(k if n == ALONE else n for n in task.memory_on)) for task in workload.tasks))


def expand_spread(suite: Suite, workloads: Iterable[Workload]) -> Iterator[Workload]:
    """Returns each workload with every order of taking CPUs that the suite asks for."""
    spreads = suite.levels.get("spread", [])
    for workload, spread in product(workloads, spreads or [None]):
        if spread is None:
            yield workload
            continue
        more = {"factors": workload.factors | {"spread": spread}} if len(spreads) > 1 else {}
        name = workload.name + (f"-{spread}" if len(spreads) > 1 else "")
        yield replace(workload, name=name, options=workload.options | {"spread": spread}, **more)


def replace_workloads(suite: Suite, workloads: Iterable[Workload], nodes: list[Node]) -> Suite:
    found = replace(suite, workloads=tuple(workloads), nodes=len(nodes))
    check_suite(found)
    return found


def far_apart(workloads: Iterable[Workload], nodes: list[Node]) -> Iterator[Workload]:
    """Returns the workloads of HOME and FAR on the two nodes that are farthest apart."""
    pair = find_far_pair(nodes)
    for workload in workloads:
        yield replace(workload, tasks=tuple(
            replace(task, runs_on=pair[task.runs_on],
                    memory_on=tuple(pair[n] if n < len(pair) else n for n in task.memory_on))
            for task in workload.tasks))


def fits_nodes(workload: Workload, nodes: list[Node]) -> bool:
    """Checks that there is a CPU for every thread, on its own node."""
    busy = [0] * len(nodes)
    for task in workload.tasks:
        if max(task.runs_on, *task.memory_on) >= len(nodes):
            return False
        busy[task.runs_on] += task.threads
    return all(used <= len(node.cpus) for used, node in zip(busy, nodes))


def make_workers(group: str, count: int, runs_on: int, memory_on: int, as_threads: bool) -> list[Task]:
    """Returns count threads of one process, or as many processes of one thread."""
    if as_threads:
        return [Task(group, runs_on, (memory_on,), threads=count, group=group)] if count else []
    return [Task(f"{group}-{k}", runs_on, (memory_on,), group=group) for k in range(count)]


def make_flows(levels: Levels, nodes: list[Node], first: str, second: str,
               where: Callable[[int], dict[str, tuple[int, int]]], label: str) -> Iterator[Workload]:
    """Returns two groups of triad workers, each with a node to run on and one of its memory, which the level of `memory` names."""
    kinds, memories = levels.get("workers", ["processes"]), list(choose_targets(levels.get("memory", ["local"]), nodes, HOME, FAR))
    for kind, (memory, on), x, y in product(kinds, memories, levels[first], levels[second]):
        if not x + y:
            continue
        places = where(on)
        tasks = [*make_workers(first, x, *places[first], kind == "threads"),
                 *make_workers(second, y, *places[second], kind == "threads")]
        several = {"workers": kind} if len(kinds) > 1 else {}
        several |= {"memory": memory} if len(memories) > 1 else {}
        name = label.format(x=x, y=y) + ("-threads" if kind == "threads" else "") + (
            f"-{memory}" if memory.startswith(MEMORY_ONLY) else "")
        about = ", ".join(f"{n} {group}" for group, n in ((first, x), (second, y)) if n)
        yield Workload(name, "memory", about, tuple(tasks), {first: x, second: y} | several, {"operation": "triad"})


def make_contention(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Luo, Fig. 4(a): all memory on one node, threads on both."""
    return make_flows(levels, nodes, "local", "remote", lambda on: {"local": (HOME, on), "remote": (FAR, on)},
                      "contention-{x}L{y}R")


def make_cross(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Luo, Fig. 4(b): each node's threads use the other's memory."""
    return make_flows(levels, nodes, "reference", "opposite", lambda _: {"reference": (HOME, FAR), "opposite": (FAR, HOME)},
                      "cross-{x}x{y}")


def make_split(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Luo, Fig. 4(c): threads of one node use the memory of both; or of theirs and of a node of memory alone."""
    levels = {"memory": ["remote"]} | levels
    return make_flows(levels, nodes, "local", "remote", lambda on: {"local": (HOME, HOME), "remote": (HOME, on)},
                      "split-{x}L{y}R")


def make_numa_stream(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Bergstrom: threads spread sparsely over the nodes, a process for each node in use."""
    shift, count = find_far_shift(nodes), len(list_with_cpus(nodes))
    alone = choose_targets([MEMORY_ONLY], nodes, HOME, FAR)
    memories: dict[str, Callable[[int], int]] = {"local": lambda k: k, "remote": lambda k: (k + shift) % count}
    memories = {name: memories[name] for name in levels["memory"] if name in memories} | (
        {name: lambda _, on=on: on for name, on in alone} if MEMORY_ONLY in levels["memory"] else {})
    for operation, access, (memory, memory_of), threads in product(
            levels["operation"], levels["access"], memories.items(), levels["threads"]):
        active = min(threads, count)
        tasks = tuple(
            Task(f"node-{k}", k, (memory_of(k),),
                 threads=threads // active + (k < threads % active)) for k in range(active))
        options = {"operation": operation} | ({"stride": 1} if access == "strided" else {})
        yield Workload(f"{operation}-{access}-{memory}-{threads}t", "memory",
                       f"{operation}, {access}, {memory} memory, {threads} threads on {active} nodes",
                       tasks, {"operation": operation, "access": access, "memory": memory,
                               "threads": threads}, options)


def make_cachetest(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Heard and Shafiee: memory on the CPU's node or on another; node 0 is avoided: it serves kernel and runner."""
    walker, other = (FAR, HOME) if len(nodes) > 1 else (HOME, FAR)
    shapes = [(pattern, alpha) for pattern in levels["pattern"]
              for alpha in (levels["alpha"] if pattern == "zipf" else [None])]
    memories = list(choose_targets(levels["memory"], nodes, walker, other))
    for (pattern, alpha), size_kb, (memory, on) in product(shapes, levels["size_kb"], memories):
        size = -(-size_kb * 1024 // PAGE) * PAGE
        options = {"operation": "cachetest", "pattern": pattern, "size": str(size)}
        factors = {"pattern": pattern, "size_kb": size_kb, "memory": memory}
        if alpha is not None:
            options["alpha"] = factors["alpha"] = alpha
        shape = pattern if alpha is None else f"{pattern}{alpha:g}"
        yield Workload(f"{shape}-{size_kb}K-{memory}", "memory",
                       f"{shape}, {size_kb} KB, {memory}",
                       (Task("walker", walker, (on,)),), factors, options)


def make_memory_times(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Prabhanjan, experiments 1 and 2: so many ints, on the process's node or on another."""
    memories = list(choose_targets(levels["memory"], nodes, HOME, FAR))
    for experiment, case, (memory, on) in product(levels["experiment"], levels["case"], memories):
        size = -(-case["size"] * INT // PAGE) * PAGE
        factors = {"experiment": experiment, "size": case["size"]}
        options = {"operation": "sort" if experiment == "sort" else "update", "size": str(size)}
        label = f"{experiment}-{case['size']}"
        if "accesses" in case:
            options["accesses"] = factors["accesses"] = case["accesses"]
            label += f"-{case['accesses']}"
        factors["memory"] = memory
        yield Workload(f"{label}-{memory}", "memory", f"{label} ints, {memory} memory",
                       (Task("worker", HOME, (on,)),), factors, options)


def make_server_and_client(on: int) -> tuple[Task, ...]:
    """Returns a server with its memory on that node and its client beside it."""
    return (Task("server", HOME, (on,)), Task("client", HOME, (HOME,)))


def make_redis_times(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Prabhanjan, experiments 3 to 6."""
    memories = list(choose_targets(levels["memory"], nodes, HOME, FAR))
    for experiment, size, pipeline, (memory, on) in product(
            levels["experiment"], levels["size"], levels["pipeline"], memories):
        yield Workload(f"{experiment}-{size}-p{pipeline}-{memory}", "redis-times",
                       f"{experiment} of {size}, {pipeline} commands in flight, {memory} memory",
                       make_server_and_client(on), {"experiment": experiment, "size": size,
                                                    "pipeline": pipeline, "memory": memory},
                       {"structure": experiment, "elements": size, "pipeline": pipeline})


def define_foreign_client(kind: str, program: str) -> Callable[[Levels, list[Node]], Iterator[Workload]]:
    """Prabhanjan, experiment 7: redis-benchmark's own commands; the same question by other generators of load. A case
    has options of its own and is known by the size of its values."""
    def make(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
        memories = list(choose_targets(levels["memory"], nodes, HOME, FAR))
        for case, pipeline, (memory, on) in product(levels.get("case", [{}]), levels["pipeline"], memories):
            size = {"value_bytes": case["value_bytes"]} if case else {}
            yield Workload("-".join([kind, *(f"{n}B" for n in size.values()), f"p{pipeline}", memory]), kind,
                           f"{program}, {pipeline} commands in flight, {memory} memory"
                           + "".join(f", values of {n} bytes" for n in size.values()),
                           make_server_and_client(on)[:1], size | {"pipeline": pipeline, "memory": memory},
                           case | {"pipeline": pipeline})

    return make


def make_work_stealing(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Deters: every CPU of every node, one arena for all or one for each node."""
    everywhere = tuple(list_with_cpus(nodes))
    alone = choose_targets([MEMORY_ONLY], nodes, HOME, FAR) if MEMORY_ONLY in levels.get("data", []) else []
    places = {data: (everywhere, data) for data in levels.get("data", [""]) if data != MEMORY_ONLY} | {
        data: ((k,), str(nodes[k].id)) for data, k in alone}
    for benchmark, runtime, (data, (where, word)) in product(levels["benchmark"], levels["runtime"], places.items()):
        factors = {"runtime": runtime, "benchmark": benchmark} | ({"data": data} if data else {})
        yield Workload(f"{benchmark}-{runtime}" + (f"-{data}" if data else ""), "stealing",
                       f"{benchmark}, {runtime} runtime" + (f", data {data}" if data else ""),
                       (Task("workers", 0, where),), factors,
                       {"benchmark": benchmark, "runtime": runtime} | ({"data": word} if data else {}))


def make_latency_matrix(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """A core of each node, the memory of each: also of nodes that have no CPUs."""
    for chains, runs_on, memory_on in product(levels["chains"], list_with_cpus(nodes), range(len(nodes))):
        a, b = nodes[runs_on].id, nodes[memory_on].id
        yield Workload(f"latency-{a}to{b}-{chains}", "memory", f"a core of node {a}, memory of node {b}, {chains} in flight",
                       (Task("chase", runs_on, (memory_on,)),), {"chains": chains, "from": a, "to": b},
                       {"operation": "chase", "chains": chains})


def make_loaded_latency(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """A chase on one core of HOME, the load on others of that node, both in the same memory: its own, that of the
    farthest node, and of each node of memory alone."""
    home, far = find_far_pair(nodes)
    for memory, on in choose_targets(levels["memory"], nodes, home, far):
        for mix, load, delay in product(levels["mix"], levels["load"], levels["delay"]):
            threads = min(load, len({cpu.core for cpu in nodes[home].places} or nodes[home].cpus) - 1)
            if threads < 1:
                continue
            yield Workload(f"loaded-{memory}-{mix.replace(':', 'r')}w-{threads}t-d{delay}", "loaded",
                           f"a chase beside {threads} threads, {mix} lines read to written, {delay} steps apart, {memory} memory",
                           (Task("chase", home, (on,)), Task("load", home, (on,), threads=threads)),
                           {"memory": memory, "mix": mix, "load": threads, "delay": delay}, {"mix": mix, "delay": delay})


def choose_targets(wanted: list[str], nodes: list[Node], home: int, far: int) -> Iterator[tuple[str, int]]:
    """Returns the levels of `memory` with the nodes that they stand for on this machine; each node of memory alone is a level."""
    if "local" in wanted:
        yield "local", home
    if "remote" in wanted and len(list_with_cpus(nodes)) > 1:
        yield "remote", far
    alone = [k for k, node in enumerate(nodes) if node.memory_only]
    for k in alone if MEMORY_ONLY in wanted else []:
        yield MEMORY_ONLY + (f"-{nodes[k].id}" if len(alone) > 1 else ""), k


def make_core_to_core(levels: Levels, nodes: list[Node]) -> Iterator[Workload]:
    """Two cores of one cache, of two caches of a node, and of each pair of nodes; the lines' memory is on the
    reader's node or on the owner's."""
    for apart, owner, reader in list_core_pairs(nodes):
        if apart not in levels["apart"]:
            continue
        for state, home in product(levels["state"], levels["home"] if owner[0] != reader[0] else ["reader"]):
            on = owner[0] if home == "owner" else reader[0]
            a, b = nodes[owner[0]].id, nodes[reader[0]].id
            where = f"{a}to{b}" if a != b else f"node{a}"
            yield Workload(f"{apart.replace(' ', '-')}-{where}-{state}-{home}", "handover",
                           f"{state} lines of CPU {owner[1]} read by CPU {reader[1]}, memory on node {nodes[on].id}",
                           (Task("reader", reader[0], (on,)),),
                           {"apart": apart, "state": state, "home": home, "owner": a, "reader": b},
                           {"state": state, "owner_cpu": owner[1], "reader_cpu": reader[1]})


def list_core_pairs(nodes: list[Node]) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Returns how far apart two cores are, then node and CPU of the owner and of the reader."""
    first = {k: order_cpus(nodes[k].places, "cores")[0] for k in list_with_cpus(nodes)}
    for k, cpu in first.items():
        here = next(place for place in nodes[k].places if place.id == cpu)
        others = [place for place in nodes[k].places if place.core == place.id != here.core]
        for apart, same in (("same L3", True), ("same node", False)):
            found = [place.id for place in others if (place.l3 == here.l3) == same]
            if found:
                yield apart, (k, cpu), (k, found[0])
    for a, b in permutations(first, 2):
        yield "other node", (a, first[a]), (b, first[b])


class Design:
    """Holds a design. lacks: why its suites have no `spread`, no memory-only or no size relative to the machine. fixed: why they have no
    placement."""

    def __init__(self, make: Callable[[Levels, list[Node]], Iterator[Workload]], *needed: str,
                 may: tuple[str, ...] = (), all_nodes: bool = False, lacks: dict[str, str] | None = None, fixed: str = "") -> None:
        self.make, self.all_nodes, self.lacks, self.fixed = make, all_nodes, lacks or {}, fixed
        spread = () if "spread" in self.lacks else ("spread",)
        self.factors = dict.fromkeys(needed, True) | dict.fromkeys((*may, *spread), False)


ONE_THREAD = {"spread": "it measures with one thread a node, which takes the same CPU in every order"}
SERVER = {"spread": "the server and its client may use every CPU of their node"}
EVERY_CPU = {"spread": "a worker runs on every CPU of every node"}
LISTED = {"spread": "tasks may use every CPU of their node, as a policy finds them"}  # of suites without a design
NO_CROSS = {MEMORY_ONLY: "a node without CPUs has no threads that could use the other's memory"}
CACHES = {MEMORY_ONLY: "the lines are in caches; their memory is on the node of one of the two cores",
          "spread": "which cores are beside each other is its question"}
PAIR = "it measures CPUs and memory of nodes that it names, which a placement would change"
RUNTIME = "its runtimes bind a worker to every CPU and place the arrays, which is what they are compared for"
# Of single suites, beside what their design lacks.
SUITE_LACKS = {
    "redis-tokens": {"size": "its keys are the words of a text, whose number its length does not give"},
    "kernel-mm": {MEMORY_ONLY: "its work is the kernel's, not the memory's", "size": "its work is on so many pages"},
    "tier-ratio": {MEMORY_ONLY: "its programs' memory is where the kernel puts it, there too", "size": "the files of its programs have theirs"},
    "promotion": {MEMORY_ONLY: "its memory is where the kernel puts and promotes it", "size": "its workloads have parts of the fast tier"},
    "arena": {MEMORY_ONLY: "its programs' memory is where the kernel puts it, there too", "size": "the files of its programs have theirs"},
}
DESIGNS = {
    "contention": Design(make_contention, "local", "remote", may=("workers", "memory")),
    "cross": Design(make_cross, "reference", "opposite", may=("workers",), lacks=NO_CROSS),
    "split": Design(make_split, "local", "remote", may=("workers", "memory")),
    "numa-stream": Design(make_numa_stream, "operation", "access", "memory", "threads", all_nodes=True),
    "cachetest": Design(make_cachetest, "pattern", "alpha", "size_kb", "memory", lacks=ONE_THREAD),
    "latency-matrix": Design(make_latency_matrix, "chains", all_nodes=True, lacks=ONE_THREAD, fixed=PAIR),
    "loaded-latency": Design(make_loaded_latency, "memory", "mix", "load", "delay", all_nodes=True, fixed=PAIR),
    "core-to-core": Design(make_core_to_core, "apart", "state", "home", all_nodes=True, lacks=CACHES, fixed=PAIR),
    "memory-times": Design(make_memory_times, "experiment", "case", "memory", lacks=ONE_THREAD),
    "redis-times": Design(make_redis_times, "experiment", "size", "pipeline", "memory", lacks=SERVER),
    "redis-benchmark": Design(define_foreign_client("redis-benchmark", "redis-benchmark"), "pipeline", "memory", may=("case",),
                              lacks=SERVER),
    "redis-memtier": Design(define_foreign_client("redis-memtier", "memtier_benchmark"), "pipeline", "memory", lacks=SERVER),
    "work-stealing": Design(make_work_stealing, "benchmark", "runtime", may=("data",), all_nodes=True, lacks=EVERY_CPU, fixed=RUNTIME),
}


def explain_lacking(suite: Suite) -> dict[str, str]:
    """Returns why the design has no `spread`, no memory-only or no size relative to the machine."""
    return (DESIGNS[suite.design].lacks if suite.design else LISTED) | SUITE_LACKS.get(suite.name, {})

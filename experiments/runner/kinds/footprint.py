# SPDX-License-Identifier: GPL-2.0-only
"""Memory that a workload needs on each node, from the options of its programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..suite.suite import Suite, Workload

Options = Mapping[str, Any]
Share = tuple[tuple[int, ...], float]  # positions of nodes, and the bytes that are spread over them

ARRAYS = {"copy": 2, "scale": 2, "sum": 3, "triad": 3}  # of np-mem; one for its other kernels
# Of np-steal, bytes an element: the arrays, and what the serial run has beside them.
STEALING = {"cilksort": (8, 4), "heat": (16, 16), "transpose": (16, 8), "matmul": (24, 8)}
STEALING_ELEMENTS = 65536  # times the scale
DOUBLE = 8  # bytes
# Bytes an element in redis-server and in np-redis, strings aside, a server's output and a client's input
# included: growth of VmHWM with redis-server 7.0.15, 50,000 to 150,000 elements, strings of up to 20.
REDIS = {"lists": (30, 25), "keys": (80, 95), "zsets": (120, 25), "tokens": (0, 35)}
STRUCTURES = 3  # lists or sorted sets; there are as many keys as all of them have elements
# Commands of redis-benchmark after each of which the server has a value more, at most.
STORING = {"set", "lpush", "rpush", "hset"}


def count_bytes(workload: Workload, suite: Suite) -> Counter[int]:
    """Counts the bytes that a workload fills, by the position of the node. KeyError: it lacks an option of its kind."""
    options = suite.parameters[workload.kind] | workload.options
    need: Counter[int] = Counter()
    for nodes, size in SHARES[workload.kind](workload, options):
        need.update(dict.fromkeys(nodes, round(size / len(nodes))))  # adds
    return need


def count_memory(workload: Workload, options: Options) -> Iterator[Share]:
    """Yields the bytes of each task's arrays with their nodes: every process has its own, threads share them."""
    size = parse_bytes(options["size"]) * ARRAYS.get(options.get("operation", "triad"), 1)
    return ((task.memory_on, size) for task in workload.tasks)


def count_loaded(workload: Workload, options: Options) -> Iterator[Share]:
    """Yields the bytes of one array of the chase and one of all threads of the load, with their nodes."""
    return ((task.memory_on, parse_bytes(options["load_size" if task.role == "load" else "size"])) for task in workload.tasks)


def count_handover(workload: Workload, options: Options) -> Iterator[Share]:
    yield workload.tasks[0].memory_on, parse_bytes(options["size"])


def count_redis(workload: Workload, options: Options) -> Iterator[Share]:
    """Yields the bytes of the data in the server and in the client, with their nodes."""
    structure = options.get("structure") or workload.name.removeprefix("redis-")
    several = structure in ("lists", "zsets") or workload.kind == "redis"
    elements = options["elements"] * (STRUCTURES if several else 1)
    server, client = workload.tasks
    in_server, in_client = REDIS[structure]
    # A string has half of the greatest length in the mean; in the server it is also in an answer.
    yield server.memory_on, elements * (in_server + options["max_length"])
    yield client.memory_on, elements * (in_client + options["max_length"] / 2)


def count_redis_benchmark(workload: Workload, options: Options) -> Iterator[Share]:
    stored = STORING & set(options["tests"].split(","))
    yield workload.tasks[0].memory_on, len(stored) * options["requests"] * options["value_bytes"]


def count_redis_memtier(workload: Workload, options: Options) -> Iterator[Share]:
    yield workload.tasks[0].memory_on, options["keys"] * (sum(REDIS["keys"]) + options["value_bytes"])


def count_stealing(workload: Workload, options: Options) -> Iterator[Share]:
    """Yields the bytes of the arena by its nodes; the serial baseline has all on the first node, before the others are there."""
    arrays, reference = (size * options["scale"] * STEALING_ELEMENTS for size in STEALING[options["benchmark"]])
    task = workload.tasks[0]
    others = tuple(node for node in task.memory_on if node != task.runs_on)
    yield (task.runs_on,), arrays + reference
    if task.runs_on not in task.memory_on:
        yield others, arrays
        return
    data = options.get("data") or ("spread" if options["runtime"] == "locality" else "first")  # as np-steal chooses it
    if data == "spread" and others:
        yield others, arrays * len(others) / len(task.memory_on)


def count_command(workload: Workload, options: Options) -> Iterator[Share]:
    """Yields the bytes that the workload's file says; the kernel puts them on one node where it can."""
    yield workload.tasks[0].memory_on, parse_bytes(options["memory"] or "0")


def count_elements(structure: str, size: float, max_length: int) -> int:
    """Returns the number of elements of each list or sorted set, or of keys, whose data are so large in the server."""
    element_bytes = REDIS[structure][0] + max_length / 2
    return max(1, round(size / element_bytes / (STRUCTURES if structure in ("lists", "zsets") else 1)))


def count_for_size(kind: str, size: float, options: Options) -> int:
    """Returns the count that suite.COUNTS names of this kind whose data take `size` bytes: of keys, of elements of three lists, or the
    scale of an array of doubles. options: max_length for redis, value_bytes for other servers."""
    if kind == "redis":
        return count_elements("lists", size, options["max_length"])
    return max(1, round(size / (DOUBLE * STEALING_ELEMENTS if kind == "stealing" else options["value_bytes"])))


def parse_bytes(size: str) -> int:
    """Returns the bytes of '256M' or '4096'."""
    shift = {"K": 10, "M": 20, "G": 30}.get(size[-1].upper(), 0)
    return int(size[:-1] if shift else size) << shift


SHARES = {"triad": count_memory, "memory": count_memory, "redis": count_redis, "redis-times": count_redis,
          "redis-benchmark": count_redis_benchmark, "redis-memtier": count_redis_memtier,
          "stealing": count_stealing, "loaded": count_loaded, "handover": count_handover,
          "running": lambda _workload, _options: iter(()), "command": count_command}

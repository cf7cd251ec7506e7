# SPDX-License-Identifier: GPL-2.0-only
"""What remote memory costs walks through sets of several sizes (Heard & Shafiee) and COPY by many threads (Bergstrom)."""

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.lab import machine
from experiments.model_fit import bergstrom
from experiments.model_fit.__main__ import load_model

WALKED = "opteron-sixcore-4s"
PATTERNS = ("sequential", "uniform")
SIZES = ("500K", "2M", "4M", "5M", "6M", "7M", "8M", "10M")
PASSED = ("7M", "8M", "10M")  # the last level has 6 MB
COPY = ["build/np-mem", "copy", "--kernel", "plain"]
SECONDS = 0.01
WARM_CACHES = 3  # times the last level that a node's threads move first: it is full of what filled the arrays, modified
THREAD_BYTES_PER_S = 2.5e9  # read and written, of one thread on either machine
ARRAYS = 2
ARRAYS_PER_CACHE = 3  # bytes of the arrays of a node's threads, over those of its last level


def measure_slowdown() -> Outcome:
    """Measures how much slower walks are with remote memory, by pattern and size, and checks that; returns the outcome."""
    out = Outcome()
    results = inside.run_program(WALKED, "python3", "experiments/bench/lab/sets.py", str(SECONDS), ",".join(PATTERNS),
                                 ",".join(SIZES))
    by_cell = {(result["pattern"], result["size"]): result for result in results}
    out.say("pattern        set   local ns  remote ns  slower by")
    change = {}
    for (pattern, size), result in by_cell.items():
        change[pattern, size] = result["remote"] / result["local"] - 1
        out.say(f"{pattern:11}{size:>7}{result['local']:11.2f}{result['remote']:11.2f}{change[pattern, size]:+11.1%}")
    for pattern in PATTERNS:
        out.at_most(f"cachetest: {pattern}, 500 KB, either way", abs(change[pattern, "500K"]), 0.10)
    # A uniform walk finds a part of its lines in the cache, less the larger the set is.
    out.at_least("cachetest: sequential, past 6 MB", min(change["sequential", size] for size in PASSED), 0.60)
    out.at_least("cachetest: uniform, past 6 MB, most", max(change["uniform", size] for size in PASSED), 0.40)
    out.data = {"results": results}
    return out


def build_cell(machine_of_paper: bergstrom.Machine, threads: int, step: int) -> dict:
    """Builds a cell, as teams.py takes it, of threads on every node in turn, each with memory `step` nodes further.

    Arrays are larger than the caches."""
    counts = bergstrom.spread_threads(machine_of_paper.nodes, threads)
    # CPU and node of the memory, of each thread
    placed = [[node * machine_of_paper.cores + index, (node + step) % machine_of_paper.nodes]
              for node, count in enumerate(counts) for index in range(count)]
    last_level_bytes = max(cache["size"] for cache in machine.find(machine_of_paper.name).cache)
    cache_bytes = last_level_bytes / max(counts)  # of a thread
    array_kib = int(ARRAYS_PER_CACHE * cache_bytes) // ARRAYS >> 10
    return {"size": f"{array_kib // 4 * 4}K", "threads": placed, "warm": WARM_CACHES * cache_bytes / THREAD_BYTES_PER_S}  # whole pages; s


def measure_curve(paper: bergstrom.Machine, thread_counts: list[int], gap: tuple[float, float]) -> Outcome:
    """Measures COPY in GB/s by threads, on their own nodes' memory and another package's, and checks peak, growth and loss.

    thread_counts: the last is all threads. gap: bounds of their relative loss."""
    out = Outcome()
    cells = [build_cell(paper, threads, step) for threads in thread_counts for step in (0, paper.bad_node)]
    results = inside.measure_cells(paper.name, COPY, cells, SECONDS, keep=False, timeout=3000)
    totals = [sum(result) / 1000 for result in results]
    aware, unaware = totals[::2], totals[1::2]  # the steps of each count of threads, in turn
    _, model = load_model(paper.name)
    out.say("COPY, GB/s  NUMA-aware: lab  model.c    unaware: lab  model.c      gap")
    for threads, local, remote in zip(thread_counts, aware, unaware, strict=True):
        on_paper = bergstrom.predict_copy(paper, model, threads)
        out.say(f"{threads:3} threads {local:15.1f} {on_paper.aware_gb_s:8.1f} {remote:15.1f} {on_paper.unaware_gb_s:8.1f}"
                f" {remote / local - 1:+8.1%}")
    out.between(f"{paper.name}: COPY peak, GB/s", max(aware), 0.9 * paper.peak_gb_s, 1.1 * paper.peak_gb_s, "{:.1f}")
    out.between(f"{paper.name}: unaware with all threads", unaware[-1] / aware[-1] - 1, *gap)
    linear = aware[1] / aware[0] / (thread_counts[1] / thread_counts[0])
    out.between(f"{paper.name}: growth from {thread_counts[0]} to {thread_counts[1]} threads, of linear", linear, 0.85, 1.1, "{:.2f}")
    out.data = {"threads": thread_counts, "aware": aware, "unaware": unaware}
    return out


def measure_xeon() -> Outcome:
    return measure_curve(bergstrom.XEON, [4, 8, 16, 24, 32], (-0.10, 0.02))


def measure_opteron() -> Outcome:
    return measure_curve(bergstrom.OPTERON, [8, 16, 32, 40, 48], (-0.40, -0.10))

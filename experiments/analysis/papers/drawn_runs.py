# SPDX-License-Identifier: GPL-2.0-only
"""The cells that the papers print, as runs whose values are drawn from the names of cell and metric.

Nothing is measured. A comparison of other cells, of another metric or the other way round has another ratio here, so
the ratios tell what a statement compares, whatever its functions and words are called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from ..runs.results import Metric, Observation, Results
from . import bergstrom, deters, heard_checks, luo_checks, reference
from .printed_runs import REDIS

REPEATS = 6  # of Deters' paper: its model needs them
Factors = dict[str, int | float | str]
TOKENS = {"experiment": "tokens", "size": 1}  # of a text: the paper prints one
SAMPLES = 4  # of a series


def number(*names: object) -> float:
    """From 1 to 2: a ratio is never that of two equal numbers, and no divisor is near 0."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return 1 + int.from_bytes(digest[:6]) / 2**48


def run(cells: Iterable[Factors], metrics: Iterable[str], machine: str = "", series: Iterable[str] = ()) -> Results:
    """With every metric in every cell."""
    found, metrics, series = list(cells), list(metrics), list(series)
    return Results(Path(), {"machine": machine}, tuple(
        _observation(factors, repeat, metrics, series, machine) for factors in found for repeat in range(REPEATS)), ())


def _observation(factors: Factors, repeat: int, metrics: list[str], series: list[str], machine: str) -> Observation:
    name = str(sorted(factors.items()))
    values = tuple(Metric(metric, "1", number(machine, name, metric, repeat)) for metric in metrics)
    raw = {"series": {of: [number(name, of, repeat, i) for i in range(SAMPLES)] for of in series}} if series else {}
    return Observation(name, "none", "real", repeat, 0, False, (), values, (), None, factors, raw)


def _all(**levels: Iterable[int | float | str]) -> list[Factors]:
    return [dict(zip(levels, found)) for found in product(*levels.values())]


def luo(machine: str = "") -> Results:
    """Cells of Table 1: the threads of Figs 5 to 7, and those of Fig. 9 among them."""
    threads = (0, *luo_checks.THREADS)
    cells = [cell for cell in _all(local=threads, remote=threads) if any(cell.values())]
    return run(cells, ("bandwidth", "bandwidth_local", "bandwidth_remote"), machine)


def luo_cross() -> Results:
    return run(_all(reference=luo_checks.THREADS, opposite=(0, *luo_checks.THREADS)), ("bandwidth_reference", "bandwidth_opposite"))


def luo_split() -> Results:
    """No more threads than a node has cores."""
    cells = [o.factors for o in luo().clean if o.repeat == 0 and sum(o.factors.values()) <= len(luo_checks.THREADS)]
    return run(cells, ("bandwidth", "bandwidth_local", "bandwidth_remote"))


def stream(machine: str = "") -> Results:
    cells = _all(operation=bergstrom.OPERATIONS, access=("unstrided", "strided"), memory=("local", "remote"),
                 threads=bergstrom.THREADS)
    return run(cells, ("bandwidth", "bandwidth_bus", "latency", "active_nodes"), machine)


def cachetest() -> Results:
    cells = _all(pattern=("sequential", "uniform"), memory=heard_checks.MEMORIES, size_kb=heard_checks.SIZES)
    cells += _all(pattern=("zipf",), memory=heard_checks.MEMORIES, size_kb=heard_checks.SIZES, alpha=heard_checks.ALPHAS)
    return run(cells, ("iterations",))


def redis() -> Results:
    cases = [{"experiment": REDIS[row["table"]]} | {name: int(row[name]) for name in ("size", "accesses") if row[name]}
             for row in reference.rows("redis-tables-7.1-7.5.csv") if row["table"] in REDIS]
    return run([case | {"memory": memory} for case in (*cases, TOKENS) for memory in ("local", "remote")], ("seconds",))


def counted() -> Results:
    return run(_all(memory=("local", "remote")), (), series=("ipc", "local_dram", "remote_dram"))


def redis_benchmark() -> Results:
    return run(_all(memory=("local", "remote")), ("lrange_600", "ping_inline"))


def stealing() -> Results:
    cells = _all(runtime=tuple(deters.OWN_DATA), data=tuple(deters.OWN_DATA.values()), benchmark=deters.BENCHMARKS)
    return run(cells, (*deters.SAYS, "seconds_one_worker"))

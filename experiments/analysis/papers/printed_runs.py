# SPDX-License-Identifier: GPL-2.0-only
"""The numbers that a paper prints, as a run: its own text has to hold of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..runs.results import Metric, Observation, Results
from . import luo_checks, reference
from .reference import rows

REDIS = {"7.1": "sort", "7.2": "random-update", "7.3": "lists", "7.4": "keys", "7.5": "zsets"}
LUO = {luo_checks.E5620: "e5620", luo_checks.LS3A: "ls3a"}
EQUAL = 2  # observations: a printed number has no spread
Row = tuple[dict[str, int | float | str], dict[str, tuple[float, str]]]


def luo(results: Results, machine: str) -> Results | None:
    """Totals of Table 1 in parts of 4L0R; nothing is printed of either side."""
    if machine not in LUO:
        return None
    table = reference.luo(LUO[machine])
    return _run(results, (({"local": x, "remote": y}, {"bandwidth": (value, "MB/s")})
                          for (x, y), value in table.items() if x + y))


def redis(results: Results) -> Results | None:
    """Tables 7.1 to 7.5, of the experiments of this run."""
    ran = {o.factors.get("experiment") for o in results.clean}
    return _run(results, _redis(ran))


def _redis(ran: set) -> Iterable[Row]:
    for row in rows("redis-tables-7.1-7.5.csv"):
        if REDIS.get(row["table"]) not in ran:
            continue
        case = {name: int(float(row[name])) for name in ("size", "accesses") if row[name]}
        for memory in ("local", "remote"):
            yield ({"experiment": REDIS[row["table"]], "memory": memory} | case,
                   {"seconds": (float(row[f"{memory}_s"]), "s")})


def _run(results: Results, cells: Iterable[Row]) -> Results | None:
    first, cells = results.clean[0], list(cells)
    return cells and replace(results, observations=tuple(
        _observation(first, repeat, factors, metrics) for factors, metrics in cells for repeat in range(EQUAL))) or None


def _observation(like: Observation, repeat: int, factors: dict, metrics: dict) -> Observation:
    found = tuple(Metric(name, unit, value) for name, (value, unit) in metrics.items())
    return replace(like, repeat=repeat, factors=factors, metrics=found, workload=str(factors), raw={})

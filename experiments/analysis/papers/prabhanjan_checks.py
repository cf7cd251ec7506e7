# SPDX-License-Identifier: GPL-2.0-only
"""Statements of Prabhanjan et al. about their tables and graphs."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from ..runs.results import Observation
from . import reference
from .cells import Cells, Level
from .checks import CONSTRUCTION, FITTED, INFINITE, MODEL, Part, Statement, between, every, greater, some

XEON = "Xeon E5-2620 v4"
SAME = 0.1  # "not much variation", "almost identical"

TABLES = {"sort": ("Table 7.1", "7.1"), "random-update": ("Table 7.2", "7.2"),
          "lists": ("Table 7.3", "7.3"), "tokens": ("Experiment 4", "experiment 4"),
          "keys": ("Table 7.4", "7.4"), "zsets": ("Table 7.5", "7.5")}
# From here on the paper's tables have remote memory slower at every size.
MANY_KEYS, LARGE_ZSETS = 10_000, 1_000_000


def times(cells: Cells) -> list[Statement]:
    """Only about the experiments of this run: the others are in runs of their own."""
    run = cells.levels("experiment", "seconds")
    return [s for experiment, s in _times(cells) if experiment in run or not run]


def _times(cells: Cells) -> list[tuple[str, Statement]]:
    update = _sizes(cells, "random-update")
    keys, zsets = _sizes(cells, "keys"), _sizes(cells, "zsets")
    return [
        ("sort", _same(cells, "sort", "section 7.3.1, Table 7.1",
                       "sorting takes as long with remote memory")),
        ("random-update", every(
            "section 7.3.2, Table 7.2", "updates of the smallest array take as long with remote "
            "memory (read as within 15 %)",
            [_part(cells, "random-update", n, 0.85, 1.15) for n in update[:1]], kind=CONSTRUCTION)),
        ("random-update", every(
            "section 7.3.2, Table 7.2", "updates of the largest array take up to 1.58 times as long, "
            "1.55 an access without the fill (read as 1.3 to 2.1, the distance)",
            [_part(cells, "random-update", n, 1.3, 2.1) for n in update[-1:]], XEON, FITTED)),
        ("random-update", every("section 7.3.2, Table 7.2", "the penalty grows with the array",
                                [_grows(cells, "random-update", update)])),
        ("lists", _same(cells, "lists", "section 7.3.3, Table 7.3",
                        "three lists take as long with remote memory")),
        ("tokens", _same(cells, "tokens", "section 7.3.4",
                         "token counts take as long with remote memory")),
        ("keys", every("section 7.3.5, Table 7.4",
                       "many random keys take longer with remote memory (the largest)",
                       [_large(cells, "keys", keys, MANY_KEYS, 1.0)])),
        ("zsets", every("section 7.3.6, Table 7.5", "small sorted sets take as long with remote "
                        "memory (read as within 15 %)",
                        [_part(cells, "zsets", n, 0.85, 1.15) for n in zsets[:1]])),
        ("zsets", every("section 7.3.6, Table 7.5", "large sorted sets take significantly longer "
                        "(read as 10 % or more)",
                        [_large(cells, "zsets", zsets, LARGE_ZSETS, 1.1)])),
        ("keys", every("section 7.3.5, Table 7.4", "few keys take much the same time (read as within 15 %, the smallest)",
                       [_part(cells, "keys", n, 0.85, 1.15) for n in keys[:1]])),
    ]


def ran(row: dict[str, str]) -> dict[str, Level]:
    """The case whose times the row has, which in Table 7.2 is not always the printed one (errata of the papers)."""
    return {name: float(text) for name in ("size", "accesses") if (text := row[f"ran_{name}"] or row[name])}


def _sizes(cells: Cells, experiment: str) -> list[Any]:
    """Those that the paper has where any of them was run: others stand beside them, and are not what it speaks of."""
    run = cells.levels("size", "seconds", experiment=experiment)
    papers = {ran(row).get("size") for row in reference.rows("redis-tables-7.1-7.5.csv")
              if row["table"] == TABLES[experiment][1]}
    return [size for size in run if size in papers] or run or [0]


def _samples(cells: Cells, experiment: str, size: Any) -> tuple[list[float], list[float]]:
    """Remote and local; not pipelined, as the paper's client, where both were run."""
    fixed = {"experiment": experiment, "size": size}
    if cells.values("seconds", pipeline=1, **fixed):
        fixed["pipeline"] = 1
    accesses = cells.levels("accesses", "seconds", **fixed)
    if accesses:
        fixed["accesses"] = accesses[-1]
    return tuple(cells.values("seconds", memory=m, **fixed) for m in ("remote", "local"))


def _part(cells: Cells, experiment: str, size: Any, low: float, high: float = INFINITE) -> Part:
    return between(f"{experiment} {size}: TR/TL", *_samples(cells, experiment, size), low, high)


def _large(cells: Cells, experiment: str, sizes: list[Any], least: int, low: float) -> Part:
    """Of the largest set, which must be one that the paper calls so."""
    if sizes[-1] < least:
        return between(f"{experiment}: the largest set of this run is {sizes[-1]}, under {least}", [], [], low)
    return _part(cells, experiment, sizes[-1], low)


def _same(cells: Cells, experiment: str, where: str, says: str) -> Statement:
    parts = [_part(cells, experiment, n, 1 - SAME, 1 + SAME) for n in _sizes(cells, experiment)]
    return every(where, f"{says} (read as within {100 * SAME:.0f} %)", parts)


def _grows(cells: Cells, experiment: str, sizes: list[Any]) -> Part:
    """TR/TL of the largest over that of the smallest, as products by repeats."""
    if len(sizes) < 2:
        return greater(f"{experiment}: TR/TL of the largest / of the smallest", [], [])
    (small_r, small_l), (large_r, large_l) = (_samples(cells, experiment, n)
                                              for n in (sizes[0], sizes[-1]))
    return greater(f"{experiment}: TR/TL of {sizes[-1]} / of {sizes[0]}",
                   [r * s for r, s in zip(large_r, small_l)],
                   [s * t for s, t in zip(small_r, large_l)])


def counters(kept: list[Observation]) -> list[Statement]:
    """Means over each observation's time: one value an observation."""
    def means(memory: str, name: str) -> list[float]:
        found = [[v for v in o.raw["series"].get(name) or [] if isinstance(v, (int, float))]
                 for o in kept if o.factors.get("memory") == memory]
        return [fmean(values) for values in found if values]

    ipc = greater("IPC, local / remote", means("local", "ipc"), means("remote", "ipc"))
    return [
        every("chapter 8, Figs 8.5 to 8.8", "with local memory IPC is higher, so CPI lower", [ipc], kind=MODEL),
        every("chapter 8, Figs 8.1, 8.2", "with local memory a larger part of the DRAM accesses is "
              "local (the paper: their number, which the length of a run changes)",
              [greater("local part, local / remote memory", _parts(kept, "local"),
                       _parts(kept, "remote"))], kind=CONSTRUCTION),
        every("chapter 8, Figs 8.3, 8.4", "with local memory there is hardly a remote DRAM access "
              "(read as under 5 % of its local ones; Fig. 7.1 has 2.2 % on all CPUs and 0.05 % on the busiest)",
              [between("remote / local DRAM with local memory", means("local", "remote_dram"),
                       means("local", "local_dram"), high=0.05)], kind=CONSTRUCTION),
    ]


def _parts(kept: list[Observation], memory: str) -> list[float]:
    """Local DRAM accesses of all, over each observation's time."""
    found = []
    for o in kept:
        if o.factors.get("memory") != memory:
            continue
        local, remote = (sum(v for v in o.raw["series"].get(name) or []
                             if isinstance(v, (int, float))) for name in ("local_dram", "remote_dram"))
        if local + remote:
            found.append(local / (local + remote))
    return found


def benchmark(cells: Cells, commands: list[str]) -> list[Statement]:
    fixed = {"pipeline": 1} if 1 in cells.levels("pipeline") else {}
    sizes = cells.levels("value_bytes")  # the paper's are the smallest
    fixed |= {"value_bytes": sizes[0]} if sizes else {}
    reads = [name for name in commands if "lrange" in name.lower()]
    parts = [greater(f"{name}, local / remote", cells.values(name, memory="local", **fixed),
                     cells.values(name, memory="remote", **fixed)) for name in reads]
    return [some("chapter 8, Fig. 8.9", "LRANGE, which reads much, is faster with local memory",
                 parts)]

# SPDX-License-Identifier: GPL-2.0-only
"""What the papers conclude of two machines beside each other: judged over two runs of one suite."""

from __future__ import annotations

from collections.abc import Callable

from ..runs.results import Results
from . import bergstrom, luo, luo_checks
from .cells import Cells
from .chapter import NO_POLICY, like
from .checks import FITTED, PREDICTED, Check, Part, Statement, every, greater, some
from .judge import Judge


def judge(runs: list[Results]) -> list[Check]:
    """The statements whose two machines are among the runs, once each, by the first run of either machine whose times
    mean something."""
    checks = []
    for presentation, names, first, second, statements in (
            ("luo-contention", luo.NAMES, luo_checks.LS3A, luo_checks.E5620, luo_machines),
            ("bergstrom-stream", bergstrom.NAMES, bergstrom.AMD, bergstrom.INTEL, bergstrom_machines)):
        of = {like(r, names): r for r in reversed(runs) if presentation in r.presents and r.policies == [NO_POLICY]
              and "lab-functional" not in r.platforms}
        if first in of and second in of:
            checks += _judged([of[first], of[second]], statements)
    return checks


def _judged(both: list[Results], make: Callable[..., list[Statement]]) -> list[Check]:
    """In the lab either machine may be another one."""
    timed = all(r.platforms == ["lab-timed"] for r in both)
    judges = [Judge.of(r) for r in both]
    if timed and not all(j.predictor for j in judges):
        return []
    others = [make(v, both[1]) for v in judges[0].variants] + [make(both[0], v) for v in judges[1].variants]
    return [s.judge(s.kind if timed else PREDICTED, rest) for s, *rest in zip(make(*both), *others, strict=True)]


def _products(name: str, low: float, a: list[float], b: list[float], c: list[float], d: list[float]) -> Part:
    """(a / b) / (c / d) > low, as products by repeats."""
    return Part(name, [x * y for x, y in zip(a, d)], [x * y for x, y in zip(b, c)], low, float("inf"))


def luo_machines(*runs: Results) -> list[Statement]:
    ls3a, e5620 = (luo.cells_of(run, "local", "remote") for run in runs)

    def total(cells: Cells, x: int, y: int) -> list[float]:
        return cells.values("bandwidth", local=x, remote=y)

    def unfair(cells: Cells, n: int) -> list[float]:
        both = zip(cells.values("bandwidth_local", local=n, remote=n), cells.values("bandwidth_remote", local=n, remote=n))
        return [abs(a - b) / (a + b) for a, b in both]

    return [
        every("abstract", "the LS 3A is less sensitive to remote access than the E5620 (0L4R / 4L0R)",
              [_products("0L4R / 4L0R, LS 3A / E5620", 1.0, total(ls3a, 0, 4), total(ls3a, 4, 0), total(e5620, 0, 4),
                         total(e5620, 4, 0))], "LS 3A and E5620", FITTED),
        some("abstract", "the LS 3A is fairer to local and remote threads under some circumstances (as many on either side)",
             [greater(f"difference of the parts at {n}L{n}R, E5620 / LS 3A", unfair(e5620, n), unfair(ls3a, n))
              for n in luo_checks.THREADS], "LS 3A and E5620"),
    ]


def bergstrom_machines(*runs: Results) -> list[Statement]:
    amd, intel = (bergstrom.cells_of(run) for run in runs)

    def copy(cells: Cells, memory: str) -> list[float]:
        fixed = {"operation": "copy", "access": "unstrided", "memory": memory}
        most = max(cells.levels("threads", "bandwidth", **fixed), default=0)
        return cells.values("bandwidth", threads=most, **fixed)

    return [
        every("section 6", "the NUMA penalty is lower on the Intel machine (all cores)",
              [_products("local / remote, AMD / Intel", 1.0, copy(amd, "local"), copy(amd, "remote"),
                         copy(intel, "local"), copy(intel, "remote"))], "AMD and Intel", FITTED),
        every("section 6", "the AMD machine has the higher bandwidth in all (all cores, local memory)",
              [greater("AMD / Intel", copy(amd, "local"), copy(intel, "local"))], "AMD and Intel", FITTED),
    ]

# SPDX-License-Identifier: GPL-2.0-only
"""Deters: a 2 x 4 factorial of runtime and benchmark, with the paper's own analysis."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .. import charts, words
from ..load import Results
from ..model import Model, anova, contrasts, fit
from ..variation import analyse
from .cells import Cells
from .chapter import Cell, Chapter, Table, like, number
from .checks import ABSENT, FAILS, HOLDS, Check

PAPER = ("Deters: Performance Benchmarking Locality Aware Runtime for NUMA Architecture, written under "
         "the guidance of Raj Jain")
MACHINES = "4 × Intel Xeon E5-4620, 32 cores"
XEON = "Xeon E5-4620"
NAMES = {"e5-4620": XEON}
# Tables of the effects, of the analysis of variance, of the contrast; figures of the residuals.
RESPONSES = (
    ("remote_cache", "misses", "Tables 2 to 7, Figs 3 to 6"),
    ("remote_dram", "misses", "Tables 8 to 10, Figs 7 and 8"),
    ("local_dram", "misses", "Tables 11 to 13, Figs 9 and 10"),
    ("speedup", "1", "Tables 14 to 16, Figs 11 and 12"),
)
IMPORTANT = 0.10  # of the variation: the paper calls 9 % and less unimportant


def stealing(results: Results, slug: str) -> Chapter:
    cells = Cells(results)
    chapter = Chapter(
        "deters-stealing", "Work stealing: vanilla and locality runtimes", PAPER, MACHINES,
        "The locality runtime has fewer misses served by remote caches and remote DRAM and a "
        "slightly higher speedup, significantly so, but explains only up to 9 % of the variation of "
        "any of them: the benchmark explains the rest. Its tables are pictures.",
        machine=like(results, NAMES))
    chapter.missing = cells.missing(("runtime", "benchmark"), tuple(m for m, _, _ in RESPONSES))
    present = [r for r in RESPONSES if cells.values(r[0])]
    if not present:
        return chapter
    for metric, unit, tables in present:
        chapter.tables.append(_means(cells, metric, unit, tables))
        chapter.draw(tables, _bars(cells, metric, unit, f"{slug}-{metric}"),
                     f"{words.sentence(metric)} by benchmark and runtime.")
        data = cells.frame(metric, ("runtime", "benchmark"))
        chapter.analyses.append(analyse(data, metric, unit, ["runtime", "benchmark"],
                                        f"{slug}-{metric}-anova", focus="runtime", base="vanilla"))
        chapter.checks += _checks(data, metric)
    return chapter


def _means(cells: Cells, metric: str, unit: str, tables: str) -> Table:
    runtimes = cells.levels("runtime", metric)[::-1]  # vanilla first
    rows = [(Cell(name), *(number(cells.interval(metric, benchmark=name, runtime=r))
                           for r in runtimes)) for name in cells.levels("benchmark", metric)]
    head = ("benchmark", *(f"{r}, {unit}" if unit != "1" else r for r in runtimes))
    return Table(tables, f"{words.sentence(metric)}: means with 95 % intervals; effects, "
                 "variation and contrasts stand below.", head, tuple(rows))


def _bars(cells: Cells, metric: str, unit: str, slug: str) -> str:
    names = cells.levels("benchmark", metric)
    curves = []
    for runtime in cells.levels("runtime", metric)[::-1]:
        found = [(i, cells.interval(metric, benchmark=b, runtime=runtime))
                 for i, b in enumerate(names)]
        points = tuple(charts.Point(i, f.mean, f.low, f.high) for i, f in found if f)
        curves.append(charts.Curve(runtime, points))
    label = words.label(metric) + ("" if unit == "1" else f", {unit}")
    return charts.bars(names, curves, slug, words.label(metric), label)


def _checks(data: pd.DataFrame, metric: str) -> list[Check]:
    model = fit(data, metric, ["runtime", "benchmark"], ["repeat"])
    says = {
        "remote_cache": ("section 3.2, Table 4", "lower", True),
        "remote_dram": ("section 3.2, Table 10", "lower", True),
        "local_dram": ("section 3.2, Table 13", "no different", False),
        "speedup": ("section 3.2, Table 16", "higher", True),
    }
    where, direction, differs = says[metric]
    name = words.label(metric)
    claim = (f"{name}: with the locality runtime {direction}"
             f"{' ' if differs else ', not even '}at the 90 % level")
    share = f"{name}: the runtime explains less than {100 * IMPORTANT:.0f} % of the variation"
    if isinstance(model, str):
        return [Check(where, XEON, text, ABSENT, model, 1) for text in (claim, share)]
    return [_direction(model, where, claim, direction), _unimportant(model, where, share)]


def _direction(model: Model, where: str, claim: str, direction: str) -> Check:
    estimate = next((c.estimate for c in contrasts(model, "runtime", "vanilla")), None)
    if estimate is None:
        return Check(where, XEON, claim, ABSENT, "only one runtime", 1)
    low, high = estimate.limits[0.90]
    holds = {"lower": high < 0, "higher": low > 0, "no different": low <= 0 <= high}[direction]
    space = " in logarithms" if model.log else ""
    return Check(where, XEON, claim, HOLDS if holds else FAILS,
                 f"locality − vanilla{space}: 90 % interval {words.signed(low)} to "
                 f"{words.signed(high)}", 1)


def _unimportant(model: Model, where: str, claim: str) -> Check:
    term: Any = next((t for t in anova(model) if t.name == "runtime"), None)
    if term is None:
        return Check(where, XEON, claim, ABSENT, "only one runtime", 1)
    return Check(where, XEON, claim, HOLDS if term.share < IMPORTANT else FAILS,
                 f"{100 * term.share:.1f} % of the variation", 1)

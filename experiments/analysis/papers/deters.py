# SPDX-License-Identifier: GPL-2.0-only
"""Deters: a 2 x 4 factorial of runtime and benchmark, with the paper's own analysis."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .. import charts, text_format
from ..anova_report import analyse
from ..linear_model import Model, anova, explained, fit, relative
from ..results import Results
from .cells import Cells
from .chapter import Cell, Chapter, Table, like, number
from .checks import ABSENT, INFINITE, Check, judge

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
LEVEL = 0.90      # of the paper's contrasts
SAME = 0.20       # "no different": that a difference was not found is no sign that there is none
RANGES = {        # of locality / vanilla
    "lower": (0.0, 1.0), "higher": (1.0, INFINITE), "no different": (1 - SAME, 1 + SAME)}


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
                     f"{text_format.sentence(metric)} by benchmark and runtime.")
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
    return Table(tables, f"{text_format.sentence(metric)}: means with 95 % intervals; effects, "
                 "variation and contrasts stand below.", head, tuple(rows))


def _bars(cells: Cells, metric: str, unit: str, slug: str) -> str:
    names = cells.levels("benchmark", metric)
    curves = []
    for runtime in cells.levels("runtime", metric)[::-1]:
        found = [(i, cells.interval(metric, benchmark=b, runtime=runtime))
                 for i, b in enumerate(names)]
        points = tuple(charts.Point(i, f.mean, f.low, f.high) for i, f in found if f)
        curves.append(charts.Curve(runtime, points))
    label = text_format.label(metric) + ("" if unit == "1" else f", {unit}")
    return charts.bars(names, curves, slug, text_format.label(metric), label)


def _checks(data: pd.DataFrame, metric: str) -> list[Check]:
    model = fit(data, metric, ["runtime", "benchmark"], ["repeat"])
    says = {
        "remote_cache": ("section 3.2, Table 4", "lower"),
        "remote_dram": ("section 3.2, Table 10", "lower"),
        "local_dram": ("section 3.2, Table 13", "no different"),
        "speedup": ("section 3.2, Table 16", "higher"),
    }
    where, direction = says[metric]
    name = text_format.label(metric)
    reading = f" (read as within {100 * SAME:.0f} %)" if direction == "no different" else ""
    claim = f"{name}: with the locality runtime {direction}{reading} at the 90 % level"
    share = f"{name}: the runtime explains less than {100 * IMPORTANT:.0f} % of the variation"
    if isinstance(model, str):
        return [Check(where, XEON, text, ABSENT, model, 1) for text in (claim, share)]
    return [_direction(model, where, claim, direction), _unimportant(model, where, share)]


def _direction(model: Model, where: str, claim: str, direction: str) -> Check:
    ratio = relative(model, "runtime", "locality", "vanilla", LEVEL)
    if ratio is None:
        return Check(where, XEON, claim, ABSENT, "only one runtime", 1)
    means = " of geometric means" if model.log else ""
    found = judge(f"locality / vanilla{means}", ratio, *RANGES[direction])
    return Check(where, XEON, claim, found.verdict, found.text, 1)


def _unimportant(model: Model, where: str, claim: str) -> Check:
    term: Any = next((t for t in anova(model) if t.name == "runtime"), None)
    if term is None:
        return Check(where, XEON, claim, ABSENT, "only one runtime", 1)
    share = explained(model, term, LEVEL)
    low, high = (f"{100 * (end or 0):.1f}" for end in (share.low, share.high))
    return Check(where, XEON, claim, judge("", share, -1.0, IMPORTANT).verdict,
                 f"{100 * share.value:.1f} % of the variation ({low} to {high})", 1)

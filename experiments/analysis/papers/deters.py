# SPDX-License-Identifier: GPL-2.0-only
"""Deters: a 2 x 4 factorial of runtime and benchmark, with the paper's own analysis."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..figures import charts
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import Ratio
from . import reference
from .cells import Cells, Level
from .chapter import Cell, Chapter, Table, like, number
from .checks import INFINITE, Part, Statement, alike, every
from .variance import Model, Term, anova, explained, fit, relative

PAPER = ("Deters: Performance Benchmarking Locality Aware Runtime for NUMA Architecture, written under "
         "the guidance of Raj Jain")
MACHINES = "4 × Intel Xeon E5-4620, 32 cores"
XEON = "Xeon E5-4620"
NAMES = {"e5-4620": XEON}
# The paper's tables of the effects, of the analysis of variance and of the contrast, and its figures of the residuals.
RESPONSES = (
    ("remote_cache", "misses", "Tables 2 to 7, Figs 3 to 6"),
    ("remote_dram", "misses", "Tables 8 to 10, Figs 7 and 8"),
    ("local_dram", "misses", "Tables 11 to 13, Figs 9 and 10"),
    ("speedup", "1", "Tables 14 to 16, Figs 11 and 12"),
)
IMPORTANT = 0.10  # of the variation: the paper calls 9 % and less unimportant
NOTHING = 0.01    # "effectively 0 %", of local DRAM
LEVEL = 0.90      # of the paper's contrasts
FACTORS = ("runtime", "data", "benchmark")
REPEATS = 6       # the paper's, which has none of speedup and says nothing of an F test of it
SAME = 0.20       # "no different": that a difference was not found is no sign that there is none
BENCHMARKS = ("cilksort", "heat", "transpose", "matmul")
OWN_DATA = {"vanilla": "first", "locality": "spread"}  # of the paper's runtimes
MODELS = {"plain": False, "log": True}
RANGES = {        # of locality / vanilla
    "lower": (-INFINITE, 1.0), "higher": (1.0, INFINITE), "no different": (1 - SAME, 1 + SAME)}

DIFFERS = (
    "oneTBB with an arena a node stands for the changed Cilk Plus runtime.",
    "The inputs of the paper's Table 1 are a picture: the sizes here are a choice.",
    "The paper's locality runtime also spreads the data over the nodes, so runtime and placement of data are one factor of its "
    "analyses. They are two in the suite; the paper's analyses and statements take each runtime with its own data.",
    "Speedup of both runtimes is over the same run: one worker, vanilla, with the data on its node. serial_ratio is the "
    "time of one worker with the runtime's own data over that run's.",
    "Each analysis is shown plain and of logarithms, as in the paper. Statements are judged by the one that the report's "
    "rule chooses (Documentation/explanation/analysis.md).",
)


def stealing(results: Results, slug: str) -> Chapter:
    cells = Cells(results, FACTORS)
    chapter = Chapter(
        "deters-stealing", "Work stealing: vanilla and locality runtimes", PAPER, MACHINES,
        "The locality runtime has fewer misses served by remote caches and remote DRAM and a "
        "slightly higher speedup, significantly so, but explains only up to 9 % of the variation of "
        "any of them (remote cache 9 %, of logarithms 6 %; remote DRAM 8 %; local DRAM 0 %): the benchmark "
        "explains the rest. Its tables are pictures.",
        machine=like(results, NAMES), differs=DIFFERS)
    chapter.missing = cells.missing(("runtime", "benchmark"), tuple(m for m, _, _ in RESPONSES))
    present = [r for r in RESPONSES if cells.values(r[0])]
    if not present:
        return chapter
    for metric, unit, tables in present:
        chapter.tables.append(_means(cells, metric, unit, tables))
        chapter.draw(tables, _bars(cells, metric, unit, f"{slug}-{metric}"),
                     f"{text_format.sentence(metric)} by benchmark and runtime.")
        chapter.judge(results, lambda run, metric=metric: made(run, metric))
    frames = {m: as_printed(cells, m) for m, _, _ in present}
    every_cell = {m: cells.frame(m, FACTORS) for m, _, _ in present} if len(cells.levels("data")) > 1 else {}
    chapter.tables += [_variation(frames), _analyses(frames, every_cell)]
    return chapter


def made(run: Results, metric: str) -> list[Statement]:
    cells = Cells(run, FACTORS)
    return statements(as_printed(cells, metric), metric, cells)


def as_printed(cells: Cells, metric: str) -> pd.DataFrame:
    """The paper's two runtimes: where the place of the data is a factor too, each with its own."""
    one = len(cells.levels("data")) < 2
    return cells.frame(metric, ("runtime", "benchmark"), lambda f: one or f.get("data") == OWN_DATA.get(f["runtime"]))


def _variants(cells: Cells, metric: str) -> dict[str, dict[str, Level]]:
    """By name: runtimes, vanilla first, each with every place of the data that was run."""
    runtimes, places = cells.levels("runtime", metric)[::-1], cells.levels("data")
    if len(places) < 2:
        return {runtime: {"runtime": runtime} for runtime in runtimes}
    return {f"{runtime}, data {place}": {"runtime": runtime, "data": place} for runtime in runtimes for place in places}


def _variation(frames: dict[str, pd.DataFrame]) -> Table:
    """What runtime and error explain, by both models, and the paper's numbers where its text has them."""
    rows = []
    for metric, data in frames.items():
        for name, log in MODELS.items():
            model = fit(data, metric, ["runtime", "benchmark"], ["repeat"], log)
            label = Cell(f"{text_format.sentence(metric)}, {name}")
            rows.append((label, Cell("ours"), *(_share(_term(model, term)) for term in ("runtime", "Residual"))))
            rows += [(label, Cell("paper"), *(Cell(f"{row[t]} %", float(row[t])) if row[t] else Cell(text_format.DASH)
                                              for t in ("runtime", "error")))
                     for row in reference.rows("deters-variation.csv") if (row["metric"], row["model"]) == (metric, name)]
    return Table("Variation explained", "By the runtime and by the error, of the plain response and of its natural logarithm. "
                 "Rows of the paper are labelled paper; the rest of its tables are pictures.",
                 ("response", "from", "runtime", "error"), tuple(rows))


def _analyses(frames: dict[str, pd.DataFrame], every_cell: dict[str, pd.DataFrame]) -> Table:
    """All terms of both models of each response; of a run that varies the data, plain with that factor too."""
    rows = []
    asked = [(metric, name, data, ["runtime", "benchmark"], log) for metric, data in frames.items() for name, log in MODELS.items()]
    asked += [(metric, "plain, with the data", data, [*FACTORS], False) for metric, data in every_cell.items()]
    for metric, name, data, factors, log in asked:
        model, label = fit(data, metric, factors, ["repeat"], log), f"{text_format.sentence(metric)}, {name}"
        rows += [(Cell(label), Cell(model))] if isinstance(model, str) else [_row(label, term, model.pooled) for term in anova(model)]
    return Table("Analysis of variance", "Type II, repeats as blocks. No F and p where too few repeats make interactions the error.",
                 ("response", "term", "variation", "sum of squares", "df", "F", "p"), tuple(rows))


def _row(label: str, term: Term, pooled: bool) -> tuple[Cell, ...]:
    f, p = (None, None) if pooled else (term.f, term.p)
    return (Cell(label), Cell("error" if term.name == "Residual" else term.name), _share(term),
            Cell(text_format.number(term.sum_sq), term.sum_sq), Cell(f"{term.df:g}", term.df),
            Cell(text_format.number(f), f), Cell(text_format.p_value(p), p))


def _share(term: Any) -> Cell:
    return Cell(text_format.DASH) if term is None else Cell(f"{100 * term.share:.1f} %", 100 * term.share)


def _means(cells: Cells, metric: str, unit: str, tables: str) -> Table:
    variants = _variants(cells, metric)
    rows = [(Cell(name), *(number(cells.interval(metric, benchmark=name, **fixed)) for fixed in variants.values()))
            for name in cells.levels("benchmark", metric)]
    head = ("benchmark", *(f"{v}, {unit}" if unit != "1" else v for v in variants))
    return Table(tables, f"{text_format.sentence(metric)}: means with 95 % intervals; the "
                 "analysis of variance stands below.", head, tuple(rows))


def _bars(cells: Cells, metric: str, unit: str, slug: str) -> str:
    names = cells.levels("benchmark", metric)
    curves = []
    for variant, fixed in _variants(cells, metric).items():
        found = [(i, cells.interval(metric, benchmark=b, **fixed)) for i, b in enumerate(names)]
        points = tuple(charts.Point(i, f.mean, f.low, f.high) for i, f in found if f)
        curves.append(charts.Curve(variant, points))
    label = text_format.label(metric) + ("" if unit == "1" else f", {unit}")
    return charts.bars(names, curves, slug, text_format.label(metric), label)


SAYS = {
    "remote_cache": ("section 3.2, Table 4", "lower"),
    "remote_dram": ("section 3.2, Table 10", "lower"),
    "local_dram": ("section 3.2, Table 13", "no different"),
    "speedup": ("section 3.2, Table 16", "higher"),
}


def statements(data: pd.DataFrame, metric: str, cells: Cells | None = None) -> list[Statement]:
    """Of the paper's two runtimes; and what is said of the place of the data or of one worker, from all cells."""
    model = fit(data, metric, ["runtime", "benchmark"], ["repeat"]) if len(data) else "not measured"
    where, direction = SAYS[metric]
    name, most = text_format.label(metric), NOTHING if metric == "local_dram" else IMPORTANT
    reading = f" (read as within {100 * SAME:.0f} %)" if direction == "no different" else ""
    tests = [every("section 3.2", f"{name}: runtime, benchmark and their interaction pass the F test (read as p under 0.1)",
                   _f_tests(model, data["repeat"].nunique() if len(data) else 0), XEON)] if metric != "speedup" else []
    return [
        every(where, f"{name}: with the locality runtime {direction}{reading} at the 90 % level",
              [_direction(model, direction)]),
        every(where, f"{name}: the runtime explains less than {100 * most:.0f} % of the variation",
              [_unimportant(model, most)], XEON),
        *tests, *(_of_speedup(cells) if metric == "speedup" else _of_data(cells, metric) if metric == "remote_dram" else []),
    ]


def _of_speedup(cells: Cells | None) -> list[Statement]:
    """Own data of either runtime, one worker: the speedup of the paper is over that time."""
    def seconds(runtime: str, benchmark: str) -> list[float]:
        own = {"data": OWN_DATA[runtime]} if cells and len(cells.levels("data")) > 1 else {}
        return cells.values("seconds_one_worker", runtime=runtime, benchmark=benchmark, **own) if cells else []

    return [every("section 2.3", f"one worker takes a similar time with either runtime (read as within {100 * SAME:.0f} %)",
                  [alike(f"{b}: one worker, locality / vanilla", seconds("locality", b), seconds("vanilla", b), SAME)
                   for b in BENCHMARKS])]


def _of_data(cells: Cells | None, metric: str) -> list[Statement]:
    """Each change alone, from vanilla with its data on the first node."""
    alone = {"runtime": ("locality", "first"), "data": ("vanilla", "spread")}
    frames = [cells.frame(metric, ("runtime", "data", "benchmark"), lambda f, c=change: (f["runtime"], f["data"]) == c).assign(alone=name)
              for name, change in alone.items()] if cells else []
    both = bool(frames) and all(len(f) for f in frames)
    model = fit(pd.concat(frames), metric, ["alone", "benchmark"], ["repeat"]) if both else "the two changes, each alone"
    found = None if isinstance(model, str) else relative(model, "alone", "runtime", "data", LEVEL)
    name = model if isinstance(model, str) else "runtime alone / data alone"
    return [every("section 4", f"{text_format.label(metric)}: spreading the data alone lowers it more than the runtime alone "
                  "(the paper: possibly) at the 90 % level", [Part(name, [], [], *RANGES["higher"], found)])]


def _direction(model: Model | str, direction: str) -> Part:
    if isinstance(model, str):
        return Part(model, [], [], *RANGES[direction])
    means = " of geometric means" if model.log else ""
    ratio = relative(model, "runtime", "locality", "vanilla", LEVEL)
    return Part(f"locality / vanilla{means}" if ratio else "only one runtime", [], [], *RANGES[direction], ratio)


def _term(model: Model | str, name: str) -> Any:
    return None if isinstance(model, str) else next((t for t in anova(model) if t.name == name), None)


def _unimportant(model: Model | str, most: float) -> Part:
    term = _term(model, "runtime")
    share = explained(model, term, LEVEL) if term else None
    name = "share of the variation" if term else model if isinstance(model, str) else "only one runtime"
    return Part(name, [], [], -INFINITE, most, share)


def _f_tests(model: Model | str, repeats: int) -> list[Part]:
    """A term that is not found by the paper's number of repeats does not pass; by fewer it is undecided."""
    found = [(name, _term(model, name)) for name in ("runtime", "benchmark", "runtime × benchmark")]

    def p(term: Any) -> Ratio:
        return Ratio(term.p, term.p, term.p) if term.p < 1 - LEVEL or repeats >= REPEATS else Ratio(term.p)

    return [Part(f"p of {name}", [], [], -INFINITE, 1 - LEVEL, None if t is None or t.p is None else p(t))
            for name, t in found]

# SPDX-License-Identifier: GPL-2.0-only
"""Deters: a 2 x 4 factorial of runtime and benchmark, with the paper's own analysis."""

from __future__ import annotations

import pandas as pd

from ..figures import charts
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import Ratio
from . import reference
from .cells import Cells, Level
from .chapter import Cell, Chapter, Table, find_like, format_number
from .comparison import Printed
from .variance import Model, Term, compute_anova, fit_model

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
FACTORS = ("runtime", "data", "benchmark")
OWN_DATA = {"vanilla": "first", "locality": "spread"}  # of the paper's runtimes
MODELS = {"plain": False, "log": True}
DIFFERS = (
    "oneTBB with an arena a node stands for the changed Cilk Plus runtime.",
    "The inputs of the paper's Table 1 are a picture: the sizes here are a choice.",
    "The paper's locality runtime also spreads the data over the nodes, so runtime and placement of data are one factor of its "
    "analyses. They are two in the suite; the paper's analyses take each runtime with its own data.",
    "Speedup of both runtimes is over the same run: one worker, vanilla, with the data on its node. serial_ratio is the "
    "time of one worker with the runtime's own data over that run's.",
    "Each analysis is shown plain and of logarithms, as in the paper.",
)


def make_stealing(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Deters' work stealing, with means, drawings and analyses of variance; `slug` begins the drawings' ids."""
    cells = Cells(results, FACTORS)
    chapter = Chapter(
        "deters-stealing", "Work stealing: vanilla and locality runtimes", PAPER, MACHINES,
        "The locality runtime has fewer misses served by remote caches and remote DRAM and a "
        "slightly higher speedup, significantly so, but explains only up to 9 % of the variation of "
        "any of them (remote cache 9 %, of logarithms 6 %; remote DRAM 8 %; local DRAM 0 %): the benchmark "
        "explains the rest. Its tables are pictures.",
        machine=find_like(results, NAMES), differs=DIFFERS)
    chapter.missing = cells.describe_missing(("runtime", "benchmark"), tuple(m for m, _, _ in RESPONSES))
    present = [(metric, unit, tables) for metric, unit, tables in RESPONSES if cells.values(metric)]
    if not present:
        return chapter
    for metric, unit, tables in present:
        chapter.tables.append(_make_mean_table(cells, metric, unit, tables))
        chapter.draw(tables, _draw_bars(cells, metric, unit, f"{slug}-{metric}"),
                     f"{text_format.begin_sentence(metric)} by benchmark and runtime.")
    frames = {m: frame_printed_runtimes(cells, m) for m, _, _ in present}
    every_cell = {m: cells.make_frame(m, FACTORS) for m, _, _ in present} if len(cells.list_levels("data")) > 1 else {}
    chapter.tables += [_make_share_table(frames), _make_variance_table(frames, every_cell)]
    chapter.compare(results, lambda run: _list_printed(Cells(run, FACTORS)))
    return chapter


def _list_printed(cells: Cells) -> list[Printed]:
    """Lists the percentages of the variation that section 3.2 prints for runtime and error, beside ours; without an interval."""
    printed = []
    for row in reference.read_rows("deters-variation.csv"):
        data = frame_printed_runtimes(cells, row["metric"])
        model = fit_model(data, row["metric"], ["runtime", "benchmark"], ["repeat"], MODELS[row["model"]]) if len(data) else "not measured"
        for column, name in (("runtime", "runtime"), ("error", "Residual")):
            if row[column] and (term := _find_term(model, name)):
                cell = f"{text_format.begin_sentence(row['metric'])}, {row['model']}: {column}"
                printed.append(Printed.number(cell, "% of the variation", float(row[column]), Ratio(100 * term.share)))
    return printed


def frame_printed_runtimes(cells: Cells, metric: str) -> pd.DataFrame:
    """Returns the observations of the paper's two runtimes; where the place of the data is a factor too, each with its own."""
    has_one_place = len(cells.list_levels("data")) < 2
    return cells.make_frame(metric, ("runtime", "benchmark"), lambda f: has_one_place or f.get("data") == OWN_DATA.get(f["runtime"]))


def _list_variants(cells: Cells, metric: str) -> dict[str, dict[str, Level]]:
    """Returns the levels of each runtime with each place of the data, by a name of both; in descending order: vanilla first."""
    runtimes, places = reversed(cells.list_levels("runtime", metric)), cells.list_levels("data")
    if len(places) < 2:
        return {runtime: {"runtime": runtime} for runtime in runtimes}
    return {f"{runtime}, data {place}": {"runtime": runtime, "data": place} for runtime in runtimes for place in places}


def _make_share_table(frames: dict[str, pd.DataFrame]) -> Table:
    """Makes the table of what runtime and error explain in both models, in percent, with the paper's rows where its text has them."""
    rows = []
    for metric, data in frames.items():
        for name, log in MODELS.items():
            model = fit_model(data, metric, ["runtime", "benchmark"], ["repeat"], log)
            label = Cell(f"{text_format.begin_sentence(metric)}, {name}")
            rows.append((label, Cell("ours"), *(_format_share(_find_term(model, term)) for term in ("runtime", "Residual"))))
            rows += [(label, Cell("paper"), *(Cell(f"{row[t]} %", float(row[t])) if row[t] else Cell(text_format.DASH)
                                              for t in ("runtime", "error")))
                     for row in reference.read_rows("deters-variation.csv") if (row["metric"], row["model"]) == (metric, name)]
    return Table("Variation explained", "By the runtime and by the error, of the plain response and of its natural logarithm. "
                 "Rows of the paper are labelled paper; the rest of its tables are pictures.",
                 ("response", "from", "runtime", "error"), tuple(rows))


def _make_variance_table(frames: dict[str, pd.DataFrame], every_cell: dict[str, pd.DataFrame]) -> Table:
    """Makes the table of all terms of both models of each response; with `every_cell`, of plain models with the data as a factor too."""
    rows = []
    fits = [(metric, name, data, ["runtime", "benchmark"], log) for metric, data in frames.items() for name, log in MODELS.items()]
    fits += [(metric, "plain, with the data", data, [*FACTORS], False) for metric, data in every_cell.items()]
    for metric, name, data, factors, log in fits:
        model, label = fit_model(data, metric, factors, ["repeat"], log), f"{text_format.begin_sentence(metric)}, {name}"
        rows += [(Cell(label), Cell(model))] if isinstance(model, str) else [
            _make_row(label, term, model.pooled) for term in compute_anova(model)]
    return Table("Analysis of variance", "Type II, repeats as blocks. No F and p where too few repeats make interactions the error.",
                 ("response", "term", "variation", "sum of squares", "df", "F", "p"), tuple(rows))


def _make_row(label: str, term: Term, pooled: bool) -> tuple[Cell, ...]:
    """Makes the row of a term; without F and p where `pooled`, as there interactions are the error."""
    f, p = (None, None) if pooled else (term.f, term.p)
    return (Cell(label), Cell("error" if term.name == "Residual" else term.name), _format_share(term),
            Cell(text_format.format_number(term.sum_sq), term.sum_sq), Cell(f"{term.df:g}", term.df),
            Cell(text_format.format_number(f), f), Cell(text_format.format_p_value(p), p))


def _format_share(term: Term | None) -> Cell:
    return Cell(text_format.DASH) if term is None else Cell(f"{100 * term.share:.1f} %", 100 * term.share)


def _make_mean_table(cells: Cells, metric: str, unit: str, number: str) -> Table:
    """Makes the table of a metric's means: a row for each benchmark, a column for each runtime and place of data. number: as in "Tables 2 to 7"."""
    variants = _list_variants(cells, metric)
    rows = [(Cell(name), *(format_number(cells.interval(metric, benchmark=name, **fixed)) for fixed in variants.values()))
            for name in cells.list_levels("benchmark", metric)]
    head = ("benchmark", *(f"{v}, {unit}" if unit != "1" else v for v in variants))
    return Table(number, f"{text_format.begin_sentence(metric)}: means with 95 % intervals; the "
                 "analysis of variance stands below.", head, tuple(rows))


def _draw_bars(cells: Cells, metric: str, unit: str, slug: str) -> str:
    """Draws bars of a metric's means by benchmark, one of each runtime and place of data, ids from `slug` on; returns an <svg> element."""
    names = cells.list_levels("benchmark", metric)
    curves = []
    for variant, fixed in _list_variants(cells, metric).items():
        found = [(i, cells.interval(metric, benchmark=b, **fixed)) for i, b in enumerate(names)]
        points = tuple(charts.Point(i, f.mean, f.low, f.high) for i, f in found if f)
        curves.append(charts.Curve(variant, points))
    label = text_format.make_label(metric) + ("" if unit == "1" else f", {unit}")
    return charts.draw_bars(names, curves, slug, text_format.make_label(metric), label)


def _find_term(model: Model | str, name: str) -> Term | None:
    return None if isinstance(model, str) else next((t for t in compute_anova(model) if t.name == name), None)

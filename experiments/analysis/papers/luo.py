# SPDX-License-Identifier: GPL-2.0-only
"""Luo, Zhou, Kong, Liu, Cai, Lin 2013: Table 1 and Figs 5 to 9."""

from __future__ import annotations

from ..figures import charts
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import Ratio, compute_ratio, compute_t_interval
from . import reference
from .cells import Cells, list_other_cells, select_printed
from .chapter import Cell, Chapter, Table, find_like, format_number
from .comparison import INFINITE, Printed, convert_to_ratio

PAPER = ("Luo, Zhou, Kong, Liu, Cai, Lin: Analyzing the Characteristics of Memory Subsystem on Two "
         "Different 8-Way NUMA Architectures, NPC 2013")
MACHINES = "2 × Intel Xeon E5620 and 2 × Loongson 3A (LS 3A), four cores a node"
E5620, LS3A = "E5620", "LS 3A"
NAMES = {"e5620": E5620, "ls3a": LS3A, "loongson-3a": LS3A}
FILES = {E5620: "e5620", LS3A: "ls3a"}
THREADS = (1, 2, 3, 4)  # the paper's, of either side
NOT_NUMBERS = "The paper prints this figure as a picture."

DIFFERS = (
    "A worker is a process by default, because the kernel counts pages per process; the paper has threads.",
    "Workers are pinned to CPUs. In the lab a measurement is tens of milliseconds and the arrays are a few MiB.",
    "On the E5620 the paper reads counters; here bandwidth comes from time, as on its LS 3A.",
)


def _make_chapter(results: Results, name: str, title: str, says: str) -> Chapter:
    return Chapter(name, title, PAPER, MACHINES, says, machine=find_like(results, NAMES), differs=DIFFERS)


# The paper's text speaks of threads, and has a core for each. Memory is where a suite without that factor has it.
CHOICE = (("workers", "threads"), ("spread", "l3"), ("memory", "local"), ("memory", "remote"))


def select_cells(results: Results, *factors: str) -> Cells:
    return select_printed(results, factors, CHOICE)


def _add_other_runs(chapter: Chapter, results: Results, metric: str, rows: str, columns: str) -> None:
    """Adds a table of a metric in MB/s, by the factors `rows` and `columns`, for each combination of CHOICE's levels but the paper's."""
    for name, cells in list_other_cells(results, (rows, columns), CHOICE):
        head = cells.list_levels(columns, metric)
        chapter.tables.append(Table(
            text_format.begin_sentence(name),
            f"{text_format.begin_sentence(metric)}, MB/s, with a 95 % interval. The paper has none of it.",
            (f"{rows}, by {columns}", *(str(y) for y in head)),
            tuple((Cell(str(x)), *(format_number(cells.interval(metric, **{rows: x, columns: y})) for y in head))
                  for x in cells.list_levels(rows, metric))))


def make_contention(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Table 1 and Figs 5 to 7: MB/s by local and remote threads; `slug` begins the ids of its drawings."""
    cells = select_cells(results, "local", "remote")
    chapter = _make_chapter(
        results, "luo-contention", "Local and remote threads on one memory controller",
        "More local threads are not always more bandwidth: the best total stands where some threads "
        "are remote. On the E5620 a queue keeps about half of the controller for each side; on the "
        "LS 3A every thread competes alike.")
    metrics = ("bandwidth", "bandwidth_local", "bandwidth_remote")
    chapter.missing = cells.describe_missing(("local", "remote"), metrics)
    if not cells.values("bandwidth"):
        return chapter
    most = max(cells.list_levels("local", "bandwidth", remote=0), default=0)
    alone = cells.interval("bandwidth", local=most, remote=0)
    if most and alone:
        unit = f"{most}L0R"
        chapter.tables.append(_make_table(cells, alone.mean, unit))
        chapter.draw("Fig. 5", _draw_single(cells, chapter.machine, alone.mean, unit, slug),
                     f"One side alone, in parts of {unit}. Hollow and dashed: the paper's Table 1 of "
                     f"the {chapter.machine or E5620}, labelled paper, 4L0R = 1.")
        chapter.found = _describe_best(cells, alone.mean, unit)
    if cells.values("bandwidth_local"):
        chapter.draw("Fig. 6", _draw_impact(cells, "local", "remote", f"{slug}-fig6"),
                     "Bandwidth of the local threads together. " + NOT_NUMBERS)
    if cells.values("bandwidth_remote"):
        chapter.draw("Fig. 7", _draw_impact(cells, "remote", "local", f"{slug}-fig7"),
                     "Bandwidth of the remote threads together. " + NOT_NUMBERS)
    chapter.compare(results, lambda run: _list_printed_totals(select_cells(run, "local", "remote"), chapter.machine))
    _add_other_runs(chapter, results, "bandwidth", "local", "remote")
    return chapter


def _make_table(cells: Cells, alone: float, unit: str) -> Table:
    """Makes Table 1: total bandwidth over that of `unit`, `alone` in MB/s, by local and remote threads, the paper's machines below ours."""
    tables = {name: reference.read_luo(file) for name, file in FILES.items()}
    columns = cells.list_levels("remote")
    rows = []
    for x in cells.list_levels("local"):
        row = [Cell(f"{x}L")]
        for y in columns:
            ours = format_number(cells.interval("bandwidth", local=x, remote=y), scale=1 / alone, decimals=3)
            papers = tuple(f"{name} {values[x, y]:.2f}" for name, values in tables.items()
                           if (x, y) in values)
            row.append(Cell(ours.text, ours.value, papers))
        rows.append(tuple(row))
    return Table("Table 1", f"Total bandwidth, normalised to {unit}; ours with a 95 % interval "
                 "(the divisor's own is left out), and below it the paper's two machines, 4L0R = 1, "
                 "labelled paper.", ("threads", *(f"{y}R" for y in columns)), tuple(rows))


def _list_printed_totals(cells: Cells, machine: str) -> list[Printed]:
    """Lists the cells of Table 1 beside ours, in parts of the most local threads alone that both have.

    A machine that is none of the paper's has both its tables. Section 4 prints the local threads' part of the E5620."""
    most = max((n for n in THREADS if cells.values("bandwidth", local=n, remote=0)), default=0)
    printed = []
    for name in [machine] if machine else FILES:
        prefix = "" if machine else f"{name}, "
        table, alone = reference.read_luo(FILES[name]), cells.values("bandwidth", local=most, remote=0)
        for (x, y), value in table.items():
            ours = compute_ratio(cells.values("bandwidth", local=x, remote=y), alone)
            if ours and (x, y) != (most, 0):
                printed.append(Printed.number(f"{prefix}{x}L{y}R", f"parts of {most}L0R", value / table[most, 0], ours))
        if name == E5620:
            printed += [Printed(f"{prefix}local part of {x}L{y}R", "parts", 0.5, 0.6, _compute_local_part(cells, x, y))
                      for x in THREADS[1:] for y in THREADS[1:]]
    return printed


def _compute_local_part(cells: Cells, x: int, y: int) -> Ratio | None:
    """Returns the part of the local threads, by observation, as its local and its total bandwidth rise and fall together."""
    both = [(o.get_value("bandwidth_local"), o.get_value("bandwidth")) for o in cells.select(local=x, remote=y)]
    parts = [local / total for local, total in both if local is not None and total]
    return convert_to_ratio(compute_t_interval(parts)) if parts else None


def _draw_single(cells: Cells, machine: str, alone: float, unit: str, slug: str) -> str:
    """Draws Fig. 5: one side alone over the bandwidth of `unit`, `alone` in MB/s, beside the paper's Table 1; returns an <svg> element."""
    table = reference.read_luo(FILES[machine or E5620])
    curves = [
        cells.make_curve("local (xL, 0R)", "bandwidth", "local", scale=1 / alone, colour=0, remote=0),
        cells.make_curve("remote (0L, yR)", "bandwidth", "remote", scale=1 / alone, colour=1, local=0),
        Curve("local, paper", tuple(Point(x, table[x, 0]) for x in THREADS), paper=True, colour=0),
        Curve("remote, paper", tuple(Point(y, table[0, y]) for y in THREADS), paper=True, colour=1),
    ]
    curves = [Curve(c.name, tuple(p for p in c.points if p.x > 0), c.paper, c.colour)
              for c in curves]
    return charts.draw_lines(curves, f"{slug}-fig5", "Bandwidth of one side alone", "threads",
                             f"parts of {unit}", ticks=THREADS)


def _draw_impact(cells: Cells, side: str, other: str, slug: str) -> str:
    """Draws the bandwidth of one side along the number of threads of the other."""
    metric, letter = f"bandwidth_{side}", side[0].upper()
    curves = [cells.make_curve(f"{n} {side} ({n}{letter})", metric, other, **{side: n})
              for n in cells.list_levels(side, metric) if n > 0]
    return charts.draw_lines(curves, slug, f"Impact of {other} threads on {side} bandwidth",
                             f"{other} threads", f"{side} bandwidth, MB/s", ticks=cells.list_levels(other))


def _describe_best(cells: Cells, alone: float, unit: str) -> str:
    """Returns a sentence with the cell of the largest total, in parts of `unit`, whose bandwidth `alone` is in MB/s."""
    totals = {(x, y): cells.interval("bandwidth", local=x, remote=y)
              for x in cells.list_levels("local") for y in cells.list_levels("remote")}
    (x, y), best = max(((k, v) for k, v in totals.items() if v), key=lambda item: item[1].mean)
    return (f"The largest total stands at {x}L{y}R: {best.mean / alone:.2f} of {unit}, "
            f"which is {text_format.format_number(alone)} MB/s.")


def make_cross(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Fig. 8: MB/s of the referenced threads by opposite ones; `slug` begins the ids of its drawings."""
    cells = select_cells(results, "reference", "opposite")
    chapter = _make_chapter(
        results, "luo-cross", "Cross: threads on each node, memory on the other",
        "On the E5620 one opposite thread costs the others some 30 %, further ones nothing more; on "
        "the LS 3A opposite threads cost at most 10 %.")
    chapter.missing = cells.describe_missing(("reference", "opposite"), ("bandwidth_reference",))
    if not cells.values("bandwidth_reference"):
        return chapter
    curves = [cells.make_curve(f"{n} referenced", "bandwidth_reference", "opposite", reference=n)
              for n in cells.list_levels("reference", "bandwidth_reference") if n > 0]
    chapter.draw("Fig. 8", charts.draw_lines(curves, f"{slug}-fig8", "Bandwidth in the cross pattern",
                                             "opposite threads", "bandwidth of the referenced, MB/s",
                                             ticks=cells.list_levels("opposite")),
                 "Bandwidth of the referenced threads together. " + NOT_NUMBERS)
    chapter.compare(results, lambda run: _list_printed_cross(select_cells(run, "reference", "opposite"), chapter.machine))
    _add_other_runs(chapter, results, "bandwidth_reference", "reference", "opposite")
    return chapter


def _list_printed_cross(cells: Cells, machine: str) -> list[Printed]:
    """Lists the bounds of section 3.4 beside ours, in parts of none opposite.

    On the E5620 the first opposite thread costs two and more about 30 % and further ones nothing, and one thread loses less
    than 5 %; on the LS 3A none loses more than 10 %."""
    printed = []
    for name in [machine] if machine else FILES:
        prefix = "" if machine else f"{name}, "
        for n in THREADS:
            alone = cells.values("bandwidth_reference", reference=n, opposite=0)
            low, high = (0.9, INFINITE) if name == LS3A else (0.95, INFINITE) if n == 1 else (0.7, 0.7)
            for k in THREADS:
                ours = compute_ratio(cells.values("bandwidth_reference", reference=n, opposite=k), alone)
                printed.append(Printed(f"{prefix}{n} referenced, {k} opposite", "parts of none opposite", low, high, ours))
    return printed


def make_split(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Fig. 9: MB/s of threads with local and with remote memory; `slug` begins the ids of its drawings."""
    cells = select_cells(results, "local", "remote")
    chapter = _make_chapter(
        results, "luo-split", "Split: all threads on one node, memory on both",
        "On the LS 3A local and remote accesses from one node hardly disturb each other; on the "
        "E5620 local bandwidth falls with every thread that accesses the other node.")
    chapter.missing = cells.describe_missing(("local", "remote"), ("bandwidth_local", "bandwidth_remote"))
    for side, other in (("local", "remote"), ("remote", "local")):
        if cells.values(f"bandwidth_{side}"):
            chapter.draw("Fig. 9", _draw_impact(cells, side, other, f"{slug}-fig9-{side}"),
                         f"Bandwidth of the threads with {side} memory. " + NOT_NUMBERS)
    _add_other_runs(chapter, results, "bandwidth_local", "local", "remote")
    return chapter

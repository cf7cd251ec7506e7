# SPDX-License-Identifier: GPL-2.0-only
"""Bergstrom 2011: Figs 3 to 5 and the bandwidth each active node gives."""

from __future__ import annotations

from dataclasses import replace

from ..figures import charts
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import compute_ratio
from . import reference
from .cells import Cells, list_other_cells, select_printed
from .chapter import Cell, Chapter, Table, find_like, format_number
from .comparison import Printed

PAPER = "Bergstrom: Measuring NUMA effects with the STREAM benchmark, 2011"
MACHINES = "Dell R815 (4 × AMD Opteron 6172, 48 cores) and QSSC-S4R (4 × Intel Xeon X7560, 32 cores)"
AMD, INTEL = "AMD Opteron 6172", "Intel Xeon X7560"
NAMES = {"6172": AMD, "x7560": INTEL}
PEAK_MB_S = {AMD: 55_000.0, INTEL: 40_000.0}  # section 4: "nearly" and "near"
VARIANTS = (("unstrided", "local"), ("unstrided", "remote"), ("strided", "local"),
            ("strided", "remote"))
STRIDE = 8.0  # section 4: unstrided has "about" so many times the bandwidth of strided
TEXT = "The paper prints this figure as a picture; its text gives the peaks."

DIFFERS = (
    "The paper pins threads to nodes; here they are pinned to CPUs.",
    "np-mem's kernels stand for STREAM's.",
    "In the lab only COPY is run, on arrays of 12 to 36 MiB.",
)


FACTORS = ("operation", "access", "memory", "threads")
CHOICE = (("spread", "l3"),)  # a core for each thread, as in the paper


def select_cells(results: Results) -> Cells:
    return select_printed(results, FACTORS, CHOICE)


def make_stream(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Bergstrom's Figs 3 to 5, in MB/s and ns by threads; `slug` begins the ids of its drawings."""
    cells = select_cells(results)
    chapter = Chapter(
        "bergstrom-stream", "STREAM over threads, strides and memory's node", PAPER, MACHINES,
        "With memory on the thread's own node bandwidth grows until all cores run, to nearly 55 000 "
        "MB/s on the AMD and near 40 000 MB/s on the Intel machine. Memory on another package costs "
        "the AMD machine much, the Intel machine very little.", machine=find_like(results, NAMES), differs=DIFFERS)
    chapter.missing = cells.describe_missing(FACTORS, ("bandwidth", "latency", "active_nodes"))
    if not cells.values("bandwidth"):
        return chapter
    shown = "copy" if "copy" in cells.list_levels("operation") else cells.list_levels("operation")[0]
    _draw_figures(chapter, cells, shown, slug)
    chapter.tables.append(_make_table(cells))
    for name, other in list_other_cells(results, FACTORS, CHOICE):
        chapter.tables.append(replace(_make_table(other), number=text_format.begin_sentence(name)))
    local = cells.make_curve("", "bandwidth", "threads", operation=shown, access="unstrided",
                             memory="local")
    if local.points:
        best = max(local.points, key=lambda p: p.y)
        chapter.found = (f"The most of {shown}, unstrided, with local memory is "
                         f"{text_format.format_number(best.y)} MB/s at {text_format.format_tick(best.x)} threads.")
    chapter.compare(results, lambda run: _list_printed(select_cells(run), chapter.machine))
    return chapter


def _list_printed(cells: Cells, machine: str) -> list[Printed]:
    """Returns the numbers of section 4: of COPY with all cores and local memory."""
    fixed = {"operation": "copy", "memory": "local"}
    most = max(cells.list_levels("threads", "bandwidth", access="unstrided", **fixed), default=0)
    unstrided, strided = (cells.values("bandwidth", threads=most, access=a, **fixed) for a in ("unstrided", "strided"))
    peaks = {machine: PEAK_MB_S[machine]} if machine else PEAK_MB_S
    found = [Printed.number("peak" if machine else f"{name}, peak", "MB/s", peak, cells.interval("bandwidth", threads=most, access="unstrided", **fixed))
             for name, peak in peaks.items()]
    return [*found, Printed.number("unstrided / strided", "", STRIDE, compute_ratio(unstrided, strided))]


def _draw_figures(chapter: Chapter, cells: Cells, shown: str, slug: str) -> None:
    """Draws Fig. 3 (MB/s by threads), Fig. 4 (for each active node) and Fig. 5 (ns) into the chapter; `shown` is the operation."""
    curves = [cells.make_curve(f"{access}, {memory}", "bandwidth", "threads", operation=shown,
                               access=access, memory=memory) for access, memory in VARIANTS]
    curves = [c for c in curves if c.points]
    chapter.draw("Fig. 3", charts.draw_lines(curves, f"{slug}-fig3", f"Bandwidth of {shown}", "threads",
                                             "bandwidth, MB/s"), f"{shown.upper()}. {TEXT}")
    nodes = _count_active_nodes(cells)
    if nodes:
        each = [_divide_by_nodes(c, nodes) for c in curves]
        lines = _make_theoretical_curves(chapter.machine, sorted(nodes))
        chapter.draw("Fig. 4", charts.draw_lines([*each, *lines], f"{slug}-fig4",
                                                 f"Bandwidth of {shown} for each active node", "threads",
                                                 "MB/s for each node"),
                     f"{shown.upper()}, divided by the nodes that run threads. Hollow and dashed: "
                     f"the theoretical bandwidth of the paper's Tables 2 and 4, labelled paper. {TEXT}")
    latencies = [cells.make_curve(f"strided, {memory}", "latency", "threads", operation=shown,
                                  access="strided", memory=memory) for memory in ("local", "remote")]
    if any(c.points for c in latencies):
        chapter.draw("Fig. 5", charts.draw_lines([c for c in latencies if c.points], f"{slug}-fig5",
                                                 f"Latency of {shown}", "threads", "latency, ns"),
                     f"{shown.upper()}, strided: every access a line of its own. {TEXT}")


def _count_active_nodes(cells: Cells) -> dict[int, float]:
    """Returns active nodes by threads, which are the same in every variant."""
    found = {n: cells.interval("active_nodes", threads=n) for n in cells.list_levels("threads")}
    return {n: interval.mean for n, interval in found.items() if interval}


def _divide_by_nodes(curve: Curve, nodes: dict[int, float]) -> Curve:
    """Divides a curve over threads by the active nodes, `nodes` by threads; without the points whose nodes are not known."""
    def scale_point(p: Point) -> Point:
        n = nodes[int(p.x)]
        return Point(p.x, p.y / n, *(None if e is None else e / n for e in (p.low, p.high)))

    return Curve(curve.name, tuple(scale_point(p) for p in curve.points if int(p.x) in nodes))


def _read_theoretical(machine: str) -> dict[str, float]:
    """Returns the theoretical MB/s of each path of a machine, of Tables 2 and 4; {} where it is "", none of the paper's."""
    return {row["path"]: 1000 * float(row["bandwidth_gb_s"])
            for row in reference.read_rows("bergstrom-tables-2-4.csv")
            if machine and row["machine"].startswith(machine)}


def _make_theoretical_curves(machine: str, threads: list[int]) -> list[Curve]:
    """Makes a horizontal line at the theoretical MB/s of each path, over the range of `threads`, in colours after those of VARIANTS."""
    ends = (threads[0], threads[-1])
    return [Curve(f"{path}, theory", tuple(Point(x, value) for x in ends), paper=True, colour=len(VARIANTS) + i)
            for i, (path, value) in enumerate(_read_theoretical(machine).items())]


def _make_table(cells: Cells) -> Table:
    """Makes the table of MB/s: a row for each operation and number of threads, a column for each variant that was run."""
    variants = [(access, memory) for access, memory in VARIANTS if cells.values("bandwidth", access=access, memory=memory)]
    rows = []
    for operation in cells.list_levels("operation"):
        for n in cells.list_levels("threads"):
            row = [format_number(cells.interval("bandwidth", operation=operation, threads=n, access=a,
                                                memory=m)) for a, m in variants]
            rows.append((Cell(f"{operation}, {n}"), *row))
    return Table("Figs 3 and 4 as numbers", "MB/s with a 95 % interval; the paper prints none.",
                 ("operation, threads", *(f"{a}, {m}" for a, m in variants)), tuple(rows))

# SPDX-License-Identifier: GPL-2.0-only
"""Bergstrom 2011: Figs 3 to 5 and the bandwidth each active node gives."""

from __future__ import annotations

from dataclasses import replace

from ..figures import charts
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import ratio
from . import reference
from .cells import Cells, chosen, others
from .chapter import Cell, Chapter, Table, like, number
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


def cells_of(results: Results) -> Cells:
    return chosen(results, FACTORS, CHOICE)


def stream(results: Results, slug: str) -> Chapter:
    cells = cells_of(results)
    chapter = Chapter(
        "bergstrom-stream", "STREAM over threads, strides and memory's node", PAPER, MACHINES,
        "With memory on the thread's own node bandwidth grows until all cores run, to nearly 55 000 "
        "MB/s on the AMD and near 40 000 MB/s on the Intel machine. Memory on another package costs "
        "the AMD machine much, the Intel machine very little.", machine=like(results, NAMES), differs=DIFFERS)
    chapter.missing = cells.missing(("operation", "access", "memory", "threads"),
                                    ("bandwidth", "latency", "active_nodes"))
    if not cells.values("bandwidth"):
        return chapter
    shown = "copy" if "copy" in cells.levels("operation") else cells.levels("operation")[0]
    _draw(chapter, cells, shown, slug)
    chapter.tables.append(_table(cells))
    for name, other in others(results, FACTORS, CHOICE):
        chapter.tables.append(replace(_table(other), number=text_format.sentence(name)))
    local = cells.curve("", "bandwidth", "threads", operation=shown, access="unstrided",
                        memory="local")
    if local.points:
        best = max(local.points, key=lambda p: p.y)
        chapter.found = (f"The most of {shown}, unstrided, with local memory is "
                         f"{text_format.number(best.y)} MB/s at {text_format.tick(best.x)} threads.")
    chapter.compare(results, lambda run: _printed_numbers(cells_of(run), chapter.machine))
    return chapter


def _printed_numbers(cells: Cells, machine: str) -> list[Printed]:
    """The numbers of section 4, of COPY with all cores and local memory."""
    fixed = {"operation": "copy", "memory": "local"}
    most = max(cells.levels("threads", "bandwidth", access="unstrided", **fixed), default=0)
    unstrided, strided = (cells.values("bandwidth", threads=most, access=a, **fixed) for a in ("unstrided", "strided"))
    peaks = {machine: PEAK_MB_S[machine]} if machine else PEAK_MB_S
    found = [Printed.number("peak" if machine else f"{name}, peak", "MB/s", peak, cells.interval("bandwidth", threads=most, access="unstrided", **fixed))
             for name, peak in peaks.items()]
    return [*found, Printed.number("unstrided / strided", "", STRIDE, ratio(unstrided, strided) if unstrided and strided else None)]


def _draw(chapter: Chapter, cells: Cells, shown: str, slug: str) -> None:
    curves = [cells.curve(f"{access}, {memory}", "bandwidth", "threads", operation=shown,
                          access=access, memory=memory) for access, memory in VARIANTS]
    curves = [c for c in curves if c.points]
    chapter.draw("Fig. 3", charts.lines(curves, f"{slug}-fig3", f"Bandwidth of {shown}", "threads",
                                        "bandwidth, MB/s"), f"{shown.upper()}. {TEXT}")
    nodes = _nodes(cells)
    if nodes:
        each = [_per_node(c, nodes) for c in curves]
        lines = _theoretical(chapter.machine, sorted(nodes))
        chapter.draw("Fig. 4", charts.lines([*each, *lines], f"{slug}-fig4",
                                            f"Bandwidth of {shown} for each active node", "threads",
                                            "MB/s for each node"),
                     f"{shown.upper()}, divided by the nodes that run threads. Hollow and dashed: "
                     f"the theoretical bandwidth of the paper's Tables 2 and 4, labelled paper. {TEXT}")
    latencies = [cells.curve(f"strided, {memory}", "latency", "threads", operation=shown,
                             access="strided", memory=memory) for memory in ("local", "remote")]
    if any(c.points for c in latencies):
        chapter.draw("Fig. 5", charts.lines([c for c in latencies if c.points], f"{slug}-fig5",
                                            f"Latency of {shown}", "threads", "latency, ns"),
                     f"{shown.upper()}, strided: every access a line of its own. {TEXT}")


def _nodes(cells: Cells) -> dict[int, float]:
    """Active nodes by threads, the same in every variant."""
    found = {n: cells.interval("active_nodes", threads=n) for n in cells.levels("threads")}
    return {n: interval.mean for n, interval in found.items() if interval}


def _per_node(curve: Curve, nodes: dict[int, float]) -> Curve:
    def scaled(p: Point) -> Point:
        n = nodes[int(p.x)]
        return Point(p.x, p.y / n, *(None if e is None else e / n for e in (p.low, p.high)))

    return Curve(curve.name, tuple(scaled(p) for p in curve.points if int(p.x) in nodes))


def _printed(machine: str) -> dict[str, float]:
    """Theoretical MB/s of the paths, of Tables 2 and 4."""
    return {row["path"]: 1000 * float(row["bandwidth_gb_s"])
            for row in reference.rows("bergstrom-tables-2-4.csv")
            if machine and row["machine"].startswith(machine)}


def _theoretical(machine: str, threads: list[int]) -> list[Curve]:
    ends = (threads[0], threads[-1])
    return [Curve(f"{path}, theory", tuple(Point(x, value) for x in ends), True, 4 + i)
            for i, (path, value) in enumerate(_printed(machine).items())]


def _table(cells: Cells) -> Table:
    variants = [v for v in VARIANTS
                if cells.values("bandwidth", access=v[0], memory=v[1])]
    rows = []
    for operation in cells.levels("operation"):
        for n in cells.levels("threads"):
            row = [number(cells.interval("bandwidth", operation=operation, threads=n, access=a,
                                         memory=m)) for a, m in variants]
            rows.append((Cell(f"{operation}, {n}"), *row))
    return Table("Figs 3 and 4 as numbers", "MB/s with a 95 % interval; the paper prints none.",
                 ("operation, threads", *(f"{a}, {m}" for a, m in variants)), tuple(rows))

# SPDX-License-Identifier: GPL-2.0-only
"""Bergstrom 2011: Figs 3 to 5 and the bandwidth each active node gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..figures import charts
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..runs.results import Results
from . import reference, scatter
from .cells import Cells, chosen, others
from .chapter import Cell, Chapter, Table, like, number
from .checks import CONSTRUCTION, FITTED, INFINITE, MODEL, Part, Statement, between, every, greater, some

PAPER = "Bergstrom: Measuring NUMA effects with the STREAM benchmark, 2011"
MACHINES = "Dell R815 (4 × AMD Opteron 6172, 48 cores) and QSSC-S4R (4 × Intel Xeon X7560, 32 cores)"
AMD, INTEL = "AMD Opteron 6172", "Intel Xeon X7560"
NAMES = {"6172": AMD, "x7560": INTEL}
THREADS = (1, 2, 4, 8, 16, 24, 32, 40, 48)  # of the paper's figures
CORES = {AMD: 48, INTEL: 32}
OPERATIONS = ("copy", "scale", "sum", "triad")
PEAK_MB_S = {AMD: 55_000.0, INTEL: 40_000.0}  # section 4: "nearly" and "near"
VARIANTS = (("unstrided", "local"), ("unstrided", "remote"), ("strided", "local"),
            ("strided", "remote"))
TEXT = "The paper prints this figure as a picture; its text gives the peaks and the statements below."

DIFFERS = (
    "The paper pins threads to nodes; here they are pinned to CPUs.",
    "np-mem's kernels stand for STREAM's.",
    "In the lab only COPY is run, on arrays of 12 to 36 MiB.",
    "The theoretical bandwidth is compared with all bytes on the bus: STREAM credits a strided copy with 16 of the 192 "
    "bytes that it moves, so its own count is under 9 % of the bus on any machine.",
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
    _against(chapter, cells, slug)
    chapter.judge(results, lambda run: statements(cells_of(run), shown))
    return chapter


def _against(chapter: Chapter, cells: Cells, slug: str) -> None:
    """The one number that the text has of this machine; the theory of Tables 2 and 4 is a bound."""
    fixed = {"operation": "copy", "access": "unstrided", "memory": "local"}
    most = max(cells.levels("threads", "bandwidth", **fixed), default=0)
    ours = cells.interval("bandwidth", threads=most, **fixed)
    if ours and chapter.machine in PEAK_MB_S:
        points = (scatter.pair(PEAK_MB_S[chapter.machine], ours),)
        chapter.draw("Peak against ours", scatter.draw([Curve(chapter.machine, points)], f"{slug}-against", "Peak against ours", "MB/s"),
                     f"COPY with all cores and local memory. {scatter.CAPTION}")


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


class _Samples:
    def __init__(self, cells: Cells, operation: str, metric: str = "bandwidth") -> None:
        self.cells, self.operation, self.metric = cells, operation, metric
        run = cells.levels("threads", metric, operation=operation)
        self.threads = run or list(THREADS)
        self.most = max(self.threads)
        self.paper = sorted({*self.threads, *(n for n in THREADS if n <= self.most)})  # what the run lacks is counted

    def __call__(self, access: str, memory: str, n: int) -> list[float]:
        return self.cells.values(self.metric, operation=self.operation, access=access,
                                 memory=memory, threads=n)

    def gap(self, access: str, n: int, low: float, high: float = INFINITE) -> Part:
        return between(f"local / remote at {n}", self(access, "local", n), self(access, "remote", n),
                       low, high)


def statements(cells: Cells, shown: str) -> list[Statement]:
    return [*_bandwidth(cells, shown), *_by_machine(cells, shown), *_latency(cells, shown)]


def _bandwidth(cells: Cells, shown: str) -> list[Statement]:
    s = _Samples(cells, shown)
    eight = [between(f"unstrided / strided at {n}", s("unstrided", "local", n),
                     s("strided", "local", n), 5, 11) for n in s.paper]
    few = sorted({2, 4, 8, *(n for n in s.threads if 1 < n <= 8)})
    linear = [between(f"{n} threads / {n} × 1", s("unstrided", "local", n),
                      [v * n for v in s("unstrided", "local", 1)], 0.8) for n in few]
    grows = [greater(f"{b} / {a} threads", s("unstrided", "local", b), s("unstrided", "local", a))
             for a, b in pairwise(s.threads)]
    return [
        every("section 4, Fig. 3", "unstrided has about eight times the bandwidth of strided "
              "(read as 5 to 11)", eight, kind=CONSTRUCTION),
        every("section 4, Fig. 3", "up to eight threads, local bandwidth grows almost linearly "
              "(read as 80 % of it or more)", linear, kind=FITTED),
        every("section 4, Fig. 3", "local bandwidth grows up to the number of cores", grows, kind=FITTED),
        every("section 4", "the four operations are within a small factor of each other (read as 1.5)",
              [between(f"{o} / copy at {n}", _Samples(cells, o)("unstrided", "local", n),
                       _Samples(cells, "copy")("unstrided", "local", n), 1 / 1.5, 1.5)
               for o in OPERATIONS[1:] for n in s.threads]),
    ]


def _by_machine(cells: Cells, shown: str) -> list[Statement]:
    s, n = _Samples(cells, shown), 0
    n = s.most
    others = sorted({*s.threads, 24, 32, 40} - {n})  # it may fall from any of these
    loses = [greater(f"{m} / {n} threads", s("unstrided", "remote", m), s("unstrided", "remote", n))
             for m in others]
    peaks = {machine: between(f"most / {text_format.number(peak)} MB/s", s("unstrided", "local", n),
                              [peak, peak], 0.85, 1.15) for machine, peak in PEAK_MB_S.items()}
    return [
        every("section 4, Fig. 3", "the peak is near 55 000 MB/s (read as within 15 %)",
              [peaks[AMD]], AMD, FITTED),
        every("section 4, Fig. 3", "memory on another package is a large penalty when all cores "
              "run (read as 15 % or more)", [s.gap("unstrided", n, 1.15)], AMD, FITTED),
        some("section 4, Fig. 3", "with remote memory bandwidth falls again before all cores run",
             loses, AMD, FITTED),
        every("section 4, Fig. 3", "the peak is near 40 000 MB/s (read as within 15 %)",
              [peaks[INTEL]], INTEL, FITTED),
        every("section 4, Fig. 3", "memory on another package costs very little (read as under "
              "10 %)", [s.gap("unstrided", m, 0.9, 1.1) for m in s.paper], INTEL, FITTED),
        every("section 4, Fig. 4", "it begins to saturate at 32 threads (read as less than 95 % of 32 / 24 of what 24 get)",
              [between("32 threads / 32/24 × 24", s("unstrided", "local", 32),
                       [v * 32 / 24 for v in s("unstrided", "local", 24)], high=0.95)], INTEL, FITTED),
        *_theory(cells, shown),
    ]


def _theory(cells: Cells, shown: str) -> list[Statement]:
    """By all bytes on the bus. STREAM credits a strided copy with 16 bytes of the three lines that it moves, so by its
    own count it stays under 9 % on any machine."""
    s, nodes = _Samples(cells, shown, "bandwidth_bus"), _nodes(cells)
    checks = []
    for machine in (AMD, INTEL):
        local = _printed(machine)["local memory"]
        parts = [between(f"{m} threads: strided, bytes on the bus / theory", s("strided", "local", m),
                         [local * nodes.get(m, 0)] * 2, high=0.8) for m in s.paper]
        checks.append(every("section 4, Fig. 4", "strided bandwidth of a node stays far under the "
                            "theoretical (read as: the bytes on the bus under 80 %)", parts, machine, FITTED))
    return checks


def _latency(cells: Cells, shown: str) -> list[Statement]:
    """Few and many threads as parts of the cores: on the Intel machine latencies are low up to three in four."""
    s = _Samples(cells, shown, "latency")
    first, n = s.threads[0], s.most

    def growth(memory: str, m: int, low: float, high: float = INFINITE, start: int = first) -> Part:
        return between(f"{memory}: {m} / {start} threads", s("strided", memory, m), s("strided", memory, start), low, high)

    def upto(machine: str, least: float, most: float) -> list[int]:
        return [m for m in s.paper if m != first and least * CORES[machine] <= m <= most * CORES[machine]]

    worse = between(f"remote / local at {n} threads", s("strided", "remote", n), s("strided", "local", n), 1.0)
    return [
        every("section 5, Fig. 5", "with all cores, remote memory has the higher latency", [worse], kind=MODEL),
        every("section 5, Fig. 5", "local latency stays good up to large numbers of threads (read as under 1.3 times up "
              "to three in four cores)", [growth("local", m, -INFINITE, 1.3) for m in upto(AMD, 0, 0.75)], AMD),
        some("section 5, Fig. 5", "remote latency is high at moderate numbers of threads (read as over 1.3 times between a "
             "third and two thirds of the cores)", [growth("remote", m, 1.3) for m in upto(AMD, 1 / 3, 2 / 3)], AMD),
        every("section 5, Fig. 5", "latency stays low up to 24 threads (read as under 1.3 times)",
              [growth("local", m, -INFINITE, 1.3) for m in upto(INTEL, 0, 0.75)], INTEL, FITTED),
        every("section 5, Fig. 5", "beyond 24 threads latency grows, local and remote",
              [growth(memory, m, 1.0, start=24) for memory in ("local", "remote") for m in s.paper
               if 24 < m <= CORES[INTEL]], INTEL),
    ]

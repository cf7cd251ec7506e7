# SPDX-License-Identifier: GPL-2.0-only
"""Heard and Shafiee: Figs 8 to 14, cachetest's patterns over sizes, and the slowdown."""

from __future__ import annotations

from itertools import product
from math import sqrt
from statistics import fmean, variance

from scipy.stats import chi2

from ..figures import charts, heatmap
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import LEVEL, Ratio, compute_ratio
from .cells import Cells, Level
from .chapter import Cell, Chapter, Table, find_like
from .comparison import INFINITE, Printed

PAPER = ("Heard and Shafiee: Characterization of cache performance interaction on NUMA systems, "
         "University of Waterloo, 2013")
MACHINES = "4 × six-core AMD Opteron at 2.4 GHz (L2 512 KB, L3 6 MB)"
OPTERON = "six-core Opteron"
NAMES = {"opteron-sixcore": OPTERON, "six-core amd opteron": OPTERON}
PICTURE = "The paper prints this figure as a picture."
OVER = {"sequential": 60.0, "uniform": 40.0}  # percent, section V.A and V.B: the slowdown is over that at some size
DEVIATION = 0.01  # in parts of the mean, section IV.C
PATTERNS, MEMORIES = ("sequential", "uniform", "zipf"), ("local", "remote")
SLOWDOWN = ("Slowdown: how much longer an iteration (one access, in a Zipf walk one with its prefix) "
            "takes with remote memory, local / remote iterations − 1; the paper does not define it.")
FIGURES = {"sequential": ("Fig. 8", "Fig. 9"), "uniform": ("Fig. 10", "Fig. 11")}

DIFFERS = (
    "The paper draws a walk into an array before it measures; here the walk is drawn while it runs.",
    "A run is 60 ms in the lab (40 ms with --quick) and 20 s on hardware; the paper has 20 runs of 20 s.",
    "Pages are huge where the machine has them: of small pages a set nearly as large as a cache meets conflicts that "
    "depend on the node.",
    "Slowdown is local / remote iterations − 1; the paper does not define it.",
    "Fig. 3 (50 draws for four α) is not drawn: it shows the generator, which a unit test of np-mem checks.",
)


def select_cells(results: Results) -> Cells:
    return Cells(results, ("pattern", "alpha", "size_kb", "memory"))


def make_cachetest(results: Results, slug: str) -> Chapter:
    """Makes the chapter of Figs 8 to 14: iterations a second and slowdown in percent by size; `slug` begins the drawings' ids."""
    cells = select_cells(results)
    chapter = Chapter(
        "heard-cachetest", "Cachetest: patterns, sizes, local and remote memory", PAPER, MACHINES,
        "Remote memory costs most once the data outgrow the last-level cache: over 60 % for "
        "sequential, over 40 % for uniform random accesses, little for Zipf walks, and next to "
        "nothing where α is 1.25 or less.", machine=find_like(results, NAMES), differs=DIFFERS)
    chapter.missing = cells.describe_missing(("pattern", "size_kb", "memory"), ("iterations",))
    if chapter.missing:
        return chapter
    for pattern, (absolute, relative) in FIGURES.items():
        if cells.values("iterations", pattern=pattern):
            _add_pattern(chapter, cells, pattern, absolute, relative, slug)
    if cells.values("iterations", pattern="zipf"):
        _add_zipf(chapter, cells, slug)
    chapter.tables.append(_make_table(cells))
    chapter.found = _describe_worst(cells)
    chapter.compare(results, lambda run: _list_printed(select_cells(run)))
    return chapter


def _list_printed(cells: Cells) -> list[Printed]:
    """Returns the largest slowdown over the sizes of each pattern, and the deviation of the cells of each pattern and memory."""
    largest = [Printed(f"{pattern}, largest slowdown", "%", over, INFINITE, _find_largest_slowdown(cells, pattern)) for pattern, over in OVER.items()]
    return largest + [Printed(f"{pattern}, {memory}, standard deviation", "parts of the mean", -INFINITE, DEVIATION, compute_deviation(cells, pattern, memory))
                      for pattern, memory in product(PATTERNS, MEMORIES)]


def _find_largest_slowdown(cells: Cells, pattern: str) -> Ratio | None:
    """Finds the largest slowdown over the sizes of a pattern, in percent; None where no size has both memories."""
    found = [Ratio(*s) for size in cells.list_levels("size_kb", "iterations", pattern=pattern)
             if (s := compute_slowdown(cells, pattern=pattern, size_kb=size))]
    return max(found, key=lambda s: s.value, default=None)


def compute_deviation(cells: Cells, pattern: str, memory: str) -> Ratio | None:
    """Computes the root mean square of the cells' standard deviations, in parts of their means, with its interval by chi-squared.

    Returns None where no cell has two observations. Each of the six intervals has its share of the 5 %."""
    groups: dict[tuple[object, object], list[float]] = {}
    for o in cells.select(pattern=pattern, memory=memory):
        if (value := o.get_value("iterations")) is not None:
            groups.setdefault((o.factors.get("alpha"), o.factors["size_kb"]), []).append(value)
    freedoms_and_squares = [(len(g) - 1, variance(g) / fmean(g) ** 2) for g in groups.values() if len(g) > 1]
    freedom = sum(n for n, _ in freedoms_and_squares)
    if not freedom:
        return None
    square = sum(n * relative for n, relative in freedoms_and_squares) / freedom
    miss = (1 - LEVEL) / (len(PATTERNS) * len(MEMORIES))  # how often this interval may miss
    return Ratio(sqrt(square), *(sqrt(square * freedom / chi2.ppf(p, freedom)) for p in (1 - miss / 2, miss / 2)))


def compute_slowdown(cells: Cells, **fixed: Level) -> tuple[float, float | None, float | None] | None:
    """Returns the slowdown by remote memory in percent, with Fieller's limits; None without both memories."""
    local = cells.values("iterations", memory="local", **fixed)
    remote = cells.values("iterations", memory="remote", **fixed)
    found = compute_ratio(local, remote) if local and remote else None
    if found is None:
        return None
    low, high = (None if e is None else 100 * (e - 1) for e in (found.low, found.high))
    return 100 * (found.value - 1), low, high


def _make_slowdown_curve(cells: Cells, name: str, **fixed: Level) -> Curve:
    """Makes the curve of the slowdown in percent, with Fieller's limits, by size in KB."""
    points = []
    for size in cells.list_levels("size_kb", "iterations", **fixed):
        found = compute_slowdown(cells, size_kb=size, **fixed)
        if found:
            points.append(Point(float(size), *found))
    return Curve(name, tuple(points))


def _add_pattern(chapter: Chapter, cells: Cells, pattern: str, absolute: str, relative: str, slug: str) -> None:
    """Draws the figures of these numbers into the chapter: `absolute` of iterations a second, `relative` of the slowdown in percent."""
    curves = [cells.make_curve(memory, "iterations", "size_kb", pattern=pattern, memory=memory)
              for memory in ("local", "remote")]
    chapter.draw(absolute, charts.draw_lines(curves, f"{slug}-{pattern}", f"{pattern}: performance",
                                             "data set, KB", "iterations/s"),
                 f"{pattern.capitalize()} accesses. {PICTURE}")
    chapter.draw(relative, charts.draw_lines([_make_slowdown_curve(cells, pattern, pattern=pattern)],
                                             f"{slug}-{pattern}-slow", f"{pattern}: slowdown",
                                             "data set, KB", "slowdown, %", from_zero=False),
                 f"{SLOWDOWN} {PICTURE}")


def _add_zipf(chapter: Chapter, cells: Cells, slug: str) -> None:
    """Draws Figs 12 to 14 into the chapter: maps of iterations a second and of the slowdown, by α and size in KB."""
    alphas = cells.list_levels("alpha", "iterations", pattern="zipf")
    sizes = cells.list_levels("size_kb", "iterations", pattern="zipf")
    for memory, figure in (("local", "Fig. 12"), ("remote", "Fig. 13")):
        grid = [[_compute_mean(cells, alpha, size, memory) for size in sizes] for alpha in alphas]
        chapter.draw(figure, heatmap.draw_grid(
            grid, alphas, sizes, f"{slug}-zipf-{memory}", f"Zipf, {memory} memory: performance",
            "data set, KB", "α", "iterations/s", log=True),
            f"Zipf walks with {memory} memory; the surface of the paper as a map, colours on a "
            f"logarithmic scale. {PICTURE}")
    grid = [[(compute_slowdown(cells, pattern="zipf", alpha=a, size_kb=s) or (None,))[0] for s in sizes]
            for a in alphas]
    chapter.draw("Fig. 14", heatmap.draw_grid(
        grid, alphas, sizes, f"{slug}-zipf-slow", "Zipf: slowdown", "data set, KB", "α",
        "slowdown, %"), f"{SLOWDOWN} {PICTURE}")


def _compute_mean(cells: Cells, alpha: float, size: int, memory: str) -> float | None:
    found = cells.interval("iterations", pattern="zipf", alpha=alpha, size_kb=size, memory=memory)
    return found.mean if found else None


def _make_table(cells: Cells) -> Table:
    """Makes the table of slowdowns in percent: a row for each pattern and α, a column for each size in KB."""
    sizes = cells.list_levels("size_kb", "iterations")
    kinds: list[tuple[str, dict[str, Level]]] = [
        (p, {"pattern": p}) for p in FIGURES if cells.values("iterations", pattern=p)]
    kinds += [(f"zipf {a:g}", {"pattern": "zipf", "alpha": a})
              for a in cells.list_levels("alpha", "iterations", pattern="zipf")]
    rows = []
    for name, fixed in kinds:
        found = [compute_slowdown(cells, size_kb=size, **fixed) for size in sizes]
        rows.append((Cell(name), *(_format_slowdown(f) for f in found)))
    return Table("Figs 9, 11 and 14 as numbers", f"Slowdown in percent by size in KB, small: its 95 % interval. {SLOWDOWN} "
                 "The paper's text: over 60 % sequential, over 40 % uniform.",
                 ("pattern", *(str(size) for size in sizes)), tuple(rows))


def _format_slowdown(found: tuple[float, float | None, float | None] | None) -> Cell:
    """Formats a slowdown in percent with its limits, below it and small."""
    if found is None:
        return Cell(text_format.DASH)
    value, low, high = found
    limits = () if low is None else (f"{low:.1f} to {high:.1f}".replace("-", "−"),)
    return Cell(f"{value:.1f}".replace("-", "−"), value, limits)


def _describe_worst(cells: Cells) -> str:
    """Returns a sentence with the largest slowdown of each pattern in percent, and its size in KB; '' without any."""
    parts = []
    for pattern in (*FIGURES, "zipf"):
        found = [(p.y, p.x) for a in (cells.list_levels("alpha", pattern=pattern) or [None])
                 for p in _make_slowdown_curve(cells, "", pattern=pattern, **({} if a is None else {"alpha": a})
                                     ).points]
        if found:
            most, size = max(found)
            parts.append(f"{pattern} {most:.0f} % at {text_format.format_tick(size)} KB")
    return f"The largest slowdowns: {', '.join(parts)}." if parts else ""

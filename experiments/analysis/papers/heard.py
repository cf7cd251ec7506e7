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
from ..runs.results import Results, compute_mean
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
    found = [compute_slowdown(cells, pattern=pattern, size_kb=size) for size in cells.list_levels("size_kb", "iterations", pattern=pattern)]
    return max(filter(None, found), key=lambda slowdown: slowdown.value, default=None)


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


def compute_slowdown(cells: Cells, **fixed: Level) -> Ratio | None:
    """Computes the slowdown by remote memory in percent, with Fieller's limits; None without both memories."""
    found = compute_ratio(cells.values("iterations", memory="local", **fixed), cells.values("iterations", memory="remote", **fixed))
    if found is None:
        return None
    return Ratio(*(None if times is None else 100 * (times - 1) for times in (found.value, found.low, found.high)))


def _make_slowdown_curve(cells: Cells, name: str, **fixed: Level) -> Curve:
    """Makes the curve of the slowdown in percent, with Fieller's limits, by size in KB."""
    points = []
    for size in cells.list_levels("size_kb", "iterations", **fixed):
        found = compute_slowdown(cells, size_kb=size, **fixed)
        if found:
            points.append(Point(float(size), found.value, found.low, found.high))
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
    slowdowns = [[compute_slowdown(cells, pattern="zipf", alpha=a, size_kb=s) for s in sizes] for a in alphas]
    grid = [[found.value if found else None for found in row] for row in slowdowns]
    chapter.draw("Fig. 14", heatmap.draw_grid(
        grid, alphas, sizes, f"{slug}-zipf-slow", "Zipf: slowdown", "data set, KB", "α",
        "slowdown, %"), f"{SLOWDOWN} {PICTURE}")


def _compute_mean(cells: Cells, alpha: float, size: int, memory: str) -> float | None:
    return compute_mean(cells.select(pattern="zipf", alpha=alpha, size_kb=size, memory=memory), "iterations")


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


def _format_slowdown(found: Ratio | None) -> Cell:
    """Formats a slowdown in percent with its limits, below it and small; a dash for None."""
    if found is None:
        return Cell(text_format.DASH)
    limits = () if found.low is None else (f"{found.low:.1f} to {found.high:.1f}".replace("-", "−"),)
    return Cell(f"{found.value:.1f}".replace("-", "−"), found.value, limits)


def _describe_worst(cells: Cells) -> str:
    """Returns a sentence with the largest slowdown of each pattern in percent, and its size in KB; '' without any."""
    parts = []
    for pattern in PATTERNS:
        curves = [_make_slowdown_curve(cells, "", pattern=pattern, **fixed)
                  for fixed in [{"alpha": alpha} for alpha in cells.list_levels("alpha", pattern=pattern)] or [{}]]
        worst = max((point for curve in curves for point in curve.points), key=lambda point: (point.y, point.x), default=None)
        if worst:
            parts.append(f"{pattern} {worst.y:.0f} % at {text_format.format_tick(worst.x)} KB")
    return f"The largest slowdowns: {', '.join(parts)}." if parts else ""

# SPDX-License-Identifier: GPL-2.0-only
"""Statements of Heard and Shafiee's text about its figures.

Sizes are the paper's on its own machine. On another one they are the same parts of its own caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import sqrt
from statistics import fmean, variance

from scipy.stats import chi2

from ..stats.intervals import LEVEL, Ratio
from .cells import Cells, Level
from .checks import FITTED, INFINITE, MODEL, Part, Statement, between, every, greater, some

OPTERON = "six-core Opteron"
SIZES = (500, 1473, 2447, 3420, 4394, 5368, 6341, 7315, 8288, 9262)
ALPHAS = (1.05, 1.15, 1.25, 1.35, 1.45, 1.55, 2.05, 3.05, 4.05)
PATTERNS, MEMORIES = ("sequential", "uniform", "zipf"), ("local", "remote")


@dataclass(frozen=True)
class Caches:
    """KB, and the sizes that the text names as parts of the paper's last level."""

    l2: float
    l3: float

    @property
    def near(self) -> float:
        """The smallest of the paper's sizes that "approaches" the last level."""
        return self.l3 * 4394 / 6144

    @property
    def most_in(self) -> float:
        """Its "about 5 MB"."""
        return self.l3 * 5000 / 6144

    @property
    def beyond(self) -> float:
        """Its "7 MB"."""
        return self.l3 * 7000 / 6144


PAPERS = Caches(512, 6144)


class _Samples:
    def __init__(self, cells: Cells, caches: Caches) -> None:
        self.cells, self.caches = cells, caches
        run = cells.levels("size_kb", "iterations")
        wanted = SIZES if caches == PAPERS else ()
        self.sizes = run or list(SIZES)
        self.paper = sorted({*run, *wanted})  # what the run lacks is counted
        # "At some size" is shown to be wrong by sizes beyond the last level, of which the paper has four.
        large = [size for size in self.paper if size > caches.l3]
        self.decisive = sorted({*run, *large}) if large else []
        self.alphas = cells.levels("alpha", "iterations", pattern="zipf") or list(ALPHAS)

    def __call__(self, memory: str, size: int, **fixed: Level) -> list[float]:
        return self.cells.values("iterations", memory=memory, size_kb=size, **fixed)

    def step(self, pattern: str, a: int, b: int, low: float, high: float = float("inf")) -> Part:
        return between(f"{pattern}, {a} / {b} KB", self("local", a, pattern=pattern),
                       self("local", b, pattern=pattern), low, high)

    def slow(self, size: int, low: float, high: float = float("inf"), **fixed: Level) -> Part:
        """local / remote iterations."""
        name = " ".join(str(level) for level in fixed.values())
        return between(f"{name}, {size} KB: local / remote", self("local", size, **fixed),
                       self("remote", size, **fixed), low, high)


def checks(cells: Cells, caches: Caches = PAPERS) -> list[Statement]:
    s = _Samples(cells, caches)
    return [*_sequential(s), *_uniform(s), *_zipf(s), *_between(s), _repeatable(cells)]


def _repeatable(cells: Cells) -> Statement:
    """In the lab it is the simulator's own: the model has no noise."""
    parts = [_deviation(cells, pattern, memory) for pattern, memory in product(PATTERNS, MEMORIES)]
    return every("section IV.C", "the standard deviation is under 1 % of the mean (read as that of all cells of a pattern and "
                 "memory together)", parts, OPTERON, MODEL)


def _deviation(cells: Cells, pattern: str, memory: str) -> Part:
    """Root mean square over the cells of each one's deviation in parts of its mean, with its interval by chi-squared;
    each of the parts has its share of the 5 %."""
    groups: dict[tuple[object, object], list[float]] = {}
    for o in cells.select(pattern=pattern, memory=memory):
        if (value := o.value("iterations")) is not None:
            groups.setdefault((o.factors.get("alpha"), o.factors["size_kb"]), []).append(value)
    several = [(len(g) - 1, variance(g) / fmean(g) ** 2) for g in groups.values() if len(g) > 1]
    found, df = None, sum(n for n, _ in several)
    if df:
        found_sq, miss = sum(n * square for n, square in several) / df, (1 - LEVEL) / (len(PATTERNS) * len(MEMORIES))
        found = Ratio(sqrt(found_sq), *(sqrt(found_sq * df / chi2.ppf(p, df)) for p in (1 - miss / 2, miss / 2)))
    return Part(f"{pattern}, {memory}: deviation / mean", [], [], -INFINITE, 0.01, found)


def _sequential(s: _Samples) -> list[Statement]:
    inside = [size for size in s.sizes if s.caches.l2 < size < s.caches.near]
    beyond = [size for size in s.sizes if size > s.caches.beyond]
    far = [size for size in s.paper if size > s.caches.l3]
    small = [size for size in s.sizes if size <= s.caches.l2]
    fixed = {"pattern": "sequential"}
    return [
        every("section V.A, Fig. 8", "performance drops when the data outgrow L2 (read as by 10 %)",
              [s.step("sequential", small[-1], inside[0], 1.1)] if small and inside else []),
        every("section V.A, Fig. 8", "a plateau between L2 and L3 (read as within 20 %)",
              [s.step("sequential", a, b, 0.8, 1.2) for a, b in pairwise(inside)]),
        every("section V.A, Fig. 8", "a steep fall between 4 and 7 MB (read as 1.5 times)",
              [s.step("sequential", inside[-1], beyond[0], 1.5)] if inside and beyond else []),
        every("section V.A, Fig. 8", "roughly constant beyond 7 MB (read as within 20 %)",
              [s.step("sequential", a, b, 0.8, 1.2) for a, b in pairwise(beyond)]),
        some("section V.A, Fig. 9", "remote memory slows it by over 60 % at some size",
             [s.slow(size, 1.6, **fixed) for size in s.decisive], OPTERON, FITTED),
        every("section V.A, Fig. 9", "beyond L3 it is slower with remote memory at every size",
              [s.slow(size, 1.0, **fixed) for size in far], kind=MODEL),
        every("section V.A, Fig. 9", "the slowdown beyond L3 exceeds that of any size inside it",
              [_slower(s, a, b, "sequential") for a in far for b in s.paper if b < s.caches.near]),
    ]


def _slower(s: _Samples, a: int, b: int, pattern: str) -> Part:
    """The slowdown at a is larger than at b: as products by repeats, l(a) r(b) > l(b) r(a)."""
    fixed = {"pattern": pattern}
    more = [x * y for x, y in zip(s("local", a, **fixed), s("remote", b, **fixed))]
    less = [x * y for x, y in zip(s("local", b, **fixed), s("remote", a, **fixed))]
    return greater(f"{pattern}, slowdown at {a} / {b} KB", more, less)


def _uniform(s: _Samples) -> list[Statement]:
    fixed = {"pattern": "uniform"}
    return [
        every("section V.B, Fig. 10", "performance falls with every size",
              [s.step("uniform", a, b, 1.0) for a, b in pairwise(s.sizes)]),
        every("section V.B, Fig. 11", "next to no slowdown up to about 5 MB (read as under 10 %)",
              [s.slow(size, 0.9, 1.1, **fixed) for size in s.paper if size < s.caches.most_in]),
        some("section V.B, Fig. 11", "remote memory slows it by over 40 % at some size",
             [s.slow(size, 1.4, **fixed) for size in s.decisive], OPTERON, FITTED),
        every("section V.B, Fig. 11", "the slowdown beyond L3 exceeds that of any size up to 5 MB",
              [_slower(s, a, b, "uniform") for a in s.paper if a > s.caches.l3
               for b in s.paper if b < s.caches.most_in]),
    ]


def _zipf(s: _Samples) -> list[Statement]:
    alphas = s.alphas
    low = [a for a in alphas if a < 2]
    falls = [greater(f"{memory}, {size} KB: α {b:g} / {a:g}",
                     s(memory, size, pattern="zipf", alpha=b), s(memory, size, pattern="zipf", alpha=a))
             for memory in ("local", "remote") for size in s.sizes for a, b in pairwise(low)]
    large = [size for size in s.paper if size > s.caches.l3]
    small = [size for size in s.paper if size < s.caches.near]
    every_alpha = sorted({*alphas, *ALPHAS})
    return [
        every("section V.C, Fig. 12", "below α = 2, performance falls with α, local and remote",
              falls),
        every("section V.C, Fig. 13", "with remote memory performance is no higher (read as at most "
              "1 % more, the paper's deviation)", [s.slow(size, 0.99, pattern="zipf", alpha=a) for size in s.paper
                            for a in every_alpha], kind=MODEL),
        every("section V.C, Fig. 14", "with α of 1.25 or less, next to no slowdown (read as under "
              "10 %)", [s.slow(size, 0.9, 1.1, pattern="zipf", alpha=a) for size in s.paper
                        for a in every_alpha if a <= 1.25]),
        some("section VI, against V.C", "the smallest α slows more with remote memory than the "
             "largest, beyond L3", [_worse(s, size, {"pattern": "zipf", "alpha": alphas[0]},
                                           {"pattern": "zipf", "alpha": alphas[-1]})
                                    for size in large] if len(alphas) > 1 else []),
        every("section V.C, Fig. 14", "slowdown is generally larger for larger data (mean over α, "
              "beyond L3 against inside)", [_general(s, large, small)]),
        every("abstract", "performance falls with the size, local and remote (the largest against the smallest)",
              [greater(f"{memory}, α {a:g}: {s.sizes[0]} / {s.sizes[-1]} KB", s(memory, s.sizes[0], pattern="zipf", alpha=a),
                       s(memory, s.sizes[-1], pattern="zipf", alpha=a)) for memory in ("local", "remote")
               for a in alphas if s.sizes[0] < s.sizes[-1]]),
    ]


def _general(s: _Samples, large: list[int], small: list[int]) -> Part:
    """A mean over α and size of each repeat: cells are no repeats of each other."""
    def means(sizes: list[int]) -> list[float]:
        cells = [[x / y for x, y in zip(s("local", size, pattern="zipf", alpha=a), s("remote", size, pattern="zipf", alpha=a))]
                 for a in s.alphas for size in sizes]
        return [fmean(values) for values in zip(*(c for c in cells if c))]

    return greater("local / remote, large / small data", means(large), means(small))


def _between(s: _Samples) -> list[Statement]:
    far = [size for size in s.paper if size > s.caches.l3]
    alphas = sorted({*s.alphas, *ALPHAS})
    faster = [greater(f"sequential / uniform, {size} KB", s("local", size, pattern="sequential"),
                      s("local", size, pattern="uniform")) for size in s.paper]
    return [
        every("section V.D", "sequential is faster than uniform at every size", faster),
        every("section V.D", "beyond L3, sequential slows more than uniform",
              [_worse(s, size, {"pattern": "sequential"}, {"pattern": "uniform"}) for size in far], kind=FITTED),
        every("section V.D", "beyond L3, Zipf slows less than uniform and sequential",
              [_worse(s, size, {"pattern": p}, {"pattern": "zipf", "alpha": a}) for size in far
               for p in ("sequential", "uniform") for a in alphas]),
    ]


def _worse(s: _Samples, size: int, a: dict[str, Level], b: dict[str, Level]) -> Part:
    names = " / ".join(" ".join(str(v) for v in fixed.values()) for fixed in (a, b))
    more = [x * y for x, y in zip(s("local", size, **a), s("remote", size, **b))]
    less = [x * y for x, y in zip(s("remote", size, **a), s("local", size, **b))]
    return greater(f"slowdown, {names}, {size} KB", more, less)

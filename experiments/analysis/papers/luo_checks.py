# SPDX-License-Identifier: GPL-2.0-only
"""Statements of Luo et al. 2013 about the figures."""

from __future__ import annotations

from itertools import pairwise

from .cells import Cells
from .checks import FITTED, INPUT, MODEL, Part, Statement, alike, between, every, greater, inside, some

E5620, LS3A = "E5620", "LS 3A"
THREADS = (1, 2, 3, 4)  # the paper's, of either side


def positive(cells: Cells, factor: str) -> list[int]:
    """The paper's levels and those of the run: what the run lacks is said to be missing."""
    return sorted({*THREADS, *(n for n in cells.levels(factor) if n > 0)})


class _Totals:
    """Samples by (local, remote), named as the paper names them."""

    def __init__(self, cells: Cells, metric: str = "bandwidth") -> None:
        self.cells, self.metric = cells, metric
        self.xs, self.ys = positive(cells, "local"), positive(cells, "remote")

    def __call__(self, x: int, y: int) -> list[float]:
        return self.cells.values(self.metric, local=x, remote=y)

    def ratio(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[str, list[float], list[float]]:
        return f"{a[0]}L{a[1]}R / {b[0]}L{b[1]}R", self(*a), self(*b)

    def is_maximum(self, best: tuple[int, int]) -> list[Part]:
        return [greater(*self.ratio(best, (x, y)))
                for x in [0, *self.xs] for y in [0, *self.ys] if (x, y) not in (best, (0, 0))]


def contention(cells: Cells) -> list[Statement]:
    fair = _fair(_Totals(cells), _Totals(cells, "bandwidth_local"), _Totals(cells, "bandwidth_remote"))
    return [*_alone(_Totals(cells)), *_total(_Totals(cells)), *_local(cells), *_remote(cells), fair]


def _alone(t: _Totals) -> list[Statement]:
    most = min(max(t.xs, default=0), max(t.ys, default=0))
    remote = between(*_named("most remote / most local", t(0, most), t(most, 0)), 0.65, 0.85)
    return [
        every("section 3.1, Fig. 5", "remote threads alone get less than as many local ones",
              [greater(*t.ratio((n, 0), (0, n))) for n in t.xs if n in t.ys], kind=FITTED),
        every("section 3.1, Fig. 5", "the most of remote bandwidth is 20 to 30 % under the most of local "
              "(read as 15 to 35 %)", [remote], E5620, FITTED),
        every("section 3.1, Fig. 5", "two local threads nearly reach the most (read as 90 % or more)",
              [between(*t.ratio((2, 0), (most, 0)), 0.9)], E5620, FITTED),
        every("section 3.1, Fig. 5", "local bandwidth grows with every thread of the node",
              [greater(*t.ratio((b, 0), (a, 0))) for a, b in pairwise(t.xs)], LS3A, FITTED),
        every("section 3.1, Fig. 5", "remote bandwidth is about 20 % less (read as 10 to 30 %)",
              [between(*_named("most remote / most local", t(0, most), t(most, 0)), 0.7, 0.9)],
              LS3A, FITTED),
    ]


def _named(name: str, a: list[float], b: list[float]) -> tuple[str, list[float], list[float]]:
    return name, a, b


def _total(t: _Totals) -> list[Statement]:
    x, y = max(t.xs, default=0), max(t.ys, default=0)
    mixed = [(a, b) for a in t.xs for b in t.ys]
    return [
        some("section 3.3, Table 1", f"the largest total is not where all threads run, {x}L{y}R",
             [greater(*t.ratio(cell, (x, y))) for cell in mixed if cell != (x, y)], kind=FITTED),
        every("section 3.3, Table 1", "with six threads, 3L3R has more than 4L2R",
              [greater(*t.ratio((3, 3), (4, 2)))], kind=FITTED),
        some("section 3.3, Table 1", "moving a thread to the remote node can raise the total",
             [greater(*t.ratio((a - 1, b + 1), (a, b))) for a in t.xs for b in (0, *t.ys)
              if a > 1 and b + 1 in t.ys], kind=FITTED),
        some("section 3.3, Table 1", f"only local threads, {x}L0R, are not the best use of them",
             [greater(*t.ratio((x - n, n), (x, 0))) for n in t.ys if 0 < x - n], kind=FITTED),
        every("section 3.3, Table 1", "the largest total stands at 3L2R", t.is_maximum((3, 2)), E5620,
              FITTED),
        every("section 3.3, Table 1", "the largest total stands at 4L3R", t.is_maximum((4, 3)), LS3A,
              FITTED),
    ]


def _local(cells: Cells) -> list[Statement]:
    t = _Totals(cells, "bandwidth_local")
    far = max(t.ys, default=0)
    shares = [inside(f"local part of {x}L{y}R", _shares(cells, x, y), 0.5, 0.6)
              for x in t.xs for y in t.ys if x > 1 and y > 1]
    return [
        every("section 3.2, Fig. 6", "the first remote thread costs local threads more than all later ones",
              [_first_is_worst(f"{x}L", t(x, 0), t(x, 1), t(x, far)) for x in t.xs if far > 1], E5620),
        every("section 3.2, Fig. 6", "with remote threads, two and three local ones get the same "
              "(read as within 15 %)", [alike(*t.ratio((3, y), (2, y)), 0.15) for y in t.ys], E5620),
        every("section 3.2, Fig. 6", "with remote threads, four local ones get what three get or a little more "
              "(read as -5 to 15 %: by Table 1's totals 11 to 18 % less if their parts of them are equal, and "
              "-1.5 to 7 % more if those are as far apart as section 4 allows)",
              [between(*t.ratio((4, y), (3, y)), 0.95, 1.15) for y in t.ys], E5620, FITTED),
        every("section 4", "local threads keep 50 to 60 % of the controller whatever competes (two or more "
              "on each side)", shares, E5620, INPUT),
        every("section 3.2, Fig. 6", "local bandwidth falls with every remote thread",
              [greater(*t.ratio((x, a), (x, b))) for x in t.xs for a, b in pairwise([0, *t.ys])],
              LS3A),
        every("section 3.2, Fig. 6", "more local threads get more local bandwidth",
              [greater(*t.ratio((b, y), (a, y))) for y in t.ys for a, b in pairwise(t.xs)], LS3A),
    ]


def _shares(cells: Cells, x: int, y: int) -> list[float]:
    """Of each observation, since its local and its total bandwidth rise and fall together."""
    both = [(o.value("bandwidth_local"), o.value("bandwidth"))
            for o in cells.select(local=x, remote=y)]
    return [local / total for local, total in both if local is not None and total]


def _first_is_worst(name: str, alone: list[float], one: list[float], most: list[float]) -> Part:
    """alone - one > one - most, as a ratio: of the two ends to twice the middle, by repeats."""
    ends = [a + b for a, b in zip(alone, most)]
    return greater(f"{name}, (0 + most) / 2 to 1", ends, [2 * value for value in one])


def _fair(t: _Totals, local: _Totals, remote: _Totals) -> Statement:
    """Of equally free competition: a thread gets the same, wherever it runs."""
    parts = [alike(f"a local / a remote thread at {n}L{n}R", local(n, n), remote(n, n), 0.2) for n in t.xs if n in t.ys]
    return every("section 4", "local and remote threads compete freely and equally (read as within 20 %, where as many "
                 "run on either side)", parts, LS3A)


def _remote(cells: Cells) -> list[Statement]:
    """One remote thread is compared up to three local ones. By Table 1 the first can have cost it 0.095 of 4L0R (0.66
    + 0.469 - 1.035); and if the fourth takes nothing from the local ones, as the text says of Fig. 6, it took 0.13
    from the remote thread, which is what the total lost."""
    t = _Totals(cells, "bandwidth_remote")
    far = {y: max((x for x in t.xs if x <= 3 or y > 1), default=0) for y in t.ys}
    steps = [_first_is_worst(f"{y}R", t(0, y), t(1, y), t(far[y], y)) for y in t.ys if far[y] > 1]
    return [
        every("section 3.2, Fig. 7", "likewise, the first local thread costs remote ones the most (one remote "
              "thread: up to three)", steps, E5620, FITTED),
        every("section 3.2, Fig. 7", "likewise, remote bandwidth falls with every local thread",
              [greater(*t.ratio((a, y), (b, y))) for y in t.ys for a, b in pairwise([0, *t.xs])],
              LS3A),
    ]


def cross(cells: Cells) -> list[Statement]:
    references, opposites = positive(cells, "reference"), positive(cells, "opposite")

    def kept(n: int, a: int, b: int, low: float, high: float) -> Part:
        values = [cells.values("bandwidth_reference", reference=n, opposite=k) for k in (b, a)]
        return between(f"{n} referenced, {b} / {a} opposite", *values, low, high)

    return [
        every("section 3.4, Fig. 8", "one opposite thread costs two or more referenced ones about 30 % "
              "(read as 20 to 40 %)", [kept(n, 0, 1, 0.6, 0.8) for n in references if n > 1], E5620, FITTED),
        every("section 3.4, Fig. 8", "further opposite threads cost nothing (read as within 10 %)",
              [kept(n, 1, k, 0.9, 1.1) for n in references if n > 1 for k in opposites if k > 1],
              E5620, FITTED),
        every("section 3.4, Fig. 8", "one referenced thread loses less than 5 %",
              [kept(1, 0, k, 0.95, 1.05) for k in opposites], E5620, FITTED),
        every("section 3.4, Fig. 8", "opposite threads cost no more than 10 %",
              [kept(n, 0, k, 0.9, 1.1) for n in references for k in opposites], LS3A, FITTED),
    ]


def split(cells: Cells) -> list[Statement]:
    """All threads run on one node: no more of them than it has cores, four in the paper."""
    local, remote = _Totals(cells, "bandwidth_local"), _Totals(cells, "bandwidth_remote")
    cores = max([len(THREADS), *(x + y for x in local.xs for y in local.ys if local(x, y))])
    both = [(x, y) for x in local.xs for y in local.ys if x + y <= cores]
    undisturbed = [alike(*local.ratio((x, y), (x, 0)), 0.1) for x, y in both]
    undisturbed += [alike(*remote.ratio((x, y), (0, y)), 0.1) for x, y in both]
    falls = [greater(*local.ratio((x, y - 1), (x, y))) for x, y in both]
    return [
        every("section 3.5, Fig. 9", "local accesses fall with every thread that accesses the other node",
              falls, E5620),
        every("section 4", "that decrease is nearly linear (read as: each thread costs a half to twice the mean step)",
              [_step(local, x, y, cores - x) for x, y in both if x + 1 < cores], E5620),
        every("section 3.5, Fig. 9", "the two hardly disturb each other (read as within 10 %)", undisturbed,
              LS3A, MODEL),
    ]


def _step(local: _Totals, x: int, y: int, most: int) -> Part:
    """What the y-th thread costs x local ones, over the mean of all `most`, by repeats."""
    samples = list(zip(local(x, y - 1), local(x, y), local(x, 0), local(x, most)))
    return between(f"{x}L, step to {y}R / mean step", [before - after for before, after, _, _ in samples],
                   [(first - last) / most for _, _, first, last in samples], 0.5, 2)

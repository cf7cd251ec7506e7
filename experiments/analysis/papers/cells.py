# SPDX-License-Identifier: GPL-2.0-only
"""Observations by the levels of their factors: what every presentation is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pandas as pd

from ..figures.charts import Curve, Point, Raw, list_raw
from ..runs.results import Observation, Results, list_values, make_natural_key
from ..stats.intervals import Interval, compute_t_interval

Level = int | float | str


class Cells:
    """The clean observations of a run, never another one: none where they differ in a factor that is not `known`, the names of a
    presentation's factors, as means over its levels would be those of no experiment."""

    def __init__(self, results: Results, known: tuple[str, ...], **fixed: Level) -> None:
        """Selects the observations at the levels `fixed`; ValueError where they are under several policies."""
        if len({o.policy for o in results.clean if o.factors}) > 1:
            raise ValueError("observations under several policies: papers.make_chapters() makes a chapter of each")
        self._by: dict[tuple[str, ...], dict[tuple[Level | None, ...], list[Observation]]] = {}
        self.observations = [o for o in results.independent if o.factors]
        self.observations = self.select(**fixed)
        self.refused = self._describe_unknown(known)
        if self.refused:
            self.observations = []
        self._by.clear()

    def _describe_unknown(self, known: tuple[str, ...]) -> list[str]:
        """Returns, in words, the factors of several levels that are not known."""
        levels: dict[str, set[str]] = {}
        for name in sorted({name for o in self.observations for name in o.factors} - {*known}):
            levels[name] = {str(o.factors.get(name, "none")) for o in self.observations}
        return [f"one level of {name} ({', '.join(sorted(found, key=make_natural_key))}: never averaged)"
                for name, found in levels.items() if len(found) > 1]

    def select(self, **factors: Level) -> list[Observation]:
        """Returns the observations whose factors have these levels; an index of them is kept for the next call."""
        names = tuple(factors)
        if names not in self._by:
            index = self._by.setdefault(names, {})
            for o in self.observations:
                index.setdefault(tuple(o.factors.get(n) for n in names), []).append(o)
        return self._by[names].get(tuple(factors.values()), [])

    def values(self, metric: str, **factors: Level) -> list[float]:
        return list_values(self.select(**factors), metric)

    def interval(self, metric: str, **factors: Level) -> Interval | None:
        found = self.values(metric, **factors)
        return compute_t_interval(found) if found else None

    def list_levels(self, factor: str, metric: str = "", **fixed: Level) -> list[Any]:
        """Returns the levels that were observed, with a value of the metric where one is named: numbers in ascending order, then words."""
        found = {
            o.factors[factor] for o in self.select(**fixed)
            if factor in o.factors and (not metric or o.get_value(metric) is not None)
        }
        return sorted(found, key=lambda level: (isinstance(level, str), make_natural_key(str(level))
                                                if isinstance(level, str) else level))

    def describe_missing(self, factors: tuple[str, ...], metrics: tuple[str, ...]) -> list[str]:
        """Returns, in words, the factors and metrics that the run lacks; what was refused where a factor is not known."""
        if self.refused:
            return self.refused
        lacking = [f"factor {f}" for f in factors if not self.list_levels(f)]
        lacking += [f"metric {m}" for m in metrics if not self.values(m)]
        return lacking

    def make_curve(self, name: str, metric: str, x: str, scale: float = 1.0, colour: int | None = None,
                   **fixed: Level) -> Curve:
        """Makes a curve of the means of a metric, times `scale`, with their intervals, along the factor `x` at the levels `fixed`."""
        points = [
            make_point(level, self.interval(metric, **{x: level}, **fixed), scale, list_raw(self.select(**{x: level}, **fixed), metric))
            for level in self.list_levels(x, metric, **fixed)
        ]
        return Curve(name, tuple(points), colour=colour)

    def make_frame(self, metric: str, factors: tuple[str, ...],
                   keep: Callable[[dict[str, Level]], bool] = lambda _: True) -> pd.DataFrame:
        """Makes a data frame (factors, repeat, metric) of the observations that have all of them and whose levels `keep` accepts."""
        rows = [
            {f: o.factors[f] for f in factors} | {"repeat": o.repeat, metric: o.get_value(metric)}
            for o in self.observations
            if o.get_value(metric) is not None and all(f in o.factors for f in factors)
            and keep(o.factors)
        ]
        return pd.DataFrame(rows, columns=[*factors, "repeat", metric])


Choice = tuple[tuple[str, Level], ...]  # factors beside a paper's own, with the level that stands for the paper


def select_printed(results: Results, known: tuple[str, ...], choice: Choice) -> Cells:
    """Returns the cells that stand for the paper: at its level of each factor of `choice`, where that was run; `known` is for Cells."""
    return Cells(results, known, **_choose_levels(results, choice))


def list_other_cells(results: Results, known: tuple[str, ...], choice: Choice) -> Iterator[tuple[str, Cells]]:
    """Yields name and cells of every other combination of levels of the factors of `choice`; `known` is for Cells."""
    names = [name for name in dict(choice) if len(_list_levels(results, name)) > 1]
    for levels in product(*(_list_levels(results, name) for name in names)):
        fixed = dict(zip(names, levels, strict=True))
        if fixed.items() - _choose_levels(results, choice).items():
            yield ", ".join(f"{name} {level}" for name, level in fixed.items()), Cells(results, known, **fixed)


def _list_levels(results: Results, name: str) -> list[Level]:
    return list(dict.fromkeys(o.factors[name] for o in results.independent if name in o.factors))


def _choose_levels(results: Results, choice: Choice) -> dict[str, Level]:
    return {name: level for name, level in choice if level in _list_levels(results, name)}


def make_point(x: float, found: Interval, scale: float = 1.0, raw: Raw = ()) -> Point:
    low, high = (None if end is None else end * scale for end in (found.low, found.high))
    return Point(float(x), found.mean * scale, low, high, raw)

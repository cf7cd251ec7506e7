# SPDX-License-Identifier: GPL-2.0-only
"""A run as other machines would have given it: those that the lab's model may stand for, and those of which a judge
must say something else.

Every observation keeps its noise; what changes is its cell's value, by what the contention model says of the cell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Protocol

from experiments.lab import machine as lab
from experiments.lab.errors import LabError
from experiments.model_fit import family
from experiments.model_fit.native import Model

from ..runs.results import Metric, Observation, Results, higher_is_better
from .predicted import SHARES, Path, Predictor, Share, near

Scale = Callable[[Observation, str, str], float]
Levels = dict[str, str]
# Levels that an effect is between; a runtime's data are where the paper's are, if that is a factor too.
PAIRS: tuple[tuple[Levels, Levels], ...] = (
    ({"memory": "local"}, {"memory": "remote"}),
    ({"runtime": "vanilla", "data": "first"}, {"runtime": "locality", "data": "spread"}),
    ({"runtime": "vanilla"}, {"runtime": "locality"}))
MODELLED = ("contention", "cross", "split")  # designs whose cells the model says in full


class Cells(Protocol):
    """What a contention model says of an observation, up to a constant."""

    machine: lab.Machine

    def has_sizes(self, results: Results) -> bool: ...

    def of(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float: ...


def machine_of(results: Results) -> lab.Machine | None:
    """The lab's, with the numbers that a run changed; None of one whose file is not here."""
    try:
        found = lab.find(*lab.in_results(results.machine))
    except LabError:
        return None
    return found if found.model_text else None


def scaled(results: Results, scale: Scale) -> Results:
    return replace(results, observations=tuple(_scaled(o, scale) for o in results.observations))


def _scaled(o: Observation, scale: Scale) -> Observation:
    metrics = tuple(Metric(m.name, m.unit, m.value * scale(o, m.name, m.unit)) for m in o.metrics)
    raw, series = o.raw, o.raw.get("series")
    if isinstance(series, dict) and isinstance(series.get("ipc"), list):
        factor = scale(o, "ipc", "1/s")
        faster = [v * factor if isinstance(v, (int, float)) else v for v in series["ipc"]]
        raw = raw | {"series": series | {"ipc": faster}}
    return replace(o, metrics=metrics, raw=raw)


def variants(results: Results, predictor: Cells) -> list[tuple[str, Results]]:
    """The run on every machine that the lab's may be, but for the one of its file, which is the run itself."""
    as_filed, *others = family.variants(predictor.machine)
    shares = SHARES if predictor.has_sizes(results) else SHARES[:1]
    return [(other.name, scaled(results, _change(predictor, as_filed.model, other.model, share)))
            for share in shares for other in others]


def _change(predictor: Cells, model: Model, other: Model, share: Share) -> Scale:
    def scale(o: Observation, name: str, unit: str) -> float:
        return predictor.of(other, o, name, unit, share) / predictor.of(model, o, name, unit, share)

    return scale


def expected(results: Results, predictor: Predictor) -> Results:
    """The model's own values in the run's cells, without noise: nothing of it is measured."""
    model = family.variants(predictor.machine)[0].model
    return replace(results, observations=tuple(
        replace(o, metrics=tuple(Metric(m.name, m.unit, predictor.value(model, o.factors, m.name, m.unit))
                                 for m in o.metrics)) for o in results.clean))


def uniform(results: Results, predictor: Predictor | None) -> Results | None:
    """No memory is farther than another. An A/A run too: both levels are the same placement, with their own noise."""
    pair = _pair(results)
    if pair:
        return _relabelled(results, *pair, swap=False)
    return _modelled(results, predictor, near) if predictor and predictor.design in MODELLED else None


def opposite(results: Results, predictor: Predictor | None) -> Results | None:
    """The effect is the other way round."""
    pair = _pair(results)
    if pair:
        return _relabelled(results, *pair, swap=True)
    if not predictor or predictor.design not in MODELLED:
        return None
    a, b = predictor.pair

    def path(start: int, end: int) -> tuple[int, int]:
        return (end, end) if start != end else (b if end == a else a, end)

    return _modelled(results, predictor, path)


def _pair(results: Results) -> tuple[Levels, Levels] | None:
    """Both of which are in the run."""
    found = [o.factors for o in results.clean]
    return next((pair for pair in PAIRS if all(any(wanted.items() <= f.items() for f in found) for wanted in pair)), None)


def _relabelled(results: Results, first: Levels, second: Levels, swap: bool) -> Results:
    """The observations of both exchanged, or those of the second replaced by the first's of another repeat."""
    by_cell: dict[tuple, list[Observation]] = defaultdict(list)
    for o in results.clean:
        by_cell[_cell(o.factors)].append(o)

    def taken(o: Observation) -> Observation:
        other = (first if second.items() <= o.factors.items()
                 else second if swap and first.items() <= o.factors.items() else {})
        found = by_cell.get(_cell(o.factors | other))
        if not (other and found):
            return o
        new = found[(o.repeat + (not swap)) % len(found)]
        return replace(o, metrics=new.metrics, raw=new.raw)

    return replace(results, observations=tuple(taken(o) for o in results.observations))


def _cell(factors: dict[str, int | float | str]) -> tuple:
    return tuple(sorted(factors.items()))


def _modelled(results: Results, predictor: Predictor, path: Path) -> Results:
    """The model's values of another machine, with each observation's part of its cell's mean."""
    model, values = family.variants(predictor.machine)[0].model, defaultdict(list)
    for o in results.clean:
        for m in o.metrics:
            values[(m.name, *sorted(o.factors.items()))].append(m.value)
    means = {key: fmean(found) for key, found in values.items()}

    def scale(o: Observation, name: str, unit: str) -> float:
        mean = means.get((name, *sorted(o.factors.items())))
        if not mean or higher_is_better(unit) is None:
            return 1.0
        return predictor.value(model, o.factors, name, unit, path=path) / 1e6 / mean

    return scaled(results, scale)

# SPDX-License-Identifier: GPL-2.0-only
"""A run as the other machines would have given it that the lab's model may stand for.

Every observation keeps its noise; what changes is its cell's value, by what the contention model says of the cell.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from experiments.lab import machine as lab
from experiments.lab.errors import LabError
from experiments.model_fit import family
from experiments.model_fit.native import Model

from ..runs.results import Metric, Observation, Results

Scale = Callable[[Observation, str, str], float]
Share = Callable[[float, float], float]  # of a program's time that waits for memory, by bytes of data and of cache


def everywhere(_size: float, _cache: float) -> float:
    """Every access waits for memory."""
    return 1.0


def beyond_the_cache(size: float, cache: float) -> float:
    """Of uniform accesses, the share that a cache of this size misses."""
    return max(0.0, 1 - cache / size)


SHARES = (everywhere, beyond_the_cache)  # both ends: how much a program waits the less is not known for every one


class Cells(Protocol):
    """What a contention model says of an observation, up to a constant."""

    machine: lab.Machine

    def has_sizes(self, results: Results) -> bool: ...

    def predict(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float: ...


def machine_of(results: Results) -> lab.Machine | None:
    """The lab's, with the numbers that a run changed; None of one whose file is not here."""
    try:
        found = lab.find(*lab.in_results(results.machine))
    except LabError:
        return None
    return found if found.model_text else None


def variants(results: Results, predictor: Cells) -> list[tuple[str, Results]]:
    """The run on every machine that the lab's may be, but for the one of its file, which is the run itself."""
    as_filed, *others = family.variants(predictor.machine)
    shares = SHARES if predictor.has_sizes(results) else SHARES[:1]
    return [(other.name, _scaled(results, _change(predictor, as_filed.model, other.model, share)))
            for share in shares for other in others]


def _scaled(results: Results, scale: Scale) -> Results:
    return replace(results, observations=tuple(
        replace(o, metrics=tuple(Metric(m.name, m.unit, m.value * scale(o, m.name, m.unit)) for m in o.metrics))
        for o in results.observations))


def _change(predictor: Cells, model: Model, other: Model, share: Share) -> Scale:
    def scale(o: Observation, name: str, unit: str) -> float:
        return predictor.predict(other, o, name, unit, share) / predictor.predict(model, o, name, unit, share)

    return scale

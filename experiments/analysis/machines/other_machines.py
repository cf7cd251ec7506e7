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


def compute_whole_share(_size: float, _cache: float) -> float:
    """Returns 1, the share of all accesses, where each waits for memory."""
    return 1.0


def compute_missed_share(size: float, cache: float) -> float:
    """Computes the share of uniform accesses to data of `size` bytes that a cache of `cache` bytes misses, from 0 to 1."""
    return max(0.0, 1 - cache / size)


SHARES = (compute_whole_share, compute_missed_share)  # both ends: how much a program waits the less is not known for every one


class Cells(Protocol):
    """What a contention model says of an observation, up to a constant."""

    machine: lab.Machine

    def has_sizes(self, results: Results) -> bool: ...

    def predict_metric(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float: ...


def find_machine(results: Results) -> lab.Machine | None:
    """Finds the machine of the lab that a run was on, with the numbers that the run changed; None of one whose file is not here."""
    try:
        found = lab.find(*lab.split_title(results.machine))
    except LabError:
        return None
    return found if found.model_text else None


def list_variants(results: Results, predictor: Cells) -> list[tuple[str, Results]]:
    """Returns the run on every machine that the lab's may be, each with its name, but for that of its file, which is the run itself.

    Each variant of the model stands once for each of SHARES, of a run without sizes for the first one alone."""
    as_filed, *others = family.list_variants(predictor.machine)
    shares = SHARES if predictor.has_sizes(results) else SHARES[:1]
    return [(other.name, _scale_results(results, _make_scale(predictor, as_filed.model, other.model, share)))
            for share in shares for other in others]


def _scale_results(results: Results, scale: Scale) -> Results:
    """Multiplies each metric of each observation by what `scale` says of it."""
    return replace(results, observations=tuple(
        replace(o, metrics=tuple(Metric(m.name, m.unit, m.value * scale(o, m.name, m.unit)) for m in o.metrics))
        for o in results.observations))


def _make_scale(predictor: Cells, model: Model, other: Model, share: Share) -> Scale:
    """Makes the function that says how many times as large a metric is on the model `other` as on `model`."""
    def scale_value(o: Observation, name: str, unit: str) -> float:
        return predictor.predict_metric(other, o, name, unit, share) / predictor.predict_metric(model, o, name, unit, share)

    return scale_value

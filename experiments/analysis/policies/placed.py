# SPDX-License-Identifier: GPL-2.0-only
"""A run of policies as every machine that the lab's may be would have given it, by where tasks and pages were.

Every observation keeps its noise; what changes is its cell's value, by what the contention model says of the cell.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from experiments.lab.machine import Machine
from experiments.model_fit import family
from experiments.model_fit.native import READ, TRIAD, Model

from ..machines.uniform import find_machine
from ..runs.results import Metric, Observation, Results, is_higher_better

PAGE = 4096
Flow = tuple[int, int, float]  # from, to, cores
Share = Callable[[float, float], float]  # of a program's time that waits for memory, by bytes of data and of cache


def compute_whole_share(_size: float, _cache: float) -> float:
    """Returns 1, the share of all accesses, where each waits for memory."""
    return 1.0


def compute_missed_share(size: float, cache: float) -> float:
    """Computes the share of uniform accesses to data of `size` bytes that a cache of `cache` bytes misses, from 0 to 1."""
    return max(0.0, 1 - cache / size)


SHARES = (compute_whole_share, compute_missed_share)  # both ends: how much a program waits the less is not known for every one


class Placements:
    """What the contention model says of an observation's tasks, each with its threads on its node and its pages."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.with_cpus = [n for n, node in enumerate(machine.nodes) if node.cpus]
        self._values: dict[tuple, float] = {}

    def predict_metric(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float:
        """Returns the metric of an observation by the model, up to a constant; 1 where the model says nothing of it."""
        if is_higher_better(unit) is None:
            return 1.0
        flows = tuple(self._list_flows(o))
        size = PAGE * sum(sum(t.get("pages_after", {}).values()) for t in o.tasks)
        key = (id(model), metric, unit, share, flows, size)
        if key not in self._values:
            self._values[key] = self._compute_value(model, flows, unit, share, size)
        return self._values[key]

    def _compute_value(self, model: Model, flows: tuple[Flow, ...], unit: str, share: Share, size: int) -> float:
        """Computes predict_metric() of flows in so many bytes of data, to the power of the share of time that waits for memory."""
        if not flows:
            return 1.0
        found = model.solve_flows(list(flows), TRIAD if unit == "MB/s" else READ)
        value = _compute_rate(unit, [(cores, *result) for (_, _, cores), result in zip(flows, found)])
        return value ** (share(size, max((c["size"] for c in self.machine.cache), default=0)) if size else 1.0)

    def _list_flows(self, o: Observation) -> Iterator[Flow]:
        """Yields the flows of an observation: from each task's node, or from all alike, to each node with its pages; none without pages."""
        for task in o.tasks:
            pages = {int(node): n for node, n in (task.get("pages_after") or {}).items() if n}
            starts = self.with_cpus if task.get("node_after") is None else [task["node_after"]]
            for start in starts:
                for node, n in pages.items():
                    yield start, node, task.get("threads", 1) * n / sum(pages.values()) / len(starts)


def list_runs(results: Results) -> list[Results]:
    """Lists the run, the one that was measured first, on each machine that the lab's may be. Of a machine whose file is not here, and
    of hardware, there is no other.

    Each variant of the model stands once for each of SHARES, of a run that does not say its data's sizes for the first one alone."""
    machine = find_machine(results) if results.platforms == ["lab-timed"] else None
    if not machine:
        return [results]
    placements, (as_filed, *others) = Placements(machine), family.list_variants(machine)
    shares = SHARES if any(o.tasks for o in results.clean) else SHARES[:1]
    return [results, *(_scale_results(results, placements, as_filed.model, other.model, share) for share in shares for other in others)]


def _scale_results(results: Results, placements: Placements, model: Model, other: Model, share: Share) -> Results:
    """Multiplies each metric of each observation by how many times as large it is on the model `other` as on `model`."""
    def scale_metric(o: Observation, m: Metric) -> Metric:
        on_other, on_model = (placements.predict_metric(variant, o, m.name, m.unit, share) for variant in (other, model))
        return Metric(m.name, m.unit, m.value * (on_other / on_model))

    return replace(results, observations=tuple(
        replace(o, metrics=tuple(scale_metric(o, m) for m in o.metrics)) for o in results.observations))


def _compute_rate(unit: str, flows: Sequence[Sequence[float]]) -> float:
    """Computes a metric of `unit`, up to a constant, of flows (cores, bytes a second, ns a line): the sum of bandwidths, the mean of
    latencies; a time, or a rate of another unit, is that of the slowest thread."""
    if unit == "MB/s":
        return sum(bandwidth for _, bandwidth, _ in flows)
    if unit == "ns":
        return fmean(ns for _, _, ns in flows)
    slowest = min(bandwidth / cores for cores, bandwidth, _ in flows)
    return slowest if is_higher_better(unit) is not False else 1 / slowest

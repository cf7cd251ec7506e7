# SPDX-License-Identifier: GPL-2.0-only
"""A run of policies as every machine that the lab's may be would have given it, by where tasks and pages were."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from experiments.lab.machine import Machine
from experiments.model_fit.native import READ, TRIAD, Model

from ..machines import other_machines
from ..machines.other_machines import Share
from ..runs.results import Observation, Results, higher_is_better

PAGE = 4096
Flow = tuple[int, int, float]  # from, to, cores


class Placements:
    """What the contention model says of an observation's tasks, each with its threads on its node and its pages."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.with_cpus = [n for n, node in enumerate(machine.nodes) if node.cpus]
        self._values: dict[tuple, float] = {}

    def has_sizes(self, results: Results) -> bool:
        return any(o.tasks for o in results.clean)

    def predict(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float:
        """Returns the metric of an observation by the model, up to a constant; 1 where the model says nothing of it."""
        if higher_is_better(unit) is None:
            return 1.0
        flows = tuple(self._flows(o))
        key = (id(model), metric, unit, share, flows)
        if key not in self._values:
            self._values[key] = self._value(model, flows, unit, share, o)
        return self._values[key]

    def _value(self, model: Model, flows: tuple[Flow, ...], unit: str, share: Share, o: Observation) -> float:
        if not flows:
            return 1.0
        found = model.results(list(flows), TRIAD if unit == "MB/s" else READ)
        value = _rate(unit, [(cores, *result) for (_, _, cores), result in zip(flows, found)])
        size = PAGE * sum(sum(t.get("pages_after", {}).values()) for t in o.tasks)
        return value ** (share(size, max((c["size"] for c in self.machine.cache), default=0)) if size else 1.0)

    def _flows(self, o: Observation) -> Iterator[Flow]:
        """A task that may run on several nodes is on all of them alike."""
        for task in o.tasks:
            pages = {int(node): n for node, n in (task.get("pages_after") or {}).items() if n}
            starts = self.with_cpus if task.get("node_after") is None else [task["node_after"]]
            for start in starts:
                for node, n in pages.items():
                    yield start, node, task.get("threads", 1) * n / sum(pages.values()) / len(starts)


def runs(results: Results) -> list[Results]:
    """The run itself first. Of a machine whose file is not here, and of hardware, there is no other."""
    machine = other_machines.machine_of(results) if results.platforms == ["lab-timed"] else None
    return [results, *(r for _, r in other_machines.variants(results, Placements(machine)))] if machine else [results]


def _rate(unit: str, found: Sequence[Sequence[float]]) -> float:
    """Of cores, bytes a second and nanoseconds a line: a bandwidth is the sum, a latency the mean of the flows, a time
    that of the slowest thread."""
    if unit == "MB/s":
        return sum(bandwidth for _, bandwidth, _ in found)
    if unit == "ns":
        return fmean(ns for _, _, ns in found)
    slowest = min(bandwidth / cores for cores, bandwidth, _ in found)
    return slowest if higher_is_better(unit) is not False else 1 / slowest

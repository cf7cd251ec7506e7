# SPDX-License-Identifier: GPL-2.0-only
"""A run as a uniform machine would have given it: no memory is farther than another.

Every observation keeps its noise. Where a run has local and remote memory as levels, the remote observations are local
ones of another repeat. Of the suites of one memory controller the contention model has the values of every thread beside
the memory that it uses.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import fmean

from experiments.host import host_nodes
from experiments.lab.machine import Machine
from experiments.model_fit.native import COPY, READ, TRIAD, Model
from experiments.runner.suite import designs
from experiments.runner.suite.suite import Workload

from ..runs.results import Metric, Observation, Results
from .other_machines import machine_of

Levels = dict[str, str]
Factors = dict[str, int | float | str]
# Levels that an effect is between; a runtime's data are where the paper's are, if that is a factor too.
PAIRS: tuple[tuple[Levels, Levels], ...] = (
    ({"memory": "local"}, {"memory": "remote"}),
    ({"runtime": "vanilla", "data": "first"}, {"runtime": "locality", "data": "spread"}),
    ({"runtime": "vanilla"}, {"runtime": "locality"}))
MODELLED = ("contention", "cross", "split")  # designs whose cells the model has in full
TRAFFIC = {"copy": COPY, "scale": COPY, "sum": TRIAD, "triad": TRIAD}


def uniform(results: Results) -> Results | None:
    """None where the run has no such levels and its machine no model."""
    pair = _pair(results)
    if pair:
        return _relabelled(results, *pair)
    machine = machine_of(results) if results.platforms == ["lab-timed"] and results.design in MODELLED else None
    return _modelled(results, machine) if machine else None


def _pair(results: Results) -> tuple[Levels, Levels] | None:
    """Both of which are in the run."""
    found = [o.factors for o in results.clean]
    return next((pair for pair in PAIRS if all(any(wanted.items() <= f.items() for f in found) for wanted in pair)), None)


def _relabelled(results: Results, first: Levels, second: Levels) -> Results:
    """The observations of the second level replaced by the first's of another repeat."""
    by_cell: dict[tuple, list[Observation]] = defaultdict(list)
    for o in results.clean:
        by_cell[_cell(o.factors)].append(o)

    def taken(o: Observation) -> Observation:
        found = by_cell.get(_cell(o.factors | first)) if second.items() <= o.factors.items() else None
        if not found:
            return o
        new = found[(o.repeat + 1) % len(found)]
        return replace(o, metrics=new.metrics, raw=new.raw)

    return replace(results, observations=tuple(map(taken, results.observations)))


def _cell(factors: Factors) -> tuple:
    return tuple(sorted(factors.items()))


def _modelled(results: Results, machine: Machine) -> Results:
    """The model's bandwidths, with each observation's part of its cell's mean."""
    values, model = defaultdict(list), Model(machine.model_text)
    for o in results.clean:
        for m in o.metrics:
            values[(m.name, *_cell(o.factors))].append(m.value)
    nodes = host_nodes.in_order(host_nodes.of_lab(machine.name))
    near: dict[tuple, float | None] = {key: None for key in values}
    for o in results.clean:
        for m in o.metrics:
            key = (m.name, *_cell(o.factors))
            if m.unit == "MB/s" and near[key] is None:
                near[key] = _bandwidth(model, _workload(results.design, o.factors, nodes), m.name)

    def scaled(o: Observation, m: Metric) -> Metric:
        key = (m.name, *_cell(o.factors))
        bandwidth = near.get(key)
        return m if bandwidth is None else replace(m, value=m.value * bandwidth / fmean(values[key]))

    return replace(results, observations=tuple(
        replace(o, metrics=tuple(scaled(o, m) for m in o.metrics)) for o in results.observations))


def _workload(design: str, factors: Factors, nodes: list[host_nodes.Node]) -> Workload | None:
    """That the design makes of these levels alone; None where it makes none or several."""
    found = list(designs.far_apart(designs.DESIGNS[design].make({name: [level] for name, level in factors.items()}, nodes), nodes))
    return found[0] if len(found) == 1 else None


def _bandwidth(model: Model, workload: Workload | None, metric: str) -> float | None:
    """Of all tasks or of the group that the metric names, in MB/s, each thread beside the memory that it uses."""
    if workload is None:
        return None
    flows = [(task.group, (n, n, task.threads / len(task.memory_on))) for task in workload.tasks for n in task.memory_on]
    traffic = TRAFFIC.get(str(workload.options.get("operation")), READ)
    found = list(zip(flows, model.bandwidths([flow for _, flow in flows], traffic), strict=True))
    own = [value for (group, _), value in found if group == metric.removeprefix("bandwidth_")]
    return sum(own or [value for _, value in found]) / 1e6

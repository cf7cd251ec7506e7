# SPDX-License-Identifier: GPL-2.0-only
"""A run as a uniform machine would have given it: no memory is farther than another.

Every observation keeps its noise. Where a run has local and remote memory as levels, the remote observations are local
ones of another repeat. Of the suites of one memory controller the contention model has the values of every thread beside
the memory that it uses.
"""

from collections import defaultdict
from dataclasses import replace
from statistics import fmean

from experiments.host import host_nodes
from experiments.lab import machine as lab
from experiments.lab.errors import LabError
from experiments.model_fit.native import COPY, READ, TRIAD, Model
from experiments.runner.suite import designs
from experiments.runner.suite.suite import Workload

from ..runs.results import Metric, Observation, Results

Levels = dict[str, str]
Factors = dict[str, int | float | str]
# Levels that an effect is between; a runtime's data are where the paper's are, if that is a factor too.
PAIRS: tuple[tuple[Levels, Levels], ...] = (
    ({"memory": "local"}, {"memory": "remote"}),
    ({"runtime": "vanilla", "data": "first"}, {"runtime": "locality", "data": "spread"}),
    ({"runtime": "vanilla"}, {"runtime": "locality"}))
MODELLED = ("contention", "cross", "split")  # designs whose cells the model has in full
TRAFFIC = {"copy": COPY, "scale": COPY, "sum": TRIAD, "triad": TRIAD}


def make_uniform(results: Results) -> Results | None:
    """Makes the run as a uniform machine would have given it; None where it has no such levels and its machine no model."""
    pair = _find_pair(results)
    if pair:
        return _replace_remote(results, *pair)
    machine = find_machine(results) if results.platforms == ["lab-timed"] and results.design in MODELLED else None
    return _scale_to_model(results, machine) if machine else None


def find_machine(results: Results) -> lab.Machine | None:
    """Finds the lab's machine of a run, with the numbers that the run changed; None where its file is not here or has no model."""
    try:
        found = lab.find(*lab.split_title(results.machine))
    except LabError:
        return None
    return found if found.model_text else None


def _find_pair(results: Results) -> tuple[Levels, Levels] | None:
    """Finds the first of PAIRS of which both levels are in the run; None where there is none."""
    found = [o.factors for o in results.clean]
    return next((pair for pair in PAIRS if all(any(wanted.items() <= f.items() for f in found) for wanted in pair)), None)


def _replace_remote(results: Results, near: Levels, far: Levels) -> Results:
    """Gives each observation at the levels `far` what the next repeat, or after the last one the first, measured at the levels `near`.

    An observation without a counterpart stays."""
    by_cell: dict[tuple, list[Observation]] = defaultdict(list)
    for o in sorted(results.clean, key=lambda o: o.repeat):
        by_cell[_make_cell(o, o.factors)].append(o)

    def replace_observation(o: Observation) -> Observation:
        found = by_cell.get(_make_cell(o, o.factors | near)) if far.items() <= o.factors.items() else None
        if not found:
            return o
        new = next((later for later in found if later.repeat > o.repeat), found[0])
        return replace(o, metrics=new.metrics, raw=new.raw | {"boot_id": o.boot})

    return replace(results, observations=tuple(map(replace_observation, results.observations)))


def _make_cell(o: Observation, factors: Factors) -> tuple:
    """Makes a dictionary's key of an observation's placement and of the levels of all factors, by their names."""
    return (o.policy, *sorted(factors.items()))


def _scale_to_model(results: Results, machine: lab.Machine) -> Results:
    """Replaces each bandwidth, in MB/s, by the model's times the part of its cell's mean that the observation had; others stay."""
    values, model = defaultdict(list), Model(machine.model_text)
    for o in results.clean:
        for m in o.metrics:
            values[(m.name, *_make_cell(o, o.factors))].append(m.value)
    nodes = host_nodes.sort_nodes(host_nodes.list_lab_nodes(machine.name))
    local_mb_s: dict[tuple, float | None] = {key: None for key in values}
    for o in results.clean:
        for m in o.metrics:
            key = (m.name, *_make_cell(o, o.factors))
            if m.unit == "MB/s" and local_mb_s[key] is None:
                local_mb_s[key] = _compute_bandwidth(model, _make_workload(results.design, o.factors, nodes), m.name)

    def scale_metric(o: Observation, m: Metric) -> Metric:
        key = (m.name, *_make_cell(o, o.factors))
        bandwidth = local_mb_s.get(key)
        return m if bandwidth is None else replace(m, value=m.value * bandwidth / fmean(values[key]))

    return replace(results, observations=tuple(
        replace(o, metrics=tuple(scale_metric(o, m) for m in o.metrics)) for o in results.observations))


def _make_workload(design: str, factors: Factors, nodes: list[host_nodes.Node]) -> Workload | None:
    """Makes the workload that the design has of these levels alone; None where it has none or several."""
    found = list(designs.place_far_apart(designs.DESIGNS[design].make({name: [level] for name, level in factors.items()}, nodes), nodes))
    return found[0] if len(found) == 1 else None


def _compute_bandwidth(model: Model, workload: Workload | None, metric: str) -> float | None:
    """Computes the bandwidth of all tasks or of the group that the metric names, in MB/s, with each thread beside the memory that it
    uses; None without a workload."""
    if workload is None:
        return None
    flows = [(task.group, (n, n, task.threads / len(task.memory_on))) for task in workload.tasks for n in task.memory_on]
    traffic = TRAFFIC.get(str(workload.options.get("operation")), READ)
    found = list(zip(flows, model.compute_bandwidths([flow for _, flow in flows], traffic), strict=True))
    own = [value for (group, _), value in found if group == metric.removeprefix("bandwidth_")]
    return sum(own or [value for _, value in found]) / 1e6

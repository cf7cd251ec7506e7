# SPDX-License-Identifier: GPL-2.0-only
"""Runs that are drawn: in memory, and as a folder for what reads one."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from ...analysis.runs.results import Metric, Observation, Results
from ...runner.suite import schedule
from ...runner.suite import suite as suites

METRIC, UNIT = "rate", "1/s"
MODES = (1.0, 1.6)  # of a program that starts on node 0, and on node 1
MEAN = 1000.0
Noise = Callable[[Random, int], Iterator[float]]  # factors around 1, for so many observations


def normal(deviation: float) -> Noise:
    def noise(draw: Random, n: int) -> Iterator[float]:
        return (draw.gauss(1, deviation) for _ in range(n))
    return noise


def slow(share: float, factor: float, deviation: float = 0.01) -> Noise:
    """Normal, and a share of the observations is larger by `factor`. The mean is 1 + share * (factor - 1)."""
    def noise(draw: Random, n: int) -> Iterator[float]:
        return (draw.gauss(1, deviation) * (factor if draw.random() < share else 1) for _ in range(n))
    return noise


def lognormal(deviation: float) -> Noise:
    """Of the median 1."""
    def noise(draw: Random, n: int) -> Iterator[float]:
        return (draw.lognormvariate(0, deviation) for _ in range(n))
    return noise


def two_modes(draw: Random, n: int) -> Iterator[float]:
    """Of two nodes, on which a program starts by chance, one is 1.6 times as fast. The mean is 1.3."""
    return (draw.gauss(1, 0.01) * draw.choice(MODES) for _ in range(n))


def drifting(draw: Random, n: int) -> Iterator[float]:
    """10 % from the first observation to the last."""
    return (draw.gauss(1, 0.01) * (1 + 0.1 * k / n) for k in range(n))


def correlated(draw: Random, n: int) -> Iterator[float]:
    """Each has half of the deviation of the one before it."""
    last = 0.0
    for _ in range(n):
        last = 0.5 * last + draw.gauss(0, 0.03)
        yield 1 + last


@dataclass(frozen=True)
class Boots:
    """The observations of a cell are of so many boots, each with a mean of its own."""

    number: int = 1
    deviation: float = 0.0  # between boots


def observation(workload: str, policy: str, repeat: int, value: float, boot: str = "0", order: int = 0, node: int = 0) -> Observation:
    """node: that its task started on."""
    task = {"role": "program", "node_before": node}
    record = {"workload": workload, "policy": policy, "repeat": repeat, "order": order, "platform": "real", "marks": [], "check": "ok",
              "metrics": [{"name": METRIC, "unit": UNIT, "value": value}], "tasks": [task], "boot_id": boot}
    return Observation(workload, policy, "real", repeat, order, False, (), (Metric(METRIC, UNIT, value),), (task,), None, {}, record, order)


def results(observations: Sequence[Observation], policies: Sequence[str] = ()) -> Results:
    manifest = {"responses": [METRIC], "suite": "drawn", "machine": "drawn", "policies": list(policies), "platform": "real"}
    return Results(Path("drawn"), manifest, tuple(replace(o, order=k, line=k) for k, o in enumerate(observations)), ())


@dataclass(frozen=True)
class Cells:
    """What a run is drawn from: the true speed of each workload and policy, and how observations scatter around it."""

    speeds: Mapping[tuple[str, str], float]
    noise: Noise = normal(0.01)
    boots: Boots = Boots()
    noises: Mapping[tuple[str, str], Noise] = field(default_factory=dict)  # of cells that have another one

    def run(self, draw: Random, repeats: int) -> Results:
        """`repeats` of every cell, as many in each boot."""
        made = []
        for (workload, policy), speed in self.speeds.items():
            values = list(self.noises.get((workload, policy), self.noise)(draw, repeats))
            means = [draw.gauss(1, self.boots.deviation) for _ in range(self.boots.number)]
            for k, value in enumerate(values):
                boot = k * self.boots.number // repeats
                node = int(self.noises.get((workload, policy)) is two_modes and value > 1.3)
                made.append(observation(workload, policy, k, MEAN * speed * means[boot] * value, str(boot), node=node))
        return results(made, list(dict.fromkeys(policy for _, policy in self.speeds)))


def planned(noise: Noise, draw: Random, repeats: int, effect: float = 1.0) -> Results:
    """Four workloads in the runner's random order, and one policy as two levels; `effect` is what the second really is."""
    whole = suites.load_suite("policy-matrix")
    levels = ("none", "none#2")
    plan = schedule.make_schedule(replace(whole, policies=levels, repeats=repeats, warmups=0, seed=draw.randrange(1 << 30),
                                          workloads=whole.workloads[:4]))
    values = noise(draw, len(plan))
    return results([observation(t.workload.name, t.policy, t.repeat, MEAN * next(values) * (effect if t.policy == levels[1] else 1))
                    for t in plan], levels)


def write(folder: Path, run: Results) -> Path:
    """As the runner writes it; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(run.manifest))
    (folder / "results.jsonl").write_text("".join(json.dumps(o.raw | {"order": o.order}) + "\n" for o in run.observations))
    return folder

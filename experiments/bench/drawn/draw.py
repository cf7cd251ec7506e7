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
MODES = (1.0, 1.6)  # factors of a program that starts on node 0, and on node 1
BETWEEN_MODES = 1.3
MEAN = 1000.0
Noise = Callable[[Random, int], Iterator[float]]  # factors around 1, for so many observations


def make_normal(deviation: float) -> Noise:
    """Makes noise of normal factors with this deviation around 1."""
    return lambda draw, n: (draw.gauss(1, deviation) for _ in range(n))


def make_slow(share: float, factor: float) -> Noise:
    """Makes noise of factors of 1 %, of which a share, 0..1, is `factor` times as large. The mean is 1 + share * (factor - 1)."""
    return lambda draw, n: (draw.gauss(1, 0.01) * (factor if draw.random() < share else 1) for _ in range(n))


def make_lognormal(deviation: float) -> Noise:
    """Makes noise of lognormal factors of the median 1; deviation: of their logarithm."""
    return lambda draw, n: (draw.lognormvariate(0, deviation) for _ in range(n))


def draw_two_modes(draw: Random, n: int) -> Iterator[float]:
    """Draws factors where a program starts by chance on one of two nodes, one 1.6 times as fast. The mean is 1.3."""
    return (draw.gauss(1, 0.01) * draw.choice(MODES) for _ in range(n))


def draw_drift(draw: Random, n: int) -> Iterator[float]:
    """Draws factors that drift by 10 % from the first observation to the last."""
    return (draw.gauss(1, 0.01) * (1 + 0.1 * k / n) for k in range(n))


def draw_correlated(draw: Random, n: int) -> Iterator[float]:
    """Draws factors whose deviation from 1 is half of that of the one before, plus a normal one of 3 %."""
    last = 0.0
    for _ in range(n):
        last = 0.5 * last + draw.gauss(0, 0.03)
        yield 1 + last


@dataclass(frozen=True)
class Boots:
    """Says of how many boots the observations of a cell are, each with a mean of its own."""

    number: int = 1
    deviation: float = 0.0  # between boots


def build_observation(workload: str, policy: str, repeat: int, value: float, boot: str = "0", node: int = 0) -> Observation:
    """Builds a clean observation of the metric METRIC; node: that its task started on. build_results() gives it its order and line."""
    task = {"role": "program", "node_before": node}
    record = {"workload": workload, "policy": policy, "repeat": repeat, "platform": "real", "marks": [], "check": "ok",
              "metrics": [{"name": METRIC, "unit": UNIT, "value": value}], "tasks": [task], "boot_id": boot}
    return Observation(workload, policy, "real", repeat, order=0, warmup=False, marks=(), metrics=(Metric(METRIC, UNIT, value),),
                       tasks=(task,), apply=None, factors={}, raw=record)


def build_results(observations: Sequence[Observation], policies: Sequence[str] = ()) -> Results:
    manifest = {"responses": [METRIC], "suite": "drawn", "machine": "drawn", "policies": list(policies), "platform": "real"}
    return Results(Path("drawn"), manifest, tuple(replace(o, order=k, line=k) for k, o in enumerate(observations)), ())


@dataclass(frozen=True)
class Cells:
    """Holds what a run is drawn from: the true speed of each workload and policy, and how observations scatter around it."""

    speeds: Mapping[tuple[str, str], float]
    noise: Noise = make_normal(0.01)
    boots: Boots = Boots()
    noises: Mapping[tuple[str, str], Noise] = field(default_factory=dict)  # of cells that have another one

    def draw_run(self, draw: Random, repeats: int) -> Results:
        """Draws `repeats` observations of every cell, as many in each boot where that divides, and returns the run.

        Those of draw_two_modes started on the node that their factor tells."""
        observations = []
        for (workload, policy), speed in self.speeds.items():
            noise = self.noises.get((workload, policy), self.noise)
            factors = list(noise(draw, repeats))
            means = [draw.gauss(1, self.boots.deviation) for _ in range(self.boots.number)]
            for repeat, factor in enumerate(factors):
                boot = repeat * self.boots.number // repeats
                node = int(noise is draw_two_modes and factor > BETWEEN_MODES)
                observations.append(build_observation(workload, policy, repeat, MEAN * speed * means[boot] * factor, str(boot), node=node))
        return build_results(observations, list(dict.fromkeys(policy for _, policy in self.speeds)))


def draw_planned(noise: Noise, draw: Random, repeats: int, effect: float = 1.0) -> Results:
    """Draws a run of four workloads in the runner's random order, under one policy as two levels; `effect` is the second's true ratio."""
    whole = suites.load_suite("policy-matrix")
    levels = ("none", "none#2")
    plan = schedule.make_schedule(replace(whole, policies=levels, repeats=repeats, warmups=0, seed=draw.randrange(1 << 30),
                                          workloads=whole.workloads[:4]))
    values = noise(draw, len(plan))
    return build_results([build_observation(trial.workload.name, trial.policy, trial.repeat,
                                            MEAN * next(values) * (effect if trial.policy == levels[1] else 1))
                          for trial in plan], levels)


def write_run(folder: Path, run: Results) -> Path:
    """Writes manifest.json and results.jsonl of a run into `folder`, which it makes; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(run.manifest))
    (folder / "results.jsonl").write_text("".join(json.dumps(o.raw | {"order": o.order}) + "\n" for o in run.observations))
    return folder

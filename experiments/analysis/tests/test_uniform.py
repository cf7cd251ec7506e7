# SPDX-License-Identifier: GPL-2.0-only
"""A run as a uniform machine would have given it: which observation stands for which."""

from dataclasses import dataclass

from experiments.analysis.machines import uniform
from experiments.analysis.runs.results import Observation


@dataclass(frozen=True)
class Run:
    observations: tuple[Observation, ...]

    @property
    def clean(self) -> list[Observation]:
        return [o for o in self.observations if o.clean]


def observe(memory: str, repeat: int, value: str, policy: str = "none", marks: tuple[str, ...] = ()) -> Observation:
    return Observation("w", policy, "lab-timed", repeat, repeat, False, marks, (value,), (), None, {"memory": memory},
                       {"boot_id": f"boot {repeat}", "value": value})


def replace_remote(*observations: Observation) -> list[Observation]:
    run = uniform._replace_remote(Run(observations), {"memory": "local"}, {"memory": "remote"})
    return [o for o in run.observations if o.factors["memory"] == "remote"]


def test_a_remote_observation_is_a_local_one_of_another_repeat():
    """Also where a repeat has none that counts."""
    local = [observe("local", repeat, f"local {repeat}", marks=("noise",) if repeat == 0 else ()) for repeat in range(3)]
    found = replace_remote(*local, *(observe("remote", repeat, f"remote {repeat}") for repeat in range(3)))
    assert [o.metrics for o in found] == [("local 1",), ("local 2",), ("local 1",)]
    assert [o.boot for o in found] == ["boot 0", "boot 1", "boot 2"], "which is where it was made"


def test_a_placement_has_observations_of_its_own():
    found = replace_remote(*(observe(memory, repeat, f"{policy} {memory} {repeat}", policy) for memory in ("local", "remote")
                             for policy in ("none", "n-mass") for repeat in range(2)))
    assert [o.metrics[0] for o in found] == ["none local 1", "none local 0", "n-mass local 1", "n-mass local 0"]


def test_without_a_counterpart_it_stays():
    assert [o.metrics for o in replace_remote(observe("remote", 0, "remote 0"))] == [("remote 0",)]

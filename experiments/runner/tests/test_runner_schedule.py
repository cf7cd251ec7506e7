# SPDX-License-Identifier: GPL-2.0-only
"""Suites are checked when they are read; the schedule is blocked, random and the same for a seed."""

from collections import Counter
from dataclasses import replace

import pytest

from experiments.commands.experiment import cli
from experiments.commands.run_request import read_options
from experiments.host.tool import Numaplace
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites


@pytest.fixture
def suite() -> suites.Suite:
    return suites.load_suite("policy-matrix")


def keys(suite: suites.Suite) -> list[tuple]:
    return [trial.key for trial in schedule.make_schedule(suite)]


def test_the_same_seed_gives_the_same_order_and_another_seed_another(suite) -> None:
    assert keys(suite) == keys(suite)
    assert keys(suite) != keys(replace(suite, seed=suite.seed + 1))
    assert sorted(keys(suite)) == sorted(keys(replace(suite, seed=suite.seed + 1)))


def test_warmups_come_first_and_every_block_has_every_combination_once(suite) -> None:
    trials = schedule.make_schedule(suite)
    warm = len(suite.workloads) * suite.warmups
    assert [trial.warmup for trial in trials] == [True] * warm + [False] * (len(trials) - warm)
    combinations = {(w.name, p) for w in suite.workloads for p in suite.policies}
    size = len(combinations)
    blocks = [trials[i:i + size] for i in range(warm, len(trials), size)]
    assert len(blocks) == suite.repeats
    for repeat, block in enumerate(blocks):
        assert Counter((i.workload.name, i.policy) for i in block) == Counter(combinations)
        assert {i.repeat for i in block} == {repeat}
    assert len({tuple((i.workload.name, i.policy) for i in block) for block in blocks}) == len(blocks)


def test_a_marked_observation_is_made_once_more() -> None:
    def line(workload: str, *marks: str, check: str = "ok") -> dict:
        return {"workload": workload, "policy": "none", "repeat": 0, "marks": list(marks), "check": check}

    records = [line("a"), line("b", "numa_balancing"), line("c", "late"), line("c"),
               line("d", check="wrong"), line("d", "late"), line("e", check="wrong")]
    assert {key[0] for key in schedule.find_done(records)} == {"a", "c", "d"}


def test_the_suite_has_the_workloads_and_policies_that_are_known(suite) -> None:
    assert [w.name for w in suite.workloads] == [
        "contention-1L1R", "contention-0L2R", "contention-2L2R", "cross", "split", "memory-only",
        "redis-lists", "redis-keys", "redis-zsets"]
    for policy in ("maximum-local", "n-mass"):  # like with like
        assert {f"{policy}:pages=follow", f"{policy}:pages=stay"} <= set(suite.policies)
    Numaplace().check_policies(suite.policies)
    assert suite.repeats >= 3


def test_quick_is_smaller_and_set_changes_one_parameter(suite) -> None:
    quick = suites.replace_levels(suite, suite.quick)
    assert len(schedule.make_schedule(quick)) < len(schedule.make_schedule(suite))
    assert quick.parameters["triad"]["kernel"] == suite.parameters["triad"]["kernel"]
    assert quick.parameters["triad"]["seconds"] < suite.parameters["triad"]["seconds"]
    changed = suites.change_parameters(suite, ["triad.seconds=7"])
    assert changed.parameters["triad"]["seconds"] == 7.0
    assert changed.parameters["redis"] == suite.parameters["redis"]


def test_a_machine_of_the_lab_may_have_levels_of_its_own() -> None:
    asked = ["run", "contention", "--quick", "--lab"]
    paper, same, slower, scaled = (cli.make_request(read_options([*asked, *machine])).suite.parameters["memory"]["seconds"]
                                   for machine in ([], ["xeon-e5620-2s"], ["ls3a-2s"], ["ls3a-2s/16"]))
    assert paper == same < slower
    assert scaled == slower  # of the machine at full speed; the run itself has S times as long
    given = cli.make_request(read_options([*asked, "ls3a-2s", "--set", "memory.seconds=0.5"]))
    assert given.suite.parameters["memory"]["seconds"] == 0.5

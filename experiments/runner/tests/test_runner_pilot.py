# SPDX-License-Identifier: GPL-2.0-only
"""What is measured of a workload before its first placement, on real processes; a machine of one node takes no placement itself."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.errors import CannotError
from experiments.host import host_nodes
from experiments.runner import pilot
from experiments.runner.observe import Observer
from experiments.runner.suite import designs, schedule
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.mem import Memory

PLACING = ("none", "maximum-local")
TAKES = 0.2  # s, of the stand-in's placement


class Tool:
    """numaplace, of which this machine of one node can run no placement and no flip."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def apply(self, policy: str, pids: list[int], assume: list[str], sample: float) -> dict:
        self.asked.append((policy, len(pids), assume))
        time.sleep(TAKES)
        return {"decisions": []}

    def restore(self, pids: list[int]) -> None:
        self.asked.append("restore")

    def measure_penalty(self, pid: int, phase: float) -> tuple[float, float]:
        self.asked.append("flip")
        return 1.5, 20.0


def workload(tmp_path: Path, *placements: str) -> tuple[schedule.Trial, Any]:
    node = host_nodes.list_nodes()[0]
    suite = suites.choose_cells(suites.load_suite("contention"), None, list(placements))
    suite = replace(suite, levels={"local": [2], "remote": [0]}, parameters=suite.parameters | {
        "memory": {"size": "64K", "kernel": "plain", "seconds": 0.01, "warm": 0.0, "pages": "default"}})
    made = designs.replace_workloads(suite, designs.make_contention(suite.levels, [node, node]), [node, node])
    trial = schedule.Trial(made.workloads[0], "none", 0, 0, False)
    return trial, lambda one: Memory(one, made, [node, node], tmp_path)


def test_the_work_takes_three_times_a_placement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the rate that the workers had meanwhile, which here is a number: a host that others use has another each time."""
    trial, start = workload(tmp_path, *PLACING)
    tool, rates = Tool(), []
    monkeypatch.setattr(Memory, "compute_rate",
                        lambda self: rates.append({role: said["operations"] for role, said in self.reports.items()}) or 1e6)
    found = pilot.run_pilot(trial, PLACING[1:], start, tool, 0.02, timed=True)
    assert tool.asked == ["flip", ("maximum-local", 2, tool.asked[1][2]), "restore"], "both workers are of one kind: one flip"
    assert all(text.endswith(",penalty=1.5,mpki=20") for text in tool.asked[1][2])
    assert found.inputs["local-0"] == found.inputs["local-1"] and found.inputs["local-0"].source.startswith("measured")
    assert found.apply_s >= TAKES and found.work == pilot.round_work(3 * found.apply_s * 1e6)
    assert [sorted(one) for one in rates] == [["local-0", "local-1"]] and min(rates[0].values()) > 0, "both have worked in turns"


def test_an_input_that_cannot_be_measured_is_not_told_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial, start = workload(tmp_path, *PLACING)

    def refuse(self: Tool, pid: int, phase: float) -> tuple[float, float]:
        raise CannotError("nothing counts here")

    monkeypatch.setattr(Tool, "measure_penalty", refuse)
    found = pilot.run_pilot(trial, PLACING[1:], start, Tool(), 0.02, timed=True)
    assert found.inputs["local-0"] == pilot.Input(None, None, "not measured: nothing counts here")
    assert pilot.run_pilot(trial, PLACING[1:], start, Tool(), 0.02, timed=False).inputs == {}, "where times mean nothing"


def test_amounts_are_steps_of_a_series() -> None:
    assert [pilot.round_work(x) for x in (0, 1, 95, 101, 120)] == [1, 1, 100, 113, 126]


@pytest.mark.parametrize("solved, policy, platform, marked", [
    (0.1, "n-mass", "lab-timed", True), (0.3, "n-mass", "lab-timed", False), (0.1, "none", "real", False), (0.1, "n-mass", "lab-functional", False)])
def test_a_work_that_was_over_before_the_placement_is_marked(tmp_path: Path, solved: float, policy: str, platform: str, marked: bool) -> None:
    trial, start = workload(tmp_path, *PLACING)
    running = start(trial)
    running.solved = solved
    record = {"metrics": [], "marks": [], "policy": policy, "platform": platform, "apply_at": [5.0, 5.2]}
    Observer._fill_work(None, running, record)
    assert record["metrics"] == [{"name": "time_to_solution", "unit": "s", "value": solved}]
    assert bool(record["marks"]) == marked and (not marked or "before the placement was at 0.200 s" in record["marks"][0])


def test_workers_are_free_in_a_run_with_placements_and_bound_in_one_without(tmp_path: Path) -> None:
    words = []
    for placements in (["none"], ["none", "n-mass"]):
        trial, start = workload(tmp_path, *placements)
        running = start(trial)
        running.run = lambda task, said, **more: words.append([*map(str, said)])
        running.programs = {}
        running.start()
    assert ["--pin" in one for one in words] == [True, True, False, False]

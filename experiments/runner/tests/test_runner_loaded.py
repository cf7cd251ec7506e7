# SPDX-License-Identifier: GPL-2.0-only
"""A latency under load: the load is at work as long as the chase measures, and it is said where it was not."""

from pathlib import Path

import pytest

from experiments.host import host_nodes
from experiments.host.host_nodes import Node
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites
from experiments.runner.suite.suite import Task, Workload
from experiments.runner.workloads.latency import Loaded

SECONDS, WARM = 0.005, 0.004


class Program:
    """Ends a look at the clock after the time that it was asked for."""

    def __init__(self, late: float, overshoot: float) -> None:
        self.late, self.overshoot = late, overshoot

    def send(self, line: str) -> None:
        _run, seconds, begin, warm = line.split()
        self.started = float(begin) + float(warm) + self.late
        self.finished = self.started + float(seconds) + self.overshoot

    def receive(self, _event: str, _limit: float) -> dict[str, float]:
        return {"started": self.started, "finished": self.finished, "ns_per_operation": 90.0, "mb_per_s_bus": 100.0}


@pytest.mark.parametrize("scale, chase, load, mark", [
    (1, (0.0, 0.0), (0.0, 0.0), None),
    (1, (0.0005, 0.0005), (0.0, 0.0), None),  # 1024 hops of 488 ns, at the end of either part
    (16, (16 * 0.0005, 16 * 0.0005), (0.0, 0.0), None),  # which take 16 times as long
    (1, (0.0, 0.01), (0.0, 0.0), "7.00 ms of the chase's were without load"),
    (1, (0.0, 0.0), (0.001, 0.0), None),  # it warms up meanwhile
    (1, (0.0, 0.0), (0.0045, 0.0), "0.50 ms of the chase's were without load")])
def test_the_load_works_until_the_chase_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: int, chase: tuple[float, float],
                                                  load: tuple[float, float], mark: str | None) -> None:
    """Programs that are late, and overshoot, by so many seconds, and their last mark."""
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: scale)
    suite = suites.replace_levels(suites.load_suite("loaded-latency"), {"loaded": {"seconds": SECONDS, "warm": WARM}})
    workload = Workload("loaded", "loaded", "", (Task("chase", 0, (0,)), Task("load", 0, (0,))), {}, {"mix": "1:0", "delay": 0})
    running = Loaded(schedule.Trial(workload, "none", 0, 0, False), suite, [Node(0, (0, 1), {}, 1, 1)], tmp_path)
    running.programs = {"chase": Program(*chase), "load": Program(*load)}
    found, of = running.measure(), running.programs
    assert of["load"].finished >= of["chase"].finished or chase[1] > 0.003 * host_nodes.read_lab_scale()
    assert found.marks[-1:] == ([mark] if mark else [])

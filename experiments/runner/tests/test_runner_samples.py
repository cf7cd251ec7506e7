# SPDX-License-Identifier: GPL-2.0-only
"""Where the pages of real processes are, by the clock of their own measurement.

The moments around apply are in the guest's tests: apply refuses a host of one node.
"""

import json
from dataclasses import replace
from pathlib import Path

from experiments.host import host_nodes
from experiments.host.tool import Numaplace
from experiments.runner.observe import Observer
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.mem import Memory

SMALL = {"triad": {"size": "4M", "kernel": "auto", "seconds": 0.2, "warm": 0.0}}
MOVED = {"decisions": [{"pid": 1, "result": {"migrate": {"moved": 6}}}, {"pid": 2, "result": None}]}


def test_each_look_at_the_tasks_is_a_sample(tmp_path: Path) -> None:
    suite = suites.load_suite("policy-matrix")
    suite = replace(suite, parameters=suite.parameters | SMALL)
    node = host_nodes.list_nodes()[0]
    workload = next(w for w in suite.workloads if w.name == "contention-1L1R")
    trial = schedule.Trial(workload, "none", 0, 0, False)
    observer, record = Observer(suite, [node, node], Numaplace(), tmp_path), {"apply": None}
    running = Memory(trial, suite, [node, node], tmp_path)
    try:
        running.start()
        seen = observer._read_tasks(running, record)
        with running.keep_working(0):
            record["apply"] = MOVED
        details = running.measure().details
        observer._read_tasks(running, record)
    finally:
        running.stop()
    before, measured = json.loads(json.dumps(record["samples"]))
    assert [before["moved"], measured["moved"]] == [0, 6]
    roles = [task.role for task in running.tasks]
    for role, task in zip(roles, seen, strict=True):
        assert before["pages"][role] == task["pages"] and task["pages"][str(node.id)] >= 1024
        assert before["t_s"] < details[role]["started"] < details[role]["finished"] < measured["t_s"]
        assert measured["pages"][role].keys() == {str(node.id)}

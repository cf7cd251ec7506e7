# SPDX-License-Identifier: GPL-2.0-only
"""Tasks that are watched before they are placed work meanwhile, and measure afterwards as ever."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest

from experiments.errors import Interrupted
from experiments.host import host_nodes
from experiments.host.host_nodes import Node
from experiments.host.interrupts import stop_signals
from experiments.runner.suite import designs, schedule
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.mem import Memory
from experiments.runner.workloads.workload import RunningWorkload

WORK = 10000 * (256 << 10) // 8  # operations
SMALL = {"triad": {"size": "256K", "kernel": "auto", "seconds": 0.01, "warm": 0.0}}


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """Triads that have not started; they end after the test."""
    suite = suites.load_suite("policy-matrix")
    suite = replace(suite, parameters=suite.parameters | SMALL)
    here = host_nodes.list_nodes()[:1] * 2 + [Node(0, (), {0: 10}, 1 << 20, 1 << 20)]
    name = getattr(request, "param", "contention-1L1R")
    workload = next(w for w in designs.expand_suite(suite, here).workloads if w.name == name)
    running = Memory(schedule.Trial(workload, "none", 0, 0, False), suite, here, tmp_path)
    running.work = WORK
    yield running
    running.stop()


def threads(running: Memory) -> list[list[str]]:
    """What /proc says of each, from its state on."""
    return [path.read_text().rpartition(")")[2].split()
            for pid in running.pids for path in Path(f"/proc/{pid}/task").glob("*/stat")]


def ticks(running: Memory) -> int:
    return sum(int(word) for thread in threads(running) for word in thread[11:13])


def ticks_at_rest(running: Memory) -> int:
    """Once all sleep: a task that has just answered still runs for some steps."""
    deadline = time.monotonic() + 60
    while any(thread[0] != "S" for thread in threads(running)):
        assert time.monotonic() < deadline, threads(running)
        time.sleep(0.01)
    return ticks(running)


def test_triads_work_while_they_are_watched(running: Memory) -> None:
    running.start()
    idle = ticks_at_rest(running)
    with running.keep_working(0.02) as sample:
        deadline = time.monotonic() + 60
        while ticks(running) < idle + 5 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert sample == 0.02
    worked = ticks_at_rest(running)
    assert worked >= idle + 5
    time.sleep(0.3)
    assert ticks(running) == worked
    assert running.measure().metrics[0]["value"] > 0
    assert running.verify() == "ok"


def test_a_work_has_one_time_that_what_is_done_meanwhile_is_a_part_of(running: Memory) -> None:
    """The real np-mem: as many elements whatever happens; as long as it takes, not as what was done meanwhile takes."""
    running.start()
    begin = time.monotonic()
    with running.keep_working(0.02):
        pass
    assert 0 < running.solved <= time.monotonic() - begin, "what is done meanwhile is over before the work"
    one = running.solved
    with running.keep_working(0.02):
        time.sleep(one + 2)  # far longer than the work on a busy host
    assert running.solved < one + 2, "tasks go on in turns, which are no part of the work"
    found = running.measure().metrics
    assert found[0]["name"] == "bandwidth"
    assert running.verify() == "ok"


def test_the_work_is_the_same_in_every_observation(running: Memory) -> None:
    running.start()
    said: list[str] = []
    program = running.programs["local-0"]
    send = program.send
    program.send = lambda text: (said.append(text), send(text))[1]
    with running.keep_working(0):
        pass
    assert said[0] == f"work {WORK}"
    assert not said[1:] or said[1].startswith("run ")


@pytest.mark.parametrize("running", ["memory-only"], indirect=True)
def test_a_task_whose_memory_is_on_a_node_without_cpus_starts_on_its_own(running: Memory) -> None:
    """The third node stands for one of memory alone: it has this machine's memory, and no CPUs."""
    running.start()
    with running.keep_working(0):
        pass
    assert running.measure().metrics[0]["value"] > 0 and running.verify() == "ok"
    assert all(os.sched_getaffinity(pid) <= os.sched_getaffinity(0) for pid in running.pids)


@pytest.mark.parametrize("kind", [Memory, RunningWorkload])
def test_a_signal_while_the_tasks_are_told_to_work_ends_them(kind: type[RunningWorkload], running: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "work_once", lambda: time.sleep(0.01))
    submit = ThreadPoolExecutor.submit

    def submit_and_signal(*words: object) -> object:
        task = submit(*words)
        os.kill(os.getpid(), signal.SIGTERM)
        return task

    stuck: list[bool] = []
    watchdog = Timer(60, lambda: (stuck.append(True), running.stop(), monkeypatch.setattr(running, "work_once", lambda: 1 / 0)))
    watchdog.start()
    try:
        running.start()
        running.work = 0
        monkeypatch.setattr(ThreadPoolExecutor, "submit", submit_and_signal)
        with pytest.raises(Interrupted), stop_signals(), kind.keep_working(running, 0):
            pass
        assert not stuck
    finally:
        watchdog.cancel()

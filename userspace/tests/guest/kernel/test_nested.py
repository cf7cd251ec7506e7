# SPDX-License-Identifier: GPL-2.0-only
"""Nested placements, by the module and by system calls: what was there at first is restored."""
import itertools
import json
import os
from pathlib import Path

import pytest
from placed import DEBUGFS, Target, Tool

STATE = Path("/run/numaplace/state.json")
ENGINES = ["module", "syscall"]


@pytest.fixture
def target(start_target, module: None) -> Target:
    """On CPUs 2 and 3."""
    return start_target(cpus=1, memory=1)


def nothing_is_left() -> None:
    assert (DEBUGFS / "placements").read_text() == ""
    assert not STATE.exists() or json.loads(STATE.read_text())["threads"] == []


@pytest.mark.parametrize("engines", list(itertools.product(ENGINES, repeat=3)), ids="-".join)
@pytest.mark.parametrize("whose", ["all", "pid"])
def test_whatever_the_order(tool: Tool, target: Target, engines: tuple[str, ...], whose: str) -> None:
    for engine, cpu in zip(engines, "103"):
        tool("place", target.pid, "--engine", engine, "--cpus", cpu)
        assert target.cpus() == {cpu}
    answer = tool("restore", "--all" if whose == "all" else target.pid)
    assert target.cpus() == {"2-3"} and answer["left_alone"] == 0, answer
    nothing_is_left()


@pytest.mark.parametrize("engines", list(itertools.product(ENGINES, repeat=2)), ids="-".join)
def test_a_thread_that_was_started_between(tool: Tool, target: Target, engines: tuple[str, ...]) -> None:
    for engine, cpu in zip(engines, "10"):
        tool("place", target.pid, "--engine", engine, "--cpus", cpu)
        target.ask("sleepers 1")
    tool("restore", target.pid)
    assert target.cpus() == {"2-3"}
    nothing_is_left()


def test_what_the_user_chose_on_top_is_left_alone(tool: Tool, target: Target) -> None:
    tool("place", target.pid, "--engine", "syscall", "--cpus", "1")
    tool("place", target.pid, "--engine", "module", "--cpus", "0")
    os.sched_setaffinity(target.pid, [3])
    answer = tool("restore", target.pid)
    assert target.cpus() == {"3"} and answer["left_alone"] > 0
    nothing_is_left()


def test_cpus_beyond_those_that_the_task_asked_for_leave_its_policy(tool: Tool, target: Target) -> None:
    """The module would give it CPU 2 alone on Linux 6.2 and later, so system calls set both."""
    policy = target.policy()
    os.sched_setaffinity(target.pid, [1, 2, 3])
    tool("place", target.pid, "--engine", "module", "--cpus", "1", "--membind", "0")
    assert (target.cpus(), target.policy()) == ({"1"}, "bind:0")
    tool("place", target.pid, "--engine", "module", "--cpus", "0,2")
    assert (target.cpus(), target.policy()) == ({"0,2"}, "bind:0")
    answer = tool("restore", target.pid)
    assert (target.cpus(), target.policy()) == ({"1-3"}, policy) and answer["left_alone"] == 0, answer
    nothing_is_left()

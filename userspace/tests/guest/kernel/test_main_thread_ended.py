# SPDX-License-Identifier: GPL-2.0-only
"""A process whose main thread has ended, while others run on: it has no memory of its own in /proc/PID, which is a zombie."""
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from placed import Target, Tool, wait_until

PAGES = 8 * 256


@pytest.fixture
def headless(start_target: Callable[..., Target]) -> Target:
    target = start_target(cpus=1, memory=0)
    target.allocate(8)
    assert target.ask("hand-over") == "ok"
    wait_until(lambda: " Z " in Path(f"/proc/{target.pid}/stat").read_text(), "the main thread has ended")
    return target


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("engine", ["module", "syscall"])
def test_is_seen_planned_and_moved(tool: Tool, headless: Target, engine: str) -> None:
    task = tool("ps", headless.pid)["tasks"][0]
    assert task["pages"]["0"] >= PAGES and task["node"] == 1
    assert headless.pid in [one["pid"] for one in tool("ps")["tasks"]]
    done = tool("apply", "--policy", "maximum-local", "--override", "--engine", engine, "--sample", 0, headless.pid)["decisions"][0]
    assert done["to"] == 0 and headless.cpus() >= {"0-1"}, done
    tool("migrate", headless.pid, "--to", 1, "--engine", engine)
    assert tool("ps", headless.pid)["tasks"][0]["pages"]["1"] >= PAGES
    tool("restore", "--all")
    assert headless.ask("check") in ("ok", "bad 0"), "another thread obeys"


def test_one_that_is_a_zombie_as_a_whole_is_not(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target()
    os.kill(target.pid, signal.SIGKILL)
    wait_until(lambda: " Z " in Path(f"/proc/{target.pid}/stat").read_text(), "the process has ended")
    done = tool.run("ps", target.pid)
    assert done.returncode and "has already exited" in done.stdout + done.stderr

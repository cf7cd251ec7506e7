# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's weights for interleaving: written for a plan, followed by pages to come, given back."""
from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from placed import TOOL, Target, Tool, wait_until

FOLDER = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
WEIGHTED = ("--policy", "weighted", "--sample", 0)
SPINS = "area = bytearray(32 << 20)\nwhile True:\n    for at in range(0, len(area), 4096):\n        area[at] = 1\n"

pytestmark = pytest.mark.usefixtures("module")
with_weights = pytest.mark.skipif(not FOLDER.exists(), reason="Linux 6.9 brought the weights")


def kernel() -> dict[str, str]:
    """Its weights; since Linux 6.16 also whether it chooses them itself."""
    return {file.name: file.read_text().strip() for file in FOLDER.iterdir()}


def weights() -> dict[str, int]:
    return {name.removeprefix("node"): int(text) for name, text in kernel().items() if name != "auto"}


def listed(found: dict[str, int]) -> str:
    return " ".join(f"{node}:{weight}" for node, weight in sorted(found.items()))


def share_of_node_1(found: dict[str, int]) -> float:
    return found["1"] / sum(found.values())


def spread(tool: Tool, target: Target) -> dict[str, int]:
    return tool("plan", *WEIGHTED, target.pid)["decisions"][0]["spread"]


@pytest.fixture
def target(start_target: Callable[..., Target]) -> Target:
    """Its node has more bandwidth than the other."""
    target = start_target(cpus=0, memory=0)
    target.allocate(24)
    return target


@pytest.fixture
def before(tool: Tool) -> Iterator[dict[str, str]]:
    was = kernel()
    yield was
    tool.run("restore", "--all")
    assert kernel() == was


def share_of_new(target: Target) -> float:
    """On node 1, of 4096 pages that are touched now."""
    before = target.pages()
    target.allocate(16)
    new = {node: pages - before[node] for node, pages in target.pages().items()}
    assert 4096 <= sum(new.values()) < 4096 + 16
    return new[1] / sum(new.values())


@with_weights
def test_new_pages_follow_the_plan(tool: Tool, target: Target, before: dict[str, str]) -> None:
    was, wanted = weights(), spread(tool, target)
    assert wanted["0"] > wanted["1"] > 0 and share_of_node_1(wanted) < share_of_node_1(was) - 0.05
    done = tool("apply", *WEIGHTED, "--weights", "write", target.pid)
    assert weights() == wanted == done["kernel_weights"] == done["wanted_weights"]
    assert len(done["notes"]) == 1 and "for every task of this machine" in done["notes"][0]
    assert target.policy() == "weighted", "interleave:0-1 is the next word"
    assert share_of_new(target) == pytest.approx(share_of_node_1(wanted), abs=0.02)
    back = tool("restore", target.pid)
    assert back["restored"] > 0 and f"weights for interleaving are {listed(was)} again" in back["weights"]
    assert kernel() == before


@with_weights
def test_they_are_left_and_said(tool: Tool, target: Target, before: dict[str, str]) -> None:
    was, wanted = weights(), spread(tool, target)
    line = f"new pages are interleaved by the kernel's weights, {listed(was)}, not by the plan's, {listed(wanted)};"
    plan = tool("plan", *WEIGHTED, target.pid)
    assert plan["kernel_weights"] == was and plan["wanted_weights"] == wanted
    for command in ("plan", "apply"):
        done = tool.run(command, *WEIGHTED, target.pid)
        assert done.returncode == 0 and line in done.stdout, done
    assert kernel() == before
    assert share_of_new(target) == pytest.approx(share_of_node_1(was), abs=0.02)


@with_weights
def test_written_later_though_nothing_moves(tool: Tool, target: Target, before: dict[str, str]) -> None:
    tool("apply", *WEIGHTED, target.pid)
    wanted = spread(tool, target)
    tool("apply", *WEIGHTED, "--weights", "write", target.pid)
    assert weights() == wanted
    assert share_of_new(target) == pytest.approx(share_of_node_1(wanted), abs=0.02)


@with_weights
def test_a_second_plan_is_refused(tool: Tool, target: Target, start_target: Callable[..., Target],
                                  before: dict[str, str]) -> None:
    tool("apply", *WEIGHTED, "--weights", "write", target.pid)
    wanted, other = weights(), start_target(cpus=1, memory=1)
    other.allocate(24)
    pages, policy = other.pages(), other.policy()
    done = tool.run("apply", *WEIGHTED, "--weights", "write", other.pid)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"process {target.pid} goes by {listed(wanted)}, and the kernel has one set" in done.stderr
    assert weights() == wanted and other.policy() == policy and other.pages() == pages
    done = tool.run("apply", *WEIGHTED, "--weights", "write", target.pid, other.pid)
    assert done.returncode == 1 and "others of the plan by" in done.stderr


@with_weights
def test_the_last_of_two_gives_them_back(tool: Tool, target: Target, start_target: Callable[..., Target],
                                         before: dict[str, str]) -> None:
    second = start_target(cpus=0, memory=0)
    second.allocate(24)
    for task in (target, second):
        tool("apply", *WEIGHTED, "--weights", "write", task.pid)
    assert "weights" not in tool("restore", target.pid)
    assert kernel() != before
    tool("restore", second.pid)
    assert kernel() == before


@with_weights
@pytest.mark.parametrize("how", ["SIGKILL", "SIGKILL all", "SIGINT"])
def test_ended_while_pages_move(tool: Tool, target: Target, before: dict[str, str], how: str) -> None:
    apply = subprocess.Popen([TOOL, "apply", "--override", *map(str, WEIGHTED), "--weights", "write", "--rate",
                              "1", str(target.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: target.pages()[1] > 100, "the pages move")
    assert kernel() != before
    apply.send_signal(signal.Signals[how.split()[0]])
    apply.wait(60)
    assert (kernel() == before) == (how == "SIGINT")
    if how != "SIGINT":
        tool("restore", "--all" if "all" in how else target.pid)
    assert kernel() == before and target.policy() == "bind:0"


@with_weights
def test_run_writes_them_for_its_program(tool: Tool, before: dict[str, str]) -> None:
    was = weights()
    run = subprocess.Popen([TOOL, "run", "--policy", "weighted", "--weights", "write", "--interval", "300ms", "--",
                            "numactl", "--cpunodebind=0", sys.executable, "-IS", "-c", SPINS],
                           text=True, stderr=subprocess.PIPE)
    wait_until(lambda: kernel() != before, "run writes the weights")
    run.terminate()
    errors = run.communicate(timeout=60)[1]
    assert f"weights for interleaving are {listed(was)} again" in errors
    assert kernel() == before


@with_weights
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_the_daemon_gives_them_back(tool: Tool, target: Target, before: dict[str, str],
                                    ending: signal.Signals) -> None:
    daemon = subprocess.Popen([TOOL, "daemon", "--policy", "weighted", "--weights", "write", "--interval", "100ms",
                               "--min-busy", "0", "--override", str(target.pid)], text=True, stderr=subprocess.PIPE)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(daemon.stderr), daemon=True)
    reader.start()
    wait_until(lambda: any("weights for interleaving are" in line for line in lines), lambda: lines)
    assert kernel() != before
    daemon.send_signal(ending)
    daemon.wait(60)
    reader.join(60)
    if ending == signal.SIGKILL:
        assert kernel() != before
        tool("restore", "--all")
    assert kernel() == before


def test_refused_where_nothing_would_follow(tool: Tool, target: Target) -> None:
    words = ("apply", *WEIGHTED, "--weights", "write", target.pid)
    pages = target.pages()
    if not FOLDER.exists():
        status, error = tool.fails(*words)
        assert status == 3 and "this kernel has no interleave weights (Linux 6.9 and later have)" in error
    status, error = tool.fails(*words, "--engine", "syscall")
    assert status == 3 and target.pages() == pages and target.policy() == "bind:0"


@pytest.mark.skipif(FOLDER.exists(), reason="this kernel has weights")
def test_without_weights_it_says_so(tool: Tool, target: Target) -> None:
    done = tool.run("plan", *WEIGHTED, target.pid)
    assert "this kernel has no interleave weights (Linux 6.9 and later have)" in done.stdout
    plan = json.loads(tool.run("plan", *WEIGHTED, target.pid, "--json").stdout)
    assert plan["kernel_weights"] is None and plan["wanted_weights"]

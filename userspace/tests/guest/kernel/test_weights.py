# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's weights for interleaving beside those of a plan, and the command that sets the plan's."""
from __future__ import annotations

import errno
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from placed import TOOL, Target, Tool, nodes_of, shares, wait_until

FOLDER = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
WEIGHTED = ("--policy", "weighted", "--sample", 0)

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
def kept() -> Iterator[None]:
    """The earlier weights at the end. A weight that is written ends the kernel's own choice (auto), which needs a table to
    begin again (ENODEV: firmware gives no bandwidths).
    """
    before = kernel()
    yield
    for name in sorted(before, reverse=True):
        try:
            (FOLDER / name).write_text(before[name])
        except OSError as error:
            assert (name, error.errno) == ("auto", errno.ENODEV)


def printed_command(text: str) -> str:
    return text.split("; to set these for every task of the machine: ")[1].splitlines()[0]


def share_of_new(target: Target) -> float:
    """On node 1, of 4096 pages that are touched now."""
    before = target.pages()
    target.allocate(16)
    new = {node: pages - before[node] for node, pages in target.pages().items()}
    assert 4096 <= sum(new.values()) < 4096 + 16
    return new[1] / sum(new.values())


@with_weights
def test_they_are_left_and_said(tool: Tool, target: Target) -> None:
    before, was, wanted = kernel(), weights(), spread(tool, target)
    assert wanted["0"] > wanted["1"] > 0 and share_of_node_1(wanted) < share_of_node_1(was) - 0.05
    line = f"new pages are interleaved by the kernel's weights, {listed(was)}, not by the plan's, {listed(wanted)}; "
    plan = tool("plan", *WEIGHTED, target.pid)
    assert plan["kernel_weights"] == was and plan["wanted_weights"] == wanted
    for command in ("plan", "apply"):
        done = tool.run(command, *WEIGHTED, target.pid)
        assert done.returncode == 0 and line in done.stdout, done
    assert kernel() == before
    assert shares(nodes_of(target, 24)) == pytest.approx(share_of_node_1(wanted), abs=0.02)
    assert share_of_new(target) == pytest.approx(share_of_node_1(was), abs=0.02)


@with_weights
@pytest.mark.usefixtures("kept")
def test_the_printed_command_sets_them(tool: Tool, target: Target) -> None:
    wanted = spread(tool, target)
    assert wanted != weights()
    said = tool.run("plan", *WEIGHTED, target.pid).stdout
    subprocess.run(["sh", "-c", printed_command(said)], check=True)
    assert weights() == wanted
    for command in ("plan", "apply"):
        done = tool.run(command, *WEIGHTED, target.pid)
        assert done.returncode == 0 and "kernel's weights" not in done.stdout, done
    done = tool("plan", *WEIGHTED, target.pid)
    assert done["kernel_weights"] == done["wanted_weights"] == wanted
    assert target.policy() == "weighted", "interleave:0-1 is the next word"
    assert share_of_new(target) == pytest.approx(share_of_node_1(wanted), abs=0.02)


@with_weights
def test_the_daemon_says_the_command(tool: Tool, target: Target) -> None:
    command = printed_command(tool.run("plan", *WEIGHTED, target.pid).stdout)
    daemon = subprocess.Popen([TOOL, "daemon", *map(str, WEIGHTED), "--interval", "100ms", "--min-busy", "0",
                               "--least-gain", "0", "--override", str(target.pid)], text=True, stderr=subprocess.PIPE)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(daemon.stderr), daemon=True)
    reader.start()
    wait_until(lambda: any("kernel's weights" in line for line in lines), lambda: lines)
    daemon.terminate()
    assert daemon.wait(60) == 0
    reader.join(60)
    assert [printed_command(line) for line in lines if "kernel's weights" in line] == [command]


@pytest.mark.skipif(FOLDER.exists(), reason="this kernel has weights")
def test_without_weights_it_says_so(tool: Tool, target: Target) -> None:
    done = tool.run("plan", *WEIGHTED, target.pid)
    assert "this kernel has no interleave weights (Linux 6.9 and later have)" in done.stdout
    plan = json.loads(tool.run("plan", *WEIGHTED, target.pid, "--json").stdout)
    assert plan["kernel_weights"] is None and plan["wanted_weights"]

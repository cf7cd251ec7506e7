# SPDX-License-Identifier: GPL-2.0-only
"""Plans that spread pages: where they are is asked of the kernel, with move_pages(2)."""
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from placed import NODE_CPUS, Target, Tool, count_on_node_1, list_nodes

COPIED = 64     # at most so many pages of mapped files are private copies, which pages() leaves out


def apply(tool: Tool, target: Target, policy: str, engine: str = "auto") -> dict:
    return tool("apply", "--policy", policy, "--engine", engine, "--sample", 0, target.pid)


def moved_of(done: dict) -> int:
    return done["decisions"][0]["result"]["migrate"]["moved"]


def test_interleave_alternates(tool: Tool, start_target: Callable[..., Target], engine: str):
    target = start_target(cpus=0, memory=0)
    target.allocate(24)
    done = apply(tool, target, "interleave", engine)
    nodes = list_nodes(target, 24)
    assert count_on_node_1(nodes) == pytest.approx(0.5, abs=0.02)
    assert 0 <= moved_of(done) - target.pages()[1] < COPIED
    # Not one half here and the other there: every 256 KiB has pages on both.
    for at in range(0, len(nodes), 64):
        assert 24 <= sum(nodes[at:at + 64]) <= 40, at
    assert target.is_whole()
    assert done["decisions"][0]["spread"] == {"0": 1, "1": 1}
    if done["engine"] == "module":
        assert target.policy() == "interleave:0-1"


def test_weighted_follows_the_bandwidth(tool: Tool, start_target: Callable[..., Target]):
    target = start_target(cpus=0, memory=0)
    target.allocate(24)
    weights = apply(tool, target, "weighted")["decisions"][0]["spread"]
    assert weights["0"] > weights["1"] > 0     # its own node has more bandwidth
    wanted = weights["1"] / (weights["0"] + weights["1"])
    assert count_on_node_1(list_nodes(target, 24)) == pytest.approx(wanted, abs=0.02)
    assert target.is_whole()


def test_measured_brings_pages_where_it_says(tool: Tool, start_target: Callable[..., Target]):
    """It runs on one node, its memory is on the other: any good plan brings them together."""
    target = start_target(cpus=0, memory=1)
    target.allocate(24)
    done = tool("apply", "--policy", "measured", "--assume", f"pid={target.pid},penalty=1.6",
                "-o", "horizon=0", "--sample", 0, target.pid)
    decision = done["decisions"][0]
    assert decision["gain"] > 1.3 and decision["gain_source"] == "model"
    assert done["model"] == "derived from distances"
    pages = list_nodes(target, 24)
    assert pages.count(decision["to"]) > 0.7 * len(pages)
    assert target.cpus() == {NODE_CPUS[decision["to"]]}


def test_huge_pages_are_spread_whole(tool: Tool, start_target: Callable[..., Target]):
    target = start_target(cpus=0, memory=0)
    target.allocate(32, "thp")
    smaps = Path(f"/proc/{target.pid}/smaps").read_text()
    huge = max(map(int, re.findall(r"AnonHugePages:\s+(\d+)", smaps)))
    assert huge >= 16 * 1024, "the kernel gave no huge pages"
    done = apply(tool, target, "interleave")
    assert count_on_node_1(list_nodes(target, 32)) == pytest.approx(0.5, abs=0.1)
    assert 0 <= moved_of(done) - target.pages()[1] < COPIED, "what came along with one of its huge page is counted"
    smaps = Path(f"/proc/{target.pid}/smaps").read_text()
    assert max(map(int, re.findall(r"AnonHugePages:\s+(\d+)", smaps))) >= huge - 4096
    assert target.is_whole()


def test_restore_brings_spread_pages_back(tool: Tool, start_target: Callable[..., Target]):
    target = start_target(cpus=0, memory=0)
    target.allocate(16)
    apply(tool, target, "interleave")
    assert count_on_node_1(list_nodes(target, 16)) == pytest.approx(0.5, abs=0.02)
    done = tool.run("restore", "--pages", target.pid, "--json")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)
    assert count_on_node_1(list_nodes(target, 16)) < 0.02

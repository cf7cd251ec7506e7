# SPDX-License-Identifier: GPL-2.0-only
"""Spreading over four nodes, where one window of pages goes to three targets."""
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from placed import PAGE, Target, Tool, list_nodes

MIB = 24
PINNED = 4          # pages, the first of every WINDOW
WINDOW = 512


def interleave_pages(tool: Tool, target: Target) -> dict:
    done = tool("apply", "--policy", "interleave", "--engine", "syscall", "--sample", 0, target.pid)
    return done["decisions"][0]["result"]["migrate"]


def compute_parts(nodes: list[int]) -> list[float]:
    count = Counter(nodes)
    return [count[node] / len(nodes) for node in range(4)]


def test_every_node_gets_its_part(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(cpus=0, memory=0)
    target.allocate(MIB)
    interleave_pages(tool, target)
    assert compute_parts(list_nodes(target, MIB)) == pytest.approx([0.25] * 4, abs=0.02)
    assert target.is_whole()


def test_pinned_pages_hold_nobody_back(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(cpus=0, memory=0)
    target.allocate(MIB)
    assert int(target.ask(f"pin {PINNED} {WINDOW}")) == MIB * 256 // WINDOW * PINNED
    result = interleave_pages(tool, target)
    nodes = list_nodes(target, MIB)
    assert compute_parts(nodes) == pytest.approx([0.25] * 4, abs=0.03), result
    assert 0 < result["busy"] <= MIB * 256 // WINDOW * PINNED, result
    assert target.is_whole()


def test_a_huge_page_moves_once(tool: Tool, start_target: Callable[..., Target]) -> None:
    """It goes to one node with the first of its pages, not on to the next with the others."""
    target = start_target(cpus=0, memory=0)
    target.allocate(32, "thp")
    smaps = Path(f"/proc/{target.pid}/smaps").read_text()
    assert max(map(int, re.findall(r"AnonHugePages:\s+(\d+)", smaps))) >= 16 * 1024, "the kernel gave no huge pages"
    before = read_migrated()
    moved = interleave_pages(tool, target)["moved"]
    assert compute_parts(list_nodes(target, 32)) == pytest.approx([0.25] * 4, abs=0.1)
    assert moved * 0.9 <= read_migrated() - before <= moved * 1.1
    assert target.is_whole()


def read_migrated() -> int:
    """Base pages that the kernel has moved since boot."""
    return int(re.search(r"pgmigrate_success (\d+)", Path("/proc/vmstat").read_text())[1])


def test_pages_come_back_from_three_nodes(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(cpus=0, memory=0)
    target.allocate(MIB)
    interleave_pages(tool, target)
    done = tool.run("restore", "--pages", target.pid, "--json")
    assert done.returncode == 0, done
    assert compute_parts(list_nodes(target, MIB))[0] > 0.98
    assert PAGE == 4096 and target.is_whole()

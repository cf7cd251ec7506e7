# SPDX-License-Identifier: GPL-2.0-only
"""A program that keeps more CPUs busy than a node has, on three nodes of one CPU."""
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from placed import Target, Tool

MIB = 12
PAGES = MIB * 256
WATCHED = ("--sample", "2s")


def count_pages(target: Target) -> Counter[int]:
    """Anonymous pages by node; those of the threads' stacks are few."""
    found: Counter[int] = Counter()
    for line in Path(f"/proc/{target.pid}/numa_maps").read_text().splitlines():
        if "file=" not in line:
            found.update({int(node): int(n) for node, n in re.findall(r" N(\d+)=(\d+)", line)})
    return found


@pytest.fixture
def large(tool: Tool, start_target: Callable[..., Target]) -> Target:
    """Two threads at work, a third of the pages on each node."""
    target = start_target(cpus="0-2", memory="0-2")
    target.allocate(MIB)
    target.ask("spinners 2")
    tool("apply", "--policy", "interleave", "--engine", "syscall", *WATCHED, target.pid)
    assert min(count_pages(target)[node] for node in range(3)) > PAGES / 4
    assert target.cpus() == {"0-2"}
    return target


def test_two_nodes_and_back(tool: Tool, large: Target, engine: str) -> None:
    def apply() -> dict:
        return tool("apply", "--policy", "maximum-local", "--engine", engine, *WATCHED, large.pid)["decisions"][0]

    done = apply()
    assert done["to"] is None and done["to_nodes"] == [1, 2], done
    assert large.cpus() == {"1-2"}
    count = count_pages(large)
    assert count[0] < PAGES / 20 and min(count[1], count[2]) > 0.45 * PAGES, count
    again = apply()
    assert again["pages_to_move"] == 0 and large.cpus() == {"1-2"}, again
    tool.run("restore", large.pid)
    assert large.cpus() == {"0-2"}
    assert large.is_whole()


def test_a_saved_plan_says_both(tool: Tool, large: Target, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(tool("plan", "--policy", "maximum-local", *WATCHED, large.pid)))
    assert tool("apply", "--plan", saved)["decisions"][0]["to_nodes"] == [1, 2]
    assert large.cpus() == {"1-2"}
    table = tool.run("plan", "--show", saved)
    assert "- -> 1,2" in table.stdout, table

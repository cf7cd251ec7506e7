# SPDX-License-Identifier: GPL-2.0-only
"""For the machine odd_nodes.toml, see test_topology.py: node 1 has no memory, node 2 has no CPUs.

The last tests pull node 1's CPUs out, after which the nodes are 0 and 2.
"""

import json
import os
import subprocess
from pathlib import Path

import mempolicy
import pytest
from driver import TOP, counts, eventually, refusal, write

NODES = Path("/sys/devices/system/node")


def test_odd_move_to_node_without_memory_neg(target):
    t = target("anon", 64)
    assert refusal("migrate", f"pid={t.pid} from=0 to=1") == "ENODEV"
    assert t.where() == {"0": 64}


def test_odd_move_to_node_without_cpus_pos(target):
    t = target("anon", 512)
    assert counts(t.move("0-1", 2)) == {"moved": 512}
    assert t.where() == {"2": 512}
    assert counts(t.move("any", 0)) == {"moved": 512}
    assert t.is_whole()


def test_odd_place_on_node_without_cpus_neg(target):
    t = target("anon", 1)
    assert refusal("place", f"pid={t.pid} cpus=node:2") == "ENODEV"
    assert os.sched_getaffinity(t.pid) == {0, 1, 2, 3}


def test_odd_place_on_node_without_memory_pos(target):
    t = target("anon", 1)
    write("place", f"pid={t.pid} cpus=node:1-2")
    assert os.sched_getaffinity(t.pid) == {2, 3}
    write("restore", "all")
    assert os.sched_getaffinity(t.pid) == {0, 1, 2, 3}


@pytest.fixture(scope="module")
def sparse():
    for cpu in (2, 3):
        Path(f"/sys/devices/system/cpu/cpu{cpu}/firmware_node/eject").write_text("1")
    assert eventually(lambda: (NODES / "online").read_text() == "0,2\n", 30)


def tool(*words: object) -> dict:
    done = subprocess.run([TOP / "build" / "numaplace", *map(str, words), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_sparse_pages_go_over_the_gap_pos(sparse, target):
    t = target("anon", 512)
    assert counts(t.move("any", 2)) == {"moved": 512}
    assert counts(t.move("0-2", 2)) == {"already": 512}
    assert counts(t.move("2", 0)) == {"moved": 512}
    assert t.is_whole()


@pytest.mark.parametrize("node", [1, 3])
def test_sparse_no_such_node_neg(sparse, target, node):
    t = target("anon", 64)
    assert refusal("migrate", f"pid={t.pid} from=0 to={node}") == "ENODEV"
    assert refusal("place", f"pid={t.pid} cpus=node:{node}") == "ENODEV"
    assert t.where() == {"0": 64} and os.sched_getaffinity(t.pid) == {0, 1}


def test_sparse_interleave_pos(sparse, target):
    t = target("anon", 1)
    mempolicy.set_own(mempolicy.INTERLEAVE, 1 << 0 | 1 << 2)
    try:
        write("place", f"pid={t.pid} mem=caller")
    finally:
        mempolicy.set_own(mempolicy.DEFAULT)
    assert t.where("fresh 100") == {"0": 50, "2": 50}
    write("restore", f"pid={t.pid}")


def test_sparse_in_the_command_line_pos(sparse, target):
    t = target("anon", 512)
    assert [node["id"] for node in tool("topology")["nodes"]] == [0, 2]
    tool("migrate", t.pid, "--to", 2)
    assert t.where() == {"2": 512}
    task, = tool("ps", "--sample", 0, t.pid)["tasks"]
    assert task["pages"].keys() == {"0", "2"} and task["pages"]["2"] >= 512
    t.ask("unbind")  # a plan leaves memory with a policy of its own
    tool("apply", "--policy", "maximum-local", "--sample", 0, t.pid)
    assert t.where() == {"0": 512}, "its node has no CPUs: the pages follow the task"
    assert t.is_whole()

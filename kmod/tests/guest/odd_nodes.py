# SPDX-License-Identifier: GPL-2.0-only
"""For the machine odd_nodes.toml, see test_topology.py: node 1 has no memory, node 2 has no CPUs."""

import os

from driver import counts, refusal, write


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

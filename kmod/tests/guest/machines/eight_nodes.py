# SPDX-License-Identifier: GPL-2.0-only
"""For the machine eight_nodes.toml, see test_topology.py: moves among all nodes, and CPUs of each."""

import os

import driver

NODES = range(8)


def test_eight_moves_around_the_machine(target):
    """A page's way through all nodes, all processes at once."""
    several = [target("anon", 512, node) for node in NODES]
    for step in range(1, 9):
        replies = driver.migrate_together([f"pid={t.pid} from=any to={(node + step) % 8} {t.range()}"
                                           for node, t in enumerate(several)])
        assert all(driver.counts(reply) == {"moved": 512} for reply in replies)
    assert all(t.where() == {str(node): 512} and t.is_whole() for node, t in enumerate(several))


def test_eight_nodes_placed(target):
    t = target("anon", 4)
    for node in NODES:
        driver.write("place", f"pid={t.pid} cpus=node:{node}")
        assert os.sched_getaffinity(t.pid) == {node}
    driver.write("place", f"pid={t.pid} cpus=node:0,2,5-7")
    assert os.sched_getaffinity(t.pid) == {0, 2, 5, 6, 7}
    driver.write("restore", f"pid={t.pid}")
    assert os.sched_getaffinity(t.pid) == set(NODES)

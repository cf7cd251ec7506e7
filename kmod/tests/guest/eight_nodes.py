# SPDX-License-Identifier: GPL-2.0-only
"""For the machine eight_nodes.toml, see test_topology.py: jobs among all nodes, and memory that comes and goes."""

import os
import threading
from pathlib import Path

import driver
import pytest

MEMORY = Path("/sys/devices/system/memory")
NODES = range(8)


def blocks_of(node: int) -> list[Path]:
    """Highest first: those that can go."""
    folders = sorted(Path(f"/sys/devices/system/node/node{node}").glob("memory*"), key=lambda p: -int(p.name[6:]))
    return [MEMORY / folder.name for folder in folders]


def is_offline(block: Path) -> bool:
    return (block / "state").read_text().strip() == "offline"


def goes_offline(block: Path) -> bool:
    try:
        (block / "state").write_text("offline")
    except OSError:  # its pages cannot all leave just now
        return False
    return True


@pytest.fixture
def movable():
    """The highest block of node 1 and of node 7."""
    blocks = [blocks_of(node)[0] for node in (1, 7)]
    yield blocks
    for block in blocks:
        if is_offline(block):
            (block / "state").write_text("online_movable")


def test_eight_jobs_around_the_machine(target):
    """A page's way through all nodes, all processes at once."""
    several = [target("anon", 512, node) for node in NODES]
    for step in range(1, 9):
        jobs = [driver.start_job(f"pid={t.pid} from=any to={(node + step) % 8} {t.range()}")
                for node, t in enumerate(several)]
        assert all(driver.counts(driver.wait_job(number)) == {"moved": 512} for number in jobs)
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


def test_memory_goes_offline_while_moving(target, movable):
    """Pages go to and fro while the memory below them comes and goes: all are somewhere, whole, and counted."""
    t = target("anon", 4096, threads=1)
    stop = threading.Event()
    times = 0

    def flip():
        nonlocal times
        while not stop.is_set():
            for block in movable:
                times += goes_offline(block)
            for block in filter(is_offline, movable):
                (block / "state").write_text("online_movable")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        done = 0
        while done < 6 or (times < 6 and done < 200):
            reply = t.move("any", (7, 1)[done % 2])  # checks that asked is the sum
            assert reply["state"] == "done" and int(reply["asked"]) == 4096
            assert sum(t.where().values()) == 4096
            done += 1
    finally:
        stop.set()
        thread.join()
    assert times >= 6
    assert t.is_whole() and t.ask("counters") == "ok"

# SPDX-License-Identifier: GPL-2.0-only
"""For a kernel started with movablecore=1G, see test_topology.py: memory of a node leaves and returns while pages move to it."""

import subprocess
import threading
from pathlib import Path

import driver
import pytest

MEMORY = Path("/sys/devices/system/memory")
PAGES = 16384
PATIENCE = 60  # s; the kernel tries until it has succeeded or a signal ends it


def movable_blocks(node: int) -> list[Path]:
    names = (path.name for path in Path(f"/sys/devices/system/node/node{node}").glob("memory[0-9]*"))
    return [MEMORY / name for name in sorted(names, key=lambda name: int(name[6:]))
            if (MEMORY / name / "valid_zones").read_text().split()[0] == "Movable"]


def is_offline(block: Path) -> bool:
    return (block / "state").read_text().strip() == "offline"


def goes_offline(block: Path) -> bool:
    """Not so when the kernel finds a page that cannot leave."""
    command = ["timeout", str(PATIENCE), "sh", "-c", f"echo offline >{block}/state"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.fixture
def blocks():
    found = movable_blocks(1)
    assert len(found) > 1, "the kernel was started with movablecore="
    yield found
    for block in filter(is_offline, found):
        (block / "state").write_text("online_movable")


@pytest.fixture
def ping_pong(target):
    """A process whose pages move between two nodes until the call; the counts of each move so far."""
    t = target("anon", PAGES, threads=1)
    stop, moves = threading.Event(), []

    def play():
        to = 1
        while not stop.is_set():
            moves.append(t.move("any", to))
            to = 1 - to

    thread = threading.Thread(target=play)
    thread.start()

    def end():
        stop.set()
        thread.join()
        return t

    yield moves, end
    stop.set()
    thread.join()


def test_memory_leaves_while_pages_move(ping_pong, blocks):
    (moves, end), left, rounds = ping_pong, 0, 0
    while rounds < 2 or len(moves) < 2:
        rounds += 1
        for block in blocks:
            left += goes_offline(block)
        for block in filter(is_offline, blocks):
            (block / "state").write_text("online_movable")
    t = end()
    assert left >= 2
    assert all(move["asked"] == str(PAGES) and move["error"] == "0" for move in moves)
    assert sum(int(move["moved"]) for move in moves) > PAGES  # there, and some of it back at least
    assert sum(t.where().values()) == PAGES and t.is_whole()


def test_a_node_whose_movable_memory_has_left(target, blocks):
    """Its remaining memory takes the pages, or each page that it could not take is counted."""
    t = target("anon", PAGES)
    assert any([goes_offline(block) for block in blocks])
    there = driver.counts(t.move("0", 1))
    assert sum(there.values()) == PAGES and set(there) <= {"moved", "no_memory"}
    assert t.where().get("1", 0) == there.get("moved", 0) and t.is_whole()

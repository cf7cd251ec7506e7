# SPDX-License-Identifier: GPL-2.0-only
"""Pages that are written and read all the time while they move, many times."""

import driver
import pytest
from driver import counts

LARGE = 16384  # pages: 64 MiB
MOVES = 50  # there and back
REFUSALS = 100  # in a row, at most


def test_used_large_memory_there_and_back(target):
    """All of it, by the module's count, the kernel's and the contents."""
    t = target("anon", LARGE)
    before = driver.stats()
    for origin, to in (("0", 1), ("1", 0)):
        assert counts(t.move(origin, to)) == {"moved": LARGE}
        assert t.where() == {str(to): LARGE}
        assert t.is_whole()
    grown = {name: value - before[name] for name, value in driver.stats().items()}
    assert grown["moved"] == grown["asked"] == 2 * LARGE
    assert grown["bytes"] == 2 * LARGE * 4096


def test_used_by_writers_loses_no_count(target):
    """Counters of each thread and of all in every page: in the end the sum of all that were counted is there."""
    t = target("anon", 64, threads=3)
    moved = 0
    for i in range(6):
        moved += int(t.move("any", (i + 1) % 2, ("", "max_stall_us=100", "max_stall_us=1000000")[i % 3])["moved"])
    assert moved > 3 * 64
    assert t.ask("counters") == "ok"
    assert t.ask("halt").startswith("ok ")
    assert t.is_whole()


@pytest.mark.full("a thousand moves")
@pytest.mark.parametrize("kind, readers, extra", [("anon", "readers", ""), ("shm", "reader-processes", "shared=1")])
def test_used_ping_pong_with_readers(target, kind, readers, extra):
    """One page moves between two nodes; its content never changes, and it is not refused for ever."""
    t = target(kind, 1)
    assert t.ask(f"{readers} 3") == "ok"
    refused = worst = moves = 0
    while moves < MOVES:
        done = t.move("any", (moves + 1) % 2, extra)["moved"] == "1"
        refused = 0 if done else refused + 1
        worst = max(worst, refused)
        moves += done
        assert refused <= REFUSALS
    print(f"{moves} moves, at most {worst} refusals in a row")
    assert t.ask("read").startswith("ok ")
    assert t.is_whole()


def test_used_in_all_parts_of_a_process(target):
    """Stacks, heap and data of a process that runs, with threads that come and children that go."""
    t = target("anon", 16, threads=1)
    moved = 0
    for i in range(3):
        t.tell("disturb grow 4")
        reply = driver.migrate(f"pid={t.pid} from=any to={(i + 1) % 2}")
        assert reply["error"] == "0"
        moved += int(reply["moved"])
        assert t.answer() == "ok"
        t.ask("thread")
    # More than the memory that a target is asked for. Where it runs, its own may be there the first time.
    assert moved > 3 * 16
    assert t.ask("halt").startswith("ok ")


def test_used_by_several_moves_at_once(target):
    """Each of its own pages, and all of them of the same ones: asked is always the sum of what became of them."""
    targets = [target("anon", 2048, threads=1) for _ in range(3)]
    replies = driver.migrate_together([f"pid={t.pid} from=0 to=1 {t.range()}" for t in targets] * 2)
    for t in targets:
        assert t.where() == {"1": 2048} and t.is_whole() and t.ask("counters") == "ok"
    for reply in replies:
        assert int(reply["bytes"]) == int(reply["moved"]) * 4096
    assert sum(int(reply["moved"]) for reply in replies) == 3 * 2048

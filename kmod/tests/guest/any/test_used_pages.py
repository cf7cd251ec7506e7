# SPDX-License-Identifier: GPL-2.0-only
"""Pages that are written and read all the time while they move, many times."""

import os
import signal
import time

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
        moved += int(t.move("any", (i + 1) % 2, ("pause=never", "pause=always", "threads=4")[i % 3])["moved"])
    assert moved > 3 * 64
    assert t.ask("counters") == "ok"
    assert t.ask("halt").startswith("ok ")
    assert t.is_whole()


@pytest.mark.full("a thousand moves")
@pytest.mark.parametrize("readers, extra", [("readers", ""), ("reader-processes", "shared=1")])
def test_used_ping_pong_with_readers(target, readers, extra):
    """One page moves between two nodes; its content never changes, and it is not refused for ever."""
    t = target("anon", 1)
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
        assert reply["state"] == "done"
        moved += int(reply["moved"])
        assert t.answer() == "ok"
        t.ask("thread")
    # More than the memory that a target is asked for. Where it runs, its own may be there the first time.
    assert moved > 3 * 16
    assert t.ask("halt").startswith("ok ")


def test_used_by_a_writer_of_the_file_that_is_killed(target):
    """A job goes on when the process that asked for it is killed."""
    t = target("anon", 2048)
    child = os.fork()
    if child == 0:
        driver.start_job(f"pid={t.pid} from=0 to=1 {t.range()} rate_mib=16")
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    number = max(int(job["job"]) for job in driver.records("jobs") if int(job["pid"]) == t.pid)
    assert counts(driver.wait_job(number)) == {"moved": 2048}
    assert t.is_whole()


def test_jobs_show_progress(target):
    """Several at once: counts only grow, asked= is always their sum, and bytes= is of the moved pages."""
    targets = [target("anon", 2048) for _ in range(3)]
    numbers = [driver.start_job(f"pid={t.pid} from=0 to=1 {t.range()} rate_mib=2") for t in targets]
    seen = {number: [] for number in numbers}
    together = 0
    while True:
        jobs = [driver.job(number) for number in numbers]
        for job in jobs:
            assert int(job["asked"]) == sum(int(job[name]) for name in driver.COUNTS)
            assert int(job["bytes"]) == int(job["moved"]) * 4096
            seen[int(job["job"])].append(int(job["asked"]))
        running = [job["state"] == "running" for job in jobs]
        together += all(running)
        if not any(running) and all(job["state"] == "done" for job in jobs):
            break
        time.sleep(0.02)
    assert together > 0
    for amounts in seen.values():
        assert amounts == sorted(amounts)
        assert len(set(amounts)) > 2
        assert amounts[-1] == 2048
    assert all(t.where() == {"1": 2048} and t.is_whole() for t in targets)

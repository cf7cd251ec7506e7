# SPDX-License-Identifier: GPL-2.0-only
"""A page's state in the kernel, beside its contents, is the same after a move."""

import errno
from collections import Counter
from pathlib import Path

import blocks
import driver
import pagemap
import pytest
from driver import counts, eventually

PAGES = 128
MADV_PAGEOUT = 21


def soft_dirty_after(t, move) -> list[int]:
    Path(f"/proc/{t.pid}/clear_refs").write_text("4")
    t.ask("touch 0 32")
    written = pagemap.flagged(t, pagemap.SOFT_DIRTY)
    if written != list(range(32)):
        pytest.skip("this kernel has no soft-dirty bits")
    move()
    assert t.where() == {"1": PAGES}
    return pagemap.flagged(t, pagemap.SOFT_DIRTY)


def test_state_soft_dirty_bit(target):
    """As after move_pages(2), which on 6.1 marks every page; no mark of a written page is lost."""
    t, other = target("anon", PAGES), target("anon", PAGES)
    found = soft_dirty_after(t, lambda: t.move("0", 1))
    assert set(found) >= set(range(32))
    assert found == soft_dirty_after(other, lambda: pagemap.move(other.pid, other.start, PAGES, 1))
    assert t.is_whole()


def test_state_userfaultfd_missing(target):
    """Pages that are not there stay so, and the program that watches is still asked for each."""
    t = target("hole", PAGES)
    t.ask("touch 0 64")
    assert t.ask("watch missing") == "ok"
    assert counts(t.move("0", 1)) == {"moved": 64, "absent": 64}
    assert t.ask("faults") == "0"
    assert t.is_whole()
    assert t.ask("faults") == "64"
    assert sum(t.where().values()) == PAGES


def test_state_userfaultfd_write_protection(target):
    """Every page is still protected: each of the writes that follow is reported."""
    t = target("anon", PAGES)
    assert t.ask("watch wp") == "ok"
    assert pagemap.flagged(t, pagemap.UFFD_WP) == list(range(PAGES))
    assert counts(t.move("0", 1)) == {"moved": PAGES}
    assert pagemap.flagged(t, pagemap.UFFD_WP) == list(range(PAGES))
    t.ask(f"touch 0 {PAGES}")
    assert t.ask("faults") == str(PAGES)
    assert t.where() == {"1": PAGES}
    assert t.is_whole()


def test_state_userfaultfd_write_protection_while_written(target):
    t = target("anon", PAGES)
    t.ask("watch wp")
    t.tell(f"touch 0 {PAGES}")
    moved = 0
    for i in range(10):
        moved += int(t.move("any", (i + 1) % 2)["moved"])
    assert t.answer() == "ok"
    assert moved > 0
    assert t.ask("faults") == str(PAGES)
    assert t.is_whole()


@pytest.fixture(scope="module")
def swap():
    with blocks.swap(32):
        yield


def swapped(t) -> int:
    return len(pagemap.flagged(t, pagemap.SWAPPED))


def page_out(t, first: int, n: int):
    """Pages that wait in lists of the CPUs are not taken."""
    def all_out() -> bool:
        pagemap.drain_batches()
        t.ask(f"advise {MADV_PAGEOUT} {first} {n}")
        return swapped(t) >= n
    assert eventually(all_out, 30)


def test_state_swapped_out_pages_stay_so(target, swap):
    t = target("anon", PAGES)
    page_out(t, 64, 64)
    assert counts(t.move("0", 1)) == {"moved": 64, "absent": 64}
    assert swapped(t) == 64
    assert t.is_whole()


def test_state_pages_in_the_swap_cache_move(target, swap):
    """Read back but not written: the page in memory and the one in the swap are the same still."""
    t = target("anon", PAGES)
    page_out(t, 0, PAGES)
    assert t.is_whole()

    def all_moved() -> bool:
        """Pages that are being written out are busy; a CPU's batch holds others until it is emptied."""
        pagemap.drain_batches()
        return set(counts(t.move("any", 1))) <= {"moved", "already"}
    assert eventually(all_moved)
    assert t.where() == {"1": PAGES}
    assert t.is_whole()
    page_out(t, 0, PAGES)
    assert t.is_whole()
    t.ask(f"touch 0 {PAGES}")
    t.move("any", 0)
    page_out(t, 0, PAGES)
    t.move("any", 1)
    assert t.is_whole()


@pytest.mark.long("moves until pages were swapped out and in")
def test_state_swapping_while_moving(target, swap):
    """Pages go out and come back all the time; moves take what is there."""
    t = target("anon", 512)
    seen = Counter()
    rounds = 0
    while rounds < 6 or not (seen["moved"] and seen["absent"]):
        assert t.is_whole()  # reads back what is out
        before = driver.stats()
        moving = driver.Moving(t.pid, t.range(), ((rounds + 1) % 2, rounds % 2))
        t.ask(f"advise {MADV_PAGEOUT} 0 512")
        assert t.is_whole()
        assert moving.end()["errno"] == str(errno.EINTR)
        seen.update({name: n - before[name] for name, n in driver.stats().items() if name in driver.COUNTS})
        rounds += 1
    print(f"{rounds} rounds", dict(seen))
    assert t.is_whole()
    assert sum(t.where().values()) + swapped(t) == 512

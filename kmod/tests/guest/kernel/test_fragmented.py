# SPDX-License-Identifier: GPL-2.0-only
"""Huge pages to a node that has free memory and no free huge page."""

import driver
import fragments
import pagemap
from driver import counts

MADV_DONTNEED, MADV_NOHUGEPAGE = 4, 15
FREE = 32 << 20


def huge(target, pages: int):
    t = target("thp", pages)
    assert pagemap.smaps(t.pid, t.start)["AnonHugePages"] == pages * 4, "the kernel gave no huge pages"
    return t


def assert_arrive(t, where: dict[str, int]):
    """The kernel compacts the node meanwhile: a page that it moves within it is absent for as long."""
    assert driver.eventually(lambda: t.where() == {node: pages for node, pages in where.items() if pages}), t.where()


def test_fragmented_huge_page_is_split_when_asked(target):
    t = huge(target, 1024)
    with fragments.fragmented(1, FREE):
        assert counts(t.move("0", 1, "split=1")) == {"moved": 1024}
        assert_arrive(t, {"1": 1024})
        assert t.is_whole()


def test_fragmented_small_pages_move_beside_a_huge_one(target):
    """A missing huge page does not end small pages, in its batch or in later ones."""
    reason = "no_huge" if driver.MOVES_WHOLE else "thp_split"

    def move() -> dict[str, int]:
        t = huge(target, 1024)
        for advice in (MADV_NOHUGEPAGE, MADV_DONTNEED):
            assert t.ask(f"advise {advice} 512 512") == "ok"
        assert t.ask("fill 512 512") == "ok"
        with fragments.fragmented(1, FREE):
            found = counts(t.move("0", 1))
            assert_arrive(t, {"0": 1024 - found["moved"], "1": found["moved"]})
            assert t.is_whole()
        return found

    assert fragments.until_none_was_free(move, {"moved": 1024}) == {reason: 512, "moved": 512}

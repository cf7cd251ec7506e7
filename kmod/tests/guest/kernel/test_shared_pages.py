# SPDX-License-Identifier: GPL-2.0-only
"""Anonymous pages that several processes map are left."""

import os
import signal

import pagemap
import pytest
from driver import counts, eventually, migrate

PAGES = 64
DEPTH, WIDTH = 4, 2
MEMBERS = sum(WIDTH ** level for level in range(DEPTH + 1))


def parents() -> dict[int, int]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                    found[int(name)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    return found


def family(pid: int) -> list[int]:
    tree, known = parents(), [pid]
    for member in known:
        known += [child for child, parent in tree.items() if parent == member]
    return known


def pfns(pid: int, t) -> list[int]:
    return [entry & pagemap.PFN for entry in pagemap.entries(pid, t.start, PAGES)]


@pytest.fixture
def tree(target):
    """A target with descendants of several generations, which all map its pages."""
    t = target("anon", PAGES)
    t.ask(f"tree {DEPTH} {WIDTH}")
    assert eventually(lambda: len(family(t.pid)) == MEMBERS, 30)
    return t


@pytest.mark.parametrize("words", ["", "shared=1"])
def test_shared_by_a_tree_is_left(tree, words):
    """Asked of one in the middle."""
    before, members = pfns(tree.pid, tree), family(tree.pid)
    reply = migrate(f"pid={members[len(members) // 2]} from=0 to=1 {tree.range()} {words}")
    assert counts(reply) == {"shared": PAGES}
    assert all(pfns(pid, tree) == before for pid in members)


def test_shared_page_of_ones_own_after_a_write(tree):
    """The parent writes to half of the pages: those are its own and move, the others stay for all."""
    members = family(tree.pid)
    before = pfns(members[-1], tree)
    tree.ask(f"touch 0 {PAGES // 2}")
    assert counts(tree.move("0", 1)) == {"moved": PAGES // 2, "shared": PAGES // 2}
    assert pagemap.nodes(tree.pid, tree.start, PAGES) == [1] * (PAGES // 2) + [0] * (PAGES // 2)
    assert all(pfns(pid, tree) == before for pid in members[1:])
    assert tree.is_whole()


def test_shared_no_longer_when_the_others_end(tree):
    # The youngest first: the death of a parent ends its children, and their PIDs may be reused.
    for pid in reversed(family(tree.pid)[1:]):
        os.kill(pid, signal.SIGKILL)

    def all_there() -> bool:
        tree.move("0", 1)
        return tree.where() == {"1": PAGES}

    assert eventually(all_there, 30)
    assert tree.is_whole()

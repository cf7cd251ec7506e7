# SPDX-License-Identifier: GPL-2.0-only
"""Every allocation that a write makes fails in turn: the error is ENOMEM, and nothing has changed."""

import itertools

import cgroup
import driver
import faulty
import mempolicy as mpol
import pytest
from driver import DIR, write

pytestmark = pytest.mark.usefixtures("fault_injection")

PLACES = ["cpus=2-3", "cpus=node:1 inherit=0", "threads=one cpus=1", "mem=caller", "cpus=2-3 mem=caller inherit=1"]


def several_threads(target) -> driver.Target:
    """Asleep, so that they take no time from the test."""
    t = target("anon", 4)
    t.ask("thread")
    t.ask("thread")
    return t


@pytest.mark.parametrize("words", PLACES)
def test_place_without_memory(target, faults, words):
    t = several_threads(target)
    original = faulty.state_of(t)[:3]
    for error in faults.in_turn(f"write {DIR}/place pid={t.pid} {words}"):
        if error:
            assert faulty.state_of(t)[:3] == original
        else:
            assert faulty.state_of(t)[:3] != original
            write("restore", f"pid={t.pid}")
            assert faulty.state_of(t)[:3] == original


@pytest.mark.parametrize("words", PLACES)
def test_place_again_without_memory(target, faults, words):
    """A failed allocation leaves the earlier state."""
    t = several_threads(target)
    write("place", f"pid={t.pid} cpus=0-1 inherit=0")
    placed = faulty.state_of(t)[:3]
    for error in faults.in_turn(f"write {DIR}/place pid={t.pid} {words}"):
        if error:
            assert faulty.state_of(t)[:3] == placed
        else:
            assert faulty.state_of(t)[:3] != placed
            write("restore", f"pid={t.pid}")
            write("place", f"pid={t.pid} cpus=0-1 inherit=0")
            assert faulty.state_of(t)[:3] == placed


@pytest.mark.parametrize("words", ["pid={}", "tid={}", "all"])
def test_restore_without_memory(target, faults, words):
    t = target("anon", 4)
    original = faulty.state_of(t)[:3]
    place = f"pid={t.pid} cpus=2-3 mem=caller"
    assert faults.ask(0, f"write {DIR}/place {place}") == ("", False)
    placed = faulty.state_of(t)[:3]
    for error in faults.in_turn(f"write {DIR}/restore {words.format(t.pid)}"):
        assert faulty.state_of(t)[:3] == (placed if error else original)
        if not error:
            faults.ask(0, f"write {DIR}/place {place}")


def test_restore_of_a_shared_policy_without_memory(target, faults):
    """Each task has one of its own then: what one's cpuset changes is not the other's."""
    t = target("anon", 4, wrap=("numactl", "--membind=1"))
    mpol.set_own(mpol.BIND, 1)
    for n in itertools.count(1):
        write("place", f"pid={t.pid} mem=caller")
        child = int(t.ask("fork"))
        error, hit = faults.ask(n, f"write {DIR}/restore all")
        assert error in ("", "ENOMEM")
        if error:
            write("restore", "all")
        assert driver.eventually(lambda: driver.records("placements") == [])
        with cgroup.group(cpuset_mems="0") as g:
            g.add(child)
            assert (mpol.of(t.pid), mpol.of(child)) == ("bind:1", "bind:0")
        if not hit:
            break
    mpol.set_own(mpol.DEFAULT)


MOVES = ["", "shared=1 split=1", "limit=50 max_stall_us=100"]


@pytest.mark.parametrize("words", MOVES)
def test_migrate_without_memory(target, faults, words):
    """It is refused, ends early, leaves pages where they are and says so, or does without."""
    t = target("anon", 64, threads=1)
    for n in itertools.count(1):
        before = driver.stats()
        error, hit = faults.ask(n, f"write {DIR}/migrate pid={t.pid} from=any to=1 {t.range()} {words}")
        after = driver.stats()
        there = t.where().get("1", 0)
        assert error in ("", "ENOMEM") and there == after["moved"] - before["moved"]
        assert after["moves"] - before["moves"] == (not error)
        if not hit:
            break
        t.move("1", 0)
        assert t.where() == {"0": 64}
    assert there == (50 if "limit" in words else 64)
    assert t.is_whole() and t.ask("counters") == "ok"


@pytest.mark.parametrize("name", ["version", "placements", "stats"])
def test_read_without_memory(target, faults, name):
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=1")
    before = (DIR / name).read_bytes()
    for _ in faults.in_turn(f"read {DIR}/{name}"):
        assert (DIR / name).read_bytes() == before


def test_open_without_memory(faults):
    for _ in faults.in_turn(f"open {DIR}/migrate"):
        assert driver.refusal("migrate", "") == "EINVAL"

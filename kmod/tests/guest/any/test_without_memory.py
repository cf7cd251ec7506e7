# SPDX-License-Identifier: GPL-2.0-only
"""Failed allocations without a write that could return ENOMEM: in a move, a fork, loading and unloading."""

import contextlib
import errno
import itertools
import os
import subprocess
from pathlib import Path

import driver
import faulty
import pytest
from driver import DIR, write

pytestmark = pytest.mark.usefixtures("fault_injection")


def test_fork_without_memory(target):
    """The child of a placed process that cannot be recorded is counted, and harmed by nothing."""
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=2-3")
    before = driver.stats()
    with faulty.all_of_module_fails("failslab"):
        child = int(t.ask("fork"))
    after = driver.stats()
    assert after["inherit_failed"] == before["inherit_failed"] + 1
    assert after["inherited"] == before["inherited"]
    assert os.sched_getaffinity(child) == {2, 3}
    assert [int(p["tid"]) for p in driver.records("placements")] == [t.pid]
    other = int(t.ask("fork"))
    assert other in [int(p["tid"]) for p in driver.records("placements")]
    write("restore", f"pid={other}")
    write("restore", f"pid={t.pid}")
    assert os.sched_getaffinity(t.pid) == os.sched_getaffinity(other) == {0, 1, 2, 3}


@contextlib.contextmanager
def refused_for_memory():
    """A write that may be refused with ENOMEM."""
    try:
        yield
    except OSError as error:
        assert error.errno == errno.ENOMEM


@pytest.mark.parametrize("kind, pages, words", [("anon", 160, ""), ("anon", 160, "shared=1"), ("thp", 512, "split=1")])
def test_some_pages_without_memory(target, faults, kind, pages, words):
    """Pages that nothing is there for stay, and are counted; a huge page whose copy is not to be had is split."""
    t = target(kind, pages, threads=1)
    left = set()
    for n in (*range(1, 13), *(round(12 * 1.3 ** i) for i in range(1, 25))):
        before = driver.stats()
        error, hit = faults.ask(n, f"write {DIR}/migrate pid={t.pid} from=0 to=1 {t.range()} {words}")
        there = t.where().get("1", 0)
        assert there == driver.stats()["moved"] - before["moved"]
        if not error:
            assert driver.stats()["asked"] - before["asked"] == pages
            left.add(pages - there)
        t.move("1", 0, words)
        assert t.where() == {"0": pages}
        if not hit:
            break
    else:
        raise AssertionError(f"the {n}th allocation is not the last: {left}")
    assert t.is_whole() and t.ask("counters") == "ok"
    assert 0 in left and (len(left) > 1 or words == "split=1" and driver.MOVES_WHOLE), left


def test_no_page_for_a_whole_move(target):
    """Not one page is to be had: every page stays where it is and is counted."""
    t = target("anon", 300, threads=1)
    for _ in range(5):
        t.move("0", 1)  # leaves memory for the next move itself behind, as a rule
        t.move("1", 0)
        # A move's buffers are other memory where KASAN holds back what was freed.
        done = None
        with faulty.all_of_module_fails("fail_page_alloc", but="numaplace_migrate_init"), refused_for_memory():
            done = t.move("0", 1)
        if done and done["error"] == "0":
            break
        assert t.where() == {"0": 300}
        assert not done or int(done["error"]) == errno.ENOMEM
    assert done and driver.counts(done) == {"no_memory": 300}
    assert t.where() == {"0": 300}
    assert t.is_whole() and t.ask("counters") == "ok"
    assert driver.counts(t.move("0", 1)) == {"moved": 300}


def test_load_without_memory(faults):
    """Every step of loading fails in turn, the last first: nothing is left, and the next load is as if it had not been.

    Down to the kernel's own steps, which warn of what they go without (jump labels).
    """
    words = f"load {driver.module()}"
    assert driver.unload() == 0
    last = faults.count(words)
    assert driver.unload() == 0
    events = Path("/sys/kernel/tracing/events/numaplace")
    ends = []
    for n in range(last, 0, -1):
        with Path("/dev/kmsg").open("wb", buffering=0) as kmsg:
            kmsg.write(f"numaplace-test: allocation {n}".encode())
        error, _ = faults.ask(n, words)
        ends.append(error)
        if error:
            assert error == "ENOMEM" and not driver.is_loaded() and not DIR.exists() and not events.exists()
            said = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
            if "numaplace: not loaded" not in said.rpartition("numaplace-test:")[2]:
                break
        else:
            assert {file.name for file in DIR.iterdir()} >= {"place", "migrate", "stats"}
            assert events.exists()
            assert driver.unload() == 0
    assert ends.count("ENOMEM") > 10, ends
    print(f"{len(ends) - 1} allocations of the module, of which {ends.count('ENOMEM') - 1} are needed")
    assert driver.load() == 0


def test_unload_without_memory(target, faults):
    """It cannot be refused for that: every task gets back what it had."""
    t = target("anon", 4)
    original = faulty.state_of(t)[:3]
    for n in itertools.count(1):
        assert faults.ask(0, f"write {DIR}/place pid={t.pid} cpus=2-3 mem=caller") == ("", False)
        error, hit = faults.ask(n, "unload numaplace")
        assert error == ""
        assert driver.load() == 0
        assert faulty.state_of(t)[:3] == original
        if not hit:
            break

# SPDX-License-Identifier: GPL-2.0-only
"""Moving pages: every page is where it was asked to be or counted under a reason, with its contents."""

import ctypes
import errno
import mmap
import os
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import driver
import faulty
import fragments
import pagemap
import pytest
from driver import counts, migrate
from stuck import Stuck

PAGES = 2048
HUGE_PAGE = 2 << 20
MAP_NORESERVE = 0x4000  # in mmap(2); the module of Python 3.11 does not name it


def test_migrate_range_pos(target):
    t = target("anon", PAGES)
    assert t.where() == {"0": PAGES}
    reply = t.move("0", 1)
    assert reply["error"] == "0"
    assert counts(reply) == {"moved": PAGES}
    assert int(reply["bytes"]) == PAGES * 4096
    assert t.where() == {"1": PAGES}
    assert counts(t.move("1", 0)) == {"moved": PAGES}
    assert t.where() == {"0": PAGES}
    assert t.is_whole()


def test_migrate_whole_process_pos(target):
    t = target("anon", PAGES)
    reply = migrate(f"pid={t.pid} from=any to=1")
    assert reply["error"] == "0"
    assert int(reply["moved"]) >= PAGES
    assert t.where() == {"1": PAGES}
    assert t.is_whole()


def test_migrate_numa_maps_agrees(target):
    t = target("anon", PAGES)
    t.move("any", 1)
    with open(f"/proc/{t.pid}/numa_maps", encoding="ascii") as maps:
        line = next(line for line in maps if int(line.split()[0], 16) == t.start)
    assert f" N1={PAGES} " in line
    assert " N0=" not in line


def test_migrate_part_of_range_pos(target):
    t = target("anon", PAGES)
    middle = t.start + 100 * 4096
    reply = migrate(f"pid={t.pid} from=0 to=1 start={middle:#x} end={middle + 50 * 4096:#x}")
    assert counts(reply) == {"moved": 50}
    assert t.where() == {"0": PAGES - 50, "1": 50}
    reply = t.move("0", 1)
    assert counts(reply) == {"moved": PAGES - 50, "already": 50}
    assert t.is_whole()


@pytest.mark.parametrize("limit", [1, 100, 1000, PAGES - 1])
def test_migrate_limit_is_exact(target, limit):
    """So many pages from the beginning, and nothing is asked about after them."""
    t = target("anon", PAGES)
    assert counts(t.move("0", 1, f"limit={limit}")) == {"moved": limit}
    assert pagemap.nodes(t.pid, t.start, PAGES) == [1] * limit + [0] * (PAGES - limit)
    assert counts(t.move("0", 1, f"limit={limit}")) == {"already": limit, "moved": min(limit, PAGES - limit)}
    assert t.is_whole()


@pytest.mark.parametrize("extra", ["", "limit=0", f"limit={PAGES}", "limit=0xffffffffffffffff"])
def test_migrate_limit_that_does_not_bind(target, extra):
    t = target("anon", PAGES)
    assert counts(t.move("0", 1, extra)) == {"moved": PAGES}


@pytest.mark.parametrize("limit", ["", "-1", "+1", "1k", "0x10000000000000000"])
def test_migrate_limit_neg(target, limit):
    t = target("anon", 1)
    assert driver.refusal("migrate", f"pid={t.pid} from=0 to=1 limit={limit}") == "EINVAL"


def test_migrate_limit_cuts_no_huge_page(target):
    """It ends before the one that does not fit, or takes a part of it where it may be split."""
    t = target("thp", 2048)
    assert thp_of(t) == 4, "the kernel gave no huge pages"
    whole = {"moved": 1024} if driver.MOVES_WHOLE else {"thp_split": 2048}
    assert counts(t.move("0", 1, "limit=1100")) == whole
    assert thp_of(t) == 4
    there = whole.get("moved", 0)
    assert counts(t.move("0", 1, "limit=700 split=1")) == {"moved": 700} | ({"already": there} if there else {})
    assert t.where()["1"] == there + 700
    assert t.is_whole()


def test_migrate_other_node_is_not_asked(target):
    t = target("anon", 64)
    reply = t.move("1", 1)
    assert reply["asked"] == "0"
    assert t.where() == {"0": 64}


@pytest.mark.parametrize("kind, reason", [
    ("zero", "absent"), ("hole", "absent"), ("forked", "shared"),
])
def test_migrate_left_with_reason(target, kind, reason):
    t = target(kind, 256)
    before = t.where()
    reply = t.move("any", 1)
    assert counts(reply) == {reason: 256}
    assert t.where() == before
    assert t.is_whole()


@pytest.mark.parametrize("kind", ["shm", "file"])
def test_migrate_pages_of_a_file(target, kind):
    t = target(kind, 256)
    assert counts(t.move("0", 1)) == {"moved": 256}
    assert t.where() == {"1": 256}
    assert t.is_whole()


@pytest.mark.parametrize("kind", ["shm", "file"])
def test_migrate_leaves_files_when_asked(target, kind):
    t = target(kind, 256)
    assert counts(t.move("0", 1, "files=0")) == {"file": 256}
    assert t.where() == {"0": 256}


def test_migrate_dry_moves_nothing(target):
    """It counts what would be tried, as often as one asks; the totals are of what has been done."""
    t = target("anon", 256)
    before = driver.stats()
    for _ in range(2):
        assert counts(t.move("0", 1, "dry=1")) == {"moved": 256}
    assert counts(t.move("0", 1, "dry=1 limit=100"))["moved"] == 100
    assert t.where() == {"0": 256} and driver.stats() == before
    assert counts(t.move("0", 1)) == {"moved": 256}


def test_migrate_shared_anon_is_left_when_asked_too(target):
    t = target("forked", 256)
    assert counts(t.move("0", 1, "shared=1")) == {"shared": 256}
    assert t.where() == {"0": 256}


def test_migrate_private_file_copies_pos(target):
    t = target("file-cow", 256)
    assert counts(t.move("0", 1)) == {"moved": 256}
    assert t.where() == {"1": 256}
    assert t.is_whole()


def test_migrate_mlocked_pos(target):
    t = target("mlock", 256)
    pagemap.drain_batches()  # mlock(2) holds pages by that of the CPU on which it began

    def locked() -> str:
        with open(f"/proc/{t.pid}/smaps", encoding="ascii") as maps:
            text = maps.read().split(f"{t.start:x}-")[1]
        return text.split("Locked:")[1].split("\n")[0].strip()

    before = locked()
    assert counts(t.move("0", 1)) == {"moved": 256}
    assert locked() == before
    assert t.is_whole()


def test_migrate_pages_in_pipe_are_pinned(target):
    t = target("pipe", 128)
    assert counts(t.move("0", 1)) == {"pinned": 128}
    assert t.where() == {"0": 128}
    assert t.is_whole()


def test_migrate_tables_without_pages():
    """More of them than are crossed in one go: each page of the range is asked for once."""
    length, pages = 16 << 30, (16 << 30) // mmap.PAGESIZE
    with mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE) as region:
        region.madvise(mmap.MADV_NOHUGEPAGE)
        for offset in range(0, length, 2 << 20):
            region[offset] = 1
        region.madvise(mmap.MADV_DONTNEED)
        region[length - 1] = 1
        byte = ctypes.c_char.from_buffer(region)
        start = ctypes.addressof(byte)
        del byte
        found = counts(migrate(f"pid={os.getpid()} from=any to=1 start={start:#x} end={start + length:#x}"))
    assert found.pop("absent") == pages - 1
    assert found in ({"moved": 1}, {"already": 1})


def thp_of(t) -> int:
    with open(f"/proc/{t.pid}/smaps", encoding="ascii") as maps:
        text = maps.read().split(f"{t.start:x}-")[1]
    return int(text.split("AnonHugePages:")[1].split()[0]) // 2048


def test_migrate_thp_stays_whole(target):
    t = target("thp", 2048)
    assert thp_of(t) == 4, "the kernel gave no huge pages"
    reason, node = ("moved", "1") if driver.MOVES_WHOLE else ("thp_split", "0")
    assert counts(t.move("0", 1)) == {reason: 2048}
    assert t.where() == {node: 2048}
    assert thp_of(t) == 4
    assert t.is_whole()


def test_migrate_thp_split_when_asked(target):
    t = target("thp", 2048)
    assert thp_of(t) == 4, "the kernel gave no huge pages"
    assert counts(t.move("0", 1, "split=1")) == {"moved": 2048}
    assert t.where() == {"1": 2048}
    assert t.is_whole()


def test_migrate_thp_of_which_another_process_maps_a_part(target):
    """By small pages there, by the huge one here: it is shared all the same."""
    t = target("thp-forked", 512)
    assert thp_of(t) == 1, "the kernel gave no huge pages"
    reason = "shared" if driver.MOVES_WHOLE else "thp_split"
    assert counts(t.move("0", 1)) == {reason: 512}
    assert counts(t.move("0", 1, "split=1")) == {"shared": 512}
    assert t.where() == {"0": 512} and thp_of(t) == 1
    assert t.is_whole()


def test_migrate_hugetlb_is_left(target):
    with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as knob:
        knob.write("8")
    try:
        t = target("hugetlb", 1024)
        assert counts(t.move("0", 1)) == {"hugetlb": 1024}
        assert t.where() == {"0": 1024}
        assert t.is_whole()
        t.stop()
    finally:
        with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as knob:
            knob.write("0")


def test_migrate_while_threads_write(target):
    t = target("anon", 256, threads=3)
    moved = 0
    for i in range(6):
        moved += int(t.move(str(i % 2), 1 - i % 2)["moved"])
    assert moved > 3 * 256
    assert t.ask("counters") == "ok"
    assert t.is_whole()


def test_migrate_opposite_directions_end(target):
    t = target("anon", 512, threads=2)
    replies = driver.migrate_together([f"pid={t.pid} from={i % 2} to={1 - i % 2} {t.range()}" for i in range(16)])
    assert all(reply["error"] == "0" for reply in replies)
    assert sum(int(reply["moved"]) for reply in replies) > 0
    assert sum(t.where().values()) == 512
    assert t.ask("counters") == "ok"
    assert t.is_whole()


@contextmanager
def crowded(node: int, left: int):
    """Takes memory of a node until so many bytes are free, the pages that CPUs keep in lists of their own among them."""
    pool = Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
    with fragments.short_cpu_lists(), faulty.set_to({pool: pool.read_text()}):
        Path("/proc/sys/vm/drop_caches").write_text("3")  # or the kernel reclaims them for what comes
        fragments.drain_cpu_lists(node)
        pool.write_text(str((fragments.free_bytes(node) - left) // HUGE_PAGE))
        rest = fragments.free_bytes(node) - left  # of a fragmented node the pool gets less than it asks for
        held = fragments.locked(node, rest // mmap.PAGESIZE * mmap.PAGESIZE) if rest > 0 else None
        assert fragments.free_bytes(node) < left * 3 // 2  # the kernel counts with some delay
        yield
        del held


def test_migrate_fills_node_without_killing(target):
    """The target node has less free memory than needed: the remaining pages are counted and no process is killed. They move as
    soon as another's have been moved away."""
    bystander = target("anon", 24576, 1)
    t = target("sparse", 24576, 0)
    with crowded(1, 12288 * mmap.PAGESIZE):
        reply = t.move("0", 1)
        assert counts(bystander.move("1", 0)) == {"moved": 24576}
        assert counts(t.move("0", 1)) == {"moved": 24576 - int(reply["moved"]), "already": int(reply["moved"])}
    assert reply["error"] == "0"
    assert int(reply["no_memory"]) > 0, reply
    assert int(reply["asked"]) == 24576
    moved = int(reply["moved"])
    assert moved > 0
    assert t.where() == {"1": 24576}
    assert t.is_whole()
    assert bystander.is_whole()


def test_migrate_is_interrupted(target):
    """A signal ends it after the pages that are unmapped then; what follows begins where it says."""
    t = target("anon", 16384)
    for _ in range(20):
        moving = driver.Moving(t.pid, t.range())
        assert driver.eventually(lambda: t.where().get("1", 0) > 1000)
        reply = moving.end()
        if 0 < int(reply["asked"]) < 16384 and reply["error"] == str(errno.EINTR):
            break
    assert (reply["errno"], reply["error"]) == (str(errno.EINTR),) * 2, reply
    assert int(reply["asked"]) == (int(reply["next"], 16) - t.start) // mmap.PAGESIZE
    assert sum(t.where().values()) == 16384
    assert t.is_whole()


def test_migrate_in_a_process_that_is_killed(target):
    """Nothing is left of it, and each page is somewhere."""
    t = target("anon", 16384)
    moving = driver.Moving(t.pid, t.range())
    assert driver.eventually(lambda: t.where().get("1", 0) > 0)
    moving.process.kill()
    moving.process.wait(20)
    assert sum(t.where().values()) == 16384
    assert t.is_whole()
    t.move("any", 1)
    assert t.where() == {"1": 16384}


def test_migrate_target_ends_meanwhile(target):
    t = target("anon", 16384)
    moving = driver.Moving(t.pid)
    assert driver.eventually(lambda: t.where().get("1", 0) > 0)
    t.stop()
    assert os.strerror(int(moving.wait()["errno"])) == "No such process"


def test_migrate_target_execs_meanwhile(target):
    """The new program's pages are not those that were asked for: a move ends, and its counts are of the old ones."""
    t = target("anon", 16384)
    moving = driver.Moving(t.pid, nodes=(1, 0, 1, 0, 1, 0, 1, 0))
    assert driver.eventually(lambda: t.where().get("1", 0) > 0)
    t.ask("exec")
    ended = moving.wait(60) if moving.process.poll() is not None else moving.end()
    assert ended["errno"] in (str(errno.ESRCH), str(errno.EINTR))
    assert sum(t.where().values()) == 16384
    assert t.is_whole()


def test_migrate_ends_with_the_program_whose_memory_another_has(tmp_path):
    """A child of vfork(2) has its parent's memory until it executes a program: from then on the pages are not its own."""
    parent = Stuck(tmp_path, program=("/bin/sleep", "5"))
    try:
        parent.wait_for_child()
        child = int(Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
        moving = driver.Moving(child)
        parent.go_on()
        ended = moving.wait()
    finally:
        parent.end()
    assert os.strerror(int(ended["errno"])) == "No such process"


def test_moves_that_have_ended_keep_no_address_space():
    before = driver.settled_objects("mm_struct")
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(40)]
    with ExitStack() as stack:
        for i, sleeper in enumerate(sleepers):
            file = stack.enter_context((driver.DIR / "migrate").open("r+b", buffering=0))
            file.write(f"pid={sleeper.pid} from=any to={i % 2}".encode())
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
        assert driver.settled_objects("mm_struct") < before + 10


def test_stats_grow_by_the_counts(target):
    t = target("anon", 256)
    before = driver.stats()
    t.move("0", 1)
    after = driver.stats()
    assert after["moved"] - before["moved"] == 256
    assert after["moves"] - before["moves"] == 1
    assert after["asked"] == sum(after[name] for name in driver.COUNTS)

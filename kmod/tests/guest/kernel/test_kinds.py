# SPDX-License-Identifier: GPL-2.0-only
"""Every kind of page: moved, or left where it is and counted under the reason that the ABI names; whole in any case."""

from pathlib import Path

import blocks
import driver
import pagemap
import pytest
from driver import counts, eventually, migrate
from mapped import drop_pages

HUGE = Path("/sys/kernel/mm/transparent_hugepage")
MADV_FREE = 8
MADV_GUARD_INSTALL = 102
MLOCK_ONFAULT = 1
PROT_NONE, PROT_WRITE = 0, 3
pytestmark = pytest.mark.quick


@pytest.fixture
def setting():
    """Changes files of the kernel for a test."""
    before = {}

    def put(path: str | Path, value: str):
        path = Path(path)
        text = path.read_text()
        before.setdefault(path, text.split("[")[1].split("]")[0] if "[" in text else text)
        path.write_text(value)

    yield put
    for path, text in reversed(before.items()):
        path.write_text(text)


@pytest.fixture
def disk(tmp_path):
    """A folder on a file system that has a disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with blocks.file_system(16, folder):
        yield folder


@pytest.mark.parametrize("kind", ["shm", "memfd", "file", "file-mlock"])
def test_kind_of_a_file_moves(target, kind):
    t = target(kind, 128)
    to = 1 - pagemap.nodes(t.pid, t.start, 1)[0]
    assert counts(t.move("any", to)) == {"moved": 128}
    assert pagemap.nodes(t.pid, t.start, 128) == [to] * 128
    assert t.is_whole()


def test_kind_secret_is_left(target):
    try:
        t = target("secret", 128)
    except AssertionError:
        pytest.skip("this kernel has no secret memory")
    before = pagemap.entries(t.pid, t.start, 128)
    assert counts(t.move("any", 1)) == {"file": 128}
    assert [e & pagemap.PFN for e in pagemap.entries(t.pid, t.start, 128)] == [e & pagemap.PFN for e in before]
    assert t.is_whole()


def test_kind_file_reaches_its_disk(target, disk, monkeypatch):
    """Clean and dirty pages of a file that moved: the disk has what the memory had."""
    path = disk / "data"
    monkeypatch.setenv("TARGET_FILE", str(path))
    t = target("file", 64)
    assert counts(t.move("any", 1)) == {"moved": 64}
    t.ask("sync")
    assert counts(t.move("any", 0)) == {"moved": 64}
    t.ask("touch 0 64")
    assert counts(t.move("any", 1)) == {"moved": 64}
    assert t.ask("sync") == "ok"
    memory = Path(f"/proc/{t.pid}/mem")
    with open(memory, "rb") as file:
        file.seek(t.start)
        wanted = file.read(t.end - t.start)
    t.stop()
    drop_pages(path)
    assert path.read_bytes() == wanted


def test_kind_private_file_moves_with_its_copies(target):
    t = target("file-half", 128)
    assert counts(t.move("0", 1)) == {"moved": 128}
    assert pagemap.nodes(t.pid, t.start, 128) == [1] * 128
    assert t.is_whole()


def test_kind_device_is_left(target):
    t = target("device", 16)
    assert counts(t.move("any", 1)) == {"file": 16}


def test_kind_droppable(target):
    try:
        t = target("droppable", 128)
    except AssertionError:
        pytest.skip("this kernel has no MAP_DROPPABLE")
    assert counts(t.move("0", 1)) == {"moved": 128}
    assert t.where() == {"1": 128}
    assert t.is_whole()


def test_kind_freed_lazily_stays_so(target):
    """MADV_FREE: may be dropped when memory is short, must not be before, and a write takes it back."""
    t = target("anon", 128)
    pagemap.drain_batches()
    t.ask(f"advise {MADV_FREE} 0 128")
    pagemap.drain_batches()
    assert pagemap.smaps(t.pid, t.start)["LazyFree"] == 512
    assert counts(t.move("0", 1)) == {"moved": 128}
    assert pagemap.smaps(t.pid, t.start)["LazyFree"] == 512
    assert t.is_whole()
    t.ask("touch 0 64")
    pagemap.drain_batches()
    assert counts(t.move("1", 0)) == {"moved": 128}
    assert pagemap.smaps(t.pid, t.start)["LazyFree"] == 256
    assert t.is_whole()


def test_kind_without_access_moves(target):
    t = target("anon", 128)
    assert t.ask(f"protect {PROT_NONE} 0 128") == "ok"
    assert counts(t.move("0", 1)) == {"moved": 128}
    assert t.ask(f"protect {PROT_WRITE} 0 128") == "ok"
    assert t.where() == {"1": 128}
    assert t.is_whole()


def test_kind_guard_pages_are_absent(target):
    t = target("anon", 128)
    if t.ask(f"advise {MADV_GUARD_INSTALL} 64 64") != "ok":
        pytest.skip("this kernel has no guard pages")
    assert counts(t.move("0", 1)) == {"moved": 64, "absent": 64}
    assert t.ask("check 0 64") == "ok"
    t.tell("check 64 1")
    assert t.process.wait(10) == -11  # the guard still stands


def test_kind_locked_on_fault(target):
    t = target("hole", 128)
    assert t.ask(f"lock {MLOCK_ONFAULT} 0 128") == "ok"
    t.ask("touch 0 64")
    assert pagemap.smaps(t.pid, t.start)["Locked"] == 256
    assert counts(t.move("0", 1)) == {"moved": 64, "absent": 64}
    assert pagemap.nodes(t.pid, t.start, 64) == [1] * 64
    assert pagemap.smaps(t.pid, t.start)["Locked"] == 256


def test_kind_registered_with_io_uring_is_pinned(target):
    t = target("anon", 128)
    assert t.ask("ring pin") == "ok"
    assert counts(t.move("0", 1)) == {"pinned": 128}
    assert t.where() == {"0": 128}
    assert t.ask("ring unpin") == "ok"
    assert eventually(lambda: counts(t.move("0", 1)).get("pinned", 0) == 0)
    assert t.where() == {"1": 128}
    assert t.is_whole()


def test_kind_middle_sized_folios_are_left(target, setting):
    """Of 64 KiB: larger than a page, smaller than a huge one."""
    size = HUGE / "hugepages-64kB"
    if not size.exists():
        pytest.skip("this kernel has no large folios of other sizes")
    setting(size / "enabled", "always")
    t = target("thp", 128)
    assert counts(t.move("0", 1)) == {"thp_split": 128}, "all moved: the kernel gave no large folios"
    assert t.where() == {"0": 128}
    assert t.is_whole()


def test_kind_part_of_huge_page(target):
    """A range that has half of one leaves it whole, and moves the huge page beside it where that can move whole."""
    t = target("thp", 1024)
    assert pagemap.smaps(t.pid, t.start)["AnonHugePages"] == 4096, "the kernel gave no huge pages"
    middle = t.start + 256 * 4096
    reply = counts(migrate(f"pid={t.pid} from=0 to=1 start={middle:#x} end={t.end:#x}"))
    assert reply == ({"thp_split": 256, "moved": 512} if driver.MOVES_WHOLE else {"thp_split": 768})
    assert pagemap.smaps(t.pid, t.start)["AnonHugePages"] == 4096
    assert t.is_whole()


def test_kind_huge_page_mapped_by_small_ones(target):
    """Protecting a part of one maps it by its pages: it is left, and whole."""
    t = target("thp", 512)
    assert pagemap.smaps(t.pid, t.start)["AnonHugePages"] == 2048, "the kernel gave no huge pages"
    assert t.ask("protect 1 0 8") == "ok"
    assert counts(t.move("0", 1)) == {"thp_split": 512}
    assert t.where() == {"0": 512}
    assert t.is_whole()


def test_kind_merged_by_ksm(target, setting):
    t = target("same", 128)
    setting("/sys/kernel/mm/ksm/sleep_millisecs", "0")
    setting("/sys/kernel/mm/ksm/pages_to_scan", "1000")
    setting("/sys/kernel/mm/ksm/run", "1")

    def pages() -> set[int]:
        return {e & pagemap.PFN for e in pagemap.entries(t.pid, t.start, 128)}

    assert eventually(lambda: len(pages()) == 1, 60)
    setting("/sys/kernel/mm/ksm/run", "0")  # merged pages stay merged, and ksmd holds no reference to one
    before = pages()
    for words in ("", "shared=1"):
        assert counts(t.move("0", 1, words)) == {"shared": 128}
    assert pages() == before
    assert t.is_whole()
    t.ask("touch 0 1")  # a page of its own again
    assert counts(t.move("0", 1)) == {"shared": 127, "moved": 1}
    Path("/sys/kernel/mm/ksm/run").write_text("2")
    assert t.is_whole()

# SPDX-License-Identifier: GPL-2.0-only
"""Loading and unloading while the module is in use in every way."""

import contextlib
import ctypes
import errno
import os
import subprocess
import threading
import time
from pathlib import Path

import driver
import pytest

EVENTS = Path("/sys/kernel/tracing/events/numaplace")
SPAN = 40  # loads between two counts
DELETE_MODULE, FINIT_MODULE = 176, 313
LIBC = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments):
    assert LIBC.syscall(number, *arguments) == 0, os.strerror(ctypes.get_errno())


def all_objects() -> dict[str, int]:
    """Objects of each kind, without those that the kernel keeps until memory is short."""
    for _ in range(3):  # what refers to others goes first
        Path("/proc/sys/vm/drop_caches").write_text("2")
    return {cache.name: driver.slab_objects(cache.name) for cache in Path("/sys/kernel/slab").iterdir()
            if not cache.is_symlink()}


@pytest.fixture
def small_module(tmp_path: Path) -> Path:
    """Without its debug information, most of its size: to read that would take most of the time."""
    small = tmp_path / "numaplace.ko"
    subprocess.run(["strip", "--strip-debug", "-o", small, driver.module()], check=True)
    return small


def load_and_unload(times: int, module: Path) -> dict[str, int]:
    """Comes and goes whole each time; returns what objects there are then. rmmod and insmod would take most of the time."""
    for _ in range(times):
        call(DELETE_MODULE, b"numaplace", os.O_NONBLOCK)
        assert not driver.DIR.exists() and not EVENTS.exists()
        with open(module, "rb") as file:
            call(FINIT_MODULE, file.fileno(), b"", 0)
        assert driver.DIR.exists() and EVENTS.exists()
    return all_objects()


def grown(counts: list[dict[str, int]], since: int) -> set[str]:
    """Kinds that have grown by one a load, nearly, since the count of that number."""
    loads = SPAN * (len(counts) - 1 - since)
    return {name for name, objects in counts[-1].items() if objects - counts[since].get(name, 0) > loads * 3 / 4}


@pytest.mark.full("a hundred loads; one load and what it leaves is in the tests beside it")
def test_load_unload_many_times(small_module):
    """
    A hundred times, and leaves the kernel no larger.

    Others leave something behind meanwhile, though not for ever; what the module leaves, it leaves
    each time. So a kind is suspected while it has grown by one a load, nearly,
    and the loads go on until no kind has: a leak is still one after a thousand. From the sixth count
    on it has grown so in the later half too, as what came in one burst has not.
    """
    counts = [load_and_unload(20, small_module)]
    suspects = None
    for spans in range(1, 25):
        counts.append(load_and_unload(SPAN, small_module))
        suspects = grown(counts, 0)
        if spans >= 6:
            suspects &= grown(counts, spans // 2)
        if not suspects and spans > 1:
            break
    assert not suspects, f"each load leaves one: {[{name: at.get(name, 0) for name in suspects} for at in counts]}"


def test_unload_with_open_file():
    fd = os.open(driver.DIR / "stats", os.O_RDONLY)
    if driver.unload() == 0:  # newer kernels cut the file off instead
        try:
            os.read(fd, 100)
            raise AssertionError("the file outlived the module")
        except OSError:
            pass
        os.close(fd)
        return
    assert os.read(fd, 100)
    os.close(fd)
    assert driver.unload() == 0


def test_unload_while_moving(target):
    """Refused for as long as anybody moves pages, as the file is open."""
    several = [target("anon", 2048, threads=1) for _ in range(3)]
    moving = [driver.Moving(t.pid, t.range()) for t in several]
    assert driver.eventually(lambda: all(t.where().get("1", 0) for t in several))
    assert driver.unload() != 0
    for one in moving:
        assert one.end()["errno"] == str(errno.EINTR)
    assert driver.unload() == 0
    for t in several:
        assert sum(t.where().values()) == 2048
        assert t.ask("counters") == "ok"
        assert t.is_whole()


def test_unload_among_readers_and_writers(target):
    """Refused while a file is open, done in the end, without harm to any process."""
    t = target("anon", 256)
    stop = threading.Event()

    def use(name: str, line: str):
        while not stop.is_set():
            began = time.monotonic()
            with contextlib.suppress(OSError):
                if line:
                    driver.write(name, line)
                else:
                    (driver.DIR / name).read_bytes()
            time.sleep(0.05 + 10 * (time.monotonic() - began))  # an open file is a reason to refuse

    work = [("stats", ""), ("placements", ""), ("place", f"pid={t.pid} cpus=0-1"),
            ("restore", "all"), ("migrate", f"pid={t.pid} from=any to=1 {t.range()}")]
    threads = [threading.Thread(target=use, args=item) for item in work]
    for thread in threads:
        thread.start()
    try:
        assert driver.eventually(lambda: driver.unload() == 0, 120)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert os.sched_getaffinity(t.pid) == {0, 1, 2, 3}
    assert t.is_whole()


def test_unload_leaves_no_slab_behind(target):
    """Tasks, pids and mms that were acted upon are released when they end."""
    def in_use() -> dict[str, int]:
        return {name: driver.slab_objects(name) for name in ("task_struct", "mm_struct", "pid")}

    before = in_use()
    for _ in range(40):
        t = target("anon", 4)
        driver.write("place", f"pid={t.pid} cpus=1")
        t.move("0", 1)
        t.stop()
    assert driver.unload() == 0

    def settled() -> bool:
        now = in_use()
        return all(now[name] <= before[name] + 30 for name in before)
    assert driver.eventually(settled, 60), (before, in_use())


def test_load_taints_only_as_expected():
    """O: out of the tree, E: unsigned. Nothing else is of our making."""
    taint = int(Path("/proc/sys/kernel/tainted").read_text())
    if Path("/sys/module/kunit").exists():
        taint &= ~(1 << 18)  # N: its tests ran
    assert taint & ~((1 << 12) | (1 << 13)) == 0


def test_load_twice_neg():
    done = subprocess.run(["insmod", driver.module()], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "File exists" in done.stderr

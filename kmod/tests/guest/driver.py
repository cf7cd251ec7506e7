# SPDX-License-Identifier: GPL-2.0-only
"""The module's files, target programs, and the kernel's log, for the tests."""

import contextlib
import errno
import itertools
import os
import subprocess
import time
from pathlib import Path

from experiments.lab.console import FAULT
from tests.target.process import TargetProcess
from tests.waiting import eventually

TOP = Path(__file__).resolve().parents[3]
DIR = Path("/sys/kernel/debug/numaplace")
KMEMLEAK = Path("/sys/kernel/debug/kmemleak")  # of the debug kernels only
COUNTS = ("moved", "already", "absent", "pinned", "shared", "file", "hugetlb", "thp_split", "busy",
          "no_memory", "no_huge")
RELEASE = tuple(int(word) for word in os.uname().release.split("-")[0].split(".")[:2])
MOVES_WHOLE = RELEASE >= (6, 19)  # a transparent huge page, by the module


def record(line: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in line.split())


def records(name: str) -> list[dict[str, str]]:
    return [record(line) for line in (DIR / name).read_text().splitlines()]


def stats() -> dict[str, int]:
    return {key: int(value) for key, value in records("stats")[0].items()}


def write(name: str, line: str | bytes):
    data = line if isinstance(line, bytes) else line.encode()
    fd = os.open(DIR / name, os.O_WRONLY)
    try:
        assert os.write(fd, data) == len(data)
    finally:
        os.close(fd)


def tids_of(pid: int) -> list[int]:
    """None where the process has ended."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))
    return []


def refusal(name: str, line: str | bytes) -> str:
    """The name of the error of a write, "" if it succeeds."""
    try:
        write(name, line)
    except OSError as error:
        return errno.errorcode[error.errno]
    return ""


def start_job(line: str) -> int:
    fd = os.open(DIR / "migrate", os.O_RDWR)
    try:
        os.write(fd, line.encode())
        return int(record(os.read(fd, 100).decode())["job"])
    finally:
        os.close(fd)


def job(number: int) -> dict[str, str]:
    """Only its line is parsed: the file has up to 128, and is read at each poll."""
    text = "\n" + (DIR / "jobs").read_text()
    begin = text.index(f"\njob={number} ") + 1
    return record(text[begin:text.index("\n", begin)])


def wait_job(number: int, seconds: float = 180) -> dict[str, str]:
    deadline = time.monotonic() + seconds
    while True:
        found = job(number)
        assert int(found["asked"]) == sum(int(found[name]) for name in COUNTS)
        if found["state"] in ("done", "cancelled", "failed"):
            return found
        assert time.monotonic() < deadline, f"job is still {found}"
        time.sleep(0.005)


def migrate(line: str, seconds: float = 180) -> dict[str, str]:
    """Moves to the end; the counts are those of the reply."""
    return wait_job(start_job(line), seconds)


def counts(reply: dict[str, str]) -> dict[str, int]:
    """Those that are not zero."""
    return {name: int(reply[name]) for name in COUNTS if reply[name] != "0"}


def slab_objects(name: str) -> int:
    """Objects of a kind in the kernel, those of kinds that share its slabs included."""
    cache = Path("/sys/kernel/slab") / name
    (cache / "shrink").write_text("1")  # or what CPUs keep for the next one counts, and KASAN's quarantine
    return int((cache / "objects").read_text().split()[0])


class Target(TargetProcess):
    """A target with pages of one kind on one node."""

    def __init__(self, kind: str, pages: int, node: int = 0, threads: int = 0, wrap: tuple = ()):
        super().__init__(kind, pages, node, threads, wrap=wrap)
        start, length = self.memory
        self.start = int(start, 16)
        self.end = self.start + int(length)

    def where(self, words: str = "where") -> dict[str, int]:
        pairs = (pair.split(":") for pair in self.ask(words).split())
        return {node: int(pages) for node, pages in pairs if pages != "0"}

    def tids(self) -> list[int]:
        return tids_of(self.pid)

    def range(self) -> str:
        return f"start={self.start:#x} end={self.end:#x}"

    def move(self, origin: str, to: int, extra: str = "") -> dict[str, str]:
        return migrate(f"pid={self.pid} from={origin} to={to} {self.range()} {extra}")

    def stop(self):
        self.process.kill()
        self.process.communicate()


def module() -> str:
    return os.environ["NUMAPLACE_KO"]


def is_loaded() -> bool:
    return Path("/sys/module/numaplace").exists()


def load() -> int:
    return subprocess.run(["insmod", module()], check=False).returncode


def unload(seconds: float = 120) -> int:
    return subprocess.run(["rmmod", "numaplace"], check=False, timeout=seconds,
                          stderr=subprocess.DEVNULL).returncode


class KernelLog:
    """Messages that the kernel logs after the object is made."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def faults(self) -> list[str]:
        found = []
        while True:
            try:
                text = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                break
            except BrokenPipeError:  # overwritten before it was read
                continue
            found += [line for line in text.splitlines() if FAULT.search(line)]
        os.close(self.fd)
        return found


def settled(count) -> int:
    """A count once it has stayed the same for a second, at three looks: a worker and RCU release dropped objects later.

    A look takes seconds on a kernel with its checkers on."""
    counts = [(time.monotonic(), count())]

    def stays() -> bool:
        time.sleep(0.05)
        counts.append((time.monotonic(), count()))
        same = list(itertools.takewhile(lambda one: one[1] == counts[-1][1], reversed(counts)))
        return len(same) > 2 and same[0][0] - same[-1][0] > 1

    assert eventually(stays, 120), counts
    return counts[-1][1]


def settled_objects(name: str) -> int:
    return settled(lambda: slab_objects(name))

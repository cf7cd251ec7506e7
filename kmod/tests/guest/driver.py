# SPDX-License-Identifier: GPL-2.0-only
"""The module's files, target programs, and the kernel's log, for the tests."""

import contextlib
import errno
import itertools
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.lab.console import FAULT
from tests.target.process import TargetProcess
from tests.waiting import eventually

TOP = Path(__file__).resolve().parents[3]
TOOL = TOP / "build" / "numaplace"
DIR = Path("/sys/kernel/debug/numaplace")
KMEMLEAK = Path("/sys/kernel/debug/kmemleak")  # of the debug kernels only
COUNTS = ("moved", "already", "absent", "pinned", "shared", "file", "hugetlb", "thp_split", "busy",
          "no_memory", "no_huge")
RELEASE = tuple(int(word) for word in os.uname().release.split("-")[0].split(".")[:2])
MOVES_WHOLE = RELEASE >= (6, 19)  # a transparent huge page, by the module

LARGE_FILES = RELEASE >= (6, 16)  # folios of ext4, of what write(2) writes


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


def migrate(line: str) -> dict[str, str]:
    """Moves to the end, or until an error, whose number is in the reply. OSError: it was refused, and nothing has begun."""
    fd = os.open(DIR / "migrate", os.O_RDWR)
    error = 0
    try:
        os.write(fd, line.encode())
    except OSError as failed:
        error = failed.errno
    text = os.pread(fd, 4096, 0).decode()
    os.close(fd)
    if not text:
        raise OSError(error, os.strerror(error))
    reply = record(text)
    assert int(reply["error"]) == error
    assert int(reply["asked"]) == sum(int(reply[name]) for name in COUNTS)
    return reply


def migrate_together(lines: list[str]) -> list[dict[str, str]]:
    """As many moves at a time as there are lines."""
    with ThreadPoolExecutor(len(lines)) as threads:
        return list(threads.map(migrate, lines))


# Writes its lines one after the other, again and again, until one fails or it is told to end.
MOVING = """
import errno, os, sys
fd, rounds, error = os.open(sys.argv[1], os.O_RDWR), 0, 0
try:
    print("ready", flush=True)
    while not error:
        try:
            os.write(fd, sys.argv[2 + rounds % len(sys.argv[2:])].encode())
            rounds += 1
        except OSError as failed:
            error = failed.errno
except KeyboardInterrupt:
    error = errno.EINTR
print(f"rounds={rounds} errno={error}", os.pread(fd, 4096, 0).decode(), end="")
"""


class Moving:
    """A process that moves pages there and back until it is told to end, or something else ends it."""

    def __init__(self, pid: int, words: str = "", nodes: tuple[int, ...] = (1, 0)):
        lines = [f"pid={pid} from=any to={node} {words}" for node in nodes]
        self.process = subprocess.Popen([sys.executable, "-c", MOVING, DIR / "migrate", *lines], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def end(self) -> dict[str, str]:
        """The last reply, as far as it got, with the rounds before."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self, seconds: float = 120) -> dict[str, str]:
        """The same, once it has ended by itself; errno=: why."""
        said, _ = self.process.communicate(timeout=seconds)
        return record(said)


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

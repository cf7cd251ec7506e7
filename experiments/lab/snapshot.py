# SPDX-License-Identifier: GPL-2.0-only
"""The second start of a machine: its memory and its devices as they were where the first one waited for the host's files.

A snapshot is a folder of the cache, named by a digest of what the machine was made of: QEMU, its options, the kernel, the
initramfs, the simulation. It holds the memory and the devices' state, the console until then, and the guest's clock, which
goes on from there.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from experiments.lab import console, qemu, qemu_program, simulated
from experiments.lab.errors import say
from experiments.lab.qmp import Qmp, QmpError, running
from experiments.paths import cache

LIMIT = 4 << 30  # bytes on the disk, of those that were used last
WAITS = "numaplace lab: waits"
RUN = "@run@"

Limit = Callable[[], float | None]  # seconds that are left, or None


def folder() -> Path:
    return cache() / "snapshots"


def digest(argv: list[str], files: qemu.Files) -> str:
    """Of everything that the state depends on. argv names the run's files by RUN."""
    program = Path(argv[0]).resolve()
    parts = [json.dumps(argv).encode(), qemu_program.full_version(argv[0]).encode(), str(program.stat().st_mtime_ns).encode()]
    contents = [Path(argv[argv.index("-kernel") + 1]), files.initramfs]
    if "-plugin" in argv:
        contents.append(Path(argv[argv.index("-plugin") + 1].partition(",")[0]))
        parts.append(simulated.of_every_run(files.run).encode())
    return hashlib.sha256(b"\0".join(parts + [path.read_bytes() for path in contents])).hexdigest()[:32]


def general(argv: list[str], files: qemu.Files, cwd: Path) -> list[str]:
    """Without what differs from run to run."""
    return [word.replace(f"path={cwd},security", f"path={RUN},security").replace(str(files.run), RUN) for word in argv]


def waiting(argv: list[str]) -> list[str]:
    """The machine waits for a line on its console before it takes the host's files."""
    at = argv.index("-append") + 1
    return [*argv[:at], f"{argv[at]} numaplace_lab_waits=1", *argv[at + 1:]]


@dataclass
class Snapshot:
    path: Path

    def restored(self, argv: list[str]) -> list[str]:
        return [*argv, "-incoming", "defer"]

    def load(self, qmp: Qmp):
        """The machine is as it was, and stands still."""
        qmp.begin()
        as_file(qmp)
        qmp("migrate-incoming", uri=f"file:{self.path}/state")
        qmp.wait_while("query-status", {"inmigrate"})

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def begin(self, files: qemu.Files):
        """What of the first start a restored machine goes on with, beside its state."""
        shutil.copyfile(self.path / "console", files.console)
        simulated.begin_at(files.run, int((self.path / "clock").read_text(encoding="ascii")))


def as_file(qmp: Qmp):
    """Each page of memory has its place in the state's file, which has holes for those that were never written."""
    qmp("migrate-set-capabilities", capabilities=[{"capability": "mapped-ram", "state": True}])


def waits(process: subprocess.Popen, files: qemu.Files, limit: Limit) -> bool:
    """Whether the machine comes to where it waits: where its start fails, the next one says why."""
    while WAITS not in console.text(files.console):
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            return False
        if (left := limit()) is not None and left <= 0:
            raise subprocess.TimeoutExpired(process.args, 0)
    return True


def take(argv: list[str], files: qemu.Files, where: Path, limit: Limit) -> bool:
    """Starts the machine, and keeps its state there as soon as it waits. False: it did not come so far."""
    with running(qemu.adapt(argv, files), files.run / "qemu") as (process, qmp):
        if not waits(process, files, limit):
            return False
        qmp.begin()
        qmp("stop")
        as_file(qmp)
        qmp("migrate", uri=f"file:{where}/state")
        if qmp.wait_while("query-migrate", {"setup", "active", "device", "wait-unplug", "none"}) != "completed":
            raise QmpError(f"its state was not written: {qmp('query-migrate').get('error-desc', 'QEMU does not say why')}")
        (where / "clock").write_text(str(simulated.clock(files.run)), encoding="ascii")
        shutil.copyfile(files.console, where / "console")
        return True


def drop_oldest(limit: int):
    """A machine that is being restored keeps what it has opened; one that was about to is started without."""
    kept = 0
    by_use = sorted(((state.stat(), state.parent) for state in folder().glob("*/state")),
                    key=lambda found: found[0].st_mtime, reverse=True)
    for status, path in by_use:
        kept += status.st_blocks * 512
        if kept > limit:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def making() -> Iterator[bool]:
    """Whether this process is the only one that makes a snapshot."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False


def make(argv: list[str], files: qemu.Files, path: Path, limit: Limit) -> Snapshot | None:
    for left_behind in folder().glob("*.making"):  # by one that was killed
        shutil.rmtree(left_behind, ignore_errors=True)
    made = path.with_suffix(".making")
    made.mkdir()
    try:
        if take(argv, files, made, limit):
            made.rename(path)
            drop_oldest(LIMIT)
            return Snapshot(path)
        if last := console.lost_timer(files.run) or console.last_line(files.run):  # where the kernel did not start at all, the next start says why
            say(f"the machine ended before its state could be kept, and is started anew: '{last}'")
    except (QmpError, OSError) as error:
        say(f"the machine's state could not be kept for its next start in {folder()}: {error}")
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return None


def find(argv: list[str], files: qemu.Files, cwd: Path, limit: Limit) -> Snapshot | None:
    """That of this machine, made where there is none; None where it cannot be, or another process makes one."""
    path = folder() / digest(general(qemu.adapt(argv, files), files, cwd), files)
    if (path / "state").exists():
        with suppress(OSError):  # another user's
            os.utime(path / "state")  # its last use
        return Snapshot(path)
    try:
        with making() as alone:
            return make(argv, files, path, limit) if alone else None
    except OSError:  # the cache cannot be written
        return None

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
from pathlib import Path

from experiments.lab import console, qemu, qemu_program, simulated
from experiments.lab.errors import print_message
from experiments.lab.qmp import Qmp, QmpError, run_qemu
from experiments.paths import cache

MOST_BYTES = 4 << 30  # on the disk, of those that were used last
WAITS = "numaplace lab: waits"
RUN = "@run@"
POLL = 0.02  # s, between two looks at the console
DIGITS = 32  # of the digest, in a snapshot's name
BLOCK = 512  # bytes, of st_blocks
GOES_ON = {"setup", "active", "device", "wait-unplug", "none"}  # statuses of query-migrate

Limit = Callable[[], float | None]  # seconds that are left, or None


def get_folder() -> Path:
    return cache() / "snapshots"


def compute_digest(argv: list[str], files: qemu.Files) -> str:
    """Computes a digest of everything that the state depends on. argv: names the run's files by RUN."""
    program = Path(argv[0]).resolve()
    parts = [json.dumps(argv).encode(), qemu_program.read_full_version(argv[0]).encode(), str(program.stat().st_mtime_ns).encode()]
    contents = [Path(argv[argv.index("-kernel") + 1]), files.initramfs]
    if "-plugin" in argv:
        contents.append(Path(argv[argv.index("-plugin") + 1].partition(",")[0]))
        parts.append(simulated.read_common_lines(files.run).encode())
    return hashlib.sha256(b"\0".join(parts + [path.read_bytes() for path in contents])).hexdigest()[:DIGITS]


def generalise_command(argv: list[str], files: qemu.Files, cwd: Path) -> list[str]:
    """Returns QEMU's command without what differs from run to run."""
    return [word.replace(f"path={cwd},security", f"path={RUN},security").replace(str(files.run), RUN) for word in argv]


def add_wait(argv: list[str]) -> list[str]:
    """Adds the option by which the machine waits for a line on its console before it takes the host's files."""
    at = argv.index("-append") + 1
    return [*argv[:at], f"{argv[at]} numaplace_lab_waits=1", *argv[at + 1:]]


def load_state(snapshot: Path, qmp: Qmp):
    """Loads the state into a QEMU that was started with -incoming defer: the machine is as it was, and stands still. QmpError: QEMU refuses
    it."""
    qmp.begin_session()
    map_memory(qmp)
    qmp("migrate-incoming", uri=f"file:{snapshot}/state")
    qmp.wait_while("query-status", {"inmigrate"})


def begin_run(snapshot: Path, files: qemu.Files):
    """Writes what of the first start a restored machine goes on with. QmpError: the snapshot lacks it, or is damaged."""
    try:
        shutil.copyfile(snapshot / "console", files.console)
        clock_ns, size = map(int, (snapshot / "clock").read_text(encoding="ascii").split())
        if (snapshot / "state").stat().st_size != size:
            raise QmpError("the file of its state has another size than when it was written")
        simulated.set_begin(files.run, clock_ns)
    except (OSError, ValueError) as error:
        raise QmpError(f"a file of it is missing or damaged: {error}") from error


def map_memory(qmp: Qmp):
    """Has each page of memory get its place in the state's file, which has holes for those that were never written."""
    qmp("migrate-set-capabilities", capabilities=[{"capability": "mapped-ram", "state": True}])


def wait_for_machine(process: subprocess.Popen, files: qemu.Files, limit: Limit) -> bool:
    """Waits until the machine waits for the host's files. Returns whether it came so far; where not, the next start says why.
    TimeoutExpired: not within the limit."""
    while WAITS not in console.read_text(files.console):
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL)
            return False  # it has ended
        if (seconds_left := limit()) is not None and seconds_left <= 0:
            raise subprocess.TimeoutExpired(process.args, 0)
    return True


def take_snapshot(argv: list[str], files: qemu.Files, where: Path, limit: Limit) -> bool:
    """Starts the machine, and writes its state into the folder `where` as soon as it waits. Returns whether it came so far.
    QmpError: the state was not written. TimeoutExpired: not within the limit."""
    with run_qemu(qemu.adapt_command(argv, files), files.run / "qemu") as (process, qmp):
        if not wait_for_machine(process, files, limit):
            return False
        qmp.begin_session()
        qmp("stop")
        map_memory(qmp)
        qmp("migrate", uri=f"file:{where}/state")
        if qmp.wait_while("query-migrate", GOES_ON) != "completed":
            raise QmpError(f"its state was not written: {qmp('query-migrate').get('error-desc', 'QEMU does not say why')}")
        size = (where / "state").stat().st_size
        (where / "clock").write_text(f"{simulated.read_clock(files.run)} {size}\n", encoding="ascii")
        shutil.copyfile(files.console, where / "console")
        return True


def drop_oldest_snapshots(most_bytes: int):
    """Removes the snapshots that were not used for longest, until the others take `most_bytes` or less."""
    # A machine that is being restored keeps what it has opened; one that was about to is started without.
    found, kept_bytes = [], 0
    for state in get_folder().glob("*/state"):
        with suppress(FileNotFoundError):  # another process has removed it meanwhile
            found.append((state.stat(), state.parent))
    for stat, folder in sorted(found, key=lambda one: one[0].st_mtime, reverse=True):  # the last use first
        kept_bytes += stat.st_blocks * BLOCK
        if kept_bytes > most_bytes:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def lock_making() -> Iterator[bool]:
    """Yields whether this process is the only one that makes a snapshot."""
    get_folder().mkdir(parents=True, exist_ok=True)
    with (get_folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False


def make_snapshot(argv: list[str], files: qemu.Files, path: Path, limit: Limit) -> Path | None:
    """Starts the machine to make the snapshot in the folder `path`, and returns that; None, with a message, where its state cannot be kept.

    Removes what others have left behind, and the oldest snapshots above MOST_BYTES. TimeoutExpired: not within the limit."""
    for left_behind in get_folder().glob("*.making"):  # by one that was killed
        shutil.rmtree(left_behind, ignore_errors=True)
    partial = path.with_suffix(".making")
    partial.mkdir()
    try:
        if take_snapshot(argv, files, partial, limit):
            shutil.rmtree(path, ignore_errors=True)  # what is left of one whose removal was interrupted
            partial.rename(path)
            drop_oldest_snapshots(MOST_BYTES)
            return path
        # Where the kernel did not start at all, the next start says why.
        if last := console.find_lost_timer(files.run) or console.find_last_line(files.run):
            print_message(f"the machine ended before its state could be kept, and is started anew: '{last}'")
    except (QmpError, OSError) as error:
        print_message(f"the machine's state could not be kept for its next start in {get_folder()}: {error}")
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return None


def find_snapshot(argv: list[str], files: qemu.Files, cwd: Path, limit: Limit) -> Path | None:
    """Finds the snapshot's folder of this machine, or makes it by a start of its own; None where it cannot, or another process makes one.

    TimeoutExpired: not within the limit."""
    path = get_folder() / compute_digest(generalise_command(qemu.adapt_command(argv, files), files, cwd), files)
    if (path / "state").exists():
        with suppress(OSError):  # another user's
            os.utime(path / "state")  # its last use
        return path
    try:
        with lock_making() as alone:
            return make_snapshot(argv, files, path, limit) if alone else None
    except OSError:  # the cache cannot be written
        return None

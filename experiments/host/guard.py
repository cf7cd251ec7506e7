# SPDX-License-Identifier: GPL-2.0-only
"""Puts the machine's state back whatever happens to the runner, SIGKILL included.

A child of the runner keeps what is to be undone, in the order in which it was done, and learns of each step before it is
done. When the runner ends, in whichever way, its socket ends too: the child undoes all of it, the last step first, and
removes the scratch folder.
"""

import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ExperimentError, Interrupted, NotPutBackError, not_put_back
from .interrupts import held
from .process import read_processes

NUMA_BALANCING = Path("/proc/sys/kernel/numa_balancing")
KERNEL_LOG = Path("/dev/kmsg")
SYSFS, CGROUPS = Path("/sys"), Path("/sys/fs/cgroup")
OF_PROCESS = re.compile(r"/proc/\d+/")
CHOSEN = re.compile(r"(?<!\S)\[(\S+)\](?!\S)")
OF_RUN = "NUMAPLACE_SCRATCH"  # in the environment of programs: the scratch folder of the run that has started them
LIMIT, TURN = 10.0, 0.02  # s, until processes have ended that were told to


class Guard:
    """Undoes, at the end of its context or of the `scope`, what is changed by its functions."""

    def __enter__(self) -> "Guard":
        self.scratch = Path(tempfile.mkdtemp(prefix="numaplace-"))
        self.socket, theirs = socket.socketpair()
        self.child = os.fork()
        if not self.child:
            self.socket.close()
            try:
                _keep(theirs, self.scratch)
            finally:
                os._exit(1)
        theirs.close()
        self.answers = self.socket.makefile("r", encoding="utf-8")
        self.steps = 0
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.close()
        self.socket.close()
        os.waitpid(self.child, 0)

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        """Writes a value. back: what undoes it, where that is not what the file said. The kernel's errors are the caller's: OSError."""
        before = said(path)
        if before.strip() != value:
            self._add("write", str(path), before if back is None else back)
            path.write_text(value, encoding="utf-8")

    def keep(self, path: Path) -> None:
        """Keeps the content of a file that something else is going to change."""
        if path.exists():
            self._add("write", str(path), said(path))

    def cgroup(self, path: Path) -> None:
        """Makes a cgroup."""
        self._add("remove", str(path))
        path.mkdir()

    def join(self, pid: int, group: Path) -> None:
        """Moves a process, with all its threads, into a cgroup; it goes back to the one (version 2) in which it was."""
        own = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()[-1].partition("::/")[2]
        self._add("write", str(CGROUPS / own / "cgroup.procs"), str(pid))
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def run(self, *command: str) -> None:
        """Adds a step that this command undoes; the command must be there."""
        self._add("run", *command)

    def ends(self, pid_file: Path) -> None:
        """Adds a step whose undoing waits for the end of the process that writes its number into this file, after it was told to."""
        self._add("ended", str(pid_file))

    def placed(self, numaplace: Path, pids: list[int]) -> None:
        """Processes of the user's that are about to be placed: their CPUs and pages go back."""
        self._add("restore", str(numaplace), *map(str, pids))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undoes what is done in it at its end. NotPutBackError says what could not be."""
        before = self.steps
        try:
            yield
        except ExperimentError as error:
            failed = self._back(before)
            if failed:
                raise NotPutBackError(f"{error}; {not_put_back(failed)}") from None
            raise
        except Interrupted as stop:
            stop.add(self._back(before))
            raise
        except BaseException:
            self._back(before)
            raise
        failed = self._back(before)
        if failed:
            raise NotPutBackError(not_put_back(failed))

    def _back(self, steps: int) -> list[str]:
        failed: list[str] = []
        try:
            with held():
                failed = self._ask("back", steps)
                self.steps = steps
        except Interrupted as stop:
            stop.add(failed)
            raise
        return failed

    def _add(self, *step: str) -> None:
        with held():
            self._ask("add", step)
            self.steps += 1

    def _ask(self, *message: object) -> list[str]:
        """Asks the child. Returns what went wrong. Signals are held: an answer that is not read would be that of the next question."""
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return json.loads(self.answers.readline())


def _keep(theirs: socket.socket, scratch: Path) -> None:
    """Runs in the child and does not return. What goes wrong with the programs does not keep the steps from being undone."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # a reader of the runner's output must not wait for this child
        os.dup2(nothing, stream)
    steps: list[list[str]] = []
    with theirs.makefile("r", encoding="utf-8") as asked:
        for line in asked:
            what, argument = json.loads(line)
            answer = []
            if what == "add":
                steps.append(argument)
            else:
                answer = _undo(steps, argument)
            theirs.sendall(json.dumps(answer).encode() + b"\n")
    try:
        _end_programs(scratch)
    finally:
        if failed := _undo(steps, 0):
            _tell(not_put_back(failed))
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _tell(text: str) -> None:
    """Writes to the kernel's log, or where that may not be written to a file beside it: nobody else hears of it after the runner's end."""
    for path, mode in ((KERNEL_LOG, "w"), (Path(tempfile.gettempdir()) / "numaplace-not-put-back", "a")):
        with suppress(OSError), path.open(mode, encoding="utf-8") as log:
            log.write(f"numaplace: {text}\n")
            return


def _end_programs(scratch: Path) -> None:
    """Kills what the run's programs have forked, also in sessions of its own."""
    wanted = f"{OF_RUN}={scratch}".encode()
    for pid, environment in read_processes("environ"):
        if wanted in environment.split(b"\0"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _undo(steps: list[list[str]], left: int) -> list[str]:
    failed = []
    while len(steps) > left:
        what, name, *words = steps.pop()
        try:
            UNDO[what](name, *words)
        except ProcessLookupError:  # of a process that was in another cgroup, and has ended
            pass
        except FileNotFoundError as error:
            if not OF_PROCESS.match(name):  # else it has ended
                failed.append(f"{name}: {error.strerror}")
        except (OSError, subprocess.CalledProcessError) as error:
            failed.append(f"{name}: {getattr(error, 'strerror', error)}")
    return failed


def _write(path: str, before: str) -> None:
    Path(path).write_text(before, encoding="utf-8")


def _remove(path: str) -> None:
    """Removes a cgroup, also one whose processes are just ending. One that was never made is none."""
    group, end = Path(path), time.monotonic() + LIMIT
    while group.exists():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(TURN)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _ended(pid_file: str) -> None:
    """Waits for the end of the process whose number the file has; a file that stays behind may have that of one that ended long ago."""
    file, end = Path(pid_file), time.monotonic() + LIMIT
    while file.exists() and Path("/proc", file.read_text(encoding="ascii").strip() or "none").exists():
        if time.monotonic() > end:
            raise TimeoutError(errno.ETIMEDOUT, "its process does not end")
        time.sleep(TURN)


def _restore(numaplace: str, *pids: str) -> None:
    """Restores processes after the end of what still places them, which a runner that was killed has left behind."""
    end = time.monotonic() + LIMIT
    while _places(pids) and time.monotonic() < end:
        time.sleep(TURN)
    _run(numaplace, "restore", "--pages", *pids)  # of one that has ended nothing is left


def _places(pids: tuple[str, ...]) -> bool:
    """Checks whether a numaplace apply of one of them runs."""
    wanted = {pid.encode() for pid in pids}
    commands = (line.split(b"\0") for _, line in read_processes("cmdline"))
    return any(words[1:2] == [b"apply"] and wanted & set(words) for words in commands)


UNDO = {"write": _write, "remove": _remove, "run": _run, "ended": _ended, "restore": _restore}


def said(path: Path) -> str:
    """Returns what is to be written for the file to say what it says now: of a choice in sysfs, '[always] madvise never', the word."""
    text = path.read_text(encoding="utf-8")
    chosen = CHOSEN.search(text) if path.is_relative_to(SYSFS) else None
    return chosen[1] if chosen else text


def numa_balancing() -> str | None:
    """Its value, or None where the kernel has none."""
    return NUMA_BALANCING.read_text().strip() if NUMA_BALANCING.exists() else None

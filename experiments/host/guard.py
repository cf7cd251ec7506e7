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

from ..errors import ExperimentError, Interrupted, NotPutBackError, describe_not_put_back
from .host_nodes import scale_limit
from .interrupts import hold_signals
from .process import read_processes

NUMA_BALANCING = Path("/proc/sys/kernel/numa_balancing")
KERNEL_LOG = Path("/dev/kmsg")
SYSFS, CGROUPS = Path("/sys"), Path("/sys/fs/cgroup")
OF_PROCESS = re.compile(r"/proc/\d+/")
CHOSEN = re.compile(r"(?<!\S)\[(\S+)\](?!\S)")
OF_RUN = "NUMAPLACE_SCRATCH"  # in the environment of programs: the scratch folder of the run that has started them
LIMIT, TURN = scale_limit(10), 0.02  # s, until processes have ended that were told to; between two looks


class Guard:
    """Undoes, at the end of its context or of the `scope`, what is changed by its functions."""

    def __enter__(self) -> "Guard":
        """Makes the scratch folder and forks the child that keeps the steps."""
        self.scratch = Path(tempfile.mkdtemp(prefix="numaplace-"))
        self.socket, theirs = socket.socketpair()
        self.child = os.fork()
        if not self.child:
            self.socket.close()
            try:
                _keep_steps(theirs, self.scratch)
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
        """Writes a value to a file that says another. back: what undoes it, where not what it said. OSError: the kernel refuses it."""
        before = read_choice(path)
        if before.strip() != value:
            self._add_step("write", str(path), before if back is None else back)
            with self._dropping_step():
                path.write_text(value, encoding="utf-8")

    def keep(self, path: Path) -> None:
        """Keeps the content of a file that something else is going to change."""
        if path.exists():
            self._add_step("write", str(path), read_choice(path))

    def make_cgroup(self, path: Path) -> None:
        """Makes a cgroup, which is removed at the end. OSError: it cannot be made, or is there."""
        self._add_step("remove", str(path))
        path.mkdir()

    def join(self, pid: int, group: Path) -> None:
        """Moves a process, with all its threads, into a cgroup; it goes back to the one (version 2) in which it was."""
        *_, of_version_2 = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()  # 0::/PATH
        before = CGROUPS / of_version_2.partition("::/")[2]
        self._add_step("write", str(before / "cgroup.procs"), str(pid))
        with self._dropping_step():
            (group / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def run_at_end(self, *command: str) -> None:
        """Adds a step that this command undoes; the command must be there."""
        self._add_step("run", *command)

    def wait_at_end(self, pid_file: Path) -> None:
        """Adds a step whose undoing waits for the end of the process that writes its number into this file, after it was told to."""
        self._add_step("ended", str(pid_file))

    def restore_at_end(self, numaplace: Path, pids: list[int]) -> None:
        """Adds a step whose undoing restores CPUs and pages of processes of the user's that are about to be placed."""
        self._add_step("restore", str(numaplace), *map(str, pids))

    @contextmanager
    def open_scope(self) -> Iterator[None]:
        """Opens a block at whose end all that was done in it is undone. NotPutBackError says what could not be; of a fault of the program's
        a note of its traceback."""
        before = self.steps
        try:
            yield
        except ExperimentError as error:
            if failed := self._go_back(before):
                raise NotPutBackError(f"{error}; {describe_not_put_back(failed)}") from None
            raise
        except Interrupted as stop:
            stop.add(self._go_back(before))
            raise
        except BaseException as fault:
            if failed := self._go_back(before):
                fault.add_note(describe_not_put_back(failed))
            raise
        if failed := self._go_back(before):
            raise NotPutBackError(describe_not_put_back(failed))

    def _go_back(self, keep: int) -> list[str]:
        """Has the child undo the steps but for the first `keep`. Returns what could not be put back, a line each."""
        failed: list[str] = []
        try:
            with hold_signals():
                failed = self._ask_child("back", keep)
                self.steps = keep
        except Interrupted as stop:
            stop.add(failed)
            raise
        return failed

    def _add_step(self, *step: str) -> None:
        """Tells the child of a step that is about to be done: a word of UNDO and its arguments."""
        with hold_signals():
            self._ask_child("add", step)
            self.steps += 1

    @contextmanager
    def _dropping_step(self) -> Iterator[None]:
        """Drops the last step where the kernel refuses what this block does: nothing was changed, and nobody may undo it either."""
        try:
            yield
        except OSError:
            with hold_signals():
                self._ask_child("drop", None)
                self.steps -= 1
            raise

    def _ask_child(self, *message: object) -> list[str]:
        """Asks the child to add or drop a step, or to go back. Returns what could not be put back. Signals must be held: an answer
        that is not read would be that of the next question."""
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return json.loads(self.answers.readline())


def _keep_steps(theirs: socket.socket, scratch: Path) -> None:
    """Keeps the steps, in the child, and answers the runner; after its end kills its programs, undoes the steps that are left and removes
    `scratch`. Does not return."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # a reader of the runner's output must not wait for this child
        os.dup2(nothing, stream)
    steps: list[list[str]] = []
    with theirs.makefile("r", encoding="utf-8") as messages:
        for line in messages:
            request, argument = json.loads(line)
            failed = []
            if request == "add":
                steps.append(argument)
            elif request == "drop":
                steps.pop()
            else:
                failed = _undo_steps(steps, argument)
            theirs.sendall(json.dumps(failed).encode() + b"\n")
    try:
        _end_programs(scratch)
    finally:  # whatever goes wrong with the programs
        if failed := _undo_steps(steps, 0):
            _log_failure(describe_not_put_back(failed))
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _log_failure(text: str) -> None:
    """Writes to the kernel's log, or where that may not be written to a file beside it: nobody else hears of it after the runner's end."""
    for path, mode in ((KERNEL_LOG, "w"), (Path(tempfile.gettempdir()) / "numaplace-not-put-back", "a")):
        with suppress(OSError), path.open(mode, encoding="utf-8") as log:
            log.write(f"numaplace: {text}\n")
            return


def _end_programs(scratch: Path) -> None:
    """Kills all processes that have the run's scratch folder in their environment: its programs and what they have forked."""
    wanted = f"{OF_RUN}={scratch}".encode()
    for pid, environment in read_processes("environ"):
        if wanted in environment.split(b"\0"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _undo_steps(steps: list[list[str]], keep: int) -> list[str]:
    """Undoes the steps, a word of UNDO and its arguments each, from the last one on, and removes them; keeps the first `keep`.
    Returns what could not be put back, a line each."""
    failed = []
    while len(steps) > keep:
        kind, name, *words = steps.pop()
        try:
            UNDO[kind](name, *words)
        except ProcessLookupError:  # a process that was in another cgroup has ended
            pass
        except FileNotFoundError as error:
            if not OF_PROCESS.match(name):  # else it has ended
                failed.append(f"{name}: {error.strerror}")
        except (OSError, subprocess.CalledProcessError) as error:
            failed.append(f"{name}: {getattr(error, 'strerror', error)}")
    return failed


def _write_file(path: str, before: str) -> None:
    """Writes back what a file said before."""
    Path(path).write_text(before, encoding="utf-8")


def _remove_cgroup(path: str) -> None:
    """Removes a cgroup where there is one, and waits for processes in it that are just ending. OSError: not within LIMIT seconds."""
    group, deadline = Path(path), time.monotonic() + LIMIT
    while group.exists():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(TURN)


def _run_command(*command: str) -> None:
    """Runs a command without input or output. CalledProcessError: its status is not 0."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_for_end(pid_file: str) -> None:
    """Waits until the file is gone or the process whose number it has. TimeoutError: not within LIMIT seconds."""
    file, deadline = Path(pid_file), time.monotonic() + LIMIT
    while file.exists() and Path("/proc", file.read_text(encoding="ascii").strip() or "none").exists():  # "none": not yet written
        if time.monotonic() > deadline:
            raise TimeoutError(errno.ETIMEDOUT, "its process does not end")
        time.sleep(TURN)


def _restore_processes(numaplace: str, *pids: str) -> None:
    """Restores CPUs and pages of processes, after a wait of at most LIMIT seconds for the end of a `numaplace apply` that a killed
    runner has left behind."""
    deadline = time.monotonic() + LIMIT
    while _is_placing(pids) and time.monotonic() < deadline:
        time.sleep(TURN)
    _run_command(numaplace, "restore", "--pages", *pids)  # of one that has ended nothing is left


def _is_placing(pids: tuple[str, ...]) -> bool:
    """Checks whether a `numaplace apply .. PID ..` of one of them runs."""
    wanted = {pid.encode() for pid in pids}
    commands = (line.split(b"\0") for _, line in read_processes("cmdline"))
    return any(words[1:2] == [b"apply"] and wanted & set(words) for words in commands)


UNDO = {"write": _write_file, "remove": _remove_cgroup, "run": _run_command, "ended": _wait_for_end, "restore": _restore_processes}


def read_choice(path: Path) -> str:
    """Reads what is to be written to a file for it to say what it says now: of a choice in sysfs, '[always] madvise never', 'always'."""
    text = path.read_text(encoding="utf-8")
    chosen = CHOSEN.search(text) if path.is_relative_to(SYSFS) else None
    return chosen[1] if chosen else text


def read_numa_balancing() -> str | None:
    """Reads kernel.numa_balancing; None where the kernel has none."""
    return NUMA_BALANCING.read_text().strip() if NUMA_BALANCING.exists() else None

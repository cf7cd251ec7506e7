# SPDX-License-Identifier: GPL-2.0-only
"""A program of any kind in the background: its output goes to files, and what it forks ends with it."""

import os
import pwd
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..errors import CannotError, ExperimentError
from .host_nodes import scale_limit
from .process import start_process
from .tool import take_last_line

END_LIMIT = scale_limit(15)  # s, for a program to end when it is asked to
PROC = Path("/proc")
ZOMBIE = "Z"  # a state
START_FIELD = 17  # of /proc/PID/stat, after the parent


@dataclass(frozen=True)
class Process:
    """Holds a process: a number that is used again, with another start, is another one."""

    pid: int
    started: str  # clock ticks since boot, as /proc has them
    comm: str

    @property
    def alive(self) -> bool:
        """Checks whether the process runs; a zombie does not."""
        stat = _read_stat(self.pid)
        return stat is not None and stat.started == self.started and stat.state != ZOMBIE


class Stat(NamedTuple):
    parent: int
    comm: str
    started: str  # clock ticks since boot
    state: str    # a letter


def _read_stat(pid: int) -> Stat | None:
    """Reads /proc/PID/stat; None where the process has ended."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    state, parent, *fields = tail.split()
    return Stat(int(parent), head.partition("(")[2], fields[START_FIELD], state)


def list_tree(pid: int) -> list[Process]:
    """Lists a process and all its descendants, parents first, without zombies; [] where it has ended."""
    stats = {int(name): stat for name in os.listdir(PROC) if name.isdigit() and (stat := _read_stat(int(name)))}
    ordered = [pid] if pid in stats else []
    for parent in ordered:  # which grows by each one's children
        ordered += sorted(child for child, stat in stats.items() if stat.parent == parent)
    return [Process(number, stats[number].started, stats[number].comm) for number in ordered if stats[number].state != ZOMBIE]


def find_user(user: str) -> pwd.struct_passwd | None:
    """Finds the user that programs run as; None for the runner's own: for "", or where it is not root. CannotError: no such user."""
    if not user or os.geteuid():
        return None
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise CannotError(f"user {user} does not exist: install the package that makes it, or change 'user'") from None


class Background:
    """Runs a program on every CPU that the runner may use."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], folder: Path, output: Path, user: str = "",
                 before_exec: Callable[[], None] = lambda: None) -> None:
        """Starts the program in `folder`, as `user` where the runner is root; it writes to `output` with the suffixes .out and .err.

        environment: beside the runner's; before_exec: called in the child. CannotError: no such user, or it cannot be started."""
        self.words, self.out, self.err = words, output.with_suffix(".out"), output.with_suffix(".err")
        entry = find_user(user)
        identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []} if entry else {}
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.started = time.monotonic()
            try:
                self.process = start_process(list(words), signal.SIGKILL, before_exec, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                             env=os.environ | environment, cwd=folder, start_new_session=True, **identity)
            except OSError as error:
                relative = "/" in words[0] and not words[0].startswith("/")
                hint = f"it starts in {folder}: {{folder}} in it is its file's folder" if relative else "correct the command or install it"
                raise CannotError(f"{words[0]} cannot be started: {error.strerror}; {hint}") from None
        self.pid = self.process.pid
        self.below: dict[tuple[int, str], Process] = {}  # by pid and start: all that list_processes() has seen
        self.ended = 0.0
        self.waiter = threading.Thread(target=self._wait_for_end, daemon=True)
        self.waiter.start()

    def _wait_for_end(self) -> None:
        """Waits for the program's end, in a thread, and notes its time."""
        self.process.wait()
        self.ended = time.monotonic()

    def list_processes(self) -> list[Process]:
        """Lists the program and all below it that run now, and remembers them for stop()."""
        found = list_tree(self.pid) if self.alive else []
        self.below |= {(process.pid, process.started): process for process in found}
        return found

    @property
    def alive(self) -> bool:
        """Checks whether the program itself runs."""
        return self.process.poll() is None

    def wait(self, limit: float) -> bool:
        """Waits for the program's end. Returns whether it has ended within `limit` seconds."""
        self.waiter.join(max(limit, 0))
        return not self.waiter.is_alive()

    @property
    def seconds(self) -> float:
        """Returns the seconds from the program's start to its end; only once it has ended."""
        return self.ended - self.started

    @property
    def stdout(self) -> str:
        """Returns what the program has written to standard output so far."""
        return self.out.read_text(errors="replace")

    @property
    def output(self) -> str:
        """Returns what the program has written so far: standard output, then standard error."""
        return self.stdout + self.err.read_text(errors="replace")

    def explain_end(self) -> str:
        """Returns how the program ended, and the last line that it wrote."""
        message = take_last_line(self.err.read_text(errors="replace")) or take_last_line(self.stdout)
        return f"{self.words[0]} ended with status {self.process.poll()}" + (f": {message}" if message else "")

    def finish(self, limit: float) -> None:
        """Waits for the program's end. ExperimentError: it did not come within `limit` seconds, or with a status that is not 0."""
        if not self.wait(limit):
            raise ExperimentError(f"{self.words[0]}: not finished after {limit:g} s")
        if self.process.returncode:
            raise ExperimentError(self.explain_end())

    def stop(self) -> None:
        """Asks the program to end (SIGTERM), waits at most END_LIMIT seconds, then kills what is left of it and its descendants."""
        self.list_processes()
        if self.alive:
            self.process.terminate()
            if not self.wait(END_LIMIT):
                self.list_processes()  # what it has forked meanwhile too
        for process in self.below.values():
            if process.alive:
                try:
                    os.kill(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it ended between the two
        self.waiter.join()

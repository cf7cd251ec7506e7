# SPDX-License-Identifier: GPL-2.0-only
"""A process of a workload: it dies with the runner and talks JSON lines."""

import ctypes
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import CannotError, ExperimentError, Interrupted
from .interrupts import NUMBERS, hold_signals
from .tool import take_last_line

PR_SET_PDEATHSIG = 1
PIPE_SIZE = 65536  # bytes that a pipe of Linux holds, unless it is told otherwise
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int, number: signal.Signals) -> None:
    """Asks, in a child before exec, for the signal when its parent ends, in whichever way; ends the child where it has ended."""
    LIBC.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # which ended before the line above
        os._exit(127)


def start_process(arguments: list[str | Path], number: signal.Signals, before_exec: Callable[[], None] = lambda: None,
                  **options: Any) -> subprocess.Popen[bytes]:
    """Starts a child that gets the signal `number` when the runner ends, or is interrupted while it starts the child.

    Interrupted: it was; the child has ended. OSError: it cannot be started. options: of Popen."""
    runner, child = os.getpid(), None

    def reset_signals() -> None:
        """Makes the child's signals those of a new program, before exec."""
        for ignored in NUMBERS:  # from the first of them on by the runner, and what a program ignores it keeps at exec
            signal.signal(ignored, signal.SIG_DFL)
        die_with(runner, number)
        before_exec()

    try:
        with hold_signals():
            child = subprocess.Popen(arguments, preexec_fn=reset_signals, **options)
    except Interrupted:
        if child:
            child.send_signal(number)
            child.wait()
        raise
    return child


def read_processes(name: str) -> Iterator[tuple[int, bytes]]:
    """Yields the number of each process with the content of /proc/PID/`name`; not of one that has ended or whose file may not be read."""
    # Path.glob() would raise the ESRCH of a process that ends meanwhile.
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            content = Path("/proc", number, name).read_bytes()
        except OSError:
            continue
        yield int(number), content


def set_cpus(pid: int, cpus: Iterable[int]) -> None:
    """Sets the CPUs of all threads of a process. OSError: it has ended, or may not run on them."""
    wanted = set(cpus)
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            os.sched_setaffinity(int(thread), wanted)
        except ProcessLookupError:
            pass  # it ended between the listing and now


class Program:
    """Runs a program of a workload, which dies with the runner; those of the project answer in lines of JSON."""

    def __init__(self, arguments: list[str | Path], cpus: Iterable[int],
                 environment: Mapping[str, str], memory_node: int | None = None,
                 before_exec: Callable[[], None] = lambda: None) -> None:
        """Starts a program on these CPUs, so that what the loader touches is on their node; all that it ever allocates is to be
        on `memory_node`, where one is given. environment: beside the runner's; before_exec: called in it. CannotError: no program."""
        self.name = Path(arguments[0]).name
        self.errors = tempfile.TemporaryFile()
        self.pending = b""
        wanted = set(cpus)

        if memory_node is not None:
            arguments = ["numactl", f"--preferred={memory_node}", *arguments]

        def set_own_cpus() -> None:
            """Sets the child's CPUs, before exec."""
            os.sched_setaffinity(0, wanted)
            before_exec()

        try:
            # A session of its own: Ctrl-C reaches the runner alone, which restores and then stops it.
            self.process = start_process(
                arguments, signal.SIGKILL, set_own_cpus, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=self.errors, env=os.environ | environment, start_new_session=True,
                bufsize=0)
        except FileNotFoundError:
            raise CannotError(f"{arguments[0]} is missing: run 'make setup tools'") from None
        self.pid = self.process.pid

    def explain_end(self) -> str:
        """Returns the last line that the program wrote to stderr, or how it ended."""
        self.errors.seek(0)
        message = take_last_line(self.errors.read().decode(errors="replace"))
        return message or f"{self.name}: ended with status {self.process.poll()}"

    def send(self, line: str) -> None:
        """Sends the program a line. ExperimentError: it has ended."""
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            self.process.wait()
            raise ExperimentError(self.explain_end()) from None

    def receive(self, event: str, limit: float) -> dict[str, Any]:
        """Reads the next line. Returns its object, which must be this event and come within `limit` seconds.
        ExperimentError: another one or none came."""
        line = self._read_line(time.monotonic() + limit, event)
        try:
            answer = json.loads(line)
            received = answer["event"]
        except (ValueError, KeyError, TypeError):
            received = line.decode(errors="replace")
        if received != event:
            raise ExperimentError(f"{self.name}: said {received!r} instead of {event!r}")
        return answer

    def _read_line(self, deadline: float, event: str) -> bytes:
        """Reads the next line until `deadline`, in s of the monotonic clock. ExperimentError: none came, or the program has ended.

        event: what is waited for, for the message."""
        out = self.process.stdout.fileno()
        while b"\n" not in self.pending:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([out], [], [], remaining)[0]:
                raise ExperimentError(f"{self.name} (pid {self.pid}): no {event!r} in time")
            data = os.read(out, PIPE_SIZE)
            if not data:
                self.process.wait()
                raise ExperimentError(self.explain_end())
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    @property
    def alive(self) -> bool:
        """Checks whether the program runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """Kills the program where it runs, and closes its streams."""
        if self.alive:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            stream.close()

# SPDX-License-Identifier: GPL-2.0-only
"""Puts the machine's state back whatever happens to the runner, SIGKILL included.

A child of the runner waits for the end of a pipe that only the runner holds open: when the
runner ends, in whichever way, the child sets the sysctls again and removes the scratch folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

NUMA_BALANCING = Path("/proc/sys/kernel/numa_balancing")


class Guard:
    """Context manager; `changes` are the sysctl files to be set meanwhile and their values."""

    def __init__(self, changes: dict[Path, str]) -> None:
        self.changes = changes

    def __enter__(self) -> "Guard":
        self.scratch = Path(tempfile.mkdtemp(prefix="numaplace-"))
        saved = {path: path.read_text() for path, value in self.changes.items()
                 if path.exists() and path.read_text().strip() != value}
        end, self.held = os.pipe()
        self.child = os.fork()
        if not self.child:
            self._wait_and_restore(end, saved)
        os.close(end)
        for path in saved:
            write_if_allowed(path, self.changes[path])
        return self

    def _wait_and_restore(self, end: int, saved: dict[Path, str]) -> None:
        """Runs in the child and does not return."""
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.close(self.held)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):  # a reader of the runner's output must not wait for this child
            os.dup2(nothing, stream)
        while os.read(end, 1):
            pass
        for path, value in saved.items():
            write_if_allowed(path, value)
        shutil.rmtree(self.scratch, ignore_errors=True)
        os._exit(0)

    def __exit__(self, *_: object) -> None:
        os.close(self.held)
        os.waitpid(self.child, 0)


def write_if_allowed(path: Path, value: str) -> None:
    """Without permission the marks of every observation say so."""
    try:
        path.write_text(value)
    except OSError:
        pass


def numa_balancing() -> str | None:
    """Its value, or None where the kernel has none."""
    return NUMA_BALANCING.read_text().strip() if NUMA_BALANCING.exists() else None

# SPDX-License-Identifier: GPL-2.0-only
"""numad, the program: it looks at the tasks that it is told and moves each to nodes with room for it.

It leaves programs of less than 300 MB alone, and shortens khugepaged's pause for the whole machine. It also leaves alone what it
looked at minutes ago, and takes every program for one that it looked at when the machine's clock began: it has a clock of its
own here, which began earlier. The policy of the name numad is numaplace's, after its rules.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import CannotError
from .mechanism import Mechanism, Parameter, Scope, missing

PID_FILE = Path("/run/numad.pid")
KHUGEPAGED = Path("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs")
CLOCKS = Path("/proc/self/ns/time")
EARLIER_S = 3600


class Numad(Mechanism):
    """Runs numad for the programs, with a monotonic clock of its own."""

    name = "numad-daemon"
    about = "Red Hat's daemon numad, told of the programs alone"
    parameters = {"interval_s": Parameter("between two looks", 1, 60, 5), "target_percent": Parameter("a node's load, at most", 10, 130, 85)}
    counters = ("pgmigrate_success",)

    def lacks(self, nodes):
        """Returns why numad cannot run here; None where it can."""
        return (super().lacks(nodes) or missing(CLOCKS) or (None if shutil.which("numad") else "numad is not installed: apt-get install numad")
                or explain_running())

    def attach(self, scope: Scope, pids: Sequence[int]) -> None:
        """Starts numad for these programs; the guard ends it and restores khugepaged's pause. CannotError: it does not start."""
        seconds = str(self.values["interval_s"])
        scope.guard.keep(KHUGEPAGED)
        scope.guard.wait_at_end(PID_FILE)
        scope.guard.run_at_end("numad", "-i", "0")
        words = ["unshare", "--time", f"--monotonic={EARLIER_S}",
                 "numad", "-S", "0", "-i", f"{seconds}:{seconds}", "-u", str(self.values["target_percent"])]
        started = subprocess.run([*words, *(word for pid in pids for word in ("-p", str(pid)))], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        if started.returncode:
            raise CannotError(f"mechanism {self.name}: {(started.stderr or started.stdout).strip() or f'status {started.returncode}'}")


def explain_running() -> str | None:
    """Returns that a numad runs already, which a second one only tells its settings and ends; None where none does."""
    try:
        pid = PID_FILE.read_text(encoding="ascii").strip()
        runs = Path("/proc", pid or "none", "comm").read_text(encoding="utf-8").strip() == "numad"
    except OSError:
        return None
    return f"numad runs already, as process {pid}: end it" if runs else None

# SPDX-License-Identifier: GPL-2.0-only
"""SIGKILL of the runner: its programs die, the sysctls come back, the scratch folder goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]

RUNNER = """
import os, sys, time
from pathlib import Path
from experiments.places import HERE
from experiments.runner.host.guard import Guard
from experiments.runner.host.process import Program
with Guard() as guard:
    guard.write(Path(sys.argv[1]), "0")
    program = Program([HERE.programs / "np-triad", "--size", "1M"], os.sched_getaffinity(0), {})
    program.receive("ready", 30)
    print(program.pid, guard.scratch, flush=True)
    if sys.argv[2] == "wait":
        time.sleep(600)
    program.stop()
"""


def start(sysctl: Path, how: str) -> tuple[subprocess.Popen[str], int, Path]:
    sysctl.write_text("1\n")
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, sysctl, how], cwd=ROOT,
                              stdout=subprocess.PIPE, text=True)
    pid, scratch = runner.stdout.readline().split()
    return runner, int(pid), Path(scratch)


def test_everything_is_put_back_after_sigkill(tmp_path: Path) -> None:
    sysctl = tmp_path / "sysctl"
    runner, pid, scratch = start(sysctl, "wait")
    assert sysctl.read_text() == "0" and scratch.is_dir()
    assert Path(f"/proc/{pid}").exists()
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    assert eventually(lambda: not Path(f"/proc/{pid}").exists(), 60)
    assert eventually(lambda: sysctl.read_text() == "1\n", 60)
    assert eventually(lambda: not scratch.exists(), 60)


def test_everything_is_put_back_at_the_end(tmp_path: Path) -> None:
    runner, pid, scratch = start(tmp_path / "sysctl", "end")
    assert runner.wait(60) == 0
    assert (tmp_path / "sysctl").read_text() == "1\n"
    assert not scratch.exists() and not Path(f"/proc/{pid}").exists()


# The child undoes the last step first: it signals the runner, which waits for the answer, and then fails.
INTERRUPTED = """
import os
from experiments.errors import ExperimentError, Interrupted
from experiments.runner.host.guard import Guard
from experiments.runner.host.interrupts import stop_signals
with stop_signals(), Guard() as guard:
    for steps in [["false"], ["kill", "-TERM", str(os.getpid())]], [["false"]], [["true"]]:
        try:
            with guard.scope():
                for step in steps:
                    guard.run(*step)
            print("put back")
        except Interrupted as stop:
            print("stopped;", stop.left)
        except ExperimentError as error:
            print(error)
"""


def test_a_signal_in_the_middle_of_a_question_loses_no_answer() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=True)
    first, second, third = done.stdout.splitlines()
    assert second.startswith("not put back: false") and (first, third) == (f"stopped; {second}", "put back")

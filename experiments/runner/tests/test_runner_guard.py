# SPDX-License-Identifier: GPL-2.0-only
"""SIGKILL of the runner: its programs die, the sysctls come back, the scratch folder goes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.commands.worth import trial_suite
from experiments.paths import HERE
from tests.waiting import eventually, has_ended

ROOT = Path(__file__).resolve().parents[3]

RUNNER = """
import os, sys, time
from pathlib import Path
from experiments.paths import HERE
from experiments.host.guard import Guard
from experiments.host.process import Program
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


UNDO_FAILS = """
import os, sys, time
from pathlib import Path
from experiments.host import guard
guard.KERNEL_LOG = Path(sys.argv[2])
with guard.Guard() as held:
    held.run_at_end("false")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_could_not_be_put_back_after_sigkill_is_told(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    runner = subprocess.Popen([sys.executable, "-c", UNDO_FAILS, tmp_path, log], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert runner.stdout.readline() == "ready\n"
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    assert eventually(lambda: log.exists() and log.read_text().startswith("numaplace: not put back: false: "), 60)


PROGRAMS_FAIL = """
import sys
from pathlib import Path
from experiments.host import guard
def fail(_scratch):
    raise ProcessLookupError
guard._end_programs = fail
with guard.Guard() as held:
    held.write(Path(sys.argv[1]), "0")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_everything_is_put_back_where_programs_cannot_be_ended(tmp_path: Path) -> None:
    sysctl = tmp_path / "sysctl"
    sysctl.write_text("1\n")
    with subprocess.Popen([sys.executable, "-c", PROGRAMS_FAIL, sysctl], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as runner:
        assert runner.stdout.readline() == "ready\n" and sysctl.read_text() == "0"
        runner.kill()
    assert eventually(lambda: sysctl.read_text() == "1\n", 60)


def test_everything_is_put_back_at_the_end(tmp_path: Path) -> None:
    runner, pid, scratch = start(tmp_path / "sysctl", "end")
    assert runner.wait(60) == 0
    assert (tmp_path / "sysctl").read_text() == "1\n"
    assert not scratch.exists() and not Path(f"/proc/{pid}").exists()


# Processes of the user's under a policy, for ten minutes. The tool is a script that writes down what it is asked.
ATTACHED = """
import os, sys
from pathlib import Path
from experiments.host import host_nodes
from experiments.host.guard import Guard
from experiments.host.tool import Numaplace
from experiments.runner.observe import Observer
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites
from experiments.commands.worth import trial_suite
table = trial_suite.format_processes([int(sys.argv[1])], 600 * (sys.argv[3] == "wait"), 0, sys.argv[2], r"([0-9]+)")
suite = suites.parse_suite(trial_suite.format_suite("here", ["none", "maximum-local"], 1, "rate", table))
with Guard() as guard:
    observer = Observer(suite, host_nodes.list_nodes(), Numaplace(Path(sys.argv[4])), guard.scratch, "real", guard)
    print(observer.observe(schedule.Trial(suite.workloads[0], "maximum-local", 0, 0, False))["marks"])
"""
TOOL = """#!/bin/sh
[ "$1" != ps ] || exec {numaplace} "$@"
echo "$@" >>{asked}
[ "$1" = restore ] || echo '{{"decisions": []}}'
"""


@pytest.mark.parametrize("how", ["wait", "end"])
def test_processes_that_run_are_put_back(how: str, tmp_path: Path) -> None:
    """After SIGKILL, and at the end of the observation."""
    asked, tool, rate = tmp_path / "asked", tmp_path / "numaplace", tmp_path / "rate"
    tool.write_text(TOOL.format(numaplace=HERE.programs / "numaplace", asked=asked))
    tool.chmod(0o755)
    rate.write_text("1")
    target = subprocess.Popen(["sleep", "600"])
    try:
        runner = subprocess.Popen([sys.executable, "-c", ATTACHED, str(target.pid), f"file://{rate}", how, tool], cwd=ROOT)
        if how == "wait":
            assert eventually(lambda: asked.exists() and asked.read_text().startswith("apply"), 60)
            os.kill(runner.pid, signal.SIGKILL)
        runner.wait(60)
        assert eventually(lambda: asked.read_text().splitlines()[1:] == [f"restore --pages {target.pid}"], 60), asked.read_text()
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()


# A program that forks, under no policy.
FORKS = """
import sys
from pathlib import Path
from experiments.host import host_nodes
from experiments.host.guard import Guard
from experiments.host.tool import Numaplace
from experiments.runner.observe import Observer
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites
from experiments.commands.worth import trial_suite
suite = suites.parse_suite(trial_suite.format_suite("here", ["none"], 1, "seconds", f'file = "{sys.argv[1]}"'))
with Guard() as guard:
    observer = Observer(suite, host_nodes.list_nodes(), Numaplace(), guard.scratch, "real", guard)
    observer.observe(schedule.Trial(suite.workloads[0], "none", 0, 0, False))
"""


def test_what_a_program_has_forked_ends_after_sigkill(tmp_path: Path) -> None:
    """The signal of the runner's end reaches the shell alone, and a process group has not what is in a session of its own."""
    words = ["sh", "-c", f"setsid sleep 600 & echo $! >{tmp_path}/child; wait"]
    (tmp_path / "own.toml").write_text(trial_suite.format_workload(words, {}, 600, tmp_path))
    runner = subprocess.Popen([sys.executable, "-c", FORKS, tmp_path / "own.toml"], cwd=ROOT)
    assert eventually(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), 60)
    pid = int((tmp_path / "child").read_text())
    assert eventually(lambda: "sleep" in Path(f"/proc/{pid}/comm").read_text(), 60)
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    assert eventually(lambda: has_ended(pid), 60)


# The child undoes the last step first: it signals the runner, which waits for the answer, and then fails.
INTERRUPTED = """
import os
from experiments.errors import ExperimentError, Interrupted
from experiments.host.guard import Guard
from experiments.host.interrupts import stop_signals
with stop_signals(), Guard() as guard:
    for steps in [["false"], ["kill", "-TERM", str(os.getpid())]], [["false"]], [["true"]]:
        try:
            with guard.open_scope():
                for step in steps:
                    guard.run_at_end(*step)
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

# SPDX-License-Identifier: GPL-2.0-only
"""machine_side/step.sh with programs that end as numaplace may end."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from experiments.host.tool import take_last_line
from tests.waiting import eventually

STEP = Path(__file__).resolve().parents[1] / "machine_side" / "step.sh"
NAME = "campaign-1-sort@box 1"


class Machine:
    def __init__(self, folder: Path):
        self.folder = folder / "its folder"
        self.program = folder / "num place"
        self.runs = 0
        self.top = folder

    def does(self, text: str) -> None:
        """As `numaplace experiment run SUITE --out DIR OPTION..`: $2 is the command, $3 the suite, $5 the folder."""
        self.program.write_text(f'#!/bin/sh\nset -eu\nmkdir -p "$5"\n{text}\n')
        self.program.chmod(0o755)

    def start(self, *options: str, suite: str = "sort") -> tuple[subprocess.Popen, Path]:
        self.runs += 1
        here = self.top / f"job {self.runs}"
        here.mkdir()
        (here / "mine.toml").write_text("name = 'mine'\n")
        words = ["sh", "-c", STEP.read_text(), "step.sh", self.folder, NAME, self.program, suite, *(options or ("--lab", "demo-2s"))]
        with open(here / "mine.toml") as mine, open(here / "arrived", "w") as arrived:
            return subprocess.Popen(words, cwd=here, stdin=mine, stdout=arrived, stderr=subprocess.PIPE, text=True, start_new_session=True), here

    def step(self, *options: str, suite: str = "sort") -> tuple[int, str, Path]:
        """The run's status, its last line, and the folder that came."""
        process, here = self.start(*options, suite=suite)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "")
        subprocess.run(["tar", "-x", "-f", "arrived"], cwd=here, check=True)
        return int((here / "status").read_text()), take_last_line((here / "run.log").read_text()), here


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_is_measured_comes_and_stays(machine: Machine) -> None:
    machine.does('echo "$*" >"$5/arguments"')
    status, _, here = machine.step("--lab", "demo-2s", "--quick")
    assert status == 0
    assert (here / "arguments").read_text() == f"experiment run sort --out {NAME} --lab demo-2s --quick\n"
    assert (machine.folder / NAME / "arguments").exists()


def test_a_step_that_was_ended_goes_on(machine: Machine) -> None:
    machine.does('echo "$*" >>"$5/results.jsonl"; exit 1')
    assert machine.step()[0] == 1
    machine.does('echo "$*" >>"$5/results.jsonl"')
    status, _, here = machine.step()
    first, second = (here / "results.jsonl").read_text().splitlines()
    assert status == 0 and "--resume" not in first and second.endswith(" --resume")


def test_the_last_line_says_why(machine: Machine) -> None:
    machine.does('echo much; echo bad >&2; exit 3')
    assert machine.step()[:2] == (3, "bad")


def test_a_suite_of_the_user_comes_along(machine: Machine) -> None:
    machine.does('cp "$3" "$5/suite"')
    assert machine.step(suite="mine.toml")[0] == 0
    assert (machine.folder / NAME / "suite").read_text() == "name = 'mine'\n"


def test_two_steps_run_one_after_the_other(machine: Machine) -> None:
    machine.does('[ ! -e "$5/inside" ]; : >"$5/inside"; mkfifo "$5/go" && cat "$5/go" || :; rm "$5/inside"; echo >>"$5/ended"')
    first, _ = machine.start()
    assert eventually(lambda: (machine.folder / NAME / "go").exists())
    second, there = machine.start()
    # It waits for the lock, which the first has.
    assert eventually(lambda: "flock\x009" in children(second.pid))
    (machine.folder / NAME / "go").write_text("")
    assert first.wait(60) == second.wait(60) == 0
    assert (machine.folder / NAME / "ended").read_text() == "\n\n"
    assert (there / "arrived").stat().st_size


def children(pid: int) -> str:
    """Their command lines."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return "".join(map(command_line, listed))


def command_line(pid: str) -> str:
    """Nothing where it has ended since it was listed."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_step_that_is_ended_lets_the_run_undo_what_it_did(machine: Machine, number: signal.Signals) -> None:
    machine.does('trap \'kill $!; : >"$5/undone"; exit 0\' TERM; mkfifo "$5/never"; cat "$5/never" & : >"$5/began"; wait')
    process, here = machine.start()
    assert eventually(lambda: (machine.folder / NAME / "began").exists())
    os.killpg(process.pid, number)
    assert process.wait(60) == -number
    assert eventually(lambda: (machine.folder / NAME / "undone").exists())
    assert not (here / "arrived").stat().st_size
    process.stderr.close()

# SPDX-License-Identifier: GPL-2.0-only
"""numaplace campaign: what it refuses, and whole campaigns where ReFrame is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from experiments.commands.campaign import cli, engine, state
from experiments.paths import HERE
from tests import building
from tests.waiting import eventually

MAIN = "import sys; from experiments.commands.campaign.cli import main; sys.exit(main())"
needs_reframe = pytest.mark.skipif(importlib.util.find_spec("reframe") is None, reason="no ReFrame; make check-fleet has it")


def start(folder: Path, *words: object, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE,
          **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", MAIN, *map(str, words)], cwd=folder, text=True, stdout=stdout, stderr=stderr,
                            env=os.environ | {"PYTHONPATH": f"{HERE.code}:{os.environ.get('PYTHONPATH', '')}"} | variables)


def campaign(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    process = start(folder, *words)
    out, said = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """Two that are this computer."""
    building.build("build/numaplace", "build/numaplace-experiment")
    file = tmp_path / "m.toml"
    file.write_text("".join(f'["{name}"]\nfolder = "{tmp_path}/{name}"\nprogram = "{HERE.programs}/numaplace"\n{more}'
                            for name, more in (("box 1", 'lab = "demo-2s"\n'), ("box2", ""))), encoding="utf-8")
    return file


@pytest.mark.parametrize(("words", "said"), [
    (["none.toml", "sort"], "none.toml: No such file or directory: name a file of machines"),
    (["m.toml", "sorts"], "suite 'sorts' does not exist; there are: "),
    (["m.toml", "sort", "sort"], "suite 'sort' is given 2 times"),
    (["m.toml", "sort", "--functional"], "--functional is the lab's: give --lab MACHINE too"),
    (["status", "out"], "out is no campaign's folder: campaign.json: No such file or directory; name what --out named"),
    (["resume"], "resume takes the folder of a campaign and nothing else: numaplace campaign resume DIR"),
    (["report", "a", "b"], "report takes the folder of a campaign"),
])
def test_what_cannot_be_is_one_line(tmp_path: Path, machines: Path, words: list[str], said: str) -> None:
    done = campaign(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"numaplace campaign: {said}")
    assert list(tmp_path.iterdir()) == [machines]


def test_options_of_a_run_are_passed_on() -> None:
    args = cli.parser().parse_args(["m.toml", "sort", "--repeats", "3", "--repeat-until-ci", "2%", "--quick", "--no-calibrate"])
    assert cli.options(args) == ["--repeats", "3", "--repeat-until-ci", "2%", "--quick", "--no-calibrate"]


def test_reframe_that_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(engine.CannotError, match=f"no package reframe, .*pip install {engine.PACKAGE}, "):
        engine.check()


def test_the_package_that_is_named_is_the_pinned_one() -> None:
    pinned = (HERE.sources / "setup/requirements-fleet.txt").read_text()
    assert f"\n{engine.PACKAGE}\n" in pinned and f'"{engine.PACKAGE}"' in (HERE.sources / "pyproject.toml").read_text()


def means(out: Path) -> set[str]:
    """Names of those in ReFrame's database, of all its sessions."""
    with closing(sqlite3.connect(out / "results.db")) as database:
        sessions = [json.loads(blob) for blob, in database.execute("select json_blob from sessions")]
    return {name for session in sessions for run in session["runs"] for case in run["testcases"] for name in case.get("perfvalues") or {}}


@needs_reframe
@pytest.mark.lab
@pytest.mark.full("three runs in simulated time")
def test_a_campaign_goes_on_where_a_machine_failed(tmp_path: Path, machines: Path) -> None:
    suite = tmp_path / "my suite.toml"
    suite.write_text((HERE.code / "experiments/suites/sort.toml").read_text().replace('"sort"', '"my suite"', 1))
    later = tmp_path / "numaplace"
    machines.write_text(machines.read_text() + f'["box 3"]\nfolder = "{tmp_path}/box 3"\nprogram = "{later}"\nlab = "demo-2s"\n')
    done = campaign(tmp_path, machines, suite, "--quick", "--repeats", "1", "--out", "out")
    assert states(tmp_path / "out") == {"box 1": "done", "box2": "skipped", "box 3": "failed"}, done.stderr
    assert done.returncode == 1 and done.stdout.count("\n") == 3 and "is not on this machine" in done.stdout
    kept = (tmp_path / "out/runs/my suite@box 1/results.jsonl").read_text()
    later.symlink_to(HERE.programs / "numaplace")
    again = campaign(tmp_path, "resume", "out")
    assert (again.returncode, again.stderr) == (0, "")
    assert states(tmp_path / "out") == {"box 1": "done", "box2": "skipped", "box 3": "done"}
    assert "box 1" not in again.stdout  # it was done
    assert (tmp_path / "out/runs/my suite@box 1/results.jsonl").read_text() == kept
    assert measured(tmp_path / "out", "box 1") == measured(tmp_path / "out", "box 3") != []
    assert means(tmp_path / "out") == {f"campaign:m{k}:sort-{n}-{where}/none/seconds" for k in (0, 2) for n in (300000, 1000000)
                                       for where in ("local", "remote")}
    assert campaign(tmp_path, "report", "out").returncode == 0
    assert (tmp_path / "out/runs/report.html").exists()


@needs_reframe
def test_a_campaign_that_is_ended_ends_its_steps(tmp_path: Path, machines: Path) -> None:
    """Of this computer: the run undoes what it did, and the step is open."""
    program = tmp_path / "numaplace"
    program.write_text(f"""#!/bin/sh
        trap 'kill $!; : >"{tmp_path}/undone"; exit 0' TERM
        mkfifo "{tmp_path}/never"; cat "{tmp_path}/never" & : >"{tmp_path}/began"; wait""")
    program.chmod(0o755)
    machines.write_text(f'[box]\nlab = "demo-2s"\nfolder = "{tmp_path}/box"\nprogram = "{program}"\n')
    running = start(tmp_path, machines, "sort", "--out", "out")
    assert eventually((tmp_path / "began").exists, 60)
    beside = campaign(tmp_path, "resume", "out")
    assert beside.returncode == 2 and "has a campaign that runs" in beside.stderr
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and said.startswith("numaplace campaign: stopped; ") and said.count("\n") == 1
    assert eventually((tmp_path / "undone").exists)
    assert states(tmp_path / "out") == {"box": "open"}


@needs_reframe
def test_a_terminal_has_a_bar_of_the_steps_and_a_log_lines_alone(tmp_path: Path, machines: Path) -> None:
    machines.write_text(f'[box]\nlab = "demo-2s"\nfolder = "{tmp_path}/box"\nprogram = "{tmp_path}/none"\n')
    log = campaign(tmp_path, machines, "sort", "split", "--out", "log").stdout
    shown = on_a_terminal(tmp_path, machines, "sort", "split", "--out", "out")
    assert log.count("\n") == 2 and "/2" not in log and "\x1b" not in log
    assert "0/2" in shown and "2/2" in shown
    for line in log.splitlines():
        assert line.split(" s ")[1] in shown


def on_a_terminal(folder: Path, *words: object) -> str:
    """What is shown where the output is a terminal."""
    ours, theirs = os.openpty()
    with open(ours, "rb", buffering=0) as screen:
        process = start(folder, *words, stdout=theirs, stderr=theirs, TERM="xterm", COLUMNS="160")
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # EIO: nobody has the terminal any more
            while part := screen.read(4096):
                shown += part
        process.wait(60)
    return shown.decode()


def states(folder: Path) -> dict[str, str]:
    return {step.machine: step.state for step in state.read(folder).steps()}


def measured(folder: Path, machine: str) -> list[tuple[str, str, int]]:
    records = map(json.loads, (folder / f"runs/my suite@{machine}/results.jsonl").read_text().splitlines())
    return sorted((record["workload"], record["policy"], record["repeat"]) for record in records)

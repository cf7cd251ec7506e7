# SPDX-License-Identifier: GPL-2.0-only
"""numaplace donate as it is called: the question, the errors, and this machine measured, stopped and resumed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from experiments.donate import __main__ as command
from experiments.donate import pack, steps
from experiments.donate.tests import donated
from experiments.zoo import record
from tests.building import build

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    build("tools")


def donate(*words: object, **how: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, "donate", *map(str, words)], capture_output=True, text=True, check=False,
                          **{"stdin": subprocess.DEVNULL} | how)


def finished(folder: Path) -> Path:
    """A folder with all steps of this machine, as far as the command can tell."""
    donated.write(folder)
    found = subprocess.run([TOOL, "topology", "--json"], capture_output=True, text=True, check=True).stdout
    (folder / steps.TOPOLOGY).write_text(found)
    return folder


def answered(answer: bytes, *words: object) -> subprocess.CompletedProcess[str]:
    """The answer is given at a terminal."""
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    try:
        return donate(*words, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(("words", "says"), [
    ((), "the input is no terminal to ask at: give --yes, or run it at a terminal"),
    (("--budget", "3x"), 'argument --budget: "3x" is not a time, such as 2m, 30m or 1h: see numaplace donate --help'),
    (("--yes", "--budget", "0s"), "--budget: is 0: give a time, as in 30m"),
    (("--yes", "a", "b"), "unrecognized arguments: b: see numaplace donate --help")])
def test_wrong_usage_is_one_line_and_measures_nothing(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = donate(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"numaplace donate: {says}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"yes\n", 0), (b"\n", 1), (b"n\n", 1), (b"\x04", 1)])
def test_the_file_is_shown_and_asked_for(tmp_path: Path, answer: bytes, status: int) -> None:
    folder, file = finished(tmp_path / "run"), tmp_path / "box.json"
    done = answered(answer, "--resume", "--out", folder, file)
    assert done.returncode == status, done.stderr
    shown, _, rest = done.stdout[done.stdout.index("{\n"):].partition("\ndonate: ")
    assert rest.partition("\n")[0] == f"{len(shown.encode()) + 1} bytes, all of {file}" and "write it? [y/N]" in rest
    assert json.loads(shown) == pack.pack(folder)
    assert file.exists() == (status == 0) and (status or file.read_text() == f"{shown}\n")
    assert ("nothing is written" in done.stdout) == (status == 1)


@pytest.mark.parametrize(("load", "said"), [(0.5, ""), (7.08, "donate: load is 7.1: others use the processors, and the figures are not "
                                                              "the machine's alone; Ctrl-C stops\n")])
def test_a_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], load: float, said: str) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 9.0, 9.0))
    command.say_load()
    assert capsys.readouterr().out == said


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = donate("--resume", "--yes", "--out", finished(tmp_path / "run"), tmp_path / "no" / "box.json")
    assert (done.returncode, done.stderr) == (1, f"numaplace donate: cannot write {tmp_path}/no/box.json: No such file or directory: "
                                                 "name another FILE.json\n")


@pytest.mark.full("half a minute of measurements")
def test_this_machine_is_measured_stopped_and_resumed(tmp_path: Path) -> None:
    folder, file = tmp_path / "run", tmp_path / "box.json"
    words = [TOOL, "donate", "--yes", "--out", folder, "--budget", "1m", file]
    begun = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert begun.stdout is not None
    for line in begun.stdout:
        if line.startswith(f"donate: {steps.LATENCY}: "):
            os.killpg(begun.pid, signal.SIGINT)
    assert begun.wait() == 130 and "--resume goes on from here" in begun.stderr.read() and not file.exists()
    kept = (folder / steps.LATENCY / steps.MARK).stat().st_mtime_ns
    assert steps.mark(folder, steps.LATENCY) == {"status": 0, "why": None} and not steps.mark(folder, steps.LOADED)
    done = donate("--yes", "--out", folder, "--budget", "20s", "--resume", file)
    assert done.returncode == 0, done.stderr
    assert (folder / steps.LATENCY / steps.MARK).stat().st_mtime_ns == kept
    found = record.read(file)
    assert found["machine"]["nodes"] and 10 < found["measured"]["latency"]["mean"][0][0] < 100000
    parts = {steps.LOADED: "loaded_latency", steps.CORES: "core_to_core", steps.STREAM: "numa_stream"}
    assert all(step in found["missing"] or found["measured"][part] for step, part in parts.items())
    assert (len(found["machine"]["nodes"]) > 1) or found["missing"][steps.CALIBRATION] == found["missing"][steps.STREAM] == steps.NODES

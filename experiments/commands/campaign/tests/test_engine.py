# SPDX-License-Identifier: GPL-2.0-only
"""Which pieces run beside each other, in which time, and what becomes of them; run --all by it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.analysis.tests import synthetic
from experiments.commands.campaign import engine, piece
from experiments.commands.campaign.machines import Machine
from experiments.commands.campaign.piece import Piece, State
from experiments.commands.experiment.cli import main
from experiments.errors import NotPutBackError
from experiments.runner.options import RunOptions
from experiments.runner.records import results
from experiments.runner.suite import suite as suites

WORDS: list[str] = []  # of what was started


class Pretended(Piece):
    """A piece whose run ends with its status at the next look."""

    status = 0

    def start(self, budget: float | None) -> object:
        WORDS.append(f"{self.suite} {budget}s")
        return SimpleNamespace(poll=lambda: self.status, returncode=self.status, wait=lambda: None, terminate=lambda: None)


@pytest.fixture(autouse=True)
def no_words() -> None:
    WORDS.clear()


def pretend(folder: Path, *suites_and_machines: tuple[str, Machine]) -> list[Piece]:
    return piece.list_pieces(folder, suites_and_machines, RunOptions(), kind=Pretended)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that goes on by `takes` at each look."""
    found = SimpleNamespace(now=0.0, takes=0.0)

    def sleep(_seconds: float) -> None:
        found.now += found.takes

    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: found.now, sleep=sleep))
    return found


@pytest.mark.parametrize("labs, processors, beside", [
    (["demo-2s"] * 4, 2, 1), (["demo-2s"] * 4, 16, 4), (["demo-2s"] * 4, 8, 2), (["demo-2s"] * 4, 256, 4),
    (["demo-2s", "opteron-6172-4s"], 52, 2), (["demo-2s", "opteron-6172-4s"], 51, 1), (["demo-2s", ""], 64, 1)])
def test_machines_run_at_once_while_there_are_processors(labs: list[str], processors: int, beside: int, tmp_path: Path) -> None:
    """demo-2s has 4 CPUs, opteron-6172-4s 48."""
    assert engine.count_at_once(pretend(tmp_path, *[("sort", Machine(lab, lab=lab)) for lab in labs]), processors) == beside


@pytest.mark.parametrize("takes, started", [(600, ["a 900s", "b 1000s", "c 1200s", "d 1800s"]), (2000, ["a 900s", "b 533s"])])
def test_a_shared_budget_has_a_part_for_each(clock: SimpleNamespace, takes: float, started: list[str], tmp_path: Path) -> None:
    clock.takes = takes
    found = pretend(tmp_path, *[(name, Machine("here")) for name in "abcd"])
    engine.run_pieces(found, 3600, shared=True)
    assert started == WORDS
    assert engine.count_states(found) == "4 pieces: " + ("4 done" if len(started) == 4 else "2 done, 2 open")


def test_what_runs_when_the_time_is_over_is_ended_and_open(clock: SimpleNamespace, tmp_path: Path) -> None:
    clock.takes = 500
    found = pretend(tmp_path, *[(name, Machine("here")) for name in "abc"])
    engine.run_pieces(found, 1020)
    assert WORDS == ["a Nones", "b Nones"], "no boot is begun for 20 s"
    WORDS.clear()
    Pretended.status = None
    try:
        engine.run_pieces(engine.list_left(found), 400)
    finally:
        Pretended.status = 0
    assert WORDS == ["c Nones"] and found[2].read_state().word == piece.OPEN


def test_a_machine_that_is_not_as_it_was_runs_nothing_more(clock: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Pretended, "status", NotPutBackError.status)
    found = pretend(tmp_path, ("a", Machine("here")), ("b", Machine("here")))
    engine.run_pieces(found)
    assert engine.conclude_pieces("x", found, "y goes on") == 1
    assert capsys.readouterr().err == f"x: a on here has failed: status 4: : see {found[0].out}/run.log\nx: 2 pieces: 1 failed, 1 open: y goes on\n"
    assert engine.list_left(found) == found[::-1], "what has failed is the last"


def test_all_suites_run_in_the_lab_and_what_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that the lab does not have: every run is refused, in its own words, or for a program that is not installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(suites, "list_names", lambda: ["cross"])
    assert main(["run", "--all", "--quick", "--lab", "--kernel", "5.4", "--out", "all"]) == 1
    said = capsys.readouterr()
    runs = len(suites.load_suite("cross").machines)
    assert runs > 1
    whys = re.findall(r"^\S+ +cross +(?:failed|skipped) +0 records .* s  (.*)", said.out, re.MULTILINE)
    assert len(whys) == runs and all("5.4" in why or "is not installed: apt-get install" in why for why in whys)
    assert f"{runs} pieces: " in said.err
    assert (tmp_path / "all" / "cross@ls3a-2s" / "run.log").exists()


def test_an_interrupt_ends_the_runs_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(_self: Piece, _budget: float | None) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"]))
        return started[-1]

    monkeypatch.setattr(Piece, "start", start)
    monkeypatch.setattr(engine, "count_at_once", lambda *_: 2)
    monkeypatch.setattr(engine.time, "sleep", lambda _seconds: os.kill(os.getpid(), signal.SIGINT))
    assert main(["run", "--all", "--lab", "--out", str(tmp_path)]) == 130
    assert "stopped; " in capsys.readouterr().err
    assert [process.returncode for process in started] == [-signal.SIGTERM] * 2


def test_after_all_runs_there_is_one_report_though_one_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(suites, "list_names", lambda: ["policy-matrix"])
    monkeypatch.setattr(engine, "run_pieces", lambda found, *_, **__: [synthetic.write(one.out, synthetic.make_full()) for one in found])
    monkeypatch.setattr(Piece, "read_state", lambda _piece: State(piece.FAILED, why="bad"))
    assert main(["run", "--all", "--lab", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "policy-matrix on demo-2s has failed: bad" in said.err and str(tmp_path / "report.html") in said.out
    assert "policy-matrix" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_finished_suites_are_kept_until_the_user_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[list[str]] = []

    def finish(found: list[Piece], *_: object, **__: object) -> None:
        ran.append([one.name for one in found])
        for one in found:
            synthetic.write(one.out, synthetic.make_full())
            (one.out / piece.VERDICT).write_text(f"{piece.DONE} 1\n")

    monkeypatch.setattr(suites, "list_names", lambda: ["policy-matrix"])
    monkeypatch.setattr(engine, "run_pieces", finish)
    words = ["run", "--all", "--lab", "--out", str(tmp_path)]
    whole = ["policy-matrix on demo-2s"]
    assert main(words) == 0 and ran == [whole]
    assert main(words) == 2 and ran == [whole]
    assert "has results: go on with --resume" in capsys.readouterr().err
    assert list(tmp_path.glob(f"*/{piece.VERDICT}"))
    assert main([*words, "--resume"]) == 0 and ran == [whole, []]
    assert main([*words, "--force"]) == 0 and ran == [whole, [], whole]
    with engine.lock_folder(tmp_path):
        assert main([*words, "--force"]) == 2 and len(ran) == 3
    assert list(tmp_path.glob(f"*/{piece.VERDICT}"))


def test_force_leaves_no_old_result_where_nothing_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "list_names", lambda: ["policy-matrix"])
    old = synthetic.write(tmp_path / "policy-matrix@demo-2s", synthetic.make_full())
    (old / piece.VERDICT).write_text(f"{piece.DONE} 1 \n")
    monkeypatch.setattr(engine, "run_pieces", lambda *_, **__: None)  # the budget is spent before it
    assert main(["run", "--all", "--lab", "--out", str(tmp_path), "--force"]) == 1
    assert not (old / results.NAME).exists()

# SPDX-License-Identifier: GPL-2.0-only
"""Pieces that are run once for the same code, and the page of runs that are there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from experiments import pieces as kept_pieces
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_luo as luo
from experiments.bench.evidence import __main__, page, pieces
from experiments.errors import Interrupted
from experiments.paths import HERE
from experiments.runner.records import manifest, results
from experiments.runner.suite import schedule


@pytest.fixture
def piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pieces.Piece:
    """Of six observations; its digest is 'now'."""
    monkeypatch.setattr(pieces.Piece, "digest", "now")
    return pieces.Piece("redis-tokens", "xeon-e5-2620v4-2s", tmp_path / "redis-tokens@xeon-e5-2620v4-2s")


def observed(piece: pieces.Piece, number: int, *marks: str) -> None:
    """The first observations of its schedule; the last one with these marks."""
    trials = schedule.make(piece.request.suite)[:number]
    piece.out.mkdir(parents=True, exist_ok=True)
    results.rewrite(piece.out, [{"workload": t.workload.name, "policy": t.policy, "repeat": t.repeat, "warmup": t.warmup,
                                 "marks": marks if t is trials[-1] else []} for t in trials])


def record(piece: pieces.Piece, status: int | None, inputs: str = "now", seconds: float = 7) -> dict:
    return {"piece": piece.name, "inputs": inputs, "sources": manifest.sources(), "status": status, "seconds": seconds}


def test_a_piece_is_done_with_status_0_or_with_1_and_every_cell_there(piece: pieces.Piece) -> None:
    all_of_it = len(schedule.make(piece.request.suite))
    assert piece.state(None) == pieces.MISSING
    assert piece.state(record(piece, 0)) == pieces.FAILED  # its folder is gone
    observed(piece, 1)
    assert [piece.state(record(piece, status)) for status in (1, 3, None)] == [pieces.FAILED, pieces.FAILED, pieces.CUT]
    assert piece.state(record(piece, None) | {"sources": {"commit": "other"}}) == pieces.MISSING
    observed(piece, all_of_it, "busy machine")
    assert [piece.state(record(piece, status)) for status in (0, 1, 3)] == [pieces.DONE, pieces.DONE, pieces.FAILED]
    assert piece.state(record(piece, 0, "before")) == pieces.OLD


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool, float]]:
    """Of the pieces that were run: the name, whether its folder was there, the room."""
    made: list[tuple[str, bool, float]] = []
    clock = [0.0]
    monkeypatch.setattr(pieces.time, "monotonic", lambda: clock[0])

    def until(piece: pieces.Piece, room: float) -> int | None:
        made.append((piece.name, (piece.out / "kept").exists(), room))
        (piece.out / "kept").write_text("")
        clock[0] += 600
        return None if len(made) == 1 else 3
    monkeypatch.setattr(pieces.Piece, "_until", until)
    return made


def test_what_was_cut_is_resumed_and_what_failed_is_made_anew(piece: pieces.Piece, runs: list, tmp_path: Path) -> None:
    kept = pieces.kept_in(tmp_path)
    assert piece.run(kept, 100) is None
    assert kept.read()[piece.name] == record(piece, None, seconds=600)
    kept.write(record(piece, None, seconds=40))
    assert piece.run(kept, 100) == 3 and kept.read()[piece.name] == record(piece, 3, seconds=640), "the earlier part's seconds are kept"
    kept.write(record(piece, 3, seconds=40))
    piece.run(kept, 100)
    assert kept.read()[piece.name] == record(piece, 3, seconds=600)
    kept.write(record(piece, None, "before"))
    piece.run(kept, 100)
    assert [there for _, there, _ in runs] == [False, True, False, False]


def test_a_piece_that_is_stopped_keeps_its_seconds(piece: pieces.Piece, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_piece: pieces.Piece, _room: float) -> None:
        raise Interrupted(15)
    monkeypatch.setattr(pieces.Piece, "_until", stop)
    pieces.kept_in(tmp_path).write(record(piece, None, seconds=40))
    with pytest.raises(Interrupted):
        piece.run(pieces.kept_in(tmp_path), 100)
    assert pieces.kept_in(tmp_path).read()[piece.name] == record(piece, None, seconds=40)


def test_what_ends_in_the_time_is_run_and_the_longest_last(tmp_path: Path, runs: list, monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pieces.Piece, "digest", "now")
    found, kept = [pieces.Piece(name, "m", tmp_path / name) for name in ("arena", "long", "short", "failed", "done")], pieces.kept_in(tmp_path)
    takes = {"arena": 3600, "long": 1500, "short": 700, "failed": 90, "done": 1}
    monkeypatch.setattr(pieces.Piece, "takes", lambda piece, _record: (takes[piece.suite], "as before"))
    monkeypatch.setattr(pieces.Piece, "whole", lambda piece: True)
    kept.write(record(found[3], 3))
    kept.write(record(found[4], 1))
    assert [line.split()[0] for line in pieces.plan(found, kept) if "(as before)" in line] == ["short", "long", "arena", "failed"]
    pieces.run(found, kept, 2000)
    assert [(name, round(room)) for name, _, room in runs] == [
        ("short on m", 2000), ("arena on m", 1400), ("failed on m", 800)], "a later call is enough for long"
    assert "short on m: 10 min, cut" in capsys.readouterr().out
    runs.clear()
    pieces.run(found, kept, 30)
    assert not runs, "no boot is begun for that"


def test_a_run_is_cut_when_its_room_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    popen = subprocess.Popen
    monkeypatch.setattr(pieces.subprocess, "Popen", lambda _words, **streams: popen(["sleep", "60"], **streams))
    assert pieces.Piece("split", "m", tmp_path)._until(0.1) is None


def test_every_suite_on_each_of_its_machines_is_a_piece(tmp_path: Path) -> None:
    found = {p.name for p in pieces.pieces(tmp_path)}
    assert {"contention on xeon-e5620-2s", "contention on ls3a-2s", "policy-matrix on demo-2s"} <= found


def test_a_digest_is_of_what_the_piece_uses(tmp_path: Path) -> None:
    uses = {name: pieces.Piece(name, machine, tmp_path).uses() for name, machine in
            (("contention", "ls3a-2s"), ("kernel-mm", "2x2"), ("arena", "cxl-3n"), ("work-stealing", "xeon-e5-4620-4s"))}
    assert uses["contention"] == ["experiments/lab/machines/ls3a-2s.toml", "experiments/suites/contention.toml", "experiments/workloads/mem"]
    assert uses["kernel-mm"][2:] == ["experiments/workloads/mm"] and uses["work-stealing"][2:3] == ["experiments/workloads/stealing"]
    assert {"experiments/workloads/hot", "experiments/workloads/apps", "experiments/mechanisms"} <= set(uses["arena"])
    one, other = (pieces.Piece("contention", machine, tmp_path) for machine in ("ls3a-2s", "xeon-e5620-2s"))
    assert len(one.digest) == 12 and one.digest != other.digest


def test_every_path_of_a_digest_has_files(tmp_path: Path) -> None:
    paths = {*pieces.INPUTS, *(path for piece in pieces.pieces(tmp_path) for path in piece.uses())}
    missing = {path for path in paths if not kept_pieces.git(HERE.code, "ls-files", "--", path)}
    assert missing == {f"experiments/lab/machines/{name}.toml" for name in ("1x2:640M+1:2G", "2x2")}  # their names say all


def test_tests_and_documents_are_no_part_of_a_digest(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in ("a/b.c", "a/tests/t.c", "a/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)

    def digest(*values: object) -> str:
        return kept_pieces.digest(tmp_path, ["a", *kept_pieces.WITHOUT_TESTS], values)
    before = digest()
    (tmp_path / "a/tests/t.c").write_text("2")
    (tmp_path / "a/README.md").write_text("2")
    assert digest() == before != digest("option")
    (tmp_path / "a/b.c").write_text("2")
    assert digest() != before


def evidence(monkeypatch: pytest.MonkeyPatch, folder: Path, states: dict[pieces.Piece, str], *more: str) -> int:
    monkeypatch.setattr(pieces, "states", lambda *_: states)
    monkeypatch.setattr(pieces, "pieces", lambda _: list(states))
    monkeypatch.setattr(pieces, "waiting", lambda *_: [])
    monkeypatch.setattr("sys.argv", ["evidence", "--out", str(folder), *more])
    return __main__.main()


def test_failed_and_missing_pieces_have_a_status_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (pieces.Piece(name, "m", tmp_path / name) for name in ("one", "other"))
    assert evidence(monkeypatch, tmp_path, {one: pieces.DONE, other: pieces.CUT}) == 2
    assert capsys.readouterr().err == "evidence: 2 pieces: 1 done, 1 cut: the same command goes on\n"
    assert evidence(monkeypatch, tmp_path, {one: pieces.MISSING, other: pieces.FAILED}) == 1
    assert f"evidence: other on m has failed: see {other.out}/run.log; the same command makes it again\n" in capsys.readouterr().err
    assert evidence(monkeypatch, tmp_path, {one: pieces.FAILED, other: pieces.FAILED}, "--page") == 1
    assert capsys.readouterr().out.splitlines()[-1] == "  failed: one on m, other on m"


def test_the_page_has_the_papers_numbers_first(tmp_path: Path) -> None:
    states: dict[pieces.Piece, str] = {}
    for name, machine in (("e5620", "xeon-e5620-2s"), ("ls3a", "ls3a-2s")):
        records = factorial.records("contention", luo.contention(name), noise=1e-3, platform="lab-timed")
        factorial.write(tmp_path / machine, records, ["luo-contention"], machine)
        states[pieces.Piece("contention", machine, tmp_path / machine)] = pieces.DONE
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/results.jsonl").write_text("of a suite that is no more\n")
    states |= {pieces.Piece("split", f"m-{state}", tmp_path / "x"): state for state in (pieces.OLD, pieces.FAILED, pieces.MISSING)}
    text = page.write(tmp_path, states)
    assert text.startswith("This page is of the pieces that are done, of 5 pieces: 2 done, 1 of older code, 1 failed, 1 missing\n"
                           "  failed: split on m-failed\n  missing: split on m-missing\n  of older code: split on m-of older code\n\n")
    assert "no more" not in text + (tmp_path / "report.html").read_text()
    assert text.index("  luo-contention (E5620), parts of 4L0R: 23 cells, mean") < text.index("Errors of what the model was not fitted to")
    assert (tmp_path / "report.html").exists()
    assert "xeon-e5620-2s: 72 of 72 counted" in text

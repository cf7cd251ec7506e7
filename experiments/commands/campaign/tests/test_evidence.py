# SPDX-License-Identifier: GPL-2.0-only
"""Pieces that are run once for the same code, and the page of runs that are there."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import pieces as kept_pieces
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_luo as luo
from experiments.commands.campaign import evidence, evidence_page
from experiments.commands.campaign.evidence import OLD, OPTIONS, EvidencePiece
from experiments.commands.campaign.machines import Machine
from experiments.commands.campaign.piece import DONE, FAILED, OPEN, list_pieces, list_suites
from experiments.paths import HERE
from experiments.runner.records import manifest, results
from experiments.runner.suite import schedule


def make_piece(folder: Path, suite: str, machine: str) -> EvidencePiece:
    return list_pieces(folder, [(suite, Machine(machine, lab=machine))], OPTIONS, kind=EvidencePiece)[0]


@pytest.fixture
def piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidencePiece:
    """Of six observations; its digest is 'now'."""
    monkeypatch.setattr(EvidencePiece, "digest", "now")
    return make_piece(tmp_path, "redis-tokens", "xeon-e5-2620v4-2s")


def observed(piece: EvidencePiece, number: int, *marks: str) -> None:
    """The first observations of its schedule; the last one with these marks."""
    trials = schedule.make_schedule(piece.request.suite)[:number]
    results.rewrite_records(piece.out, [{"workload": t.workload.name, "policy": t.policy, "repeat": t.repeat, "warmup": t.warmup,
                                         "marks": marks if t is trials[-1] else []} for t in trials])


def ends_with(piece: EvidencePiece, status: int) -> str:
    piece.conclude(status, 7)
    return piece.read_state().word


def test_a_piece_is_done_with_status_0_or_with_1_and_every_cell_there(piece: EvidencePiece) -> None:
    assert piece.read_state().word == OPEN
    piece.prepare()
    observed(piece, 1)
    assert piece.read_state().word == OPEN
    assert [ends_with(piece, status) for status in (1, 2)] == [FAILED, FAILED]
    observed(piece, len(schedule.make_schedule(piece.request.suite)), "busy machine")
    assert [ends_with(piece, status) for status in (0, 1, 2)] == [DONE, DONE, FAILED]


def test_what_was_cut_goes_on_and_what_failed_or_is_older_is_made_anew(piece: EvidencePiece, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept_by_another_call() -> bool:
        observed(piece, 1)
        piece.prepare()
        return results.count_records(piece.out) > 0

    piece.prepare()
    assert kept_by_another_call()
    ends_with(piece, 2)
    assert not kept_by_another_call()
    ends_with(piece, 0)
    monkeypatch.setattr(EvidencePiece, "digest", "later")
    assert piece.read_state().word == OLD
    assert not kept_by_another_call()
    monkeypatch.setattr(manifest, "read_sources", lambda: {"commit": "other"})
    assert not kept_by_another_call(), "a run goes on by the commit that began it"


def test_every_suite_on_each_of_its_machines_is_a_piece(tmp_path: Path) -> None:
    found = {p.name for p in list_pieces(tmp_path, list_suites(OPTIONS), OPTIONS)}
    assert {"contention on xeon-e5620-2s", "contention on ls3a-2s", "policy-matrix on demo-2s"} <= found


def test_a_machine_at_a_part_of_its_speed_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Beside that of the machine at full speed, which is removed when it is of older code."""
    places = [("cross", Machine(lab, lab=lab)) for lab in ("demo-2s", "demo-2s/16")]
    found = list_pieces(tmp_path, places, OPTIONS, "mine", kind=EvidencePiece)
    assert [(piece.out, piece.kept_as) for piece in found] == [
        (tmp_path / "cross@demo-2s", "mine-cross@demo-2s"), (tmp_path / "cross@demo-2s-16", "mine-cross@demo-2s-16")]


def test_a_digest_is_of_what_the_piece_uses(tmp_path: Path) -> None:
    uses = {name: make_piece(tmp_path, name, machine).list_uses() for name, machine in
            (("contention", "ls3a-2s/16"), ("kernel-mm", "2x2/16"), ("arena", "cxl-3n"), ("work-stealing", "xeon-e5-4620-4s"))}
    assert uses["kernel-mm"][0] == "experiments/lab/machines/demo-2s.toml", "which has what a shape does not say"
    assert uses["contention"] == ["experiments/lab/machines/ls3a-2s.toml", "experiments/suites/contention.toml", "experiments/workloads/mem"]
    assert uses["kernel-mm"][2:] == ["experiments/workloads/mm"] and uses["work-stealing"][2:3] == ["experiments/workloads/stealing"]
    assert {"experiments/workloads/hot", "experiments/workloads/apps", "experiments/mechanisms"} <= set(uses["arena"])
    one, other = (make_piece(tmp_path, "contention", machine) for machine in ("ls3a-2s", "xeon-e5620-2s"))
    assert len(one.digest) == 12 and one.digest != other.digest


def test_every_path_of_a_digest_has_files(tmp_path: Path) -> None:
    pieces = list_pieces(tmp_path, list_suites(OPTIONS), OPTIONS, kind=EvidencePiece)
    paths = {*evidence.INPUTS, *(path for piece in pieces for path in piece.list_uses())}
    missing = {path for path in paths if not kept_pieces.git(HERE.code, "ls-files", "--", path)}
    assert missing == set()


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
    (tmp_path / "a/b.c").write_text("1")
    assert digest() == before
    subprocess.run(["git", "-C", tmp_path, "mv", "a/b.c", "a/c.c"], check=True)
    assert digest() != before


def test_what_failed_is_named_and_the_status_says_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (make_piece(tmp_path, name, "demo-2s") for name in ("sort", "split"))
    monkeypatch.setattr(EvidencePiece, "digest", "now")
    monkeypatch.setattr(evidence, "list_pieces", lambda *_, kind: [one, other])
    monkeypatch.setattr(evidence.engine, "run_pieces", lambda found, _time: [piece.prepare() for piece in found])
    monkeypatch.setattr("sys.argv", ["evidence", "--out", str(tmp_path)])
    assert evidence.main() == 1
    assert capsys.readouterr().err == "evidence: 2 pieces: 2 open: the same command goes on\n"
    monkeypatch.setattr(EvidencePiece, "is_done", lambda piece, status: status == 0)
    for piece in (one, other):
        ends_with(piece, 2)
    assert evidence.main() == 1
    ends_with(one, 2)
    monkeypatch.setattr("sys.argv", ["evidence", "--out", str(tmp_path), "--page"])
    capsys.readouterr()
    assert evidence.main() == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"evidence: sort on demo-2s has failed: status 2: : see {one.out}/run.log\n")
    assert said.out == "This page is of the pieces that are done, of 2 pieces: 1 failed, 1 open\n"


def test_the_page_has_the_papers_numbers_first(tmp_path: Path) -> None:
    done = []
    for name, machine in (("e5620", "xeon-e5620-2s"), ("ls3a", "ls3a-2s")):
        records = factorial.make_records("contention", luo.contention(name), noise=1e-3, platform="lab-timed")
        factorial.write_run(tmp_path / machine, records, ["luo-contention"], machine)
        done.append(replace(make_piece(tmp_path, "contention", machine), out=tmp_path / machine))
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/results.jsonl").write_text("of a suite that is no more\n")
    text = evidence_page.write_page(tmp_path, done, "5 pieces: 2 done, 3 open")
    assert text.startswith("This page is of the pieces that are done, of 5 pieces: 2 done, 3 open\n\n")
    assert "no more" not in text + (tmp_path / "report.html").read_text()
    assert text.index("  luo-contention (E5620), parts of 4L0R: 23 cells, mean") < text.index("Errors of what the model was not fitted to")
    assert (tmp_path / "report.html").exists()
    assert "xeon-e5620-2s: 72 of 72 counted" in text

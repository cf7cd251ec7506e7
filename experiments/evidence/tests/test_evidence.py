# SPDX-License-Identifier: GPL-2.0-only
"""Pieces that are run once for the same code, and the page of runs that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.analysis.papers.checks import UNIFORM
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_luo as luo
from experiments.evidence import page, pieces


def test_a_piece_is_run_once_for_the_same_code(tmp_path: Path) -> None:
    piece = pieces.Piece("split", "no-such-machine", tmp_path / "piece")
    assert not piece.done("a") and piece.run("a") == 2
    assert piece.done("a") and not piece.done("b")
    kept = piece.out / "kept"
    kept.write_text("")
    piece.run("a")
    assert kept.exists()  # resumed
    piece.run("b")
    assert piece.done("b") and not kept.exists()


def test_every_suite_on_each_of_its_machines_is_a_piece(tmp_path: Path) -> None:
    found = {p.name for p in pieces.pieces(tmp_path)}
    assert {"contention on xeon-e5620-2s", "contention on ls3a-2s", "policy-matrix on demo-2s"} <= found


def test_the_code_of_a_simulated_number_is_in_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pieces.code()
    monkeypatch.setattr(pieces, "INPUTS", ("policies",))
    assert len(whole) == 12 and pieces.code() not in ("", whole)


def test_the_page_has_predictions_first_and_the_judge_on_other_numbers(tmp_path: Path) -> None:
    for name, machine in (("e5620", "xeon-e5620-2s"), ("ls3a", "ls3a-2s")):
        records = factorial.records("contention", luo.contention(name), noise=1e-3, platform="lab-timed")
        factorial.write(tmp_path / machine, records, ["luo-contention"], machine)
    text = page.write(tmp_path)
    assert text.index("Predicted statements") < text.index("Errors of what the model was not fitted to")
    assert "contention on xeon-e5620-2s: 3 of 3 are told apart" in text and (tmp_path / "report.html").exists()
    assert f"decided ones get another verdict of {UNIFORM}" in text
    assert "xeon-e5620-2s: 72 of 72 counted" in text

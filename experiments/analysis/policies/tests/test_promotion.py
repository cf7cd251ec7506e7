# SPDX-License-Identifier: GPL-2.0-only
"""The map of promotion, from made-up speed-ups."""

import pytest

from experiments.analysis.policies import promotion
from experiments.analysis.policies.decision import Decision
from experiments.analysis.tests import synthetic
from experiments.bounds import FAILS, HOLDS, UNDECIDED

RATES = (16, 65536)


def cell(value: float, half: float = 0.01) -> Decision:
    return Decision("", "", value, value - half, value + half)


def found(**changes: Decision) -> promotion.Found:
    """As predicted: with room 1.3, under pressure 1."""
    cells = {(d, p, r): cell(1.3 if p < 100 or d == "zipf" else 1) for d in ("random", "zipf") for p in (50, 75, 150, 200) for r in RATES}
    return cells | {(name.split("_")[0], int(name.split("_")[1]), 65536): one for name, one in changes.items()}


@pytest.mark.parametrize("one, word", [
    (cell(1.3), "helps"), (cell(0.9), "hurts"), (cell(1.005), "same"), (cell(1.015, 0.001), "same"), (cell(1.03, 0.05), "undecided"),
    (Decision("", "", 1.3, None, None), "?")])
def test_a_cell_in_a_word(one: Decision, word: str) -> None:
    assert promotion.choose_word(one) == word


def verdicts(cells: promotion.Found) -> dict[str, str]:
    return {check.what: check.verdict for check in promotion.check_predictions(cells).checks}


def test_what_was_predicted_can_fail() -> None:
    assert set(verdicts(found()).values()) == {HOLDS}
    assert verdicts(found(random_50=cell(1)))["room, random, 50 %: helps without a limit"] == FAILS
    assert verdicts(found(random_150=cell(1.2)))["pressure, random, 150 %: no rate helps"] == FAILS
    assert verdicts(found(random_150=cell(1, 0.1)))["pressure, random, 150 %: no rate helps"] == UNDECIDED
    assert verdicts(found(zipf_75=cell(1.2, 0.5)))["room, zipf, 75 %: helps without a limit"] == UNDECIDED


def test_the_map_has_every_cell() -> None:
    lines = promotion.format_table(found(), "random")
    assert len(lines) == 5 and "helps 1.30 [1.29, 1.31]" in lines[1] and "same 1.00" in lines[4]


def test_a_run_without_placements_is_one_line(capsys, monkeypatch, tmp_path) -> None:
    synthetic.write(tmp_path, [synthetic.observation("cross", "none", 0)], {"suite": "promotion"})
    monkeypatch.setattr("sys.argv", ["promotion", str(tmp_path)])
    assert promotion.main() == 1
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "has no placement" in said.err and not said.out


@pytest.mark.parametrize("words, status, said", [([], 2, "needs one folder"), (["/nonexistent"], 1, "No such file"), ([None], 2, "of the suite policy-matrix")])
def test_another_folder_is_one_line(capsys, monkeypatch, tmp_path, words: list, status: int, said: str) -> None:
    synthetic.write(tmp_path, [synthetic.observation("cross", "none", 0)])
    monkeypatch.setattr("sys.argv", ["promotion", *(word or str(tmp_path) for word in words)])
    found, error = promotion.main(), capsys.readouterr().err
    assert (found, error.count("\n"), said in error) == (status, 1, True), error

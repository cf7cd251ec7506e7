# SPDX-License-Identifier: GPL-2.0-only
"""One answer for a cell: the same in the terminal and on the page, of named blocks, with what could have been found."""

import random
from pathlib import Path

import pytest

from experiments.analysis.pages import placement_table
from experiments.analysis.policies import matrix
from experiments.analysis.policies.decision import (
    FASTER,
    MODEL,
    OPEN,
    SAME,
    SLOWER,
    Decision,
    compute_smallest_found,
    describe_blocks,
)
from experiments.analysis.policies.speedup import decide_cells, decide_solutions
from experiments.analysis.runs.results import Results, read_results
from experiments.analysis.stats.intervals import Ratio, compare_pairs
from experiments.analysis.tests import synthetic


@pytest.mark.parametrize("low, high, runs, p, word", [
    (1.05, 1.2, (1.1, 1.15), 0.01, FASTER), (0.8, 0.9, (0.82, 0.88), 0.01, SLOWER), (0.88, 1.41, (1.1, 1.12), 0.01, MODEL),
    (0.995, 1.004, (0.995, 1.004), 0.8, SAME), (0.9, 1.2, (0.95, 1.15), 0.2, OPEN), (1.05, 1.2, (1.05, 1.2), 0.06, OPEN),
    (None, None, (None, None), None, OPEN)])
def test_a_cell_in_a_word(low: float | None, high: float | None, runs: tuple, p: float | None, word: str) -> None:
    value = 1.1 if low is None else (low + high) / 2
    assert Decision("w", "p", value, low, high, 3, p, runs=Ratio(value, *runs)).word == word


def records(values: dict[str, list[float]], boots: bool = False, machine: str = "demo-2s") -> list[dict]:
    found = []
    for policy, of_policy in values.items():
        for repeat, value in enumerate(of_policy):
            line = synthetic.observation("cross", policy, repeat, value=value, platform="lab-timed")
            line["metrics"].append({"name": "time_to_solution", "unit": "s", "value": 100 / value**0.5})
            found.append(line | {"boot_id": f"boot {repeat if boots else 0}"})
    return found


def run(folder: Path, values: dict[str, list[float]], boots: bool = False) -> Results:
    return read_results(synthetic.write(folder, records(values, boots)))


def test_what_an_interval_is_of_is_told(tmp_path: Path) -> None:
    values = {"none": [10.0, 10.1, 10.2], "n-mass": [12.0, 12.2, 12.1]}
    assert describe_blocks(list(decide_cells(run(tmp_path / "one", values)).values())) == "3 repeats within one boot"
    assert describe_blocks(list(decide_cells(run(tmp_path / "three", values, boots=True)).values())) == "3 boots"


def test_the_terminal_and_the_page_have_one_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = run(tmp_path, {"none": [10.0, 10.1, 10.2, 10.05], "n-mass": [12.0, 12.2, 12.1, 12.15], "remote": [9.9, 10.3, 10.0, 10.1]})
    placement_table.show_run(results)
    out = capsys.readouterr().out
    text = " ".join(out.split())
    cells = {p: c for p, c in zip(results.policies, matrix.make_matrix(results, {"cross": "cross"})["rows"][0]["cells"], strict=True)}
    for policy, found in ((p, decide_cells(results)["cross", p]) for p in ("n-mass", "remote")):
        assert f"{found.ratio} {found.mark}".rstrip() in text and found.format_limits() in text
        assert (cells[policy]["mark"], cells[policy]["limits"]) == (found.mark, found.format_limits())
        assert decide_solutions(results)["cross", policy].text() in cells[policy]["told"][0]


def test_many_placements_have_both_answers_in_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("n-mass:pages=stay", "maximum-local:pages=follow", "measured:pages=move", "interleave", "weighted")
    values = {"none": [10.0, 10.1, 10.2, 10.05]} | {name: [11.0 + k, 11.1 + k, 11.05 + k, 11.2 + k] for k, name in enumerate(names)}
    results = run(tmp_path, values)
    placement_table.show_run(results)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for name in names:
        for one, sign in ((decide_cells(results)["cross", name], ""), (decide_solutions(results)["cross", name], "> ")):
            assert f"{sign}{one.ratio} {one.mark}".rstrip() in text and one.format_limits().strip("[]").replace(", ", "-") in text


def test_what_was_to_be_found_is_found_in_nine_of_ten() -> None:
    """By drawn data: blocks of a pair whose true change is just what such a run says that it finds."""
    draw, n, hits = random.Random(5), 8, 0
    for _ in range(400):
        a, b = ([draw.gauss(100, 1) for _ in range(n)] for _ in range(2))
        least = compute_smallest_found(a, b, 1)
        c = [x * (1 + least) for x in (draw.gauss(100, 1) for _ in range(n))]
        hits += compare_pairs(b, c).p < 0.05
    assert 0.8 <= hits / 400 <= 0.97
    assert compute_smallest_found([1.0], [1.0], 1) is None

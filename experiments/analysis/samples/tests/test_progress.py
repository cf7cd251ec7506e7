# SPDX-License-Identifier: GPL-2.0-only
"""When pages moved, and why none did, of made-up records."""

from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.pages import report, text_table
from experiments.analysis.runs.results import Results, read_results
from experiments.analysis.samples import progress
from experiments.analysis.tests import synthetic

NODES = [{"id": 0, "cpus": [0, 1]}, {"id": 2, "cpus": []}]


def look(t: float, moved: int, near: int, far: int, faults: int = 0) -> dict[str, Any]:
    return {"t_s": 100 + t, "moved": moved, "counters": {"numa_pte_updates": 40, "numa_hint_faults": faults}, "accesses": {"0": near, "2": far}}


def run(folder: Path, **looks: list[dict[str, Any]]) -> Results:
    """Two observations under each policy, which are alike."""
    records = [synthetic.observation("cross", policy, repeat, kernel={"counters": {"pgmigrate_success": 0}, "system_s": 0.0, "threads_s": 0.0, "looks": found})
               for policy, found in looks.items() for repeat in (0, 1)]
    return read_results(synthetic.write(folder, records, synthetic.MANIFEST | {"nodes": NODES, "policies": list(looks)}))


STILL = [look(t, 0, 10 * t, 30 * t) for t in range(9)]
# 100 pages, one half at 2 s and the rest by 6 s; accesses turn from slow to fast memory.
MOVES = [look(0, 0, 0, 0), look(1, 10, 0, 100), look(2, 50, 0, 200), look(3, 60, 50, 250), look(4, 70, 100, 300), look(5, 80, 150, 350),
         look(6, 95, 250, 350), look(7, 100, 325, 375), look(8, 100, 400, 400)]


def test_when_the_pages_moved(tmp_path: Path) -> None:
    results = run(tmp_path, none=STILL, tiering=MOVES)
    found = progress.compute_progress(results, "cross", "tiering")
    assert (found.moved, found.half_s, found.most_s) == (100, 2, 6)
    assert found.first == 0 and found.last == pytest.approx(0.75)
    still = progress.compute_progress(results, "cross", "none")
    assert (still.moved, still.half_s, still.most_s) == (0, None, None) and still.first == still.last == pytest.approx(0.25)


def test_a_mechanism_that_moved_nothing_says_how_far_it_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = run(tmp_path, none=STILL, tiering=MOVES)
    lines = list(progress.explain_stillness(results))
    assert lines == ["cross, none: no page moved: numa_pte_updates 80, numa_hint_faults 0"]
    text_table.show_progress(results)
    said = capsys.readouterr().out
    assert lines[0] in said and "half by" in said


def test_the_page_has_both_curves(tmp_path: Path) -> None:
    run(tmp_path, none=STILL, tiering=MOVES)
    page = report.write_report(tmp_path)[0].read_text()
    assert "When the placement took effect" in page and "pages moved over time" in page and "% of accesses to fast memory over time" in page


def test_a_run_without_looks_has_nothing_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = read_results(synthetic.write(tmp_path, [synthetic.observation("cross", "none", 0)]))
    assert progress.compute_progress(results, "cross", "none") is None and progress.draw_progress(results, "cross", "c") is None
    text_table.show_progress(results)
    assert capsys.readouterr().out == ""
    assert "When the placement took effect" not in report.write_report(tmp_path)[0].read_text()

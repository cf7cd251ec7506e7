# SPDX-License-Identifier: GPL-2.0-only
"""What is covered is found in the suites, and what is not has its impossibility or is known to be open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments.analysis.pages.memory_figures import SECTIONS
from experiments.analysis.papers import PRESENTATIONS, coverage
from experiments.paths import HERE

# Could be run, and no suite runs it.
OPEN = {"section 3.2, threads pinned to nodes"}


def test_what_is_not_covered_is_impossible_or_known_to_be_open() -> None:
    rows = coverage.rows()
    assert {row.item for row in rows if row.state != "yes" and not row.reason} == OPEN
    for row in rows:
        assert bool(row.reason) == (not row.needs), f"{row.item}: what has a reason is impossible and needs nothing"


def test_every_presentation_of_a_suite_is_in_the_table() -> None:
    needed = " ".join(need for row in coverage.rows() for need in row.needs)
    presented = {name for suite in coverage.suites().values() for name in suite.get("presents", [])}
    assert presented - set(SECTIONS) == set(PRESENTATIONS)
    assert [name for name in PRESENTATIONS if name not in needed] == []


@pytest.mark.parametrize("suite, before, after, item", [
    ("numa-stream", '"scale", ', "", "Table 5, four operations"),
    ("contention", "remote = [0, 1, 2, 3, 4]", "remote = [0, 1, 2, 3]", "Table 1; Figs 5, 6, 7"),
    ("contention", ', "ls3a-2s"', "", "section 4, fairness; abstract, LS 3A against E5620"),
    ("redis-zsets", ", 2000000", "", "experiment 6, Table 7.5"),
    ("random-update", "    { size = 1215752192, accesses = 1215752192 },\n", "",
     "experiment 2, Table 7.2, sizes and counts that its times fit"),
    ("redis-benchmark", ",spop", "", "experiment 7, redis-benchmark with its own values and keys"),
    ("redis-benchmark", ",lrange_600", "", "Figs 7.6, 8.9: requests a second"),
])
def test_a_suite_that_loses_a_level_loses_the_yes_or_the_place(tmp_path: Path, suite: str, before: str, after: str, item: str) -> None:
    def states(folder: Path) -> dict[str, tuple[str, list[str]]]:
        return {row.item: (row.state, row.places) for row in coverage.rows(folder)}

    folder = shutil.copytree(coverage.SUITES, tmp_path / "suites")
    text = (folder / f"{suite}.toml").read_text(encoding="utf-8")
    assert before in text
    (folder / f"{suite}.toml").write_text(text.replace(before, after, 1), encoding="utf-8")
    (state, places), (after_state, after_places) = states(coverage.SUITES)[item], states(folder)[item]
    assert state == "yes" and (after_state in ("part", "no") or len(after_places) < len(places))


def test_where_it_is_run_is_where_all_of_it_is() -> None:
    rows = {row.item: row for row in coverage.rows()}
    assert rows["Table 5, four operations"].places == ["hardware"]
    assert rows["Figs 3, 5"].places == ["lab"]  # hardware takes parts of its own cores


def test_the_document_has_the_table_that_the_command_prints() -> None:
    page = (HERE.sources / "Documentation/explanation/papers.md").read_text(encoding="utf-8")
    assert "\n".join(coverage.table()) in page

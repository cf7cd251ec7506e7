# SPDX-License-Identifier: GPL-2.0-only
"""No item of a paper is left out without its reason, and what is covered is in a suite."""

from __future__ import annotations

from experiments.analysis.memory_figures import SECTIONS
from experiments.analysis.papers import PRESENTATIONS, coverage, reference
from experiments.places import HERE


def test_what_is_covered_is_in_a_suite_and_the_rest_has_its_reason() -> None:
    rows, presented = reference.rows("coverage.csv"), coverage.suites()
    assert {row["presentation"] for row in rows} - {""} == set(PRESENTATIONS) == set(presented) - set(SECTIONS)
    for row in rows:
        assert row["state"] in ("yes", "part", "no"), row
        assert bool(row["reason"]) == (row["state"] != "yes"), row
        assert bool(presented.get(row["presentation"])) == (row["state"] != "no"), row


def test_the_document_has_the_table_that_the_command_prints() -> None:
    page = (HERE.sources / "Documentation/explanation/papers.md").read_text(encoding="utf-8")
    assert "\n".join(coverage.table()) in page

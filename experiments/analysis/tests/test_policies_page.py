# SPDX-License-Identifier: GPL-2.0-only
"""The report's first tables in a real browser: speed-ups, ranks, and when a migration has paid."""

from __future__ import annotations

from pathlib import Path

from experiments.analysis import report
from experiments.analysis import results as reader
from experiments.analysis.policies import matrix, speedup
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.browser import Browser

ROWS = """[...document.querySelectorAll("#summary .matrix %s tr")].map(
    r => [...r.cells].slice(1).map(c => c.querySelector("b").textContent.trim()))"""


def test_speed_stands_first_and_locality_beneath(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    assert browser.problems() == []
    assert browser.evaluate("document.querySelector('main > section').id") == "summary"
    results = reader.read(timed_page.parent)
    found = speedup.speedups(results)
    shown = browser.evaluate(ROWS % "tbody")
    for workload, (_base, *cells) in zip(results.workloads, shown, strict=True):
        for policy, cell in zip(results.policies[1:], cells, strict=True):
            assert cell.removesuffix(" *") == matrix.times(found[workload, policy].value)
            assert cell.endswith("*") == found[workload, policy].significant
    limits, small = browser.evaluate(
        "[...document.querySelectorAll('#summary tbody tr:first-child td:nth-child(3) small')].map(s => s.textContent)")
    assert "locality 0.00 → 1.00" in small and " to " in limits


def test_geometric_means_and_ranks_are_the_last_rows(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    means, ranks = browser.evaluate(ROWS % "tfoot")
    totals = speedup.totals(reader.read(timed_page.parent))
    assert means == ["1", *(matrix.times(t.ratio.value) for t in totals)]
    assert ranks == ["–", *(str(t.rank) for t in totals)] and set(ranks) == {"–", "1", "2"}


def test_the_price_of_migrations(browser: Browser, timed_page: Path) -> None:
    """0.44 s of moving and some 1.2 times as fast: a work of 1 s is slower with it."""
    browser.open(timed_page)
    rows = browser.evaluate("""[...document.querySelectorAll("#price tbody tr")].map(
        r => [...r.cells].map(c => c.textContent.trim()))""")
    assert len(rows) == len(synthetic.WORKLOADS) * 2
    for _workload, _policy, times, moving, moved, even, second, *_, hundred in rows:
        assert times.startswith("1.") and moving == "0.440 s"
        assert moved == "64.0" and 1 < float(even.split()[0]) < 10
        assert second.endswith("slower") and not hundred.endswith("slower")


def test_older_runs_say_that_nothing_was_recorded(browser: Browser, tmp_path: Path) -> None:
    records = synthetic.timed()
    for record in records:
        del record["cost"]
    browser.open(report.write(synthetic.write(tmp_path / "old", records, synthetic.TIMED)))
    assert browser.problems() == []
    assert "not recorded" in browser.evaluate("document.getElementById('price').textContent")
    assert browser.evaluate("document.querySelectorAll('#price table').length") == 0


def test_functional_times_are_not_shown_as_speed(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate("document.getElementById('price')") is None
    assert "×" not in browser.evaluate("document.getElementById('summary').textContent")

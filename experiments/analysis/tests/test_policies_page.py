# SPDX-License-Identifier: GPL-2.0-only
"""The report's first tables in a real browser: speed-ups, ranks, and when a migration has paid."""

from pathlib import Path

import pytest

from experiments.analysis.pages import report
from experiments.analysis.policies import matrix, speedup
from experiments.analysis.runs import results as reader
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.browser import Browser

ROWS = """[...document.querySelectorAll("#summary .matrix %s tr")].map(
    r => [...r.cells].slice(1).map(c => c.querySelector("b").textContent.trim()))"""


def test_speed_stands_first_and_locality_beneath(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    assert browser.list_problems() == []
    assert browser.evaluate("document.querySelector('main > section').id") == "summary"
    results = reader.read_results(timed_page.parent)
    found = speedup.decide_cells(results)
    shown = browser.evaluate(ROWS % "tbody")
    for workload, (_base, *cells) in zip(results.workloads, shown, strict=True):
        for policy, cell in zip(results.policies[1:], cells, strict=True):
            one = found[workload, policy]
            assert cell.split() == [f"{one.ratio}×", *([one.mark] if one.mark else [])]
    limits, small = browser.evaluate(
        "[...document.querySelectorAll('#summary tbody tr:first-child td:nth-child(3) small')].map(s => s.textContent)")
    assert "locality 0.00 → 1.00" in small and limits.startswith("[")


@pytest.mark.parametrize("none, policy, why", [
    ((10.0, 10.1, 9.9), (1.0, 12.0, 3.0), "divided is not different from 0 at 95 %: nothing bounds the slow-down. "
                                          "Fieller's limits: −0.940 to 1.95."),
    ((1.0, 12.0, 3.0), (10.0, 10.1, 9.9), "divides is not different from 0 at 95 %: nothing bounds their ratio."),
    ((10.0,), (1.0, 12.0, 3.0), None), ((10.0, 10.1, 9.9), (5.0, 5.1, 4.9), None)])
def test_an_interval_without_bounds_is_none_of_numbers(browser: Browser, tmp_path: Path, none: tuple[float, ...],
                                                       policy: tuple[float, ...], why: str | None) -> None:
    records = [synthetic.observation("cross", name, i, value=value, platform="real")
               for name, values in (("none", none), ("n-mass", policy)) for i, value in enumerate(values)]
    browser.open(report.write_report(synthetic.write(tmp_path / "run", records, synthetic.TIMED | {"platform": "real"}))[0])
    limits, tip = browser.evaluate("""(() => { const s = document.querySelector("#summary td:nth-child(3) small");
        return [s.textContent, s.getAttribute("title")]; })()""")
    assert limits == ("unbounded" if why else "no interval" if len(none) == 1 else "[0.49, 0.51]")
    assert tip is None if why is None else tip.endswith(why)


def test_geometric_means_and_ranks_are_the_last_rows(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    means, ranks = browser.evaluate(ROWS % "tfoot")
    totals = speedup.compute_totals(reader.read_results(timed_page.parent))
    assert means == ["1", *(matrix.format_times(t.ratio.value) for t in totals)]
    assert ranks == ["–", *(matrix.format_rank(t.ranks) for t in totals)]


def test_the_price_of_migrations(browser: Browser, tmp_path: Path) -> None:
    """0.44 s of moving and some 1.2 times as fast: break-even is computed. The work's 2 s under none are 1.6 s measured."""
    records = synthetic.make_timed()
    for record in records:
        if not record["workload"].startswith("redis"):
            seconds = 2.0 if record["policy"] == "none" else 1.6
            record["metrics"].append({"name": "time_to_solution", "unit": "s", "value": seconds + 0.01 * record["repeat"]})
    browser.open(report.write_report(synthetic.write(tmp_path / "run", records, synthetic.TIMED))[0])
    assert browser.list_problems() == []
    rows = browser.evaluate("""[...document.querySelectorAll("#price tbody tr")].map(
        r => [...r.cells].map(c => c.textContent.trim()))""")
    assert len(rows) == len(synthetic.WORKLOADS) * 2
    for workload, _policy, times, moving, moved, even, ours, base, faster in rows:
        assert times.startswith("1.") and moving == "0.440 s"
        assert moved == "64.0" and 1 < float(even.split()[0]) < 10
        if workload.startswith("redis"):
            assert (ours, base, faster) == ("not measured", "–", "–")
        else:
            assert ours.startswith("1.62") and base.startswith("2.02") and faster.startswith("1.25×")


def test_older_runs_say_that_nothing_was_recorded(browser: Browser, tmp_path: Path) -> None:
    records = synthetic.make_timed()
    for record in records:
        del record["cost"]
    browser.open(report.write_report(synthetic.write(tmp_path / "old", records, synthetic.TIMED))[0])
    assert browser.list_problems() == []
    assert "not recorded" in browser.evaluate("document.getElementById('price').textContent")
    assert browser.evaluate("document.querySelectorAll('#price table').length") == 0


def test_functional_times_are_not_shown_as_speed(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate("document.getElementById('price')") is None
    assert "×" not in browser.evaluate("document.getElementById('summary').textContent")

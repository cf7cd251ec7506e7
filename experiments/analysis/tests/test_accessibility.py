# SPDX-License-Identifier: GPL-2.0-only
"""The report, and that of several runs, by axe, with everything unfolded: no rule of WCAG 2.2 AA nor of good practice is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.analysis.pages import report_all
from experiments.analysis.policies.tests.test_agreement import CROSS, SECOND, run
from experiments.analysis.tests.axe import VIEWS, violations, violations_of
from experiments.analysis.tests.browser import Browser

FAULTS = {
    "image-alt": "document.querySelector('main').append(document.createElement('img'))",
    "color-contrast": "document.querySelector('.lead').style.color = 'color-mix(in srgb, gray 30%, Canvas)'",
    "label": "document.querySelector('main').append(document.createElement('input'))",
    "svg-img-alt": "document.querySelectorAll('svg.chart').forEach(s => { s.removeAttribute('aria-labelledby');"
                   " s.querySelectorAll('title').forEach(t => t.remove()); })",
}
pytestmark = pytest.mark.full("axe reads the page for each view; the other tests of pages open it once")


@pytest.mark.parametrize("view", VIEWS)
def test_no_rule_is_broken(browser: Browser, timed_page: Path, view: str) -> None:
    assert violations_of(browser, timed_page, view) == []


@pytest.mark.parametrize("view", VIEWS)
def test_the_page_of_several_runs_breaks_no_rule(browser: Browser, tmp_path: Path, view: str) -> None:
    run(tmp_path / "a", "here", "6.12", {CROSS: "faster", SECOND: "faster"})
    run(tmp_path / "b", "there", "6.12", {CROSS: "faster", SECOND: "slower"})
    page, _ = report_all.write(tmp_path, report_all.runs(tmp_path))
    assert violations_of(browser, page, view) == []
    assert browser.evaluate("document.querySelectorAll('#agreement tbody tr').length") == 2


@pytest.mark.parametrize("rule", FAULTS)
def test_a_planted_fault_is_found(browser: Browser, timed_page: Path, rule: str) -> None:
    browser.open(timed_page)
    browser.evaluate(FAULTS[rule])
    assert [line.partition(":")[0] for line in violations(browser)] == [rule]

# SPDX-License-Identifier: GPL-2.0-only
"""What a reader can do with the report: point, follow, filter, take logarithms; and what is left without scripts."""

import json
from pathlib import Path

from experiments.analysis.figures import charts
from experiments.analysis.figures.charts import Curve, Point
from experiments.analysis.pages import report
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.browser import Browser

TIP = "document.querySelector('#cross .panels > div:last-child .tip')"
ENTER = f"{TIP}.dispatchEvent(new PointerEvent('pointerenter'))"


def record_of(page: Path, line: int) -> dict:
    return json.loads((page.parent / "results.jsonl").read_text().splitlines()[line - 1])


def test_a_point_tells_its_observation_and_leads_to_it(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    browser.evaluate(ENTER)
    told = browser.evaluate("document.querySelector('.bubble').textContent")
    line = int(browser.evaluate(f"{TIP}.dataset.more")[1:])
    record = record_of(timed_page, line)
    assert (record["workload"], record["policy"]) == ("cross", "none")
    assert told == (f"none: {record['metrics'][0]['value']:.10g} MB/s\none of n = 3, 0 more are marked\n"
                    f"repeat {record['repeat']}, order {record['order']}, line {line} of results.jsonl")
    browser.evaluate(f"{TIP}.dispatchEvent(new MouseEvent('click'))")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert browser.evaluate("location.hash") == f"#o{line}"
    row = browser.evaluate("""(() => { const r = document.querySelector("tr:target");
        return [r.checkVisibility(), r.cells[0].textContent, r.cells[2].textContent]; })()""")
    assert row == [True, str(line), "cross"]


def test_points_are_told_where_they_are_drawn(browser: Browser, timed_page: Path) -> None:
    """The hidden circle lies on the circle that matplotlib drew."""
    browser.open(timed_page)
    far = browser.evaluate("""(() => {
        const middle = e => { const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; };
        const svg = document.querySelector("#cross .panels > div:last-child svg");
        const drawn = [...svg.querySelectorAll("use")].map(middle);
        return [...svg.querySelectorAll(".tip")].map(middle).map(([x, y]) =>
            Math.min(...drawn.map(([u, v]) => Math.hypot(x - u, y - v)))); })()""")
    assert len(far) == 9 and max(far) < 1


def test_a_bar_tells_its_pages_and_leads_to_its_observations(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    last = "[...document.querySelectorAll('#cross .panels > div:first-child .tip')].at(-1)"
    text, more = browser.evaluate(f"[{last}.textContent, {last}.dataset.more]")
    assert text == "n-mass: right, after\nnode 1: 16384 of 16384 pages\nmean of n = 3"
    records = [record_of(timed_page, int(name[1:])) for name in more.split()]
    assert [(r["workload"], r["policy"], r["repeat"]) for r in records] == [("cross", "n-mass", i) for i in (1, 2, 3)]
    browser.evaluate(f"{last}.dispatchEvent(new MouseEvent('click'))")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert browser.evaluate("[...document.querySelectorAll('tr.chosen')].map(r => r.id).join(' ')") == more
    assert browser.evaluate("document.querySelector('tr.chosen').checkVisibility()")


def test_every_observation_is_listed_and_filtered(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    lines = (timed_page.parent / "results.jsonl").read_text().splitlines()
    rows = "[...document.querySelectorAll('#observations tbody tr')]"
    assert browser.evaluate(f"{rows}.length") == len(lines)
    for name, level in (("workload", "cross"), ("policy", "n-mass")):
        browser.evaluate(f"""(() => {{ const label = [...document.querySelectorAll("#observations .filters label")]
            .find(l => l.textContent.startsWith({name!r}));
            const select = label.querySelector("select"); select.value = {level!r};
            select.dispatchEvent(new Event("change")); }})()""")
    shown = browser.evaluate(f"{rows}.filter(r => !r.hidden).map(r => +r.cells[0].textContent)")
    wanted = [i for i, line in enumerate(map(json.loads, lines), 1)
              if (line["workload"], line["policy"]) == ("cross", "n-mass")]
    assert shown == wanted and wanted


def test_files_of_the_run_are_linked(browser: Browser, tmp_path: Path) -> None:
    directory = synthetic.write(tmp_path / "run", synthetic.make_timed(), synthetic.TIMED)
    (directory / "lab.log").write_text("booted\n")
    browser.open(report.write_report(directory)[0])
    links = browser.evaluate("[...document.querySelectorAll('#observations a')].map(a => a.getAttribute('href'))")
    assert links == ["results.jsonl", "lab.log"]


def test_axes_turn_logarithmic_where_values_are_a_decade_apart(browser: Browser, tmp_path: Path) -> None:
    """Each figure has a switch of its own."""
    records = [synthetic.observation(workload, policy, i, value=value * (1 + i / 100), platform="lab-timed")
               for workload in ("cross", "contention-1L1R") for policy, value in (("none", 10.0), ("n-mass", 1000.0)) for i in (1, 2)]
    browser.open(report.write_report(synthetic.write(tmp_path / "wide", records, synthetic.TIMED))[0])
    shown = """["#cross", "#contention-1L1R"].map(id => ["linear", "log"].map(name =>
        getComputedStyle(document.querySelector(`${id} g.${name}`)).display !== "none"))"""
    assert browser.evaluate(shown) == [[True, False], [True, False]]
    browser.evaluate("document.querySelector('#cross .switch input').click()")
    assert browser.evaluate(shown) == [[False, True], [True, False]]
    assert browser.evaluate("document.querySelector('#cross g.log').getBBox().width") > 100
    assert browser.evaluate("document.querySelector('#cross .switch').textContent.trim()") == "logarithmic axis"


def test_the_width_of_a_screen_is_used(browser: Browser, timed_page: Path) -> None:
    """From the left of the contents, where there is room for them, to the right of the matrix."""
    browser.open(timed_page, width=1600)
    left, right, whole = browser.evaluate("""(() => {
        const box = s => document.querySelector(s).getBoundingClientRect();
        return [box(".contents").left, box("#summary .scroll").right, document.documentElement.scrollWidth]; })()""")
    assert (right - left) / 1600 > 0.95 and whole == 1600


def test_contents_name_every_section(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page, width=1600)
    listed = browser.evaluate("[...document.querySelectorAll('.contents a')].map(a => a.getAttribute('href'))")
    assert listed == browser.evaluate("[...document.querySelectorAll('main > section')].map(s => '#' + s.id)")
    assert len(listed) > 6


def test_near_values_have_no_logarithm(browser: Browser, timed_page: Path) -> None:
    browser.open(timed_page)
    assert browser.evaluate("document.querySelectorAll('g.log').length") == 0
    assert browser.evaluate("document.querySelectorAll('input').length") == 0


def test_a_logarithmic_curve_has_equal_steps_for_equal_ratios() -> None:
    curve = Curve("a", tuple(Point(i, 10.0**i) for i in range(4)))
    svg = charts.draw_lines([curve], "x", "t", "x", "y")
    log = svg[svg.index('<g class="log"'):]
    heights = [float(part.split('"')[0]) for part in log.split(' cy="')[1:]]
    steps = [b - a for a, b in zip(heights, heights[1:])]
    assert len(steps) == 3 and max(steps) - min(steps) < 0.3 and steps[0] < -10


def test_without_scripts_nothing_is_missing(browser: Browser, timed_page: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(timed_page)
        text = browser.evaluate("document.body.textContent")
        rows = browser.evaluate("document.querySelectorAll('#observations tbody tr').length")
        tip = browser.evaluate(f"{TIP}.textContent")
        buttons = browser.evaluate("document.querySelectorAll('button, select').length")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert "geometric mean" in text and rows == 40 and "one of n = 3" in tip and buttons == 0

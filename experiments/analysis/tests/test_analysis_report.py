# SPDX-License-Identifier: GPL-2.0-only
"""report.html in a real browser: nothing missing, nothing fetched, nothing executed from data."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from experiments.analysis.figures.figures import LABEL_WIDTH, compute_limits, format_row_label
from experiments.analysis.pages import report
from experiments.analysis.pages.decisions import list_decisions
from experiments.analysis.runs.results import ResultsError, read_results
from experiments.analysis.stats.intervals import Interval
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.browser import Browser
from experiments.analysis.tests.conftest import HOSTILE

FUNCTIONAL = "which has no NUMA timing: functional, not performance"


def test_browser_reports_errors_itself(browser: Browser, tmp_path: Path) -> None:
    """The checks below are worth nothing if a broken page passes."""
    page = tmp_path / "broken.html"
    page.write_text("<script>console.error('seen'); missing();</script><img src='http://127.0.0.1:9/x'>")
    browser.open(page)
    problems = " ".join(browser.list_problems())
    assert "seen" in problems and "missing is not defined" in problems
    assert "http://127.0.0.1:9/x" in browser.list_requests()


def test_opens_without_problems(browser: Browser, page: Path) -> None:
    browser.check_narrow(page)


def test_every_figure_is_there_and_has_a_size(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = browser.evaluate("""Object.fromEntries(
        [...document.querySelectorAll("section.workload")].map(s => [
            s.id, [...s.querySelectorAll("figure svg")].map(v => [
            v.getBoundingClientRect().width, v.getBoundingClientRect().height,
            v.querySelectorAll("text").length, v.querySelector("title").textContent,
            v.querySelector("desc").textContent])]))""")
    assert set(found) == set(synthetic.WORKLOADS)
    for name, panels in found.items():
        assert len(panels) == 2
        for width, height, texts, title, description in panels:
            assert width > 300 and height > 80 and texts > 8
            assert name in title and "maximum-local" in description


def test_figures_are_files_too(page: Path) -> None:
    for name in synthetic.WORKLOADS:
        text = (page.parent / "figures" / f"{name}.svg").read_text()
        ElementTree.fromstring(text)
        assert FUNCTIONAL in text and "maximum-local" in text and not re.search("(?:fill|stroke): #", text)


def test_no_id_twice(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.list_double_ids() == []
    dangling = browser.evaluate("""
        [...document.querySelectorAll("[aria-labelledby],[aria-describedby]")]
        .flatMap(e => (e.getAttribute("aria-labelledby") + " " +
                       e.getAttribute("aria-describedby")).split(" "))
        .filter(id => id !== "null" && !document.getElementById(id))""")
    assert dangling == []


def test_text_is_text_and_names_no_network(page: Path) -> None:
    html = page.read_text()
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\"'\s<)]+", html)) <= namespaces
    assert "@import" not in html
    assert len(html) < 400_000


def test_times_say_what_they_are(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert FUNCTIONAL in browser.evaluate("document.querySelector('header').textContent")
    for name in synthetic.WORKLOADS:
        for place in ("figure", ".functional[id]"):
            text = browser.evaluate(f"document.querySelector('[id=\"{name}\"] {place}').textContent")
            assert FUNCTIONAL in text


def test_matrix_shows_what_each_policy_did(browser: Browser, page: Path) -> None:
    browser.open(page)
    cells = browser.evaluate("""[...document.querySelectorAll(".matrix tbody tr")].map(
        r => [...r.cells].map(c => (c.querySelector("b") ?? c).textContent.trim()))""")
    assert cells == [[name, "0.00", "1.00", "1.00"] for name in sorted(synthetic.WORKLOADS)]


def test_tables_sort(browser: Browser, page: Path) -> None:
    browser.open(page)
    order = """[...document.querySelector("#cross table.numbers").tBodies[0].rows].map(
        r => r.cells[0].textContent)"""
    click = """document.querySelectorAll("#cross table.numbers th button")[1].click()"""
    values = """[...document.querySelectorAll("#cross .numbers td:nth-child(2)")].map(
        c => +c.dataset.sort)"""
    assert browser.evaluate(order) == ["none", "maximum-local", "n-mass"]
    browser.evaluate(click)
    ascending = browser.evaluate(values)
    assert ascending == sorted(ascending)
    browser.evaluate(click)
    assert browser.evaluate(values) == ascending[::-1]
    assert (
        browser.evaluate("""document.querySelectorAll("#cross table.numbers th")[1]
        .getAttribute("aria-sort")""")
        == "descending"
    )


def text_of(browser: Browser, section: str) -> str:
    text = browser.evaluate(f"document.getElementById('{section}').textContent")
    return re.sub(r"[ \n]+", " ", text)


def test_reasons_and_marks_are_told(browser: Browser, results: Path) -> None:
    browser.open(report.write_report(results)[0])
    text = text_of(browser, "cross")
    assert "left: node 1 → node 0, pages stay – home node 0 has a free core" in text
    assert "n-mass, repeat 4: numa_balancing was 1 after the run" in text
    assert "remote-0, remote-1: stays on node 1, 16\u202f384 pages to node 1 each" in text_of(
        browser, "contention-2L2R"
    )
    assert "numa_balancing" in text_of(browser, "manifest")


def hostile_results(directory: Path) -> Path:
    synthetic.WORKLOADS[HOSTILE] = synthetic.WORKLOADS["cross"]
    try:
        records = [synthetic.observation(HOSTILE, p, i, value=10.0 + i) for p in ("none", HOSTILE) for i in (1, 2, 3)]
    finally:
        del synthetic.WORKLOADS[HOSTILE]
    for record in records:
        for task in record["tasks"]:
            task["role"] = task["comm"] = HOSTILE
        for decision in record["apply"]["decisions"] if record["apply"] else []:
            decision |= {"comm": HOSTILE, "reason": HOSTILE, "error": HOSTILE}
        record["metrics"][0] |= {"name": HOSTILE, "unit": HOSTILE}
    records.append({**records[0], "repeat": 4, "marks": [HOSTILE]})
    return synthetic.write(
        directory,
        records,
        {"suite": HOSTILE, "machine": HOSTILE, "question": HOSTILE, "kernel": {"release": HOSTILE}, HOSTILE: [HOSTILE]},
    )


def test_hostile_names_stay_text(browser: Browser, tmp_path: Path) -> None:
    page = report.write_report(hostile_results(tmp_path / "hostile"))[0]
    browser.open(page)
    assert browser.list_problems() == []
    assert "hacked" not in browser.evaluate("document.title").replace("document.title='hacked'", "")
    assert browser.evaluate("document.querySelectorAll('script').length") == 1
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.querySelectorAll('figure svg').length") == 2
    for drawing in (page.parent / "figures").iterdir():
        assert re.fullmatch(r"[A-Za-z0-9._-]+\.svg", drawing.name)
        ElementTree.parse(drawing)


def test_different_workloads_never_share_a_file() -> None:
    slugs = report._make_slugs(["a/b", "a b", "a-b", "..", "<>"])
    assert len(set(slugs.values())) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", s) and s.strip(".") for s in slugs.values())


def test_pages_left_behind_are_told(browser: Browser, tmp_path: Path) -> None:
    records = [synthetic.observation("contention-2L2R", "n-mass", i) for i in (1, 2)]
    for record, left in zip(records, (100, 200), strict=True):
        record["apply"]["decisions"][2]["result"]["migrate"]["thp_split"] = left
    browser.open(report.write_report(synthetic.write(tmp_path / "left", records))[0])
    text = text_of(browser, "contention-2L2R")
    assert "remote-0: stays on node 1, 16\u202f384 pages to node 1" in text
    assert "left behind: 150 thp split" in text


def test_decisions_of_tries_of_one_repeat_are_each_counted(tmp_path: Path) -> None:
    records = [synthetic.observation("cross", "n-mass", repeat) | {"marks": ["host-time"]} for repeat in (1, 1, 2, 2)]
    for record, penalty in zip(records, (0.1, 0.9, 0.1, 0.1), strict=True):
        for decision in record["apply"]["decisions"]:
            decision["penalty"] = {"value": penalty, "source": "measured"}
    results = read_results(synthetic.write(tmp_path / "tries", records))
    told, = (row["told"] for row in list_decisions(results, "cross") if row["policy"] == "n-mass")
    assert told and {(line["often"], line["known"]) for line in told} == {("", "penalty 0.1 to 0.9 measured, MPKI 20 assumed")}


def test_platforms_are_not_mixed(tmp_path: Path) -> None:
    records = [
        synthetic.observation("cross", "none", i, platform=platform)
        for i, platform in enumerate(("lab-functional", "real"), 1)
    ]
    with pytest.raises(ResultsError, match="more than one platform"):
        report.write_report(synthetic.write(tmp_path / "mixed", records))


def test_smallest_results(browser: Browser, tmp_path: Path) -> None:
    """One observation without tasks, plan or manifest; another with no time at all."""
    bare = synthetic.observation("cross", "none", 1, tasks=[], apply=None)
    timeless = synthetic.observation("redis-lists", "none", 1)
    timeless["metrics"] = timeless["metrics"][-3:]
    directory = synthetic.write(tmp_path / "bare", [bare, timeless], {})
    (directory / "manifest.json").unlink()
    browser.check_narrow(report.write_report(directory)[0])
    assert browser.evaluate("document.querySelectorAll('figure svg').length") == 3
    assert "No clean observation of a time" in browser.evaluate("document.body.textContent")


def test_only_marked_observations(browser: Browser, tmp_path: Path) -> None:
    bad = [synthetic.observation("cross", "none", i, marks=["not restored"]) for i in (1, 2)]
    bad.append(synthetic.observation("cross", "n-mass", 1, check="pages elsewhere"))
    records = [*bad, synthetic.observation("redis-lists", "n-mass", 1)]
    browser.open(report.write_report(synthetic.write(tmp_path / "marked", records))[0])
    assert browser.list_problems() == []
    cells = browser.evaluate("""[...document.querySelectorAll(".matrix td small")].map(
        c => c.textContent.trim())""")
    assert cells == ["2 marked", "1 marked", "not measured", "was 0.00, 0 moved"]
    assert "none no clean observation" in text_of(browser, "cross")
    assert "from marked observations: left: node 1 → node 0" in text_of(browser, "cross")


@pytest.mark.parametrize(
    ("found", "interval", "expected"),
    [
        ([100.0, 300.0], Interval(200, -1000, 1400, 2), (0, 600 * 1.06)),  # cut on both sides
        ([100.0, 104.0], Interval(102, 100, 104, 2), (100 - 0.24, 104.24)),  # does not start at 0
        ([50.0], Interval(50, None, None, 1), (0, 53)),
        ([-2.0, 4.0], Interval(1, -3, 5, 2), (-3, 5)),
        ([0.0], Interval(0, None, None, 1), (0, 1)),
    ],
)
def test_axis_limits(found: list[float], interval: Interval, expected: tuple) -> None:
    assert compute_limits(found, [interval]) == pytest.approx(expected)


def test_equal_metrics_are_drawn_once(tmp_path: Path) -> None:
    """Bytes credited and bytes on the bus are the same with non-temporal stores."""
    records = [synthetic.observation("cross", "none", i, value=10.0 + i) for i in (1, 2, 3)]
    for record in records:
        record["metrics"].insert(1, record["metrics"][0] | {"name": "bandwidth_bus"})
    page = report.write_report(synthetic.write(tmp_path / "equal", records))[0]
    drawing = (page.parent / "figures" / "cross.svg").read_text()
    assert ">bandwidth, MB/s (more is better)<" in drawing and "bandwidth bus" not in drawing
    assert "bandwidth bus: the same as a column here" in page.read_text()
    records[0]["metrics"][1]["value"] += 1
    page = report.write_report(synthetic.write(tmp_path / "unequal", records))[0]
    assert "bandwidth bus" in (page.parent / "figures" / "cross.svg").read_text()


@pytest.mark.parametrize("model, said", [
    ({"origin": "machine file", "calibrated": True, "why": None, "file": "/run/a.toml", "sha256": "0123456789abcdef"},
     "calibrated in that boot: /run/a.toml (SHA-256 0123456789ab)"),
    ({"origin": "machine file", "calibrated": False, "why": None, "file": "/etc/a.toml", "sha256": "0123456789abcdef"},
     "machine file: /etc/a.toml (SHA-256 0123456789ab)"),
    ({"origin": "derived from distances", "calibrated": False, "why": "it was switched off", "file": None, "sha256": None},
     "derived from distances: it was switched off"),
    (None, None)])
def test_the_head_says_by_which_model_policies_planned(tmp_path: Path, model: dict | None, said: str | None) -> None:
    folder = synthetic.write(tmp_path / "run", synthetic.make_full(), synthetic.MANIFEST | {"model": model})
    text = report.write_report(folder)[0].read_text()
    found = re.search(r"<dt>contention model</dt><dd>([^<]*)</dd>", text)
    assert (found[1] if found else None) == said


def test_a_long_placement_has_lines_that_fit_beside_its_row() -> None:
    assert format_row_label("none") == "none" and format_row_label("start-bind:node=1") == "start-bind\nnode=1"
    found = format_row_label("tiering:scan_size_mb=2048,promote_rate_limit_mbps=16").splitlines()
    assert found[:2] == ["tiering", "scan_size_mb=2048"] and found[2].startswith("…") and found[2].endswith("limit_mbps=16")
    assert max(map(len, found)) <= LABEL_WIDTH and format_row_label("a\x1b:b") == "a\ufffd\nb"

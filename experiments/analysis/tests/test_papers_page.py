# SPDX-License-Identifier: GPL-2.0-only
"""All presentations on one page in a real browser, the comparison's page, and the print."""

import json
import time
from pathlib import Path

import pytest

from experiments.analysis import papers
from experiments.analysis.pages import compare_report, report, report_all, summary
from experiments.analysis.runs.results import read_results
from experiments.analysis.stats import compare
from experiments.analysis.tests import factorial, synthetic
from experiments.analysis.tests import test_papers_bergstrom as bergstrom
from experiments.analysis.tests import test_papers_deters as deters
from experiments.analysis.tests import test_papers_heard as heard
from experiments.analysis.tests import test_papers_luo as luo
from experiments.analysis.tests import test_papers_prabhanjan as redis
from experiments.analysis.tests.browser import Browser

RUNS = {  # folder: cells, presentations, machine, nodes
    "contention": (luo.contention("e5620"), ["luo-contention"], "xeon-e5620-2s", 2),
    "cross": (luo.cross({n: 0.3 if n > 1 else 0.04 for n in range(1, 5)}), ["luo-cross"], "ls3a-2s", 2),
    "split": (luo.split(0.15), ["luo-split"], "xeon-e5620-2s", 2),
    "numa-stream": (bergstrom.stream(bergstrom.UNAWARE), ["bergstrom-stream"], "opteron-6172-4s", 8),
    "cachetest": ([c for c in heard.cachetest() if c[0].get("alpha", 1.05) in (1.05, 4.05)],
                  ["heard-cachetest"], "opteron-sixcore-4s", 4),
    "redis": (redis.printed("lists"), ["prabhanjan-times", "prabhanjan-counters"], "xeon-e5-2620v4-2s", 2),
    "work-stealing": (deters.stealing(0.2), ["deters-stealing"], "xeon-e5-4620-4s", 4),
}
FIGURES = {"contention": 3, "cross": 1, "split": 2, "numa-stream": 3, "cachetest": 7, "redis": 1, "work-stealing": 4}
OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"


pytestmark = pytest.mark.long("the pages of all papers are drawn first")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("all")
    for name, (cells, presents, machine, nodes) in RUNS.items():
        found = factorial.make_records(name, cells, platform="lab-timed")
        factorial.write_run(parent / name, found, presents, machine, nodes)
    synthetic.write(parent / "policy-matrix", synthetic.make_full())
    report_all.write_reports(parent, report_all.list_runs(parent))
    return parent


def test_opens_without_problems(browser: Browser, folder: Path) -> None:
    browser.check_narrow(folder / "report.html")


def test_every_papers_figure_is_there_and_has_its_platform(browser: Browser, folder: Path) -> None:
    browser.open(folder / "report.html")
    browser.evaluate(OPEN)
    found = browser.evaluate("""[...document.querySelectorAll("section.paper")].map(s => [s.id,
        [...s.querySelectorAll(".drawings figure")].map(f => [f.querySelector("svg")
        .getBoundingClientRect().height, f.querySelector("desc").textContent.length,
        f.querySelector("figcaption").textContent])])""")
    counts = {name: 0 for name in RUNS}
    for anchor, drawings in found:
        name = next(n for n in RUNS if anchor.startswith(f"{n}-"))
        counts[name] += len(drawings)
        for height, described, caption in drawings:
            assert height > 100 and described > 20 and "platform: lab-timed" in caption
    assert counts == FIGURES


def a_point(anchor: str) -> str:
    """The first that was measured of a chapter's first figure."""
    return f"[...document.querySelectorAll('#{anchor} svg .tip[data-more]')][0]"


def test_a_chapters_point_tells_its_observations_and_leads_to_them(browser: Browser, tmp_path: Path) -> None:
    found = factorial.make_records("contention", luo.contention("e5620"), platform="lab-timed")
    found += [record | {"repeat": 3, "marks": ["made up"]} for record in found if record["repeat"] == 0]
    browser.open(report.write_report(factorial.write_run(tmp_path / "run", found, ["luo-contention"]))[0])
    text, more = browser.evaluate(f"(t => [t.textContent, t.dataset.more])({a_point('luo-contention')})")
    behind = [found[int(name[1:]) - 1] for name in more.split()]
    assert len({r["workload"] for r in behind}) == 1 and [r["repeat"] for r in behind] == [0, 1, 2]
    values = ", ".join(f"{r['metrics'][0]['value']:.10g}" for r in behind)
    assert text.endswith(f"\nn = 3: {values}\n1 more are marked") and text.startswith("local (xL, 0R)\n")
    browser.evaluate(f"{a_point('luo-contention')}.dispatchEvent(new MouseEvent('click'))")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert browser.evaluate("[...document.querySelectorAll('tr.chosen')].map(r => r.id).join(' ')") == more
    assert browser.evaluate("document.querySelector('tr:target').checkVisibility()")


def test_a_point_on_the_page_of_many_runs_leads_to_its_runs_page(browser: Browser, folder: Path) -> None:
    browser.open(folder / "report.html")
    first = browser.evaluate(f"{a_point('contention-luo-contention')}.dataset.more").split()[0]
    browser.evaluate(f"{a_point('contention-luo-contention')}.dispatchEvent(new MouseEvent('click'))")
    wanted, deadline = (folder / "contention/report.html").as_uri() + f"#{first}", time.monotonic() + 60
    ready = "document.readyState === 'complete' && location.href"
    while browser.evaluate(ready) != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    assert browser.evaluate("location.href") == wanted
    assert browser.evaluate("document.querySelector('tr:target').checkVisibility()")


@pytest.mark.parametrize("name", [name for name in RUNS if FIGURES[name]])
def test_every_figure_of_a_chapter_has_tips(browser: Browser, folder: Path, name: str) -> None:
    browser.open(folder / name / "report.html")
    assert 0 not in browser.evaluate("""[...document.querySelectorAll('section.paper .drawings svg.chart')]
        .map(s => s.querySelectorAll('.tip').length)""")


def test_every_table_and_analysis_names_its_platform(browser: Browser, folder: Path) -> None:
    browser.open(folder / "report.html")
    without = browser.evaluate("""[...document.querySelectorAll("section.paper table")].filter(t => {
        let text = "", e = t;
        while (e && e.tagName !== "SECTION") {
            for (let p = e.previousElementSibling; p; p = p.previousElementSibling)
                text += p.textContent;
            e = e.parentElement; }
        return !text.includes("lab-timed"); }).length""")
    assert without == 0


def test_no_id_twice_on_the_page_of_many_runs(browser: Browser, folder: Path) -> None:
    browser.open(folder / "report.html")
    assert browser.list_double_ids() == []
    links = browser.evaluate("""[...document.querySelectorAll("a[href^='#']")].filter(
        a => !document.getElementById(a.getAttribute("href").slice(1))).length""")
    assert links == 0


def test_tally_lists_every_presentation_and_run(browser: Browser, folder: Path) -> None:
    browser.open(folder / "report.html")
    rows = browser.evaluate("""[...document.querySelectorAll("#summary tbody tr")].map(
        r => [...r.cells].map(c => c.textContent.trim()))""")
    assert len(rows) == sum(len(presents) for _, presents, _, _ in RUNS.values()) + 1
    by = {(row[1], row[0]): row for row in rows}
    machine, told = by["contention", "Local and remote threads on one memory controller"][4:6]
    assert machine == "E5620" and told.startswith("parts of 4L0R: 23 cells, mean difference 0.00")
    assert by["policy-matrix", "policy-matrix"][5] == "in its own report"


def test_a_factorial_run_shows_all_its_numbers(browser: Browser, folder: Path) -> None:
    browser.open(folder / "contention" / "report.html")
    browser.evaluate(OPEN)
    heads = browser.evaluate("""[...document.querySelectorAll("#numbers thead th")].map(
        h => h.textContent.trim())""")
    assert heads[:4] == ["workload", "local", "remote", "bandwidth, MB/s"]
    assert browser.evaluate("document.querySelectorAll('#numbers tbody tr').length") == 24
    assert browser.evaluate("document.querySelector('.matrix')") is None  # no policy moved anything


def test_numbers_of_the_paper_stand_in_summary_json(folder: Path) -> None:
    results = read_results(folder / "contention")
    path = summary.write_summary(results.directory, papers.make_chapters(results)[0])
    best = next(one for one in json.loads(path.read_text())["papers"] if one["cell"] == "3L2R")
    assert (best["presentation"], best["policy"], best["unit"]) == ("luo-contention", "none", "parts of 4L0R")
    assert best["paper_low"] == best["paper_high"] and best["ci95_low"] < best["ours"] < best["ci95_high"] and best["uniform"]


def test_the_chapter_has_the_papers_numbers_beside_ours(browser: Browser, folder: Path) -> None:
    browser.open(folder / "contention" / "report.html")
    browser.evaluate(OPEN)
    head, *rows = browser.evaluate("""[...document.querySelectorAll("[aria-describedby$='-numbers'] tr")].map(
        r => [...r.cells].map(c => c.textContent.trim()))""")
    assert head == ["cell", "ours", "95 % interval", "paper", "difference", "uniform machine"]
    assert len(rows) == 32 and all(len(row) == 6 for row in rows)


def test_one_node_is_said_everywhere(browser: Browser, tmp_path: Path) -> None:
    found = factorial.make_records("contention", luo.contention("e5620"))
    for record in found:
        record["platform"] = "real"
    page = report.write_report(factorial.write_run(tmp_path, found, ["luo-contention"], "laptop", nodes=1))[0]
    browser.open(page)
    captions = browser.evaluate("""[...document.querySelectorAll(".drawings figcaption")].map(
        c => c.textContent)""")
    assert len(captions) == 3 and all("platform: real, one node" in c for c in captions)
    assert "nothing here is remote" in browser.evaluate("document.querySelector('header').textContent")
    assert "real: one node" in (tmp_path / "figures" / "luo-contention-1.svg").read_text()


def test_a_model_that_was_fitted_to_the_paper_says_so(folder: Path, tmp_path: Path) -> None:
    text = (folder / "contention" / "report.html").read_text()
    assert "link.latency_ns (Table 1(b), 0L1R)" in text
    found = factorial.make_records("contention", luo.contention("e5620"))
    page = report.write_report(factorial.write_run(tmp_path, found, ["luo-contention"]))[0]
    assert "alibrated number" not in page.read_text()


def test_marked_observations_reach_no_table(tmp_path: Path) -> None:
    found = factorial.make_records("contention", luo.contention("e5620"))
    clean = papers.make_chapters(read_results(factorial.write_run(tmp_path / "a", found, ["luo-contention"])))
    for record in [dict(r) for r in found]:
        wrong = [m | {"value": m["value"] * 50} for m in record["metrics"]]
        found.append(record | {"marks": ["pages elsewhere"], "metrics": wrong, "repeat": 7})
    both = papers.make_chapters(read_results(factorial.write_run(tmp_path / "b", found, ["luo-contention"])))
    assert clean[0][0].tables == both[0][0].tables and clean[0][0].compared == both[0][0].compared


def test_an_unknown_presentation_is_named(tmp_path: Path) -> None:
    found = factorial.make_records("contention", luo.contention("e5620"))
    page = report.write_report(factorial.write_run(tmp_path, found, ["newton-principia"]))[0]
    assert "presents newton-principia, which this report does not know" in page.read_text()


def spoilt(name: str) -> list[list[dict]]:
    """The run of a folder with every observation marked, and with one repeat only."""
    found = factorial.make_records(name, RUNS[name][0])
    return [[r | {"marks": ["pages elsewhere"]} for r in found], [r for r in found if r["repeat"] == 0]]


@pytest.mark.parametrize("name", RUNS)
def test_marked_and_single_observations_break_no_chapter(tmp_path: Path, name: str) -> None:
    marked, single = spoilt(name)
    presents, machine, nodes = RUNS[name][1:]
    results = read_results(factorial.write_run(tmp_path / "marked", marked, presents, machine, nodes))
    for chapter in papers.make_chapters(results)[0]:
        assert chapter.missing and not chapter.tables and not chapter.drawings
        assert not chapter.compared
    results = read_results(factorial.write_run(tmp_path / "single", single, presents, machine, nodes))
    first = papers.make_chapters(results)[0][0]
    assert first.drawings
    if name not in ("split", "work-stealing"):
        assert first.compared and all(c.ours.low is None for c in first.compared)


def test_a_run_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    cells, presents, machine, nodes = RUNS["split"]
    factorial.write_run(tmp_path / "split", factorial.make_records("split", cells), presents, machine, nodes)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "results.jsonl").write_text("")
    page, parts = report_all.write_reports(tmp_path, report_all.list_runs(tmp_path))
    assert len(parts) == 1 and "broken has no report" in page.read_text()
    assert f"<title>1 experiment on {machine}" in page.read_text()


def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    a = factorial.make_records("contention", luo.contention("e5620"), seed=1)
    b = factorial.make_records("contention", luo.contention("e5620"), seed=2)
    for record in b:
        if record["factors"] == {"local": 2, "remote": 0}:
            record["metrics"][0]["value"] *= 1.2
    return (factorial.write_run(tmp_path / "a", a, []), factorial.write_run(tmp_path / "b", b, [], machine="ls3a-2s"))


def test_compare_page(browser: Browser, tmp_path: Path) -> None:
    found = compare.compare_runs(*two_runs(tmp_path))
    pair, = found["pairs"]
    changed = [r for r in pair["rows"] if r["significant"]]
    assert [r["workload"] for r in changed] == ["contention-2-0"]
    (row,) = changed
    assert row["ratio"] == pytest.approx(1.2, abs=0.01) and row["ratio_ci95_low"] > 1.15
    assert row["p_holm"] > row["p"]
    assert any("machine differs" in note for note in pair["notes"])
    browser.check_narrow(compare_report.write_page(found, tmp_path / "compare.html"))
    assert browser.evaluate("document.querySelectorAll('figure svg').length") == 1
    assert "1 of 64 tests shows a difference" in browser.evaluate("document.body.textContent")
    marked = browser.evaluate("""[...document.querySelectorAll("td b")].map(
        b => b.closest("tr").cells[0].textContent)""")
    assert marked == ["contention-2-0"]


def test_command_line_writes_the_page(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    page = tmp_path / "page.html"
    done = synthetic.run_command("compare", a, b, "--html", page)
    assert done.returncode == 0, done.stderr
    assert page.exists() and "note: machine differs: xeon-e5620-2s and ls3a-2s" in done.stdout

# SPDX-License-Identifier: GPL-2.0-only
"""Pages per node and bandwidth over time, drawn from made-up records."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.pages import report
from experiments.analysis.runs.results import Results, read_results
from experiments.analysis.samples import pages
from experiments.analysis.tests import synthetic

BEGIN = 500.0  # s of the boot's clock
THREADS = [[10.0] * 50 + [5.0] * 50, [20.0] * 100]  # ns of an operation of 16 bytes


def sampled(policy: str, repeat: int, **changes: Any) -> dict[str, Any]:
    """Apply takes 0.5 s and moves 6 of left's 10 pages from node 0 to node 1; both tasks measure from 1 s to 2 s."""
    moved = policy != "none"
    after = {"left": {"0": 4, "1": 6} if moved else {"0": 10}, "right": {"1": 10}}
    record = synthetic.observation("cross", policy, repeat, platform="lab-timed", apply_at=[BEGIN, BEGIN + 0.5], samples=[
        {"t_s": BEGIN - 0.25, "pages": {"left": {"0": 10}, "right": {"1": 10}}, "moved": 0},
        {"t_s": BEGIN + 0.75, "pages": after, "moved": 6 * moved},
        {"t_s": BEGIN + 2.25, "pages": after, "moved": 6 * moved}])
    record["tasks"][0]["details"] = {"started": BEGIN + 1, "finished": BEGIN + 2, "operations": 1000,
                                     "bytes_credited": 16000, "samples_ns": THREADS}
    return record | changes


def run(folder: Path, records: list[dict[str, Any]]) -> Results:
    return read_results(synthetic.write(folder, records, synthetic.TIMED))


def test_a_series_is_that_of_the_first_clean_observation(tmp_path: Path) -> None:
    results = run(tmp_path, [sampled("none", 0), sampled("n-mass", 0, marks=["a mark"]), sampled("n-mass", 1)])
    none, series = pages.list_series(results, "cross")
    assert (none.policy, series.policy, series.observation.repeat) == ("none", "n-mass", 1)
    assert series.apply_s == pytest.approx(0.5)
    assert [(m.t, m.pages, m.moved) for m in series.samples] == [
        (pytest.approx(-0.25), {0: 10, 1: 10}, 0), (pytest.approx(0.75), {0: 4, 1: 16}, 6),
        (pytest.approx(2.25), {0: 4, 1: 16}, 6)]


def test_the_rate_is_the_sum_of_the_threads_stretches(tmp_path: Path) -> None:
    """16 bytes in 10 ns are 1,600 MB/s, in 20 ns 800; the first thread is twice as fast in its second half."""
    series, = pages.list_series(run(tmp_path, [sampled("n-mass", 0)]), "cross")
    times, rates = zip(*series.rate, strict=True)
    assert (times[0], times[-1]) == (pytest.approx(1.01), pytest.approx(1.99)) and len(rates) == pages.STEPS
    assert rates[0] == pytest.approx(2400) and rates[-1] == pytest.approx(4000)
    assert sum(rates) / len(rates) == pytest.approx(3200)


def test_nothing_is_drawn_of_a_run_without_samples(tmp_path: Path) -> None:
    results = run(tmp_path, [synthetic.observation("cross", "none", 0, platform="lab-timed")])
    assert pages.list_series(results, "cross") == [] and pages.draw_panel(results, "cross", "c") is None
    assert "over time</summary>" not in report.write_report(tmp_path)[0].read_text()


def test_the_report_draws_both_policies_and_tells_every_moment(tmp_path: Path) -> None:
    run(tmp_path, [sampled(policy, k) for policy in ("none", "n-mass") for k in range(3)])
    page = report.write_report(tmp_path)[0].read_text()
    found = re.search(r'<svg class="chart"[^>]*cross-series-title.*?</svg>', page, re.S)[0]
    assert "n-mass: at -0.250 s 10 on node 0 and 10 on node 1, 0 moved, at +0.750 s 4 on node 0 and 16 on node 1, 6 moved" in found
    assert found.count('class="tip"') == 6
    assert "+2.250 s: 4 pages on node 0, 16 pages on node 1\n6 moved so far\nrepeat 0, line 4" in found
    assert found.count(">MB/s<") == 2 and found.count(">pages<") == 2
    assert "--node1" in found and "Nothing is read while pages move" in page


def test_the_height_of_the_stack_is_the_pages(tmp_path: Path) -> None:
    """The area of each node, as it is drawn: 10 of 20 pages are on node 1 when apply begins, 16 when it has ended."""
    from matplotlib.figure import Figure

    series, = pages.list_series(run(tmp_path, [sampled("n-mass", 0)]), "cross")
    axes = Figure().subplots()
    pages._draw_pages(axes, series)
    begin, end, last = ([max(y for x, y in area.get_paths()[0].vertices if x == pytest.approx(at))
                         for area in axes.collections] for at in (0, 0.5, 2.25))
    assert (begin, end, last) == ([10, 20], [4, 20], [4, 20])


def test_a_workload_without_stretches_has_its_pages_alone(tmp_path: Path) -> None:
    record = sampled("n-mass", 0)
    record["tasks"][0]["details"] = {"requests": 5}
    results = run(tmp_path, [json.loads(json.dumps(record))])
    assert pages.list_series(results, "cross")[0].rate == ()
    found = pages.draw_panel(results, "cross", "c")
    assert ">pages<" in found and ">MB/s<" not in found

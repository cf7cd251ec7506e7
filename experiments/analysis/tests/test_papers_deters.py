# SPDX-License-Identifier: GPL-2.0-only
"""Deters' factorial: the shares of the variation beside the text's, and the analyses."""

from pathlib import Path

import pytest

from experiments.analysis.papers import deters
from experiments.analysis.runs.results import read_results
from experiments.analysis.tests import factorial

pytestmark = pytest.mark.full("a paper more; test_papers_luo has the same comparison")

def stealing(effect: float) -> list[factorial.Cell]:
    """Misses that differ by powers between benchmarks and a little between runtimes."""
    cells = []
    for i, benchmark in enumerate(("cilksort", "heat", "transpose", "matmul")):
        for runtime in ("vanilla", "locality"):
            less = 1 - effect * (runtime == "locality")
            cells.append(({"runtime": runtime, "benchmark": benchmark}, {
                "remote_cache": (1e5 * 6**i * less, "misses"),
                "remote_dram": (2e5 * 6**i * less, "misses"),
                "local_dram": (5e5 * 6**i, "misses"),
                "speedup": ((20 + i) / less**0.05, "1")}))
    return cells


def steal(tmp_path: Path, effect: float, noise: float = 0.01):
    found = factorial.make_records("work-stealing", stealing(effect), repeats=6, noise=noise)
    directory = factorial.write_run(tmp_path, found, ["deters-stealing"], "xeon-e5-4620-4s", nodes=4)
    return deters.make_stealing(read_results(directory), "d")


def test_deters_analysis(tmp_path: Path) -> None:
    found = steal(tmp_path, 0.2)
    assert found.machine == "Xeon E5-4620"
    terms = [row[1].text for row in analyses(found) if row[0].text == "Remote cache, log"]
    assert terms == ["runtime", "benchmark", "repeat", "runtime × benchmark", "error"]


def analyses(chapter):
    """The rows of the chapter's analysis of variance."""
    return next(table.rows for table in chapter.tables if table.number == "Analysis of variance")


def test_shares_of_the_variation_stand_beside_the_texts(tmp_path: Path) -> None:
    """6 of them are printed. On a uniform machine the runtime explains nothing."""
    found = {c.printed.cell: c for c in steal(tmp_path, 0.2).compared}
    assert {cell: c.printed.low for cell, c in found.items()} == {
        "Remote cache, plain: runtime": 9, "Remote cache, plain: error": 13, "Remote cache, log: runtime": 6, "Remote cache, log: error": 1,
        "Remote DRAM, log: runtime": 8, "Local DRAM, log: runtime": 0}
    one = found["Remote cache, log: runtime"]
    assert 0.1 < one.ours.value < 1 and one.uniform < 0.01 and one.difference == pytest.approx(one.ours.value - 6)


def test_both_models_are_shown(tmp_path: Path) -> None:
    """Plain and of logarithms of each response, and what both explain beside the numbers of the paper's text."""
    found = steal(tmp_path, 0.2)
    assert list(dict.fromkeys(row[0].text for row in analyses(found))) == [
        f"{metric}, {name}" for metric in ("Remote cache", "Remote DRAM", "Local DRAM", "Speedup") for name in ("plain", "log")]
    (table,) = [t for t in found.tables if t.number == "Variation explained"]
    rows = {(r[0].text, r[1].text): [c.text for c in r[2:]] for r in table.rows}
    assert rows["Remote cache, plain", "paper"] == ["9 %", "13 %"] and rows["Remote DRAM, log", "paper"] == ["8 %", "–"]
    assert ("Speedup, log", "ours") in rows and len(rows) == 4 * 2 + 4
    plain, log = (float(rows[f"Remote cache, {m}", "ours"][0].split()[0]) for m in ("plain", "log"))
    assert plain > 1.5 * log > 0  # the largest benchmark decides the plain one


def test_the_chapter_says_what_the_speedup_is_over(tmp_path: Path) -> None:
    found = factorial.make_records("work-stealing", stealing(0.2))
    chapter = deters.make_stealing(read_results(factorial.write_run(tmp_path, found, ["deters-stealing"])), "d")
    told = next(line for line in chapter.differs if "Speedup" in line)
    assert "of both runtimes is over the same run" in told and "serial_ratio" in told and "larger" not in told


def with_data(tmp_path: Path, runtime: float, data: float):
    """Each lowers the misses by its part; all of the benchmarks."""
    cells = []
    for factors, metrics in stealing(0.0):
        for place in ("first", "spread"):
            less = (1 - runtime * (factors["runtime"] == "locality")) * (1 - data * (place == "spread"))
            cells.append(({**factors, "data": place}, {n: (v * (less if "remote" in n else 1), u) for n, (v, u) in metrics.items()}))
    found = factorial.make_records("work-stealing", cells, repeats=6, noise=0.01)
    return deters.make_stealing(read_results(factorial.write_run(tmp_path, found, ["deters-stealing"], "xeon-e5-4620-4s", nodes=4)), "d")


def test_where_the_data_is_is_never_averaged(tmp_path: Path) -> None:
    """The paper's runtimes have their own data: 0.7 x 0.6. The means of all four stand beside each other."""
    chapter = with_data(tmp_path, 0.3, 0.4)
    assert not chapter.missing
    table = next(t for t in chapter.tables if "Tables 8" in t.number)
    assert [h.split(", misses")[0] for h in table.head[1:]] == [
        "vanilla, data first", "vanilla, data spread", "locality, data first", "locality, data spread"]
    first = table.rows[0][1].value
    assert [c.value / first for c in table.rows[0][1:]] == [pytest.approx(v, rel=0.03) for v in (1, 0.6, 0.7, 0.42)]
    terms = [row[1].text for row in analyses(chapter) if row[0].text == "Remote DRAM, plain, with the data"]
    assert terms[:3] == ["runtime", "data", "benchmark"]


def test_a_run_of_one_place_of_the_data_is_shown(tmp_path: Path) -> None:
    cells = [({**factors, "data": "first"}, metrics) for factors, metrics in stealing(0.2)]
    found = factorial.make_records("work-stealing", cells)
    chapter = deters.make_stealing(read_results(factorial.write_run(tmp_path, found, ["deters-stealing"])), "d")
    assert chapter.tables[0].head[1:] == ("vanilla, misses", "locality, misses")
    assert not any("with the data" in row[0].text for row in analyses(chapter))

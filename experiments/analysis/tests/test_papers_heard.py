# SPDX-License-Identifier: GPL-2.0-only
"""Heard and Shafiee: numbers like those of the figures and the text."""

from pathlib import Path

import pytest

from experiments.analysis.papers import heard
from experiments.analysis.runs.results import read_results
from experiments.analysis.tests import factorial

pytestmark = pytest.mark.full("a paper more; test_papers_luo has the same comparison")

SIZES = (500, 1473, 2447, 3420, 4394, 5368, 6341, 7315, 8288, 9262)
ALPHAS = (4.05, 2.05, 1.55, 1.35, 1.25, 1.05)  # six of the nine


def slow(pattern: str, size: int, alpha: float = 0.0) -> float:
    if pattern == "zipf":
        return 0.02 if alpha <= 1.25 else 0.05 + (0.1 if size > 6144 else 0)
    most = {"sequential": 0.65, "uniform": 0.45}[pattern]
    return most if size > 6144 else most / 4 if size > 5000 else 0.01


def speed(pattern: str, size: int, alpha: float = 0.0) -> float:
    if pattern == "sequential":
        return 4e8 if size <= 512 else 2e8 if size < 4300 else 1.2e8 if size < 6144 else 0.9e8
    if pattern == "uniform":
        return 1.5e8 / (size / 500) ** 0.7
    return 1e8 * min(1, (alpha - 0.9) / 1.1) ** 2 * (500 / size) ** 0.1


def cachetest(scale: float = 1.0) -> list[factorial.Cell]:
    cells = []
    shapes = [("sequential", None), ("uniform", None), *(("zipf", a) for a in ALPHAS)]
    for pattern, alpha in shapes:
        for size in SIZES:
            for memory in ("local", "remote"):
                factors = {"pattern": pattern, "size_kb": size, "memory": memory}
                given = () if alpha is None else (alpha,)
                value = speed(pattern, size, *given)
                if memory == "remote":
                    value /= 1 + scale * slow(pattern, size, *given)
                factors |= {} if alpha is None else {"alpha": alpha}
                cells.append((factors, {"iterations": (value, "1/s")}))
    return cells


def walk(tmp_path: Path, cells: list[factorial.Cell]):
    found = factorial.make_records("cachetest", cells)
    directory = factorial.write_run(tmp_path, found, ["heard-cachetest"], "opteron-sixcore-4s", nodes=4)
    return heard.make_cachetest(read_results(directory), "h")


def test_walks_of_one_memory_alone_are_shown(tmp_path: Path) -> None:
    """As a run that was ended early has them: squares without a value are empty."""
    assert walk(tmp_path, [cell for cell in cachetest() if cell[0]["memory"] == "local"]).drawings


def test_slowdowns_stand_beside_the_texts(tmp_path: Path) -> None:
    found = walk(tmp_path, cachetest())
    by = {c.printed.cell: c for c in found.compared}
    for pattern, over, ours in (("sequential", "over 60.0", 65), ("uniform", "over 40.0", 45)):
        one = by[f"{pattern}, largest slowdown"]
        assert (one.printed.text, one.difference) == (over, 0) and one.ours.value == pytest.approx(ours, abs=1.5)
        assert abs(one.uniform) < 1, "without remote memory there is none"
    assert [d.number for d in found.drawings] == ["Fig. 8", "Fig. 9", "Fig. 10", "Fig. 11", "Fig. 12", "Fig. 13", "Fig. 14"]
    row = {r[0].text: r for r in found.tables[0].rows}["sequential"]
    assert row[-1].value == pytest.approx(65, abs=1.5) and row[1].value == pytest.approx(1, abs=1)


def test_without_a_penalty_the_slowdowns_fall_short(tmp_path: Path) -> None:
    off = [c.difference for c in walk(tmp_path, cachetest(scale=0.0)).compared if c.printed.unit == "%"]
    assert off == [pytest.approx(-60, abs=1), pytest.approx(-40, abs=1)]


@pytest.mark.parametrize("noise, repeats, over", [(0.004, 3, False), (0.05, 3, True), (0.004, 1, None)])
def test_the_deviation_is_under_one_percent(tmp_path: Path, noise: float, repeats: int, over: bool | None) -> None:
    found = factorial.make_records("cachetest", cachetest(), repeats=repeats, noise=noise)
    chapter = heard.make_cachetest(read_results(factorial.write_run(tmp_path, found, [], "opteron-sixcore-4s", nodes=4)), "h")
    off = [c.difference > 0 for c in chapter.compared if c.printed.unit == "parts of the mean"]
    assert off == ([] if over is None else [over] * 6)


def test_without_zipf_its_figures_are_not_there(tmp_path: Path) -> None:
    found = walk(tmp_path, [c for c in cachetest() if c[0]["pattern"] != "zipf"])
    assert not [c for c in found.compared if c.printed.cell.startswith("zipf")]
    assert [d.number for d in found.drawings] == ["Fig. 8", "Fig. 9", "Fig. 10", "Fig. 11"]

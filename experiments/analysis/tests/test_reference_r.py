# SPDX-License-Identifier: GPL-2.0-only
"""What the analysis computes, beside what R 4.2 computes of its own data sets.

reference-r.csv is what reference.R prints; where Rscript is installed, it is printed again. A test finds a
row that is not compared.
"""

import csv
import math
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.analysis.papers import heard
from experiments.analysis.policies import cost, speedup
from experiments.analysis.runs.boots import compute_boot_means
from experiments.analysis.runs.results import Results
from experiments.analysis.runs.results import read_results as read_run
from experiments.analysis.stats.intervals import (
    Difference,
    Ratio,
    adjust_p_values,
    compare_means,
    compare_pairs,
    compute_paired_ratio,
    compute_ratio,
    compute_t_interval,
)
from experiments.analysis.tests import synthetic

FOLDER = Path(__file__).parent
SCRIPT, PRINTED = FOLDER / "reference.R", FOLDER / "reference-r.csv"
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
DOSE_2 = [23.6, 18.5, 33.9, 25.5, 26.4, 32.5, 26.7, 21.5, 23.3, 29.5,
          25.5, 26.4, 22.4, 24.5, 24.8, 30.9, 26.4, 27.3, 29.4, 23.0]
DOSE_1 = [16.5, 16.5, 15.2, 17.3, 22.5, 17.3, 13.6, 14.5, 18.8, 15.5,
          19.7, 23.3, 23.6, 26.4, 20.0, 25.2, 25.8, 21.2, 14.5, 27.3]
WARP = {("A", "L"): [26, 30, 54, 25, 70, 52, 51, 26, 67], ("A", "M"): [18, 21, 29, 17, 12, 18, 35, 30, 36],
        ("A", "H"): [36, 21, 24, 18, 10, 43, 28, 15, 26], ("B", "L"): [27, 14, 29, 19, 29, 31, 41, 20, 44],
        ("B", "M"): [42, 26, 19, 16, 39, 28, 21, 39, 29], ("B", "H"): [20, 21, 24, 17, 13, 15, 15, 16, 28]}
LH = [2.4, 2.4, 2.4, 2.2, 2.1, 1.5, 2.3, 2.3, 2.5, 2.0, 1.9, 1.7, 2.2, 1.8, 3.2, 3.2, 2.7, 2.2, 2.2, 1.9, 1.9, 1.8, 2.7,
      3.0, 2.3, 2.0, 2.0, 2.9, 2.9, 2.7, 2.7, 2.3, 2.6, 2.4, 1.8, 1.7, 1.5, 1.4, 2.1, 3.3, 3.5, 3.5, 3.1, 2.6, 2.1, 3.4,
      3.0, 2.9]


def read(text: str) -> dict[str, list[float]]:
    found = defaultdict(list)
    for name, value in csv.reader(text.splitlines()):
        found[name].append(float(value))
    return found


R = read(PRINTED.read_text())


def same(name: str, *ours: float | None, rel: float = 1e-9) -> None:
    assert ours == pytest.approx(R[name], rel=rel), name


def list_values(test: Difference) -> Sequence[float | None]:
    return test.difference, test.low, test.high, test.t, test.df, test.p


def test_means_and_differences() -> None:
    one = compute_t_interval(SLEEP_1)
    same("t_interval", one.mean, one.low, one.mean + one.half_width)
    same("welch", *list_values(compare_means(SLEEP_1, SLEEP_2)))
    same("paired", *list_values(compare_pairs(SLEEP_1, SLEEP_2)))
    same("holm", *adjust_p_values([0.01, 0.04, 0.03, 0.005, 0.2, 0.011]))


def test_ratios() -> None:
    for name, found in (("fieller", compute_ratio(DOSE_2, DOSE_1)), ("fieller_paired", compute_paired_ratio(DOSE_2, DOSE_1))):
        same(name, *ends(found))


def ends(found: Ratio) -> Sequence[float | None]:
    return found.value, found.low, found.high


@pytest.fixture
def speeds(tmp_path: Path) -> Results:
    """Doses as MB/s, where more is better; breaks as seconds, where less is. What moving costs has lh's first values."""
    given = {("cross", "bandwidth", "MB/s"): (DOSE_1, DOSE_2),
             ("redis-lists", "seconds", "s"): (WARP["A", "L"], WARP["A", "H"])}
    lines = [synthetic.observation(
        workload, policy, k, platform="real", metrics=[{"name": name, "unit": unit, "value": float(value)}],
        cost={"apply_s": 9.0, "watched_s": 0.0, "move_s": LH[k % 9], "moved_bytes": 4096 * (k % 9 + 1)})
        for (workload, name, unit), both in given.items() for policy, found in zip(("none", "n-mass"), both, strict=True)
        for k, value in enumerate(found)]
    for line in lines:
        if line["metrics"][0]["name"] == "seconds":  # the work's own time
            line["metrics"].append(line["metrics"][0] | {"name": speedup.SOLUTION})
    return read_run(synthetic.write(tmp_path, lines, synthetic.TIMED | {"platform": "real"}))


def test_speedups(speeds: Results) -> None:
    assert speedup.decide_solutions(speeds), "the same function of another metric"
    found = speedup.decide_cells(speeds)
    more, less = found["cross", "n-mass"], found["redis-lists", "n-mass"]
    same("fieller_paired", *ends(more))
    same("speedup_less", *ends(less))
    same("speedup_p", more.p_holm, less.p_holm)
    total, = speedup.compute_totals(speeds)
    same("geometric_mean", *ends(total.ratio))


def test_the_price_of_moving(speeds: Results) -> None:
    found = cost.list_costs(speeds)["redis-lists", "n-mass"]
    same("cost", found.seconds.mean, found.seconds.low, found.seconds.high, found.bytes)
    same("break_even", *found.break_even[:2])
    assert found.break_even[2] > found.break_even[0]


def test_boots() -> None:
    cells = [(float(y), tension) for (_, tension), ys in WARP.items() for y in ys]
    means = compute_boot_means(*zip(*cells, strict=True))
    found = compute_t_interval(list(means.values()))
    same("boots", *means.values(), found.low, found.high)


def test_pooled_deviation(tmp_path: Path) -> None:
    lines = [synthetic.observation(
        "cross", "none", 10 * cell + k, metrics=[{"name": "iterations", "unit": "1/s", "value": float(value)}],
        factors={"pattern": "sequential", "memory": "local", "size_kb": cell})
        for cell, found in enumerate(WARP.values()) for k, value in enumerate(found)]
    cells = heard.select_cells(read_run(synthetic.write(tmp_path, lines)))
    same("pooled", *ends(heard.compute_deviation(cells, "sequential", "local")))


def test_every_printed_value_is_compared() -> None:
    """A name that no test above asks for would be a value without a comparison."""
    text = Path(__file__).read_text()
    assert [name for name in R if f'"{name}"' not in text] == []
    assert all(math.isfinite(v) for values in R.values() for v in values)


@pytest.mark.skipif(not shutil.which("Rscript"), reason="Rscript is not installed: apt-get install r-base-core")
def test_r_prints_the_same_again() -> None:
    done = subprocess.run(["Rscript", "--vanilla", SCRIPT], capture_output=True, text=True, timeout=300, check=True)
    again = read(done.stdout)
    assert again.keys() == R.keys()
    for name, values in again.items():
        assert values == pytest.approx(R[name], rel=1e-9), name

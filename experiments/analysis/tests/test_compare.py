# SPDX-License-Identifier: GPL-2.0-only
"""experiment compare: which test, what counts as one, several runs, and the exit status."""

import json
import random
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.runs.results import ResultsError
from experiments.analysis.stats import gate
from experiments.analysis.stats.compare import compare_runs
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.test_reference_r import SLEEP_1, SLEEP_2


def write(folder: Path, values: list[float], **more: float) -> Path:
    """A run of one cell; `more` are metrics as multiples of its bandwidth."""
    records = [synthetic.observation("cross", "none", i, value=v) for i, v in enumerate(values, 1)]
    for record in records:
        bandwidth = record["metrics"][0]["value"]
        record["metrics"] += [{"name": n, "unit": "MB/s", "value": k * bandwidth} for n, k in more.items()]
    return synthetic.write(folder, records)


@pytest.fixture
def sleep(tmp_path: Path) -> tuple[Path, Path]:
    """Student's sleep data as two runs; the other metrics are equal in both."""
    return write(tmp_path / "a", SLEEP_2), write(tmp_path / "b", SLEEP_1)


def row(found: dict[str, Any], metric: str = "bandwidth", pair: int = 0) -> dict[str, Any]:
    return next(r for r in found["pairs"][pair]["rows"] if r["metric"] == metric)


def test_published_example(sleep) -> None:
    found = compare_runs(*sleep)
    bandwidth = row(found)
    assert bandwidth["p"] == pytest.approx(0.07939, abs=5e-6)
    assert bandwidth["difference"] == pytest.approx(-1.58)
    assert (bandwidth["n_a"], bandwidth["n_b"], bandwidth["significant"]) == (10, 10, False)
    assert bandwidth["p_holm"] == bandwidth["p"] and found["tests"] == 1  # the other metrics have no spread: no test
    assert all(r["p"] is None and r["significant"] is None for r in found["pairs"][0]["rows"] if r is not bandwidth)


def test_in_blocks_it_is_students_own_analysis(sleep) -> None:
    """R, t.test(paired = TRUE): t = -4.0621, df = 9, p 0.002833, interval -2.4598858 to -0.7001142."""
    bandwidth = row(compare_runs(*sleep, in_blocks=True))
    assert bandwidth["t"] == pytest.approx(-4.0621, abs=5e-5) and bandwidth["df"] == 9
    assert bandwidth["p"] == pytest.approx(0.002833, abs=5e-7) and bandwidth["significant"]
    assert (bandwidth["ci95_low"], bandwidth["ci95_high"]) == pytest.approx((-2.4598858, -0.7001142), abs=5e-8)
    assert bandwidth["blocks"] == 10 and bandwidth["ratio_ci95_high"] < 1


def test_blocks_that_one_run_lacks_are_left_out(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", [100, 102, 104, 40]), write(tmp_path / "b", [110, 112.2, 114.4])
    bandwidth = row(compare_runs(a, b, in_blocks=True))
    assert (bandwidth["blocks"], bandwidth["n_a"], bandwidth["mean_a"]) == (3, 3, 102)
    assert bandwidth["ratio"] == pytest.approx(1.1) and bandwidth["ratio_ci95_low"] == pytest.approx(1.1)


def test_a_multiple_of_a_metric_is_no_test_of_its_own(tmp_path: Path) -> None:
    found = compare_runs(write(tmp_path / "a", SLEEP_2, bandwidth_bus=4 / 3), write(tmp_path / "b", SLEEP_1, bandwidth_bus=4 / 3))
    assert found["tests"] == 1 and row(found)["p_holm"] == row(found)["p"]
    bus = row(found, "bandwidth_bus")
    assert bus["same_as"] == "bandwidth" and bus["significant"] is None and bus["p"] == pytest.approx(row(found)["p"])
    other = compare_runs(write(tmp_path / "a", SLEEP_2, bandwidth_bus=1), write(tmp_path / "b", SLEEP_1, bandwidth_bus=2))
    assert other["tests"] == 2  # not the same multiple in both: a finding


def noisy(mean: float, seed: int, n: int = 20) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(mean, 0.001 * mean) for _ in range(n)]


def test_a_change_too_small_to_matter_is_not_marked(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", noisy(1000, 1)), write(tmp_path / "b", noisy(1003, 2))
    assert row(compare_runs(a, b))["significant"] and not row(compare_runs(a, b, smallest=0.02))["significant"]
    assert row(compare_runs(a, b, smallest=0.002))["significant"]


def test_several_runs_are_compared_with_the_first_and_adjusted_together(tmp_path: Path) -> None:
    a, b, c = (write(tmp_path / name, noisy(1000, seed, 5)) for name, seed in (("a", 1), ("b", 2), ("c", 3)))
    both, one = compare_runs(a, b, c), compare_runs(a, b)
    assert [pair["b"]["directory"] for pair in both["pairs"]] == [str(b), str(c)] and both["tests"] == 2
    ps = sorted((row(both, pair=0)["p"], row(both, pair=1)["p"]))
    assert min(row(both, pair=k)["p_holm"] for k in (0, 1)) == pytest.approx(min(1, 2 * ps[0]))
    assert row(one)["p_holm"] == row(one)["p"] == row(both)["p"]


def test_a_run_of_one_boot_is_named(tmp_path: Path) -> None:
    """Two equal runs of one boot each differ in 15 to 100 % of comparisons where boots differ by 0.2 to 1 %."""
    records = [synthetic.observation("cross", "none", i, value=v, boot_id=boot) for i, (v, boot) in enumerate(zip(SLEEP_1, "aabbccddee"), 1)]
    several = synthetic.write(tmp_path / "several", records)
    one = synthetic.write(tmp_path / "one", [record | {"boot_id": "a"} for record in records])
    notes = [note for note in compare_runs(several, one)["pairs"][0]["notes"] if "of one boot" in note]
    assert len(notes) == 1 and notes[0].startswith(f"{one}: ") and "--boots" in notes[0]


def test_it_refuses_runs_without_anything_in_common(tmp_path: Path) -> None:
    a = synthetic.write(tmp_path / "a", [synthetic.observation("cross", "none", 1)])
    b = synthetic.write(tmp_path / "b", [synthetic.observation("redis-lists", "none", 1)])
    with pytest.raises(ResultsError, match="in common"):
        compare_runs(a, b)


def test_command_json_and_table(sleep) -> None:
    found = json.loads(synthetic.run_command("compare", *sleep, "--json").stdout)
    assert found["pairs"][0]["a"]["directory"] == str(sleep[0]) and found["crossed"] == []
    plain = synthetic.run_command("compare", *sleep)
    assert plain.returncode == 0 and "0.079" in plain.stdout and "functional" in plain.stdout


def test_a_threshold_decides_the_exit_status(tmp_path: Path) -> None:
    a, same, slower = (write(tmp_path / n, noisy(m, s)) for n, m, s in (("a", 1000, 1), ("same", 1001, 2), ("b", 950, 3)))
    assert synthetic.run_command("compare", a, same, "--fail-if", "bandwidth < -3 %").returncode == 0
    assert synthetic.run_command("compare", a, slower, "--fail-if", "bandwidth < -8 %").returncode == 0
    assert synthetic.run_command("compare", a, slower, "--fail-if", "bandwidth > 3 %").returncode == 0
    failed = synthetic.run_command("compare", a, same, slower, "--paired", "--fail-if", "bandwidth < -3 %")
    assert failed.returncode == gate.STATUS
    line, = failed.stderr.splitlines()
    assert f"bandwidth < -3 %: {slower}: cross / none / bandwidth changed by -5.0 % (-5." in line and ", p " in line


@pytest.mark.parametrize(("rule", "said"), [("bandwidths < -3 %", "no metric of that name"), ("through* < -3%", "was not measured")])
def test_what_cannot_be_judged_fails(tmp_path: Path, rule: str, said: str) -> None:
    a, b = write(tmp_path / "a", SLEEP_2, throughput=2), write(tmp_path / "b", SLEEP_1)
    done = synthetic.run_command("compare", a, b, "--fail-if", rule)
    assert done.returncode == gate.STATUS and said in done.stderr and done.stderr.count("\n") == 1


def test_noise_beyond_a_threshold_fails_nothing(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", [900, 1000, 1100]), write(tmp_path / "b", [850, 950, 1050])
    assert gate.judge_rows(compare_runs(a, b), [gate.parse_threshold("bandwidth < -3 %")]) == []


def test_a_change_that_may_be_smaller_than_the_limit_fails_nothing(tmp_path: Path) -> None:
    """-4 % with an interval from -6 to -2 %: less than before, and perhaps not by 3 %."""
    values = [975, 1000, 1025] * 4
    a, b = write(tmp_path / "a", values), write(tmp_path / "b", [0.96 * v for v in values])
    found = compare_runs(a, b)
    assert row(found)["significant"] and row(found)["ratio_ci95_low"] < 0.97 < row(found)["ratio_ci95_high"]
    assert gate.judge_rows(found, [gate.parse_threshold("bandwidth < -3 %")]) == []
    assert len(gate.judge_rows(found, [gate.parse_threshold("bandwidth < -1 %")])) == 1


def test_one_observation_decides_nothing(tmp_path: Path) -> None:
    a, one = write(tmp_path / "a", [1000, 1001]), write(tmp_path / "one", [900])
    done = synthetic.run_command("compare", a, one, "--fail-if", "bandwidth < -3 %")
    assert done.returncode == 0
    line, = done.stderr.splitlines()
    assert line.endswith("bandwidth changed by -10.0 %, not judged: b / a has no interval")


def test_without_spread_the_interval_is_a_point(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", [1000, 1000]), write(tmp_path / "b", [900, 900])
    assert len(gate.judge_rows(compare_runs(a, b), [gate.parse_threshold("bandwidth < -3 %")])) == 1
    assert gate.judge_rows(compare_runs(a, b), [gate.parse_threshold("bandwidth < -11 %")]) == []


@pytest.mark.parametrize(("values", "crosses"), [([1000, 1002, 1004], 1), ([0.40, 0.41, 0.42], 1), ([5, 5, 5], 1), ([-30, 0, 33], 0), ([0, 0, 0], 0)])
def test_a_change_from_zero_is_beyond_each_limit(tmp_path: Path, values: list[float], crosses: int) -> None:
    found = compare_runs(write(tmp_path / "a", [0, 0, 0]), write(tmp_path / "b", values))
    more = gate.judge_rows(found, [gate.parse_threshold("bandwidth > 900 %")])
    assert len(more) == crosses and all("changed from 0 by +" in line and "+0 to" not in line for line in more)
    assert gate.judge_rows(found, [gate.parse_threshold("bandwidth < -3 %")]) == []


def test_one_observation_after_zero_decides_nothing(tmp_path: Path) -> None:
    found = compare_runs(write(tmp_path / "a", [0, 0]), write(tmp_path / "b", [7]))
    limits = [gate.parse_threshold("bandwidth > 5 %")]
    assert gate.judge_rows(found, limits) == [] and len(gate.list_undecided(found, limits)) == 1


@pytest.mark.parametrize("wrong", ["bandwidth", "bandwidth < 3", "bandwidth = 3 %", "< 3 %", "bandwidth < x %"])
def test_a_malformed_threshold_is_refused(wrong: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not METRIC < PERCENT"):
        gate.parse_threshold(wrong)

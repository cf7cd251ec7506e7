# SPDX-License-Identifier: GPL-2.0-only
"""What the order of a run shows after it; R's values are in test_reference_r.py."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from experiments.analysis.pages import summary
from experiments.analysis.runs.results import Results, read
from experiments.analysis.stats import run_order
from experiments.analysis.tests import synthetic
from experiments.drawn import draw
from experiments.runner import cli


def test_a_run_that_ends_before_it_is_precise_names_the_cells(tmp_path: Path, capsys) -> None:
    suite, out = tmp_path / "small.toml", tmp_path / "out"
    suite.write_text(SUITE)
    assert cli.main(["run", str(suite), "--out", str(out), "--repeat-until-ci", "0.000001%", "--max-repeats", "3"]) == 0
    told = "the precision of 1e-06 % was not reached in 1 cells: uniform-64K-local / none"
    assert f"small: {told}" in capsys.readouterr().out.splitlines()
    assert told in summary.notes(read(out)) and summary.NARROW in summary.notes(read(out))


SUITE = """
name = "small"
question = "?"
paper = "none"
machines = ["demo-2s"]
takes = "1 s"
design = "cachetest"
repeats = 2
warmups = 0
seed = 1
nodes = 1
responses = ["iterations"]
[factors]
pattern = ["uniform"]
alpha = [1.5]
size_kb = [64]
memory = ["local"]
[memory]
size = "64K"
kernel = "auto"
seconds = 0.01
warm = 0.002
pages = "default"
"""


@pytest.mark.parametrize(("noise", "said"), [(draw.drifting, "observations drift over the run: rate grows"),
                                             (draw.correlated, "observations depend on the one before them")])
def test_what_depends_on_the_order_is_noted(noise, said: str) -> None:
    results = draw.planned(noise, random.Random(2), 10)
    assert any(note.startswith(said) for note in run_order.notes(results))
    assert any(note.startswith(said) for note in summary.notes(results))


def drawn(folder: Path, shift, count: int = 40) -> Results:
    """A run of one cell with a steady bandwidth and times of its own; `shift` changes a record."""
    source = random.Random(8)
    records = [{"workload": "cross", "policy": "none", "repeat": k, "order": k, "platform": "real", "marks": [],
                "check": "ok", "started": f"2026-01-01T00:{k:02}:00+00:00", "metrics": [
                    {"name": "bandwidth", "unit": "MB/s", "value": source.gauss(1000, 10)},
                    {"name": "seconds", "unit": "s", "value": 0.0}]} for k in range(count)]
    for k, record in enumerate(records):
        record["metrics"][1]["value"] = source.gauss(2, 0.01)
        shift(k, record)
    return read(synthetic.write(folder, records))


def test_every_metric_is_looked_at(tmp_path: Path) -> None:
    def falls(k: int, record: dict) -> None:
        record["metrics"][1]["value"] -= 0.01 * k

    drifted, *_ = run_order.notes(drawn(tmp_path, falls))
    assert drifted.startswith("observations drift over the run: seconds falls (Kendall's tau -") and "bandwidth" not in drifted


def test_order_is_that_of_time_and_not_of_the_plan(tmp_path: Path) -> None:
    """What was made anew at the end has its old place in the plan."""
    def plan(k: int, record: dict) -> None:
        record["metrics"][1]["value"] += 0.01 * k
        record["order"] = record["repeat"] = (k * 17) % 40

    assert "seconds grows" in run_order.notes(drawn(tmp_path, plan))[0]


def test_a_multiple_of_a_metric_is_no_test_of_its_own(tmp_path: Path) -> None:
    def bus(_k: int, record: dict) -> None:
        record["metrics"].append({"name": "bandwidth_bus", "unit": "MB/s", "value": 1.5 * record["metrics"][0]["value"]})

    assert list(run_order.residuals(drawn(tmp_path, bus))) == ["bandwidth", "seconds"]


def test_steady_runs_are_seldom_noted() -> None:
    noted = sum(bool(run_order.notes(draw.planned(draw.normal(0.03), random.Random(seed), 10))) for seed in range(60))
    assert noted <= 5  # two tests at 0.01 each: 1 is to be expected


def test_too_few_observations_say_nothing() -> None:
    assert run_order.of([1.0, 2.0] * 5) is None and run_order.of([1.0] * 50) is None

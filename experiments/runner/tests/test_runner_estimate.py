# SPDX-License-Identifier: GPL-2.0-only
"""How long a suite takes: computed, kept, and cut to a budget."""

import json
import subprocess
import sys
from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.commands.experiment.cli import main
from experiments.errors import UsageError
from experiments.host import host_nodes
from experiments.runner import run as runs
from experiments.runner.records import manifest, results
from experiments.runner.run import Request, Runner
from experiments.runner.suite import designs, estimate, schedule
from experiments.runner.suite import suite as suites

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(estimate, "read_lab_name", lambda: None)


def made(name: str, on: str) -> suites.Suite:
    suite = suites.load_suite(name)
    nodes = host_nodes.select_usable(1, name, among=host_nodes.list_lab_nodes(on))
    return designs.expand_suite(suites.replace_levels(suite, suite.real), nodes)


@pytest.mark.parametrize("text, seconds", [("8h", 28800), ("90min", 5400), ("1h30min", 5400), ("45s", 45), ("0.5h", 1800)])
def test_a_budget_is_a_time_with_its_unit(text: str, seconds: float) -> None:
    assert estimate.parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["8", "h", "8 h", "1d", "-1h", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no time, as in 10min"):
        estimate.parse_budget(text)


def test_a_computed_time_is_that_of_all_observations_and_of_what_they_measure() -> None:
    suite = made("cachetest", "opteron-sixcore-4s")
    found = estimate.estimate_run(suite, None)
    assert found.source == "computed" and found.observations == len(schedule.make_schedule(suite)) == 10 * len(suite.workloads)
    measuring = 5.5 * found.observations
    assert measuring < found.seconds < 1.3 * measuring


def test_what_works_until_it_is_done_is_known_after_a_run() -> None:
    suite = made("sort", "xeon-e5-2620v4-2s")
    found = estimate.estimate_run(suite, None)
    assert found.seconds is None and "known after a first run" in found.source
    estimate.keep_estimate(suite, None, 60, 10)
    assert estimate.estimate_run(suite, None).seconds == 6 * found.observations
    assert estimate.estimate_run(suite, "xeon-e5-2620v4-2s").seconds is None, "the lab takes another time"


def test_a_kept_time_is_that_of_the_same_levels() -> None:
    suite = made("latency-matrix", "demo-2s")
    estimate.keep_estimate(suite, "demo-2s", 100, 10)
    assert estimate.estimate_run(suite, "demo-2s").source == "as here before"
    assert estimate.estimate_run(suite, "demo-2s").seconds == 10 * len(schedule.make_schedule(suite))
    assert estimate.estimate_run(replace(suite, levels={"chains": [16]}), "demo-2s").seconds is None
    estimate.keep_estimate(suite, "demo-2s", 1, 0)
    assert estimate.read_estimate(suite, "demo-2s") == 10, "a run that added nothing says nothing"


KEEP = """
import sys
from dataclasses import replace
from experiments.runner.suite import estimate, suite as suites
one = suites.load_suite("sort")
for k in range(100):
    estimate.keep_estimate(replace(one, name=f"{sys.argv[1]}-{k}"), "demo-2s", 1, 1)
"""


def test_runs_that_end_at_the_same_time_keep_the_times_of_each() -> None:
    running = [subprocess.Popen([sys.executable, "-c", KEEP, name], cwd=ROOT) for name in "abcd"]
    assert [one.wait(120) for one in running] == [0] * 4
    assert len(estimate._read_estimates()) == 400


def test_a_budget_takes_repeats_away() -> None:
    suite = made("latency-matrix", "demo-2s")
    estimate.keep_estimate(suite, None, 1, 1)
    assert len(suite.workloads) == 16 and suite.repeats == 10
    assert [estimate.limit_repeats(suite, seconds, None).repeats for seconds in (1000, 160, 159, 16)] == [10, 10, 9, 1]
    with pytest.raises(UsageError, match="one repeat of suite latency-matrix takes 16 s"):
        estimate.limit_repeats(suite, 15, None)


def test_a_budget_in_the_lab_of_an_unknown_time_takes_no_repeat_away() -> None:
    suite = made("latency-matrix", "demo-2s")
    assert estimate.limit_repeats(suite, 3600, "demo-2s") == suite


@pytest.mark.parametrize(("budget", "made_in_it"), [(45, 5), (0, 0)])  # the fifth begins at 40 s, no sixth at 50
def test_no_observation_begins_after_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, budget: float, made_in_it: int) -> None:
    """The clock of this test: an observation takes 10 s."""
    suite, now = made("latency-matrix", "demo-2s"), [0.0]
    monkeypatch.setattr(runs.time, "monotonic", lambda: now[0])

    class Observer:
        left_behind = None

        def observe(self, trial: schedule.Trial) -> dict:
            now[0] += 10
            return {"workload": trial.workload.name, "policy": "none", "repeat": trial.repeat, "order": trial.order,
                    "seconds": 10, "metrics": [], "marks": []}

    writer = results.Writer(tmp_path)
    Runner(Request(suite, tmp_path, budget=budget), Observer(), writer, lambda *_: None, []).make_all()
    writer.close()
    assert results.count_records(tmp_path) == made_in_it


def test_a_run_goes_on_with_the_repeats_that_it_began_with(tmp_path: Path) -> None:
    """What an observation takes is known only now; with it the budget would be enough for two."""
    suite = made("latency-matrix", "demo-2s")
    manifest.write_manifest(tmp_path, {"repeats": 9})
    estimate.keep_estimate(suite, None, 1, 1)
    request = Request(suite, tmp_path, resume=True, budget=32)
    assert runs.plan_run(request, None).suite.repeats == 9
    assert runs.plan_run(replace(request, resume=False), None).suite.repeats == 2
    assert runs.plan_run(replace(request, suite=replace(suite, repeats=1)), None).suite.repeats == 1, "other words: refused later"


def test_a_list_of_times(capsys: pytest.CaptureFixture[str]) -> None:
    suite = designs.expand_suite(suites.load_suite("latency-matrix"), host_nodes.list_lab_nodes("demo-2s"))
    estimate.keep_estimate(suite, "demo-2s", 480, 48)
    assert main(["list", "--time", "--json"]) == 0
    rows = {(row["suite"], row["on"]): row for row in json.loads(capsys.readouterr().out)}
    assert rows["latency-matrix", "demo-2s"] == {
        "suite": "latency-matrix", "on": "demo-2s", "observations": 48, "seconds": 480, "by": "as here before"}
    assert rows["latency-matrix", "here"]["by"] == "computed" and rows["latency-matrix", "here"]["seconds"] > 0
    assert rows["cachetest", "opteron-sixcore-4s"]["seconds"] is None


def test_a_run_that_goes_on_has_boots_for_the_repeats_that_it_began_with(tmp_path: Path) -> None:
    suite = replace(made("latency-matrix", "demo-2s"), repeats=3)
    manifest.write_manifest(tmp_path, {"repeats": 2})
    request = runs.plan_run(Request(suite, tmp_path, resume=True, budget=3600, boots=3), "demo-2s")
    assert (request.suite.repeats, request.boots) == (2, 2)

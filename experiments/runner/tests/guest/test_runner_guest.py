# SPDX-License-Identifier: GPL-2.0-only
"""In a machine with two nodes: what the policies do, and that a run can be killed and gone on with."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.host import host_nodes
from experiments.host.guard import Guard
from experiments.host.process import read_processes
from experiments.host.tool import Numaplace
from experiments.runner.observe import Observer
from experiments.runner.suite import schedule
from experiments.runner.suite import suite as suites
from experiments.runner.tests import schemas
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[4]
SUITE = replace(suites.load_suite("policy-matrix"), parameters={
    "triad": {"size": "1M", "kernel": "auto", "seconds": 0.2, "warm": 0.0},
    "redis": {"elements": 500, "max_length": 900, "load_pipeline": 500, "pipeline": 250}})
# Of the pages of all tasks, those beside their task when nothing is done.
START = {"contention-1L1R": 1 / 2, "contention-0L2R": 0, "contention-2L2R": 1 / 2, "cross": 0,
         "split": 1 / 4, "redis-lists": 0, "redis-keys": 0, "redis-zsets": 0}
NOISE = 0.03
LIMIT = 180  # s


def observe(workload: str, policy: str, scratch: Path, engine: str = "auto") -> dict:
    trial = schedule.Trial(next(w for w in SUITE.workloads if w.name == workload), policy, 0, 0, False)
    nodes = host_nodes.select_usable(SUITE.nodes, SUITE.name)
    record = Observer(SUITE, nodes, Numaplace(engine=engine), scratch).observe(trial)
    print(json.dumps(record))
    # A busy host may keep one of the machine's CPUs waiting: that is marked, but no fault here.
    marks = [mark for mark in record["marks"] if "measured together" not in mark]
    assert (marks, record["check"]) == ([], "ok")
    assert record["platform"].startswith("lab-")
    assert schemas.list_faults("results", json.loads(json.dumps(record))) == []
    return record


def metrics(record: dict) -> dict[str, float]:
    return {metric["name"]: metric["value"] for metric in record["metrics"]}


def choose(*few: str) -> list:
    """Every workload; but for these few in make check-full."""
    return [pytest.param(name, marks=[pytest.mark.full("a workload more of the same run")] * (name not in few)) for name in START]


@pytest.mark.parametrize("workload", choose("contention-0L2R", "redis-lists"))
def test_none_leaves_pages_and_tasks_where_they_were(workload: str, tmp_path: Path) -> None:
    record = observe(workload, "none", tmp_path)
    values = metrics(record)
    assert values["locality_before"] == pytest.approx(START[workload], abs=NOISE)
    assert values["locality_after"] == pytest.approx(START[workload], abs=NOISE)
    assert values["pages_moved"] == 0
    check_solution(record)
    for task in record["tasks"]:
        assert task["node_after"] == task["node_before"]


@pytest.mark.parametrize("workload", choose("contention-2L2R", "split", "redis-keys"))
def test_maximum_local_brings_tasks_and_pages_together(workload: str, tmp_path: Path) -> None:
    record = observe(workload, "maximum-local", tmp_path)
    values = metrics(record)
    assert values["locality_before"] == pytest.approx(START[workload], abs=NOISE)
    assert values["locality_after"] >= 0.95
    first = "throughput" if "redis" in workload else "bandwidth"
    assert record["metrics"][0]["name"] == first and values[first] > 0
    for decision in record["apply"]["decisions"]:
        assert decision["penalty"]["source"] == "declared"
    check_cost(record)
    check_solution(record)
    check_samples(record)
    if workload == "contention-2L2R":
        check_overflow(record)


def test_a_policy_is_told_what_its_level_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMAPLACE_MACHINE_FILE", str(ROOT / "experiments/lab/machines/demo-2s.toml"))

    def applied(level: str) -> dict:
        return observe("contention-0L2R", level, tmp_path)["apply"]

    nothing = applied("measured:pages=stay#knows=nothing")
    assert {decision["penalty"]["source"] for decision in nothing["decisions"]} == {"machine"}
    wrong = applied("measured:pages=stay#knows=nothing#links=-90")
    assert wrong["predicted"]["throughput"][0] < 0.5 * nothing["predicted"]["throughput"][0]


def check_solution(record: dict) -> None:
    """The step of applying lasts until the work has ended, or the placement if that is later."""
    assert 0 < metrics(record)["time_to_solution"] <= record["steps"]["apply"] + 0.001


def check_cost(record: dict) -> None:
    """Moving is a part of apply, and bytes are the moved pages'."""
    cost = record["cost"]
    assert cost["moved_bytes"] == os.sysconf("SC_PAGESIZE") * metrics(record)["pages_moved"]
    assert 0 <= cost["move_s"] <= cost["apply_s"] <= record["steps"]["apply"] + 0.001
    assert (cost["move_s"] > 0) == (cost["moved_bytes"] > 0) and cost["watched_s"] == SUITE.sample


def check_samples(record: dict) -> None:
    """Before apply, after it, and after the measurement: what moved is where it was sent."""
    before, applied, measured = record["samples"]
    begin, end = record["apply_at"]
    assert before["t_s"] <= begin < end <= applied["t_s"] < measured["t_s"]
    assert [s["moved"] for s in (before, applied, measured)] == [0] + 2 * [metrics(record)["pages_moved"]]
    for task in record["tasks"]:
        assert before["pages"][task["role"]] == task["pages_before"]
        assert measured["pages"][task["role"]] == task["pages_after"]
        at = str(task["node_after"])
        assert applied["pages"][task["role"]][at] == pytest.approx(task["pages_after"][at], rel=0.05)


def check_overflow(record: dict) -> None:
    """Four processes, two CPUs on their home node: the two of lower penalty go, with their pages."""
    went = {task["role"] for task in record["tasks"] if task["node_after"] != 0}
    assert went == {"local-1", "remote-1"}
    pages = sum(sum(t["pages_before"].values()) for t in record["tasks"] if t["role"] in went)
    assert metrics(record)["pages_moved"] >= 0.95 * pages


def test_n_mass_gives_up_locality_where_caches_are_uneven(tmp_path: Path) -> None:
    record = observe("contention-0L2R", "n-mass", tmp_path)
    assert {task["role"]: task["node_after"] for task in record["tasks"]} == {"remote-0": 0, "remote-1": 1}
    assert metrics(record)["pages_moved"] == 0


@pytest.mark.parametrize("engine", [pytest.param("module", marks=pytest.mark.full("what the tests above have")), "syscall"])
def test_either_engine(engine: str, tmp_path: Path) -> None:
    record = observe("cross", "maximum-local", tmp_path, engine)
    assert metrics(record)["locality_after"] >= 0.95
    assert {d["result"]["engine"] for d in record["apply"]["decisions"]} == {engine}


def test_numa_balancing_is_off_meanwhile_and_back_afterwards() -> None:
    sysctl = Path("/proc/sys/kernel/numa_balancing")
    sysctl.write_text("1")
    try:
        with Guard() as guard:
            guard.write(sysctl, "0")
            assert sysctl.read_text().strip() == "0"
        assert sysctl.read_text().strip() == "1"
    finally:
        sysctl.write_text("0")


def run(out: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "experiments.commands.experiment", "run", "policy-matrix", "--quick", "--out", out,
         "--workloads", "contention-1L1R,cross", "--placements", "maximum-local", "--repeats", "1", *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def workers() -> list[int]:
    # pid (comm) state: an ended process is a zombie (Z) until the machine's init reaps it
    stats = ((pid, content.rpartition(b")")) for pid, content in read_processes("stat"))
    return [pid for pid, (name, _, rest) in stats if name.endswith(b"(np-mem") and rest.split()[0] != b"Z"]


def lines(out: Path) -> list[dict]:
    path = out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def placements() -> str:
    """Everything that the module still holds."""
    return Path("/sys/kernel/debug/numaplace/placements").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.full("two runs, as for SIGTERM"))])
@pytest.mark.long("two runs")
def test_a_killed_run_leaves_nothing_behind_and_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    first = run(tmp_path)
    try:
        # In the middle of the second observation: both of its tasks are there.
        assert eventually(lambda: len(lines(tmp_path)) >= 1 and len(workers()) == 2, LIMIT)
        os.kill(first.pid, number)
        _out, said = first.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        first.send_signal(signal.SIGABRT)  # says what each thread does
        pytest.fail(first.communicate(timeout=LIMIT)[1])
    finally:
        first.kill()
    assert eventually(lambda: not workers(), LIMIT)
    assert eventually(lambda: placements() == "", LIMIT)
    if number == signal.SIGTERM:
        assert first.returncode == 128 + number
        assert said.count("\n") == 1 and "nothing that it placed is left" in said
    done = lines(tmp_path)
    assert {record["order"] for record in done} == {0}
    second = run(tmp_path, "--resume")
    _out, said = second.communicate(timeout=LIMIT)
    assert second.returncode == 0, (said, [record["marks"] for record in lines(tmp_path)])
    whole = lines(tmp_path)
    assert whole[:len(done)] == done
    assert {record["order"] for record in whole} == {0, 1}

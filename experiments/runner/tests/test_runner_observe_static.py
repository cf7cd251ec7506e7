# SPDX-License-Identifier: GPL-2.0-only
"""Whole small runs on this machine, one node of it: observations, precision, resuming, missing programs."""

import json
import os
import random
import re
import shutil
import socket
import threading
from pathlib import Path
from statistics import fmean

import pytest

from experiments.commands.campaign.piece import list_suites
from experiments.commands.experiment.cli import main
from experiments.runner.options import RunOptions
from experiments.runner.records import results
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.mem import Memory
from experiments.runner.workloads.redis import AIM_SECONDS, Redis, RedisBenchmark
from experiments.runner.workloads.workload import Measured, make_metric

SUITE = """
name = "small"
question = "?"
paper = "none"
machines = ["demo-2s"]
takes = "1 s"
design = "{design}"
repeats = {repeats}
warmups = 1
seed = 1
nodes = 1
responses = ["iterations"]
[factors]
{factors}
[memory]
size = "64K"
kernel = "auto"
seconds = 0.01
warm = 0.002
pages = "default"
[redis-times]
max_length = 20
interval = 0.05
[redis-benchmark]
requests = 20000
clients = 2
keys = 100
value_bytes = 10
tests = "set,get,lpush,zadd"
range_requests = 2000
range_tests = "lrange_100"
[stealing]
scale = 2
passes = 2
[redis-memtier]
requests = 300
clients = 2
keys = 100
value_bytes = 10
ratio = "1:3"
"""
CACHETEST = 'pattern = ["uniform"]\nalpha = [1.5]\nsize_kb = [64, 128]\nmemory = ["local"]'


@pytest.fixture
def run(tmp_path: Path, capfd):
    def go(design: str, factors: str, *words: str, repeats: int = 1) -> tuple[int, list[dict], str]:
        path = tmp_path / "small.toml"
        path.write_text(SUITE.format(design=design, factors=factors, repeats=repeats))
        status = main(["run", str(path), "--out", str(tmp_path / "out"), *words])
        return status, results.read_records(tmp_path / "out"), capfd.readouterr().err
    return go


def values(record: dict) -> dict[str, float]:
    return {m["name"]: m["value"] for m in record["metrics"]}


def test_a_run_has_factors_metrics_and_verified_pages(run) -> None:
    status, found, said = run("cachetest", CACHETEST, repeats=2)
    assert (status, said) == (0, "")
    assert [r.get("warmup", False) for r in found] == [True] * 2 + [False] * 4
    for record in found:
        assert record["platform"] == "real" and (record["marks"], record["check"]) == ([], "ok")
        assert record["factors"]["size_kb"] in (64, 128) and values(record)["iterations"] > 0
        task, = record["tasks"]
        assert task["pages_after"] == {"0": record["factors"]["size_kb"] // 4}
        assert task["locality_after"] == 1 and task["details"]["samples_ns"]


@pytest.mark.parametrize("words", [(), ("--quick",)], ids=["whole", "quick"])
def test_the_manifest_keeps_the_machine_s_doubts(run, tmp_path: Path, words: tuple[str, ...]) -> None:
    run("cachetest", CACHETEST, *words)
    doubts = " ".join(json.loads((tmp_path / "out" / "manifest.json").read_text())["doubts"])
    assert ("virtual machine" in doubts) == ("hypervisor" in Path("/proc/cpuinfo").read_text().split())
    assert ("--quick" in doubts, "may fit into this machine's caches" in doubts) == 2 * (bool(words),)


def test_it_repeats_until_the_means_are_precise_and_goes_on_so(run, tmp_path: Path) -> None:
    _status, found, _ = run("cachetest", CACHETEST, "--repeat-until-ci", "0.000001%", "--max-repeats", "4")
    assert sorted((r["workload"], r["repeat"]) for r in found if not r.get("warmup")) == [
        (name, k) for name in ("uniform-128K-local", "uniform-64K-local") for k in range(4)]
    path = tmp_path / "out" / results.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-3]) + lines[-3][:40])  # as a kill leaves it
    status, again, _ = run("cachetest", CACHETEST, "--repeat-until-ci", "0.000001%", "--max-repeats", "4", "--resume")
    assert status == 0 and len(again) == len(found)
    assert [r["order"] for r in again] == [r["order"] for r in found]
    status, _, said = run("cachetest", CACHETEST, "--resume")
    assert status == 2 and "its repeat until ci differs" in said
    assert again[:-3] == found[:-3]
    assert {(r["workload"], r["repeat"]) for r in again} == {(r["workload"], r["repeat"]) for r in found}


@pytest.mark.parametrize("experiment", ["lists", "tokens", "keys", "zsets"])
def test_redis_times(run, experiment: str) -> None:
    status, found, said = run("redis-times", f'experiment = ["{experiment}"]\nsize = [300]\n'
                              'pipeline = [1]\nmemory = ["local"]')
    assert (status, said) == (0, "")
    record = found[-1]
    assert record["factors"] == {"experiment": experiment, "size": 300, "pipeline": 1, "memory": "local"}
    got = values(record)
    assert got["seconds"] == pytest.approx(got["seconds_load"] + got["seconds_update"])
    assert 0 < got["latency_p50"] <= got["latency_p99"] <= got["latency_p999"]
    server, client = record["tasks"]
    assert [server["role"], client["role"]] == ["server", "client"]
    data = client["details"]["data_set"]
    assert data["elements"] > 0 and re.fullmatch("[0-9a-f]{16}", data["digest"])


def test_redis_benchmark_has_a_metric_a_command(run) -> None:
    """A fast command is measured with more requests than are asked for."""
    status, found, said = run("redis-benchmark", 'pipeline = [1, 2]\nmemory = ["local"]',
                              "--set", "redis-benchmark.requests=5", "--set", "redis-benchmark.range_requests=2")
    assert (status, said) == (0, "")
    commands = {"set", "get", "lpush", "zadd", "lrange_100"}
    for record in found:
        got, rows = values(record), record["tasks"][0]["details"]["rows"]
        assert (record["marks"], record["check"]) == ([], "ok")
        assert {row["test"].partition(" ")[0].lower(): row["requests"] > 5 for row in rows} == dict.fromkeys(commands, True)
        assert set(got) == {c + name for c in commands for name in ("", "_latency_p50", "_latency_p99")}
        assert min(got.values()) > 0 and all(got[f"{c}_latency_p50"] <= got[f"{c}_latency_p99"] for c in commands)


def test_redis_benchmark_as_the_paper_runs_it(run) -> None:
    """All its commands with 3-byte values and one key each, beside larger values at random keys."""
    tests = "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,mset"
    cases = f'[{{ value_bytes = 3, keys = 0, requests = 500, tests = "{tests}" }}, {{ value_bytes = 64, keys = 50, requests = 500 }}]'
    status, found, said = run("redis-benchmark", f'pipeline = [1]\nmemory = ["local"]\ncase = {cases}')
    assert (status, said) == (0, "")
    by_size = {r["factors"]["value_bytes"]: r for r in found if not r.get("warmup")}
    assert set(by_size) == {3, 64} and all((r["marks"], r["check"]) == ([], "ok") for r in found)
    assert {*tests.split(","), "lrange_100"} == {name for name in values(by_size[3]) if "latency" not in name}
    assert "spop" not in values(by_size[64]) and "zadd" in values(by_size[64])


def test_ranges_of_several_lengths_are_counted_together(monkeypatch) -> None:
    """The server counts every LRANGE as one command."""
    benchmark = RedisBenchmark.__new__(RedisBenchmark)
    benchmark.timed_tests = {f"LRANGE_{n}": ({"test": f"LRANGE_{n}"}, 100) for n in (100, 300)}
    monkeypatch.setattr(benchmark, "ask", lambda command: "600")
    counted = {"lrange": (200, 0)}
    monkeypatch.setattr(benchmark, "count_calls", lambda: counted)
    assert benchmark.verify() == "ok"
    counted["lrange"] = (199, 0)
    assert benchmark.verify().startswith("lrange: 199 commands counted by the server, 0 failed, 200 asked for")


def test_both_runtimes_have_one_serial_baseline(run) -> None:
    """One worker on the first node with its data there, in a process of its own, whatever the runtime's data."""
    status, found, said = run("work-stealing", 'benchmark = ["heat"]\nruntime = ["vanilla", "locality"]\n'
                              'data = ["first", "spread"]')
    assert (status, said) == (0, "")
    assert {(r["factors"]["runtime"], r["factors"]["data"]) for r in found} == {
        (runtime, data) for runtime in ("vanilla", "locality") for data in ("first", "spread")}
    for record in found:
        got, said = values(record), record["tasks"][0]["details"]
        assert got["seconds_serial"] == pytest.approx(fmean(said["serial"])) and len(said["serial"]) == 2
        assert said["one_worker"] != said["serial"]
        assert got["speedup"] == pytest.approx(got["seconds_serial"] / got["seconds"])
        assert got["serial_ratio"] == pytest.approx(got["seconds_one_worker"] / got["seconds_serial"])


STAND_IN = Path(__file__).with_name("memtier_stand_in.py")


@pytest.fixture(params=["stand-in", "installed"])
def memtier(request, tmp_path: Path, monkeypatch) -> None:
    """No package of Debian 12 has it: the runner's part is tested by a stand-in that speaks to the same
    server and writes the same JSON, and the program itself where it is installed."""
    if request.param == "installed":
        if not shutil.which("memtier_benchmark"):
            pytest.skip("memtier_benchmark is not installed, and no package has it; the stand-in runs")
        return
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "memtier_benchmark").symlink_to(STAND_IN)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_memtier_fills_and_then_asks_for_what_is_there(run, memtier) -> None:
    status, found, said = run("redis-memtier", 'pipeline = [1, 16]\nmemory = ["local"]')
    assert (status, said) == (0, "")
    for record in found:
        got = values(record)
        assert got["throughput"] == pytest.approx(got["set"] + got["get"], rel=0.01)
        assert got["get"] == pytest.approx(3 * got["set"], rel=0.01)
        assert 0 < got["latency_p50"] <= got["latency_p99"] <= got["latency_p999"]


@pytest.mark.parametrize("memtier", ["stand-in"], indirect=True)
@pytest.mark.parametrize("fault, said", [
    ("lazy", "commands counted by the server, 0 failed, 700 asked for"), ("forgets", "99 keys of 100 are there"),
    ("misses", "5.0 gets a second missed their key"), ("old", "its JSON has no 'Percentile Latencies'"),
    ("silent", "has no 'ALL STATS'")])
def test_what_memtier_did_not_do_is_found(run, memtier, monkeypatch, fault: str, said: str) -> None:
    monkeypatch.setenv("STAND_IN", fault)
    status, found, _ = run("redis-memtier", 'pipeline = [1]\nmemory = ["local"]')
    assert status == 1
    assert found and all(said in " ".join([*record["marks"], record["check"]]) for record in found)


def without_memtier(monkeypatch) -> None:
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "memtier_benchmark" else real(name))


def test_all_leaves_out_what_needs_a_program_that_debian_does_not_have(monkeypatch, capsys) -> None:
    without_memtier(monkeypatch)
    names = {name for name, _ in list_suites(RunOptions(lab=""))}
    assert "redis-benchmark" in names and "redis-memtier" not in names
    assert "redis-memtier: left out, memtier_benchmark is not installed" in capsys.readouterr().out


def test_a_command_that_was_over_at_once_is_asked_for_more(monkeypatch) -> None:
    """The host held up the pilot, so that too few requests were asked for: redis-benchmark says inf."""
    benchmark = RedisBenchmark.__new__(RedisBenchmark)
    monkeypatch.setattr(benchmark, "_read_rows", lambda _tests, n: [{"test": "SET", "rps": "1e5" if n >= 1000 else "inf"}])
    assert benchmark._time_tests("set", 30) == [({"test": "SET", "rps": "1e5"}, 3000)]


def test_the_mean_of_fast_commands_is_not_lowered(monkeypatch) -> None:
    """Of 245 000 a second with 5 % deviation, as redis-benchmark prints them after whole milliseconds. A rule that
    took only observations of 30 ms or more kept 32 % of these, with a mean 7 % too low."""
    draw, true, kept = random.Random(9), 245_000, []
    benchmark = RedisBenchmark.__new__(RedisBenchmark)
    benchmark.placed = False
    benchmark.options = {"tests": "set", "requests": 7000, "range_tests": "", "range_requests": 0, "clients": 10}

    def rows(_tests: str, requests: int) -> list[dict[str, str]]:
        ticks = int(1000 * requests / draw.gauss(true, 0.05 * true) + draw.random())
        return [{"test": "SET", "rps": f"{1000 * requests / ticks:.2f}" if ticks else "inf"}]

    monkeypatch.setattr(benchmark, "_read_rows", rows)
    monkeypatch.setattr(benchmark, "ask", lambda command: "OK")
    for _ in range(400):
        measured = benchmark.measure()
        assert measured.marks == []
        kept.append(measured.metrics[0]["value"])
    assert len(kept) == 400 and fmean(kept) == pytest.approx(true, rel=0.01)
    assert fmean(n for _, n in benchmark.timed_tests.values()) > 0.7 * AIM_SECONDS * true


def test_a_program_that_is_not_installed_stops_the_run_before_it_begins(run, monkeypatch, tmp_path: Path) -> None:
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "redis-benchmark" else real(name))
    status, found, said = run("redis-benchmark", 'pipeline = [1]\nmemory = ["local"]')
    assert status == 3 and not found and "redis-benchmark is not installed: apt-get install redis-tools" in said


@pytest.mark.parametrize("error", [ProcessLookupError(3, "No such process"), ZeroDivisionError("division by zero")])
def test_an_error_of_python_s_own_is_a_mark_too(run, monkeypatch, error: Exception) -> None:
    def measure(_self: Memory) -> None:
        raise error

    monkeypatch.setattr(Memory, "measure", measure)
    status, found, _ = run("cachetest", CACHETEST)
    assert status == 1 and found
    for record in found:
        assert record["marks"] == [f"{type(error).__name__}: {error}"] and record["check"] == "not reached"


def test_what_is_no_number_is_left_out_and_marked(run, monkeypatch) -> None:
    real = Memory.measure

    def measure(self: Memory) -> Measured:
        measured = real(self)
        measured.metrics.append(make_metric("ratio", "1", float("inf")))
        return measured

    monkeypatch.setattr(Memory, "measure", measure)
    _status, found, _ = run("cachetest", CACHETEST)
    for record in found:
        assert record["marks"] == ["no number: ratio"] and "ratio" not in values(record)


def test_a_failing_worker_is_a_mark_and_the_run_goes_on(run) -> None:
    """One set is larger than any machine's memory."""
    status, found, said = run("cachetest", CACHETEST.replace("128", "200000000000"))
    assert status == 1 and "2 observations are marked" in said
    marked = [r for r in found if r["marks"]]
    assert marked and all(r["factors"]["size_kb"] == 200000000000 and r["check"] == "not reached" for r in marked)
    assert any("np-mem" in mark for mark in marked[0]["marks"])
    assert any(r["factors"]["size_kb"] == 64 and r["check"] == "ok" for r in found)


def test_list_shows_every_suite_with_its_time(capsys) -> None:
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    for name in suites.list_names():
        assert re.search(rf"^{name}: .*\?$", said, re.MULTILINE), name
    assert said.count("  takes  ") == len(suites.list_names())
    main(["list", "--json"])
    assert {s["name"] for s in json.loads(capsys.readouterr().out)} == set(suites.list_names())


def test_a_server_that_ends_before_its_answer_spoils_the_observation(tmp_path: Path) -> None:
    """As a value that is no number: such an observation is marked, and the run goes on."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "redis.sock"))
        listening.listen()

        def read_and_close() -> None:
            with listening.accept()[0] as connection:
                connection.recv(100)

        thread = threading.Thread(target=read_and_close)
        thread.start()
        server = object.__new__(Redis)
        server.path = tmp_path / "redis.sock"
        with pytest.raises((ValueError, OSError)):
            server.ask("INFO")
        thread.join()

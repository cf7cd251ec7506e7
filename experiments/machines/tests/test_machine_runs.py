# SPDX-License-Identifier: GPL-2.0-only
"""The record that is taken from runs on a machine."""

import json
from pathlib import Path

import pytest

from experiments.errors import UsageError
from experiments.machines import __main__ as command
from experiments.machines import record, runs
from experiments.machines.tests import made_runs


def change(file: Path, **values: object) -> None:
    first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(json.loads(first) | values), *rest]) + "\n")


def test_the_figures_are_those_of_the_runs(tmp_path: Path) -> None:
    folders = made_runs.write_runs(tmp_path / "runs")
    found = runs.collect_record(folders, tmp_path / "runs" / made_runs.MACHINE)
    measured = found["measured"]
    assert measured["latency"]["mean"] == [[90, 140], [140, 90]] and measured["latency"]["n"] == [[3, 3], [3, 3]]
    assert measured["latency"]["half"][0][0] == pytest.approx(2.483), "Student's t of -1, 0, 1"
    assert measured["bandwidth"]["mean"] == [[9600, 4800], [4800, 9600]]
    assert {"delay": 500, "latency_ns": 600.0, "bandwidth_mb_s": 9000.0, "n": 3}.items() <= measured["loaded_latency"][1].items()
    assert {(row["access"], row["threads"]): row["bandwidth_mb_s"] for row in measured["numa_stream"]}["unstrided", 8] == 24000
    assert measured["contention"][2] == {"node": 0, "other": 1, "local": 1, "remote": 1, "local_mb_s": 4800, "local_mb_s_half": 20,
                                         "remote_mb_s": 2500, "remote_mb_s_half": 20}
    assert found["model"][0].startswith("machine name=measured ") and "dram_bytes_per_s=12800000000" in found["model"][1]
    assert found["machine"] == {
        "cpu_model": "Intel(R) Xeon(R) Gold 6430", "kernel": "6.12", "numa_balancing": 1, "virtual": False, "load_most": 0.5,
        "nodes": [{"id": k, "cpus": 4, "memory_mib": 1024} for k in (0, 1)], "distances": [[10, 21], [21, 10]]}
    assert found["missing"] == {}


def test_a_row_has_the_fewest_observations_of_its_metrics() -> None:
    one, other = ({"name": "bandwidth", "unit": "MB/s", "value": 5}, {"name": "latency", "unit": "ns", "value": 3})
    observations = [{"factors": {"load": 1}, "metrics": metrics} for metrics in ([one, other], [one], [one])]
    (row,) = runs.make_table(observations, ("load",), ("latency", "bandwidth"))
    assert (row["n"], row["bandwidth_mb_s"], row["latency_ns"]) == (1, 5, 3)


def test_orders_of_cpus_are_rows_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [({"operation": "copy", "access": "unstrided", "memory": "local", "threads": n, "spread": spread}, {"bandwidth": rate * n})
             for n in (1, 8) for spread, rate in (("l3", 3000.0), ("compact", 2000.0))]
    monkeypatch.setitem(made_runs.SUITES, made_runs.STREAM, cells)
    rows = runs.collect_record(made_runs.write_runs(tmp_path / "runs"), None)["measured"]["numa_stream"]
    assert {(row["threads"], row["spread"]): (row["bandwidth_mb_s"], row["n"]) for row in rows} == {
        (1, "l3"): (3000, 3), (1, "compact"): (2000, 3), (8, "l3"): (24000, 3), (8, "compact"): (16000, 3)}


def test_two_runs_of_a_suite_are_refused(tmp_path: Path) -> None:
    folders = made_runs.write_runs(tmp_path / "runs")
    with pytest.raises(UsageError, match="two are runs of latency-matrix: give one of each suite"):
        runs.collect_record([*folders, folders[0]], None)


def test_an_observation_with_a_mark_is_left_out(tmp_path: Path) -> None:
    folders = made_runs.write_runs(tmp_path / "runs")
    change(folders[0] / "results.jsonl", marks=["somebody else ran"])
    assert runs.collect_record(folders, None)["measured"]["latency"]["n"] == [[2, 3], [3, 3]]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    first, *_ = made_runs.write_runs(tmp_path / "runs")
    found = runs.collect_record([first], None)
    assert {*found["missing"]} == {runs.CALIBRATION, *runs.TABLES} and "model" not in found


def test_a_virtual_machine_is_told(tmp_path: Path) -> None:
    first, *_ = made_runs.write_runs(tmp_path / "runs")
    change(first / "manifest.json", doubts=["this is a virtual machine: its nodes need not be the host's"])
    assert runs.collect_record([first], None)["machine"]["virtual"]


@pytest.mark.parametrize(("file", "values", "says"), [
    ("manifest.json", {"platform": "lab-timed"}, "is of a machine of the lab"),
    ("manifest.json", {"cpu": {"model": "another"}}, "are of several machines"), ("manifest.json", {"topology": None}, "is no run"),
    ("results.jsonl", {"policy": "start-interleave"}, "a run of latency-matrix has placements (start-interleave): give one without")])
def test_runs_that_make_no_record_are_refused(tmp_path: Path, file: str, values: dict, says: str,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    folders = made_runs.write_runs(tmp_path / "runs")
    change(folders[0] / file, **values)
    assert command.main(["--record", str(tmp_path / "x.json"), *map(str, folders)]) in (1, 2)
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1 and not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("content", [b"\xff", b"= 1", b"measured = 3", b"[measured]\nbandwidth = [{ from = 0, to = 0 }]"])
def test_a_machine_file_of_another_program_is_refused(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    folders, file = made_runs.write_runs(tmp_path / "runs"), tmp_path / "other.toml"
    file.write_bytes(content)
    assert command.main(["--record", str(tmp_path / "x.json"), "--machine-file", str(file), *map(str, folders)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"machines: {file}: cannot be read (") and error.count("\n") == 1


def test_the_text_is_sorted_and_read_back(tmp_path: Path) -> None:
    folders, file = made_runs.write_runs(tmp_path / "runs"), tmp_path / "box.json"
    words = ["--record", str(file), "--machine-file", str(tmp_path / "runs" / made_runs.MACHINE)]
    assert command.main([*words, *map(str, folders)]) == 0
    found, text = record.read_record(file), file.read_text()
    assert record.format_record(found) == text and '   "mean": [\n    [90.0, 140.0],\n    [140.0, 90.0]\n   ],\n' in text
    keys = [line for line in text.splitlines() if line.startswith(' "')]
    assert keys == sorted(keys) and len(keys) == len(found)

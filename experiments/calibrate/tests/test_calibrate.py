# SPDX-License-Identifier: GPL-2.0-only
"""The search for the model's numbers, and the machine file that it ends in; what is measured, bench-lab shows."""

import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.bench.lab.inside import ROOT
from experiments.calibrate import __main__ as calibrate
from experiments.calibrate import hardware, pattern_search, picture, teams
from experiments.calibrate.measure import Effort, Triads, Value
from experiments.host import host_nodes
from experiments.lab import machine
from experiments.model_fit.native import TRIAD

KNOWN = pattern_search.Known(2, 64, picture.HEADER_BYTES, 80, 50)
TRUE = pattern_search.Numbers(outstanding=10, dram_mb_s=12800, dram_variability=0.1, link_mb_s=6400, link_variability=0.1,
                   port_mb_s=30000)
THREADS = range(5)


def predict_cells() -> list[pattern_search.Cell]:
    model, found = pattern_search.build_model(KNOWN, TRUE), []
    for local in THREADS:
        for remote in THREADS:
            flows = [(0, 0, local)] * bool(local) + [(1, 0, remote)] * bool(remote)
            if flows:
                found.append(pattern_search.Cell(flows, [value / 1e6 for value in model.compute_bandwidths(flows, TRIAD)]))
    return found


def test_the_search_comes_back_to_the_numbers_that_made_a_table():
    start = pattern_search.Numbers(7, 10000, 0.3, 5000, 0.3, 20000)
    found, residual = pattern_search.search_numbers(KNOWN, start, predict_cells())
    assert residual < 0.005
    for name in ("outstanding", "dram_mb_s", "link_mb_s"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.06), name
    worse = sum(map(abs, pattern_search.compute_residuals(KNOWN, start, predict_cells(), 10000))) / len(predict_cells())
    assert worse > 0.02


def test_an_interval_is_students():
    value = Value.from_samples([10.0, 12.0, 14.0])
    assert value.mean == 12 and value.half == pytest.approx(4.30 * 2 / 3 ** 0.5) and value.n == 3


def make_node(number: int, cpus: tuple[int, ...], mib: int, distances: dict[int, int]) -> host_nodes.Node:
    return host_nodes.Node(number, cpus, distances, mib << 10, mib << 10)


def build_picture() -> picture.Picture:
    nodes = [make_node(0, (0, 1, 4, 5), 512, {0: 10, 3: 21}), make_node(3, (2, 3), 256, {0: 21, 3: 10})]
    caches = [hardware.Cache(1, 32 << 10, 8, 64, 1), hardware.Cache(3, 4 << 20, 16, 64, 2)]
    one = picture.Picture("box", "calibrated: box (real), 2026-11-21", nodes, caches, 2400)
    one.latency = {(0, 0): Value(80, 1, 3), (0, 3): Value(131, 1, 3), (3, 0): Value(129, 1, 3), (3, 3): Value(80, 1, 3)}
    one.bandwidth = {(0, 0): Value(9600, 10, 3)}
    one.contention = [picture.Cell(0, 3, 0, 1, None, Value(3000, 20, 3))]
    one.numbers, one.residual = TRUE, 0.013
    return one


def test_the_lab_takes_the_file(tmp_path):
    file = tmp_path / "box.toml"
    file.write_text(picture.build_toml(build_picture()), encoding="utf-8")
    box = machine.find(str(file))
    assert [node.cpus for node in box.nodes] == [[0, 1, 4, 5], [2, 3]] and box.memory == 768 << 20
    assert box.model["dram"]["latency_ns"]["value"] == 80
    (link,) = box.model["link"]
    assert link["between"] == [[0, 1]] and link["latency_ns"]["value"] == 50
    assert link["bandwidth_mb_s"]["value"] == 6400 and "1.3%" in link["bandwidth_mb_s"]["source"]
    assert "ns_half = 1.0" in file.read_text(encoding="utf-8")


def test_a_machine_of_one_node_cannot_be_measured(tmp_path):
    if sum(node.usable for node in host_nodes.list_nodes()) > 1:
        pytest.skip("this machine has several nodes")
    argv = [sys.executable, "-m", "experiments.calibrate", str(tmp_path / "x.toml")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "nothing is remote" in done.stderr
    assert not (tmp_path / "x.toml").exists()


def test_a_member_that_has_ended_is_stopped() -> None:
    team = teams.Team({"program": [sys.executable, "-c", "pass"], "seconds": 1})
    with pytest.raises(AssertionError, match="ended"):
        team.measure_cell({"size": "1", "threads": [[0, 0]]})
    member, = team.members.values()
    member.process.wait()
    team.stop_members()


def test_the_clock_is_that_of_the_data_sheet(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an idle CPU that of now is the least."""
    monkeypatch.setattr(hardware, "CPU", tmp_path)
    (tmp_path / "cpu1/cpufreq").mkdir(parents=True)  # CPU 0 is offline
    for name, kilohertz in (("cpuinfo_max_freq", "3500000"), ("base_frequency", "2300000")):
        (tmp_path / "cpu1/cpufreq" / name).write_text(f"{kilohertz}\n")
        assert hardware.read_megahertz(1) == int(kilohertz) / 1000


def test_what_the_kernel_does_not_report_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "CPU", tmp_path)
    monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("processor : 0\nBogoMIPS : 50.00\n")
    one = replace(build_picture(), mhz=hardware.read_megahertz(0), caches=[])
    text = "\n".join(picture.build_model_tables(one))
    assert 'mhz = { value = 1000, source = "assumed: the kernel reports none" }' in text
    assert 'bytes = { value = 64, source = "assumed: the kernel reports none" }' in text
    assert "as the kernel reports it" not in text


@pytest.mark.parametrize("nodes, said", [
    ([make_node(k, (0, 1), 512, {0: 10, 1: 20}) for k in range(2)], "nodes have the same CPUs"),
    ([make_node(k, (k,) if k != 1 else (), 512 if k != 1 else 0, {0: 10, 1: 20, 2: 20}) for k in range(3)],
     "node 1 has neither CPUs nor memory"),
], ids=["same CPUs", "neither"])
def test_nodes_that_cannot_be_measured(nodes: list, said: str, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(host_nodes, "list_nodes", lambda: nodes)
    with pytest.raises(SystemExit, match="3"):
        calibrate.describe_machine(SimpleNamespace(name=None, size=24, seconds=1, repeats=2, threads=8))
    assert said in capsys.readouterr().err


def calibrate_to(file: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs the command, with figures that are known. Returns what it would have measured."""
    measured: list[str] = []
    monkeypatch.setattr(calibrate, "describe_machine", lambda _: (build_picture(), Effort(1, 1, 2)))
    for name in ("latencies", "bandwidths", "contention"):
        monkeypatch.setattr(calibrate, f"measure_{name}", lambda *_, name=name: measured.append(name))
    monkeypatch.setattr(calibrate, "fit_numbers", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["calibrate-machine", str(file)])
    with suppress(SystemExit):
        calibrate.main()
    return measured


def test_penalties_stay_in_the_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machine.toml"
    penalties = '[penalty]\nremote_per_mpki = { value = 1, source = "measured" }\n\n[[penalty.task]]\ncomm = "x"\n'
    file.write_text(f"[model]\nold = 1\n\n{penalties}")
    assert len(calibrate_to(file, monkeypatch)) == 3
    text = file.read_text()
    assert text.endswith(penalties) and "old = 1" not in text and list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_no_text_is_left_alone(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").write_bytes(b"\xff")
    assert calibrate_to(tmp_path / "other", monkeypatch) == []
    assert "it is no text: give another file" in capsys.readouterr().err and (tmp_path / "other").read_bytes() == b"\xff"


def test_a_file_that_cannot_be_written_is_told_before_it_measures(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate_to(tmp_path / "none/machine.toml", monkeypatch) == []
    assert "cannot write" in capsys.readouterr().err


def test_threads_hear_of_their_start_in_a_scaled_machine_too(monkeypatch: pytest.MonkeyPatch):
    """They need S times as long for it."""
    answers = {"verified": True, "started": 0, "finished": 1, "mb_per_s": 1.0}
    member = SimpleNamespace(sent=[], wait_until_ready=lambda: None, read_answer=lambda: answers)
    member.send_command = member.sent.append
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: 16)
    monkeypatch.setattr(teams.Team, "list_members", lambda team, cell: [member])
    monkeypatch.setattr(teams.time, "monotonic", lambda: 100.0)
    near = make_node(0, (0,), 512, {0: 10})
    Triads(Effort(24 << 20, 0.16, 2)).measure_groups([(near, near, 1)])
    assert member.sent == [f"run 0.16 {100 + 16 * teams.LEAD} 0.16"] * 2

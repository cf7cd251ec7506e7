# SPDX-License-Identifier: GPL-2.0-only
"""Which contention model a run's policies plan with: a machine file's, or one that is measured once a boot."""

import hashlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.calibrate import in_lab
from experiments.commands.experiment.cli import main
from experiments.commands.run_request import make_request, read_options
from experiments.errors import CannotError, ExperimentError, UsageError
from experiments.host import host_nodes, state
from experiments.host.tool import DERIVED, Numaplace
from experiments.host.topology import Cpu
from experiments.runner import calibration, check_machine
from experiments.runner import run as runs
from experiments.runner.records import manifest, results
from experiments.runner.suite import suite as suites

ROOT = Path(__file__).resolve().parents[3]
NUMAPLACE = ROOT / "build" / "numaplace"
SUITE = replace(suites.load_suite("policy-matrix"), policies=("none", "measured:pages=move", "weighted"))

# The real tool, but on a machine of two nodes that is calibrated at once; `calls` has a line of each call.
FAKE = """#!/bin/sh
echo "$*" >>{folder}/calls
case $1 in
calibrate-machine)
    [ ! -e {folder}/fails ] || {{ echo "numaplace calibrate-machine: $(cat {folder}/fails)" >&2; exit $(cat {folder}/status); }}
    echo 'name = "calibrated"' >"$2" ;;
plan)
    case " $* " in *" --model "*) origin="machine file" ;; *) origin=$(cat {folder}/origin) ;; esac
    echo "{{\\"model\\": \\"$origin\\"}}" ;;
*) exec {numaplace} "$@" ;;
esac
"""


class Fake(SimpleNamespace):
    folder: Path

    def calls(self, command: str) -> list[list[str]]:
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split() for line in lines if line.split()[0] == command]

    def fails(self, status: int, why: str) -> None:
        (self.folder / "fails").write_text(why)
        (self.folder / "status").write_text(str(status))

    def of_run(self, suite: suites.Suite = SUITE, platform: str = "real", begun: dict | None = None) -> dict | None:
        self.numaplace = Numaplace(self.program)
        return calibration.choose_model(suite, self.numaplace, platform, self.folder, begun, self.folder)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch) -> Fake:
    program = tmp_path / "numaplace"
    program.write_text(FAKE.format(folder=tmp_path, numaplace=NUMAPLACE))
    program.chmod(0o755)
    (tmp_path / "origin").write_text(DERIVED)
    (tmp_path / "boot_id").write_text("first-boot\n")
    nodes = [host_nodes.Node(number, (number,), {0: 10, 1: 21}, 1 << 20, 1 << 20,
                             (Cpu(number, number, number, 1 << 20, 32 << 20),)) for number in range(2)]
    monkeypatch.setattr(host_nodes, "list_nodes", lambda: nodes)
    monkeypatch.setattr(state, "BOOT", tmp_path / "boot_id")
    monkeypatch.setattr(calibration, "INSTALLED", tmp_path / "machine.toml")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.delenv("NUMAPLACE_MACHINE_FILE", raising=False)
    return Fake(folder=tmp_path, program=program, nodes=nodes)


def test_a_machine_without_a_file_is_calibrated_and_the_plans_use_it(fake: Fake, capsys) -> None:
    model = fake.of_run()
    file = Path(model["file"])
    assert file.parent == fake.folder / "run" / "numaplace" and "first-boot" in file.name
    assert file.parent.stat().st_mode & 0o777 == 0o700 and list(file.parent.iterdir()) == [file]
    text = file.read_text()
    assert model == {"origin": "machine file", "calibrated": True, "why": None, "file": str(file), "text": text,
                     "sha256": hashlib.sha256(text.encode()).hexdigest()}
    said = capsys.readouterr().out
    assert "first calibrates this machine, once a boot, for measured:pages=move, weighted:" in said
    assert fake.numaplace._list_model_words() == ["--model", str(file)]


def test_apply_is_told_the_model(fake: Fake) -> None:
    model = fake.of_run()
    with pytest.raises(ExperimentError):
        fake.numaplace.apply("weighted", [1 << 30], [])
    call, = fake.calls("apply")
    assert call[call.index("--model") + 1] == model["file"]


def test_a_second_suite_of_the_same_boot_reuses_the_calibration(fake: Fake, capsys) -> None:
    first = fake.of_run()
    assert fake.of_run(replace(SUITE, name="other")) == first
    assert len(fake.calls("calibrate-machine")) == 1
    assert f"other: plans with {first['file']}, calibrated earlier in this boot" in capsys.readouterr().out


@pytest.mark.parametrize("change", ["boot", "machine"])
def test_another_boot_or_machine_is_calibrated_anew(fake: Fake, monkeypatch, change: str) -> None:
    first = fake.of_run()
    if change == "boot":
        (fake.folder / "boot_id").write_text("second-boot\n")
    else:
        monkeypatch.setattr(host_nodes, "read_machine_name", lambda: "demo-2s+dram.latency_ns=90")
    second = fake.of_run()
    assert second["file"] != first["file"] and len(fake.calls("calibrate-machine")) == 2


def test_policies_say_themselves_whether_they_need_a_model() -> None:
    told = Numaplace()
    needing = told.list_needing([policy["name"] for policy in told._read_json("policies", "--json")["policies"]], calibration.NEED)
    assert needing == ["measured", "weighted", "asymsched"]
    assert told.list_needing(["none#2", "weighted:proximity=0.5"], calibration.NEED) == ["weighted:proximity=0.5"]


def test_the_word_for_a_derived_model_is_the_tool_s() -> None:
    assert f'[NP_MODEL_DERIVED] = "{DERIVED}"' in (ROOT / "userspace/lib/files/policy_input.c").read_text()


def test_nothing_is_calibrated_where_no_policy_needs_it_or_no_node_is_remote(fake: Fake) -> None:
    assert fake.of_run(replace(SUITE, policies=("none", "maximum-local"))) is None
    fake.nodes.pop()
    assert fake.of_run() is None
    assert fake.calls("calibrate-machine") == fake.calls("plan") == []


@pytest.mark.parametrize("named", [True, False])
def test_a_machine_file_that_the_tool_finds_is_used_and_recorded(fake: Fake, monkeypatch, named: bool) -> None:
    (fake.folder / "origin").write_text("machine file")
    file = fake.folder / ("own.toml" if named else "machine.toml")
    file.write_text("[model]\n")
    if named:
        monkeypatch.setenv("NUMAPLACE_MACHINE_FILE", str(file))
    model = fake.of_run()
    assert (model["origin"], model["calibrated"], model["file"], model["text"]) == (
        "machine file", False, str(file), "[model]\n")
    assert fake.numaplace.model is None and not fake.calls("calibrate-machine")


@pytest.mark.parametrize("calibrate, platform, why", [
    (False, "real", calibration.SWITCHED_OFF), (True, "lab-functional", calibration.NO_TIMES)])
def test_where_nothing_is_calibrated_the_record_says_derived(fake: Fake, calibrate: bool, platform: str, why: str) -> None:
    model = fake.of_run(replace(SUITE, calibrate=calibrate), platform)
    assert (model["origin"], model["why"], model["file"]) == (DERIVED, why, None)
    assert fake.numaplace.model is None and not fake.calls("calibrate-machine")


def test_the_suite_and_the_command_line_switch_it_off(fake: Fake) -> None:
    text = suites.load_suite("policy-matrix").text
    assert suites.parse_suite(text).calibrate and not suites.parse_suite("calibrate = false\n" + text).calibrate
    with pytest.raises(UsageError, match="'calibrate' is neither true nor false"):
        suites.parse_suite("calibrate = 1\n" + text)
    args = read_options(["run", "policy-matrix", "--no-calibrate"])
    assert not make_request(args).suite.calibrate


@pytest.mark.parametrize("scale, seconds", [(1, "0.01"), (16, "0.16")])
def test_the_lab_is_calibrated_with_small_sizes(fake: Fake, monkeypatch, scale: int, seconds: str) -> None:
    """In a scaled machine with the same work, which takes S times as long."""
    monkeypatch.setattr(host_nodes, "read_lab_scale", lambda: scale)
    fake.of_run(platform="lab-timed")
    call, = fake.calls("calibrate-machine")
    assert call[2:] == ["--size", "24", "--seconds", seconds, "--repeats", "3", "--name", "as-calibrated"]


@pytest.mark.parametrize("platform, status, kind, tries", [
    ("real", 1, ExperimentError, 1), ("real", 3, CannotError, 1),
    ("lab-timed", 1, ExperimentError, in_lab.TRIES), ("lab-timed", 3, CannotError, 1)])
def test_a_calibration_that_fails_stops_the_suite_in_one_line(fake: Fake, platform: str, status: int, kind: type,
                                                              tries: int) -> None:
    fake.fails(status, "the threads did not overlap")
    with pytest.raises(kind) as stopped:
        fake.of_run(platform=platform)
    said = str(stopped.value)
    assert type(stopped.value) is kind and "\n" not in said
    assert said.startswith("numaplace calibrate-machine: the threads did not overlap: this machine is not calibrated")
    for word in ("measured:pages=move, weighted", "NUMAPLACE_MACHINE_FILE", "--no-calibrate", calibration.LOG):
        assert word in said
    assert len(fake.calls("calibrate-machine")) == tries and not list((fake.folder / "run" / "numaplace").iterdir())


def test_without_a_folder_for_it(fake: Fake, monkeypatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with pytest.raises(CannotError, match="XDG_RUNTIME_DIR is not set; set it"):
        fake.of_run()


def test_a_run_goes_on_with_the_model_that_it_began_with(fake: Fake) -> None:
    """Also after a boot, or in another start of the lab."""
    begun = fake.of_run()
    (fake.folder / "boot_id").write_text("second-boot\n")
    assert fake.of_run(begun=begun) == begun
    assert len(fake.calls("calibrate-machine")) == 1
    assert fake.numaplace.model.read_text() == begun["text"]
    without = fake.of_run(replace(SUITE, calibrate=False))
    assert fake.of_run(begun=without) == without, "and without one where it began without"


@pytest.fixture
def whole(fake: Fake, monkeypatch):
    """`experiment run` with the fake tool, but no observations."""
    monkeypatch.setattr(runs, "Numaplace", partial(Numaplace, fake.program))
    monkeypatch.setattr(runs, "check_suite", lambda suite, numaplace: None)
    monkeypatch.setattr(runs.Runner, "make_all", lambda self: fake.began.append(self.request.budget) or 0)
    monkeypatch.setattr(check_machine, "list_doubts", lambda: [])
    fake.began = []
    return lambda *words: main(["run", "policy-matrix", "--placements", "none,weighted", "--out", str(fake.folder / "out"), *words])


def test_the_manifest_has_the_model(fake: Fake, whole) -> None:
    assert whole() == 0
    model = manifest.read(fake.folder / "out")["model"]
    assert model["calibrated"] and model["text"] == Path(model["file"]).read_text()
    assert whole("--force", "--no-calibrate") == 0
    assert manifest.read(fake.folder / "out")["model"]["origin"] == DERIVED
    assert whole("--force", "--placements", "none") == 0
    assert manifest.read(fake.folder / "out")["model"] is None
    assert len(fake.began) == 3


def test_a_run_with_another_model_is_another_run(fake: Fake, whole, capsys, monkeypatch) -> None:
    assert whole() == 0
    (fake.folder / "out" / results.NAME).write_text("{}\n")
    assert whole("--resume") == 0
    (fake.folder / "machine.toml").write_text("[model]\n")
    (fake.folder / "origin").write_text("machine file")
    assert whole("--resume") == 2
    assert "its model (calibrated, file, sha256, text) differs" in capsys.readouterr().err


def test_no_observation_begins_where_the_calibration_failed(fake: Fake, whole, capsys) -> None:
    fake.fails(1, "it was busy")
    assert whole() == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "it was busy" in said and not fake.began
    assert not (fake.folder / "out" / manifest.NAME).exists()


def test_the_time_of_the_calibration_is_a_part_of_the_budget(fake: Fake, whole) -> None:
    assert whole("--budget", "8h") == 0
    assert 8 * 3600 - 60 < fake.began[0] < 8 * 3600

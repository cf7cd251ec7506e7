# SPDX-License-Identifier: GPL-2.0-only
"""Runs the plugin's CUnit tests, under the sanitizers, and lets QEMU refuse broken configurations."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from experiments.lab import machine, qemu_program, simulated
from experiments.lab.plugin.tests.replay import calls
from tests import building, cunit

ROOT = Path(__file__).resolve().parents[4]


def make(target: str) -> Path:
    building.build(target)
    return ROOT / target


REPLAY = ROOT / "experiments/lab/plugin/tests/replay"


def build_replay(program: Path, folder: Path = REPLAY, interface: int = 4) -> Path:
    """Builds what calls the plugin in the place of a QEMU of this interface."""
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O2", "-rdynamic", f"-DNP_QEMU_API_VERSION={interface}", "-iquote", REPLAY, "-o", program,
                    *sorted(folder.glob("*.c")), "-ldl"], check=True)
    return program


def test_plugin_parts():
    assert cunit.assertions("build/tests/test_lab_plugin") > 300


def test_plugin_threads_do_not_race():
    program = make("build/tests/test_lab_plugin_races")
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    run = subprocess.run([program, "memory_properties", "contended_cases", "dataflow_cases"], env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]


@pytest.mark.parametrize(("name", "interface"), [("plugin.so", 4), ("plugin-7.so", 7)])
def test_the_built_plugin_counts_what_is_called(name, interface, tmp_path):
    """The plugin as QEMU loads and calls it."""
    program = build_replay(tmp_path / "replay", interface=interface)
    found = {record["program"]: record for record in calls.replay(make(f"build/lab/{name}"), program)}
    for triad in (found["triad, SSE2"], found["triad, words"]):
        assert triad["misses"] == pytest.approx(triad["calls"] / 8, rel=1e-3)  # words of eight bytes, lines of 64
    chase = found["pointer chase, 16 MiB"]
    assert 0.70 < chase["misses"] / chase["calls"] < 0.80  # 4 of 16 MiB are in the last level
    assert found["first-level hits"]["misses"] <= (16 << 10) / 64
    # QEMU enters a repeated instruction once for many rounds, or anew at any of them.
    rounds, pages = found["rep stos, by rounds"], found["rep stos, by pages"]
    for record in (rounds, pages):
        assert record["instructions"] == pytest.approx(record["calls"], rel=2e-4)  # they are published at each step of the clock
    # The first of the two finds the array in no cache; uncounted rounds would be most of the time.
    assert pages["simulated_ns"] == pytest.approx(rounds["simulated_ns"], rel=0.1)


def refusal(option: str, cpus: int = 4) -> str:
    plugin = make("build/lab/plugin.so")
    argv = [qemu_program.find(), "-S", "-display", "none", "-nodefaults", "-smp", str(cpus),
            "-plugin", f"{plugin}{option}"]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert run.returncode != 0
    lines = [line for line in run.stderr.splitlines() if line.startswith("numaplace lab plugin: ")]
    assert len(lines) == 1, run.stderr
    return lines[0]


def test_qemu_does_not_start_with_a_broken_configuration(tmp_path):
    demo = machine.find("demo-2s")
    config, shared = tmp_path / "c", tmp_path / "shared"
    assert "needs one argument, config=FILE" in refusal("")
    assert "cannot read the configuration: No such file" in refusal(f",config={config}")
    text = simulated.build_configuration(demo, shared)
    config.write_text(text.replace("llc=", "lcc="), encoding="utf-8")
    assert f"{config}:13: there is no setting 'lcc' with 3 numbers" in refusal(f",config={config}")
    config.write_text(text, encoding="utf-8")
    assert "cannot map the shared memory: No such file" in refusal(f",config={config}")
    assert "cpu_node names 4 CPUs and the machine has 3" in refusal(f",config={config}", cpus=3)
    shared.write_bytes(b"too small")
    assert "cannot map the shared memory: No space left" in refusal(f",config={config}")


def test_qemu_that_describes_accesses_otherwise_is_refused(tmp_path):
    """The plugin reads a bit of the description itself; here QEMU's side has stores at another."""
    plugin = make("build/lab/plugin.so")
    for file in REPLAY.glob("*.[ch]"):
        text = file.read_text(encoding="utf-8")
        (tmp_path / file.name).write_text(re.sub(r"^#define STORE\s.*", "#define STORE (1u << 16)", text, flags=re.MULTILINE), encoding="utf-8")
    build_replay(tmp_path / "replay", tmp_path)
    simulated.build_qemu_options(machine.find("demo-2s"), tmp_path)
    run = subprocess.run([tmp_path / "replay", plugin, tmp_path / "simulation.conf", tmp_path / "simulation.shared"],
                         capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode != 0
    assert "numaplace lab plugin: this QEMU tells loads from stores in another way than QEMU 10.0\n" in run.stderr


@pytest.mark.parametrize("name", machine.names())
def test_every_machine_has_a_configuration_that_the_plugin_takes(name, tmp_path):
    described = machine.find(name)
    if not described.model:
        pytest.skip("has no [model]")
    config = tmp_path / "c"
    config.write_text(simulated.build_configuration(described, tmp_path / "none"), encoding="utf-8")
    # The configuration is read; its missing key is reported last.
    assert "cannot map the shared memory" in refusal(f",config={config}", described.cpus)


def test_guest_addresses_go_around_the_hole():
    big = machine.find("demo-2s")
    for node in big.nodes:
        node.memory = 3 << 30
    assert simulated.list_guest_ranges(big) == [
        (0, 0, 2 << 30), (0, 4 << 30, 5 << 30), (1, 5 << 30, 8 << 30)]
    big.nodes[0].memory, big.nodes[1].memory = 6 << 30, 0
    assert simulated.list_guest_ranges(big) == [(0, 0, 2 << 30), (0, 4 << 30, 8 << 30)], "the plugin takes no empty range"
    assert simulated.list_guest_ranges(machine.find("demo-2s")) == [(0, 0, 1 << 30), (1, 1 << 30, 2 << 30)]

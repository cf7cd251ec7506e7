# SPDX-License-Identifier: GPL-2.0-only
"""In which boot an observation was made and under which load, and repeats that are shared out over boots."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.runner import cli, manifest, results, run_in_lab
from experiments.runner.boots import state
from experiments.runner.boots.host_load import HostLoad

ROOT = Path(__file__).resolve().parents[3]
SUITE = """
name = "small"
question = "?"
paper = "none"
machines = ["demo-2s"]
takes = "1 s"
design = "cachetest"
repeats = 4
warmups = 1
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


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return path


def run(suite: Path, *words: str) -> int:
    return cli.main(["run", str(suite), "--out", str(suite.parent / "out"), *words])


def of(suite: Path) -> tuple[list[dict], dict]:
    return results.read(suite.parent / "out"), json.loads((suite.parent / "out" / manifest.NAME).read_text())


def test_a_record_has_its_boot_and_its_load(small: Path) -> None:
    assert run(small, "--repeats", "2") == 0
    records, told = of(small)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert [record["boot_id"] for record in records] == [boot] * 3
    assert all(0 <= record["load"] < 10000 for record in records)
    assert [entry["boot_id"] for entry in told["boots"]] == [boot] and told["boots"][0]["load"] >= 0


def test_a_run_that_goes_on_in_another_boot_says_so(small: Path, tmp_path: Path, monkeypatch) -> None:
    assert run(small) == 0
    path = tmp_path / "out" / results.NAME
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert run(small, "--resume") == 0
    assert len(of(small)[1]["boots"]) == 1, "the same boot"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    monkeypatch.setattr(state, "BOOT", tmp_path / "boot_id")
    state.BOOT.write_text("another\n")
    assert run(small, "--resume") == 0
    records, told = of(small)
    assert [entry["boot_id"] for entry in told["boots"]][1:] == ["another"]
    assert [record["boot_id"] for record in records[3:]] == ["another"] * (len(records) - 3)


GUEST = """
import sys, time
from pathlib import Path
from experiments.runner import results
writer = results.Writer(Path(sys.argv[1]))
for number in range(3):
    time.sleep(1)
    writer.append({"workload": "cross", "policy": "none", "repeat": number, "order": number, "boot_id": "b", "load": 0.1})
"""


def test_the_host_s_load_is_in_the_records_that_a_guest_made(tmp_path: Path, monkeypatch) -> None:
    """The guest is a process here; what it writes is what one writes. The load of this test goes from 1 to 3."""
    manifest.write(tmp_path, {"boots": [{"boot_id": "a"}, {"boot_id": "b", "load": 0.1}]})
    writer = results.Writer(tmp_path)
    writer.append({"order": 0, "boot_id": "a"})
    writer.close()
    monkeypatch.setattr(os, "getloadavg", lambda: (float(results.count(tmp_path)), 0.0, 0.0))
    child, host = subprocess.Popen([sys.executable, "-c", GUEST, tmp_path], cwd=ROOT), HostLoad(tmp_path)
    run_in_lab._watch(child, tmp_path, [], "demo-2s", host)
    host.write()
    assert [record.get("host_load") for record in results.read(tmp_path)] == [None, 1, 2, 3]
    told = json.loads((tmp_path / manifest.NAME).read_text())
    assert told["boots"] == [{"boot_id": "a"}, {"boot_id": "b", "load": 0.1, "host_load": 1}]


def test_a_guest_that_made_nothing_changes_nothing(tmp_path: Path) -> None:
    HostLoad(tmp_path).write()
    assert list(tmp_path.iterdir()) == []

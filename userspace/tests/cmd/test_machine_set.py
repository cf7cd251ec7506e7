# SPDX-License-Identifier: GPL-2.0-only
"""numaplace machine --set: other numbers of a model, by the names that the command prints."""

import json
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[3] / "build" / "numaplace"


def machine(name: str, *assignments: str) -> subprocess.CompletedProcess:
    return subprocess.run([TOOL, "machine", "--json", name, *(word for one in assignments for word in ("--set", one))],
                          capture_output=True, text=True, check=False)


def test_machine_set_changes_what_is_named():
    before = json.loads(machine("cxl-3n").stdout)
    after = json.loads(machine("cxl-3n", "core.mhz=2000", "dram[2].latency_ns=150", "link[1].latency_ns=99.5").stdout)
    model = before["model"]
    for number, value, was in ((model["core"]["mhz"], 2000, 2500), (model["node"][0]["dram"]["latency_ns"], 150, 110),
                               (model["link"][1]["latency_ns"], 99.5, 110)):
        number |= {"value": value, "source": f"assumed: set, and {was} in the file"}
    assert after["model"] == model
    assert "dram_latency_ns=150" in after["model_text"] and "latency_ns=99.5" in after["model_text"]
    assert after["plugin"].endswith(after["model_text"]) and "\ncore=2000 " in after["plugin"]


def test_machine_set_takes_each_number_that_is_printed():
    model = json.loads(machine("cxl-3n").stdout)["model"]
    tables = [(name, table) for name, table in model.items() if isinstance(table, dict)]
    names = [f"{name}.{key}={one['value']}" for name, table in tables for key, one in table.items() if isinstance(one, dict) and "value" in one]
    assert any(name.startswith("tlb.l1_entries=") for name in names)
    done = machine("cxl-3n", *names, "tlb.l1_entries=64", "tlb.l2_latency_ns=3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"]["tlb"]["l1_entries"]["value"] == 64


@pytest.mark.parametrize(("assignment", "message"), [
    ("core.mhz", "'core.mhz' sets nothing: write TABLE.FIELD=NUMBER"),
    ("core.mhz=", "'' of core.mhz is not a number"),
    ("core.mhz=2000x", "'2000x' of core.mhz is not a number"),
    ("core.mhz=nan", "'nan' of core.mhz is not a number"),
    ("core.mhz=-1", "core.mhz: -1.0 is not a number from 0"),
    ("core.mhz=1e9", "is outside"),
    ("core.colour=1", "the machine has no number 'core.colour' to set: numaplace machine prints their names"),
    ("dram[1].latency_ns=1", "no number 'dram[1].latency_ns'"),
    ("dram[-1].latency_ns=1", "no number 'dram[-1].latency_ns'"),
    ("link[2].latency_ns=1", "no number 'link[2].latency_ns'"),
    ("link.latency_ns=1", "no number 'link.latency_ns'"),
    ("core.mhz.x=1", "no number 'core.mhz.x'"),
    ("x" * 200 + "=1", "sets nothing"),
])
def test_machine_set_refuses_neg(assignment, message):
    done = machine("cxl-3n", assignment)
    error, = done.stderr.splitlines()
    assert done.returncode == 2 and message in error

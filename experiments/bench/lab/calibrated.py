# SPDX-License-Identifier: GPL-2.0-only
"""numaplace calibrate-machine, inside a lab machine: the file that it writes beside the one the machine was made from."""

from pathlib import Path

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.lab import machine

MACHINE = "demo-2s"
WRITTEN = Path("results/bench-lab/demo-2s-calibrated.toml")
# Sections and fields that a measurement can tell, each with the relative error that is allowed.
FOUND = (("dram", "latency_ns", 0.05), ("link", "latency_ns", 0.05), ("dram", "bandwidth_mb_s", 0.10),
         ("link", "bandwidth_mb_s", 0.10), ("core", "outstanding", 0.10))


def read_number(described: machine.Machine, section: str, field: str) -> float:
    """Returns a number of the machine's model, in the unit that `field` names; of a section that is a list, of its first entry."""
    table = described.model[section]
    return (table[0] if isinstance(table, list) else table)[field]["value"]


def measure_calibration() -> Outcome:
    """Calibrates inside the lab machine, and checks each number that is found against its machine file; returns the outcome."""
    out = Outcome()
    WRITTEN.parent.mkdir(parents=True, exist_ok=True)
    output = inside.read_output(MACHINE, "build/numaplace", "calibrate-machine", str(WRITTEN), "--size", "24",
                              "--seconds", "0.01", "--repeats", "3")
    out.lines += output.splitlines()[:-1]
    original, written = machine.find(MACHINE), machine.find(str(WRITTEN))
    out.say("number                  machine file  calibrated")
    for section, field, allowed in FOUND:
        original_number, found = (read_number(described, section, field) for described in (original, written))
        name = f"{section}.{field}"
        out.say(f"{name:24}{original_number:12.1f}{found:12.1f}{found / original_number - 1:+8.1%}")
        out.at_most(f"calibrate-machine: {name}, off by", abs(found / original_number - 1), allowed)
    return out

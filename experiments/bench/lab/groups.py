# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs of a node with several last levels cost each other, beside the machine file."""

import tempfile
from pathlib import Path

from experiments.bench.lab import inside
from experiments.bounds import Outcome

PROGRAM = "build/lab/programs/lines"
# cxl-3n, with two last levels a node; the costs are made up.
COSTS = {"local_ns": 25, "node_ns": 90, "remote_ns": 200}
PAIRS = {"local_ns": "0,1", "node_ns": "0,2", "remote_ns": "0,4"}
TESTS = ("dirty", "exchange")


def measure_ns(machine_file: Path) -> dict[tuple[str, str], float]:
    """Measures loads of lines that another CPU has written, and hand-overs of one; returns ns of each by test and PAIRS' word of CPUs."""
    words = [word for test in TESTS for cpus in PAIRS.values() for word in (test, cpus)]
    rows = inside.run_program(str(machine_file), PROGRAM, "0", *words)
    # Of "dirty", `ns` is of the whole test, and `rounds` are ns of a line, one for each chase.
    return {(row["test"], ",".join(map(str, row["cpus"]))): row["rounds"][-1] if row["rounds"] else row["ns"] for row in rows}


def measure_groups() -> Outcome:
    """Measures a line between CPUs of one last level, of two of a node, and of two nodes."""
    out = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        found = measure_ns(inside.write_variant(Path(folder), "cxl-3n", "cxl-3n-groups", {"shared_by_cpus = 4": "shared_by_cpus = 2"},
                                                "c2c", COSTS))
    out.say("cxl-3n with a last level for each two CPUs, ns: lines that the other has written, and hand-overs of one line")
    for key, cpus in PAIRS.items():
        out.say(f"  CPUs {cpus}  {key:10}" + "".join(f"{found[test, cpus]:9.2f}" for test in TESTS))
        for test in TESTS:
            out.between(f"groups: {test} between CPUs {cpus}", found[test, cpus], 0.95 * COSTS[key], 1.05 * COSTS[key], "{:.1f} ns")
    return out

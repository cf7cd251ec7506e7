# SPDX-License-Identifier: GPL-2.0-only
"""Runs of suites and a machine file, of a machine of two nodes whose figures are known."""

import json
from pathlib import Path
from typing import Any

from experiments.calibrate import hardware, pattern_search, picture
from experiments.calibrate.measure import Value
from experiments.host.host_nodes import Node

LATENCY, LOADED, CORES, STREAM = "latency-matrix", "loaded-latency", "core-to-core", "numa-stream"
MACHINE = "box.toml"
NUMBERS = pattern_search.Numbers(outstanding=10, dram_mb_s=12800, dram_variability=0.1, link_mb_s=6400, link_variability=0.1,
                                 port_mb_s=30000)
SUITES = {
    LATENCY: [({"chains": n, "from": a, "to": b}, {"latency": n * (90.0 if a == b else 140.0)})
                    for n in (1, 4) for a in (0, 1) for b in (0, 1)],
    LOADED: [({"memory": "local", "mix": mix, "load": 3, "delay": delay}, {"latency": 100.0 + delay, "bandwidth": 9000.0})
                   for mix in ("1:0", "1:1") for delay in (0, 500)],
    CORES: [({"apart": "other node", "state": state, "home": "owner", "owner": 0, "reader": 1}, {"latency": 150.0})
                  for state in ("clean", "dirty")],
    STREAM: [({"operation": "copy", "access": access, "memory": "local", "threads": n}, {"bandwidth": 3000.0 * n})
                   for access in ("unstrided", "strided") for n in (1, 8)],
}


def make_manifest(suite: str) -> dict[str, Any]:
    """Makes the manifest of a run of a suite on a real machine."""
    nodes = [{"id": k, "cpus": f"{4 * k}-{4 * k + 3}", "mem_total": 1 << 30, "distances": [10, 21][::1 - 2 * k]} for k in (0, 1)]
    return {"suite": suite, "platform": "real", "kernel": {"release": "6.12.9-amd64"}, "numa_balancing": 1, "topology": nodes,
            "cpu": {"model": "Intel(R) Xeon(R) Gold 6430"}, "doubts": ["SMT is on"]}


def make_observations(suite: str) -> list[dict[str, Any]]:
    """Makes three observations of each cell, that scatter by -1, 0, 1."""
    return [{"suite": suite, "workload": f"w{k}", "policy": "none", "repeat": repeat, "order": k, "seed": 1, "platform": "real",
             "started": "2026-01-01T00:00:00", "boot_id": "b", "load": 0.5, "apply": None, "marks": [], "check": "ok", "factors": factors,
             "tasks": [{"role": "chase", "comm": "np-mem", "pid": 1}],
             "metrics": [{"name": name, "unit": "ns" if name == "latency" else "MB/s", "value": value + repeat - 1}
                         for name, value in metrics.items()]}
            for repeat in range(3) for k, (factors, metrics) in enumerate(SUITES[suite])]


def make_machine_file() -> str:
    """Makes the text of a machine file as calibrate-machine writes it."""
    nodes = [Node(0, (0, 1, 2, 3), {0: 10, 1: 21}, 1 << 20, 1 << 20), Node(1, (4, 5, 6, 7), {0: 21, 1: 10}, 1 << 20, 1 << 20)]
    taken = picture.Picture("box", "calibrated: box (real)", nodes, [hardware.Cache(3, 4 << 20, 16, 64, 4)], 2400)
    taken.latency = {(a, b): Value(80.0 if a == b else 130.0, 1, 3) for a in (0, 1) for b in (0, 1)}
    taken.bandwidth = {(a, b): Value(9600.0 if a == b else 4800.0, 10, 3) for a in (0, 1) for b in (0, 1)}
    taken.contention = [picture.Cell(0, 1, 1, 0, Value(5000, 20, 3), None), picture.Cell(0, 1, 0, 1, None, Value(3000, 20, 3)),
                        picture.Cell(0, 1, 1, 1, Value(4800, 20, 3), Value(2500, 20, 3))]
    taken.numbers = NUMBERS
    return picture.build_toml(taken)


def write_runs(folder: Path) -> list[Path]:
    """Writes the runs and the machine file beside them. Returns the folders of the runs."""
    folder.mkdir(parents=True)
    (folder / MACHINE).write_text(make_machine_file())
    for suite in SUITES:
        (folder / suite).mkdir()
        (folder / suite / "manifest.json").write_text(json.dumps(make_manifest(suite)))
        (folder / suite / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in make_observations(suite)))
    return [folder / suite for suite in SUITES]

# SPDX-License-Identifier: GPL-2.0-only
"""Runs measure.py in a simulated machine, and what its machine file says of the results."""

import json
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

from experiments.lab import machine
from experiments.lab.command import build_words

ROOT = Path(__file__).resolve().parents[3]
MEASURE = "experiments/bench/lab/measure.py"
# It reports three words an element and moves four: the line that is written is read first.
TRIAD_TRAFFIC = 4 / 3
READ_PART = 3 / 4  # of that traffic


@contextmanager
def load_host(processes: int):
    """Keeps so many processes of the host busy while the block runs."""
    with ExitStack() as stack:
        for _ in range(processes):
            busy = stack.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
            stack.callback(busy.kill)
        yield


def run_measures(name: str, *what: str, timeout: int = 900) -> list[dict]:
    """Runs the named measures of measure.py in a machine; returns their records."""
    subprocess.run(["make", "-s", "lab-simulation", "build/numaplace"], cwd=ROOT, check=True)
    argv = build_words(name, ["python3", MEASURE, *what], ["--no-module"], seconds=timeout)
    run = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=timeout + 60)
    assert run.returncode == 0, run.stdout + run.stderr
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def predict_latency_ns(name: str, node: int, memory: int) -> float:
    """Returns the latency of a load that the machine file says."""
    model = machine.find(name).model
    link = model["link"][0]["latency_ns"]["value"] if node != memory else 0
    return model["dram"]["latency_ns"]["value"] + link


def predict_triad_mb_s(name: str, node: int, memory: int) -> float:
    """Predicts the MB/s of a triad on all cores of a node by the machine file: the controller is the limit, or the link towards them."""
    described = machine.find(name)
    model = described.model
    limit = model["dram"]["bandwidth_mb_s"]["value"]
    if node != memory:
        link = {key: value["value"] for key, value in model["link"][0].items() if key != "between"}
        line = model["line"]["bytes"]["value"]
        limit = min(limit, link["bandwidth_mb_s"] / (READ_PART + link["header_bytes"] / line))
    return limit / TRIAD_TRAFFIC

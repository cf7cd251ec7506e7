# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program inside a simulated machine and reads what it says: JSON objects, one a line."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError
from experiments.lab import kernels, machine
from experiments.lab.command import build_words

ROOT = Path(__file__).resolve().parents[3]
MEASURE = "experiments.bench.lab.measure"
# A triad reports three words an element and moves four: the line that is written is read first.
TRIAD_TRAFFIC = 4 / 3
READ_PART = 3 / 4  # of that traffic


@contextmanager
def load_host(processes: int) -> Iterator[None]:
    """Keeps so many processes of the host busy while the block runs."""
    with ExitStack() as stack:
        for _ in range(processes):
            busy = stack.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
            stack.callback(busy.kill)
        yield


def write_variant(folder: Path, base: str, name: str, changes: dict[str, str], table: str, numbers: dict[str, float]) -> Path:
    """Writes the file of the machine `base` as `name`.toml, with lines changed and [model.`table`] of `numbers` added; returns its path.

    changes: {line: other text}. Raises ExperimentError where `base` lacks a line of them."""
    text = (machine.MACHINES / f"{base}.toml").read_text(encoding="utf-8")
    for line, other in changes.items():
        if line not in text:
            raise ExperimentError(f"{base} has no '{line}'")
        text = text.replace(line, other)
    entries = "\n".join(f'{key} = {{ value = {value}, source = "assumed: for this measurement" }}' for key, value in numbers.items())
    path = folder / f"{name}.toml"
    path.write_text(f"{text}\n[model.{table}]\n{entries}\n", encoding="utf-8")
    return path


def build_command(machine_name: str, *argv: str, timeout: int, timed: bool = True, kernel: str = kernels.DEFAULT_SERIES,
                  anew: bool = False, module: bool = False) -> list[str]:
    """Builds the lab's command line; timeout in s. anew: boots, as a snapshot has the pages of one boot. module: loads numaplace.ko."""
    options = [*["--no-module"] * (not module), *["--no-snapshot"] * anew]
    return build_words(machine_name, argv, options, functional=not timed, kernel=kernel, seconds=timeout)


def read_output(machine_name: str, *argv: str, timeout: int = 900, before: Sequence[str] = (), **how: Any) -> str:
    """Runs a program in a machine and returns its output; ExperimentError where it fails.

    timeout in seconds; before: words before the lab's command; how: timed, kernel, anew, module."""
    done = subprocess.run([*before, *build_command(machine_name, *argv, timeout=timeout, **how)], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          check=False, timeout=timeout + 60)
    if done.returncode:
        raise ExperimentError(f"'{' '.join(argv)[:80]}' in {machine_name} ended with status {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def run_program(machine_name: str, *argv: str, timeout: int = 900, **how: Any) -> list[dict]:
    """Runs a program in a timed machine and returns the JSON objects that it prints; ExperimentError, how: as of read_output()."""
    return [json.loads(line) for line in read_output(machine_name, *argv, timeout=timeout, **how).splitlines() if line.startswith("{")]


def run_measures(machine_name: str, *what: str, timeout: int = 900) -> list[dict]:
    """Runs the named measures of measure.py in a machine; returns their records."""
    subprocess.run(["make", "-s", "lab-simulation", "build/numaplace"], cwd=ROOT, check=True)
    return run_program(machine_name, "python3", "-m", MEASURE, *what, timeout=timeout)


def measure_cells(machine_name: str, program: list[str], cells: list[dict], seconds: float, keep: bool,
                  timeout: int = 900) -> list[list[float]]:
    """Measures cells with a program, each for so many simulated seconds; returns MB/s of each thread of each cell. teams.py says what a cell is.

    keep: as teams.py's key of that name. ExperimentError: it failed, or measured other cells."""
    plan = {"program": program, "seconds": seconds, "keep": keep, "cells": cells}
    results = run_program(machine_name, "python3", "experiments/calibrate/teams.py", json.dumps(plan), timeout=timeout)
    if [result["threads"] for result in results] != [cell["threads"] for cell in cells]:
        raise ExperimentError(f"{machine_name} measured other cells than it was asked for")
    return [result["mb_per_s"] for result in results]


def predict_latency_ns(machine_name: str, node: int, memory_node: int) -> float:
    """Returns the latency of a load by the CPUs of a node that the file of a machine of two equal nodes says."""
    model = machine.find(machine_name).model
    link = model["link"][0]["latency_ns"]["value"] if node != memory_node else 0
    return model["dram"]["latency_ns"]["value"] + link


def predict_triad_mb_s(machine_name: str, node: int, memory_node: int) -> float:
    """Predicts the MB/s that a triad on all cores of a node reports, by the file of a machine of two equal nodes: the controller is
    the limit, or the link towards them."""
    model = machine.find(machine_name).model
    limit = model["dram"]["bandwidth_mb_s"]["value"]
    if node != memory_node:
        link = model["link"][0]
        header_part = link["header_bytes"]["value"] / model["line"]["bytes"]["value"]
        limit = min(limit, link["bandwidth_mb_s"]["value"] / (READ_PART + header_part))
    return limit / TRIAD_TRAFFIC

# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program inside a simulated machine and reads what it says: JSON objects, one a line."""

import json
import subprocess
from pathlib import Path
from typing import Any

from experiments.lab import kernels, machine
from experiments.lab.command import build_words

ROOT = Path(__file__).resolve().parents[3]


def write_variant(folder: Path, base: str, name: str, changes: dict[str, str], table: str, numbers: dict[str, float]) -> Path:
    """Writes a machine file that differs from another in lines that it has, and in a table of the model. Returns its path."""
    text = (machine.MACHINES / f"{base}.toml").read_text(encoding="utf-8")
    for line, other in changes.items():
        if line not in text:
            raise RuntimeError(f"{base} has no '{line}'")
        text = text.replace(line, other)
    entries = "\n".join(f'{key} = {{ value = {value}, source = "assumed: for this measurement" }}' for key, value in numbers.items())
    path = folder / f"{name}.toml"
    path.write_text(f"{text}\n[model.{table}]\n{entries}\n", encoding="utf-8")
    return path


def build_command(machine: str, *argv: str, timeout: int, timed: bool = True, kernel: str = kernels.DEFAULT_SERIES,
                  anew: bool = False) -> list[str]:
    """Builds the lab's command line; timeout in seconds. anew: booted, where a restored snapshot has the pages of one boot."""
    return build_words(machine, argv, ["--no-module", *["--no-snapshot"] * anew], functional=not timed, kernel=kernel, seconds=timeout)


def read_output(machine: str, *argv: str, timeout: int = 900, **how: Any) -> str:
    """Runs a program in a machine and returns its output; RuntimeError where it fails. timeout in seconds; how: timed, kernel, anew."""
    done = subprocess.run(build_command(machine, *argv, timeout=timeout, **how), cwd=ROOT, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(f"'{' '.join(argv)[:80]}' in {machine} ended with status {done.returncode}:\n"
                           f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def run_program(machine: str, *argv: str, timeout: int = 900, **how: Any) -> list[dict]:
    """Runs a program and returns the JSON objects that it prints. The machine is timed, with the default kernel; how: timed, kernel, anew."""
    return [json.loads(line) for line in read_output(machine, *argv, timeout=timeout, **how).splitlines() if line.startswith("{")]


def measure_cells(machine: str, program: list[str], cells: list[dict], seconds: float, keep: bool,
                  timeout: int = 900) -> list[list[float]]:
    """Measures cells with a program, each for so many seconds; returns MB/s of each thread of each cell. teams.py says what a cell is.

    keep: as teams.py's key of that name. RuntimeError: it failed, or measured other cells."""
    plan = {"program": program, "seconds": seconds, "keep": keep, "cells": cells}
    results = run_program(machine, "python3", "experiments/calibrate/teams.py", json.dumps(plan), timeout=timeout)
    if [result["threads"] for result in results] != [cell["threads"] for cell in cells]:
        raise RuntimeError(f"{machine} measured other cells than it was asked for")
    return [result["mb_per_s"] for result in results]

# SPDX-License-Identifier: GPL-2.0-only
"""The runs that the evidence is of: each suite on each of its machines of the lab, in pieces of minutes.

A piece keeps a digest of the code that its numbers depend on. One that is there for the same code is not run again, one
that was stopped is resumed, one of other code is thrown away.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.places import HERE
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.kinds import lacking
from experiments.units import duration

# What a simulated number is made by; what judges it is kept in the run's manifest.
INPUTS = ("experiments/lab", "experiments/runner", "experiments/suites", "experiments/workloads", "kmod", "policies", "userspace")
MARK = "piece.json"
OPTIONS = ("--quick", "--repeats", "3", "--boots", "3")


@dataclass(frozen=True)
class Piece:
    suite: str
    machine: str
    out: Path

    @property
    def name(self) -> str:
        return f"{self.suite} on {self.machine}"

    def mark(self) -> dict[str, object]:
        try:
            return json.loads((self.out / MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def done(self, code: str) -> bool:
        return self.mark().get("code") == code and "status" in self.mark()

    def run(self, code: str) -> int:
        """Resumes what was begun with the same code."""
        if self.mark().get("code") != code:
            shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True, exist_ok=True)
        self._write({"code": code})
        begin = time.monotonic()
        resume = ["--resume"] if (self.out / "results.jsonl").exists() else []
        with open(self.out / "run.log", "ab") as log:
            status = subprocess.run([sys.executable, "-m", "experiments.runner", "run", self.suite, "--lab", self.machine,
                                     "--out", self.out, *OPTIONS, *resume], stdout=log, stderr=log, cwd=HERE.code).returncode
        seconds = time.monotonic() - begin
        self._write({"code": code, "status": status, "seconds": round(seconds + float(self.mark().get("seconds", 0)))})
        return status

    def _write(self, mark: dict[str, object]) -> None:
        (self.out / MARK).write_text(json.dumps(mark) + "\n", encoding="utf-8")


def code() -> str:
    """Of the files as they are in the tree, committed or not."""
    found = subprocess.run(["git", "ls-files", "--", *INPUTS], cwd=HERE.code, capture_output=True, text=True, check=True).stdout.split()
    digest = hashlib.sha256()
    for name in found:
        digest.update(f"{name}\0".encode() + (HERE.code / name).read_bytes())
    return digest.hexdigest()[:12]


def pieces(folder: Path) -> list[Piece]:
    found = []
    for name in suites.names():
        suite = suites.load(name)
        if lacking(suite):
            print(f"{name}: left out, {', '.join(lacking(suite))} is not installed", flush=True)
            continue
        found += [Piece(name, machine, folder / f"{name}@{machine}") for machine in suite.machines]
    return found


def run(folder: Path, seconds: float) -> list[Piece]:
    """Runs what is not done until the time is over; returns what is left."""
    now, until = code(), time.monotonic() + seconds
    waiting = [p for p in pieces(folder) if not p.done(now)]
    while waiting and time.monotonic() < until:
        begin, piece = time.monotonic(), waiting.pop(0)
        status = piece.run(now)
        print(f"{piece.name}: {duration(time.monotonic() - begin)}, status {status}", flush=True)
    return waiting

# SPDX-License-Identifier: GPL-2.0-only
"""The runs that the evidence is of: each suite on each of its machines of the lab, in pieces of minutes.

A piece is kept under the digest of what its numbers are made by. One that is done is not run again while that is the same, one
that was cut is resumed, one that failed or is of older code is made anew.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments import pieces as kept_pieces
from experiments.commands.experiment import cli as runner
from experiments.host import host_nodes
from experiments.host.interrupts import stop_signals
from experiments.mechanisms import registry
from experiments.paths import HERE
from experiments.pieces import WITHOUT_TESTS, Kept
from experiments.runner.options import RunOptions
from experiments.runner.records import manifest, results
from experiments.runner.run import Request, on_machine
from experiments.runner.suite import estimate, schedule
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.kinds import PROGRAMS, lacking
from experiments.units import duration

OPTIONS = RunOptions(quick=True, repeats=3, boots=3)
# What every simulated number is made by; what judges it is kept in the run's manifest.
INPUTS = ("KERNELS", "kmod", "policies", "userspace/lib", "experiments/runner", "experiments/lab/plugin", "experiments/lab/guest",
          "experiments/lab/machine.py", "experiments/lab/qemu.py", "experiments/lab/simulated.py",
          ":(glob)experiments/workloads/*.[ch]")
SOURCES = {"np-mem": "mem", "np-hot": "hot", "np-mm": "mm", "np-redis": "redis", "np-steal": "stealing"}  # of programs
DONE, FAILED, CUT, OLD, MISSING = "done", "failed", "cut", "of older code", "missing"
OBSERVATION = 7.1  # s, assumed of a suite that has not run: that of the demo
BOOT = 30          # s until the first observation, assumed
STATED = re.compile(r"quick (?:one about )?(?:(\d+)|an hour)")  # minutes, in what a suite says that it takes
LEAST = 60         # s, for which a boot is begun


@dataclass(frozen=True)
class Piece:
    suite: str
    machine: str
    out: Path

    @property
    def name(self) -> str:
        return f"{self.suite} on {self.machine}"

    @property
    def options(self) -> RunOptions:
        return replace(OPTIONS, suite=self.suite, lab=self.machine, out=self.out)

    @cached_property
    def request(self) -> Request:
        return on_machine(runner.request_of(self.options), host_nodes.of_lab(self.machine))

    @cached_property
    def digest(self) -> str:
        return kept_pieces.digest(HERE.code, [*INPUTS, *self.uses(), *WITHOUT_TESTS], tuple(OPTIONS.words()))

    def uses(self) -> list[str]:
        """What not every piece uses: machine, suite, the programs' sources, mechanisms."""
        suite = self.request.suite
        programs = {name for one in suite.workloads for name in PROGRAMS[one.kind]}
        programs |= {name for one in suite.workloads if one.kind == "command"
                     for words in (one.options["command"].command, one.options["command"].client) for name in words}
        found = [f"experiments/workloads/{SOURCES[name]}" for name in sorted(programs & SOURCES.keys())]
        found += ["experiments/workloads/apps"] if "apps/" in suite.text else []
        found += ["experiments/mechanisms"] if {re.split("[:#]", one)[0] for one in suite.policies} & set(registry.KNOWN) else []
        return [f"experiments/lab/machines/{self.machine}.toml", f"experiments/suites/{self.suite}.toml", *found]

    def state(self, record: dict[str, Any] | None) -> str:
        if record is None:
            return MISSING
        if record["inputs"] != self.digest:
            return OLD
        if record["status"] is None:
            return CUT if record["sources"] == manifest.sources() else MISSING  # a run is resumed by the commit that began it
        return DONE if record["status"] in (0, 1) and self.whole() else FAILED

    def whole(self) -> bool:
        """Whether each cell has an observation that may be averaged: a run with a marked one ends with 1."""
        there = {(r["workload"], r["policy"]) for r in results.read(self.out) if not r.get("warmup") and not results.marks(r)}
        return there >= {(trial.workload.name, trial.policy) for trial in schedule.make(self.request.suite)}

    def takes(self, record: dict[str, Any] | None) -> tuple[float, str]:
        """Seconds of the host, of what is left of it, and by what they are known."""
        state, observations = self.state(record), len(schedule.make(self.request.suite))
        if state in (OLD, DONE, FAILED) and record["status"] in (0, 1):
            return record["seconds"], "as before"
        found = estimate.estimate_run(self.request.suite, self.machine)
        stated = STATED.search(self.request.suite.takes)
        assumed = max(BOOT * self.request.boots + OBSERVATION * observations, 60.0 * int(stated[1] or 60) if stated else 0)
        whole, source = (found.seconds, found.source) if found.seconds else (assumed, "assumed")
        return whole * (1 - min(1, results.reached(self.out) / observations) * (state == CUT)), source

    def run(self, kept: Kept, room: float) -> int | None:
        """Returns the run's status, or None where it was cut after room (s)."""
        record = kept.read().get(self.name)
        resumed = self.state(record) == CUT
        if not resumed:
            shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True, exist_ok=True)
        mark = {"piece": self.name, "inputs": self.digest, "sources": manifest.sources(), "status": None,
                "seconds": record["seconds"] if resumed else 0}
        kept.write(mark)
        begin, status = time.monotonic(), None
        try:
            status = self._until(room)
        finally:
            kept.write(mark | {"status": status, "seconds": mark["seconds"] + round(time.monotonic() - begin)})
        return status

    def _until(self, room: float) -> int | None:
        words = replace(self.options, resume=(self.out / results.NAME).exists()).words()
        with open(self.out / "run.log", "ab") as log, subprocess.Popen(
                [sys.executable, "-m", "experiments.commands.experiment", *words], stdout=log, stderr=log, cwd=HERE.code) as child:
            try:
                return child.wait(room)
            except subprocess.TimeoutExpired:
                return None
            finally:
                child.terminate()  # where it has not ended; it powers the machine off


def pieces(folder: Path) -> list[Piece]:
    return [Piece(suite.name, machine, folder / f"{suite.name}@{machine}") for suite in map(suites.load, suites.names())
            if not lacking(suite) for machine in suite.machines]


def kept_in(folder: Path) -> Kept:
    return Kept(folder / "pieces.jsonl")


def states(found: Sequence[Piece], kept: Kept) -> dict[Piece, str]:
    records = kept.read()
    return {piece: piece.state(records.get(piece.name)) for piece in found}


def waiting(found: Sequence[Piece], kept: Kept) -> list[Piece]:
    """What is not done, the longest last; what has failed after all that has not."""
    records, state = kept.read(), states(found, kept)
    return sorted((piece for piece in found if state[piece] != DONE),
                  key=lambda piece: (state[piece] == FAILED, piece.takes(records.get(piece.name))[0]))


def plan(found: Sequence[Piece], kept: Kept) -> Iterator[str]:
    yield from (f"  {suite.name:36} left out: {', '.join(lacking(suite))} is not installed"
                for suite in map(suites.load, suites.names()) if lacking(suite))
    records, left, whole = kept.read(), waiting(found, kept), 0.0
    for piece in left:
        record = records.get(piece.name)
        seconds, source = piece.takes(record)
        whole += seconds
        yield f"  {piece.name:36} {piece.state(record):13} {duration(seconds):>8} ({source})"
    yield f"evidence: {told(states(found, kept))}; {duration(whole)} to run"


def told(found: dict[Piece, str]) -> str:
    return f"{len(found)} pieces: " + ", ".join(f"{number} {state}" for state, number in Counter(found.values()).items())


def run(found: Sequence[Piece], kept: Kept, seconds: float) -> None:
    """In the order of waiting(): what ends in the time, and, in parts, what no call of this time is enough for."""
    until = time.monotonic() + seconds
    with stop_signals():
        for piece in waiting(found, kept):
            room, left = until - time.monotonic(), piece.takes(kept.read().get(piece.name))[0]
            if room < LEAST or room < left <= seconds:
                continue
            begin, status = time.monotonic(), piece.run(kept, room)
            print(f"{piece.name}: {duration(time.monotonic() - begin)}, {'cut' if status is None else f'status {status}'}, "
                  f"{piece.state(kept.read()[piece.name])}", flush=True)

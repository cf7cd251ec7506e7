# SPDX-License-Identifier: GPL-2.0-only
"""What is measured, one step after the other within the time: a step that fails does not lose the others."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CannotError, UsageError
from ..places import HERE
from ..runner.records import results
from ..runner.suite import schedule

MARK, LOG, TOPOLOGY, MACHINE = "step.json", "step.log", "topology.json", "machine.toml"
LATENCY, LOADED, CORES, STREAM, CALIBRATION = "latency-matrix", "loaded-latency", "core-to-core", "numa-stream", "calibrate-machine"
REPEATS = 5
MEASURES = 0.7   # of calibrate-machine's time; the rest is for starting programs and filling their memory
SHORTEST = 0.02  # seconds of a measurement
UNDO = 30        # seconds that a step has to put things back when its time is over
OVER = 1.5       # times its share of the time that a step may take: estimates are rough
SHAPE = ("cpu_model", "arch")  # of the topology: another value is another machine

# Why something is missing: these words alone get into the file.
NODES = "needs two nodes with CPUs and memory"
TIME = "the time was over"
PART = "the time was over before everything was measured"
BUDGET = "one repeat takes longer than its part of the time"
PROGRAM = "np-mem is not installed"
MARKED = "no observation is without a mark"
SAID = {"fewer than two nodes": NODES, "nodes with CPUs and memory, this machine has": NODES, "--budget: one repeat": BUDGET,
        "np-mem is missing": PROGRAM}


@dataclass(frozen=True)
class Step:
    name: str
    weight: int  # its part of the time, relative to the others'
    command: Callable[[Path, float], list[str | Path]]  # by its folder and its seconds


def _suite(name: str, kind: str, *more: str) -> Callable[[Path, float], list[str | Path]]:
    """The levels of --quick, and more time for each: a real machine has interrupts and a clock of its own."""
    def command(folder: Path, seconds: float) -> list[str | Path]:
        begun = ["--resume"] if (folder / results.NAME).exists() else []
        times = [f"{kind}.seconds=0.5", f"{kind}.warm=0.1", f"{kind}.size=4 L3", *more]
        return [HERE.programs / "numaplace-experiment", "run", name, "--quick", "--repeats", str(REPEATS), "--no-calibrate",
                *(word for assignment in times for word in ("--set", assignment)),
                "--budget", f"{max(1, int(seconds))}s", "--out", folder, *begun]
    return command


def _pairs(file: Path) -> int:
    nodes = json.loads(file.read_text(encoding="utf-8"))["nodes"]
    return sum(bool(node["cpus"]) for node in nodes) * sum(bool(node["has_memory"]) for node in nodes)


def _calibration(folder: Path, seconds: float) -> list[str | Path]:
    """Each measurement as long as the time is enough for: a cell of threads is warmed up as long as it is measured, and a
    pair of nodes is a cell and a chase, which is repeated once more."""
    threads, repeats = 4 if seconds < 600 else 8, 3
    cells, pairs = (threads + 1) ** 2, _pairs(folder.parent / TOPOLOGY)
    each = min(1.0, max(SHORTEST, MEASURES * seconds / (2 * repeats * cells + pairs * (3 * repeats + 1))))
    return [HERE.programs / "numaplace", CALIBRATION, folder / MACHINE, "--name", "donated", "--threads", str(threads),
            "--repeats", str(repeats), "--seconds", f"{1000 * each:.0f}ms"]


STEPS = (Step(CALIBRATION, 8, _calibration), Step(LATENCY, 4, _suite(LATENCY, "memory")),
         Step(LOADED, 8, _suite(LOADED, "loaded", "loaded.load_size=4 L3")), Step(CORES, 3, _suite(CORES, "handover")),
         Step(STREAM, 7, _suite(STREAM, "memory")))


def mark(folder: Path, step: str) -> dict[str, Any]:
    """How a step ended; empty where it did not."""
    try:
        return json.loads((folder / step / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def topology(folder: Path, resume: bool) -> dict[str, Any]:
    """That of this machine, written; a folder with steps of another one is refused."""
    if any(mark(folder, step.name) or (folder / step.name / results.NAME).exists() for step in STEPS) and not resume:
        raise UsageError(f"{folder} holds results already: go on with --resume or choose another --out")
    done = subprocess.run([HERE.programs / "numaplace", "topology", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotError(f"numaplace topology ended with status {done.returncode}: {done.stderr.strip()}")
    now = json.loads(done.stdout)
    if now.get("platform") != "real":
        raise CannotError("this is a machine of the lab, whose figures are the lab's own: run it on a real machine")
    kept = folder / TOPOLOGY
    if resume and kept.exists() and _shape(json.loads(kept.read_text(encoding="utf-8"))) != _shape(now):
        raise UsageError(f"{folder} holds results of another machine: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(done.stdout, encoding="utf-8")
    return now


def _shape(found: dict[str, Any]) -> list[Any]:
    return [found.get(key) for key in SHAPE] + [[node.get("id"), node.get("cpus"), node.get("distances")]
                                                for node in found.get("nodes", [])]


def run(folder: Path, budget: float, say: Callable[[str], None], steps: tuple[Step, ...] = STEPS) -> None:
    """Those that have not succeeded yet, each with its part of what is left of the time."""
    until = time.monotonic() + budget
    waiting = [step for step in steps if mark(folder, step.name).get("status") != 0]
    while waiting:
        left, weights = until - time.monotonic(), sum(step.weight for step in waiting)
        step = waiting.pop(0)
        if left < 1:
            _end(folder, step, None, TIME)
        else:
            _one(folder, step, left * step.weight / weights, left)
        found = mark(folder, step.name)
        say(f"{step.name}: {found['why'] or 'measured'}")


def _one(folder: Path, step: Step, share: float, left: float) -> None:
    own = folder / step.name
    own.mkdir(parents=True, exist_ok=True)
    with open(own / LOG, "w", encoding="utf-8") as log:
        child = subprocess.Popen(step.command(own, share), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            status: int | None = child.wait(min(left, OVER * share))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _stop(child)
    _end(folder, step, *_judged(own, step, status))


def _stop(child: subprocess.Popen) -> None:
    """The step puts everything back, if it is given the time."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(UNDO)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _judged(own: Path, step: Step, status: int | None) -> tuple[int | None, str | None]:
    """Status, and why something is missing. Of a suite whatever is without a mark counts."""
    clean = [record for record in results.read(own) if schedule.is_clean(record) and not record.get("warmup")]
    if status in (0, 1) and clean:
        return 0, None
    if step.name == CALIBRATION and status == 0:
        return 0, None
    if status is None:
        return None, PART if clean else TIME
    said = (own / LOG).read_text(encoding="utf-8", errors="replace")
    known = next((why for words, why in SAID.items() if words in said), None)
    return status, known or (MARKED if status in (0, 1) and results.count(own) else f"ended with status {status}")


def _end(folder: Path, step: Step, status: int | None, why: str | None) -> None:
    own = folder / step.name
    own.mkdir(parents=True, exist_ok=True)
    (own / MARK).write_text(json.dumps({"status": status, "why": why}) + "\n", encoding="utf-8")

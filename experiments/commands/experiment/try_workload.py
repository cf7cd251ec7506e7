# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment try FILE: a workload of one's own, run once as it is, and what was seen of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import CannotError, ExperimentError
from ...host import host_nodes, packages
from ...host.guard import Guard
from ...host.interrupts import stop_signals
from ...host.tool import MAKE_TOOLS, Numaplace
from ...lab.command import build_words
from ...paths import HERE
from ...runner.suite import relative, schedule
from ...runner.suite import suite as suites
from ...runner.suite.command import Command, read_workload_file
from ...runner.workloads.command import Command as Running

SUITE = """
name = "try"
question = "Does this workload do what its file says?"
paper = "none"
machines = ["demo-2s"]
takes = "as long as the workload"
repeats = 1
warmups = 0
seed = 1
nodes = 1
responses = []
[factors]
placement = ["none"]
[[workload]]
file = {file}
"""


def try_file(path: Path, lab: str | None, timed: bool) -> int:
    """Runs a workload's file once, here or in the lab, and prints what it did. Returns the status. CannotError: it lacks a need."""
    command = read_workload_file(path)
    print(f"{command.name}: {command.about}", flush=True)
    lines = packages.list_missing(command)
    for line in lines[1:]:  # check_needs() tells the first
        print(f"missing: {line}")
    packages.check_needs(command)
    return try_in_lab(path, lab, timed) if lab else try_here(path, command)


def try_in_lab(path: Path, machine: str, timed: bool) -> int:
    """Runs the same command in the lab, `timed` or functional, with its output here. Returns its status. CannotError: no runner."""
    program = HERE.programs / "numaplace-experiment"
    if not program.exists():
        raise CannotError(f"{program} is missing: {MAKE_TOOLS}")
    words = build_words(machine, [program, "try", path.resolve()], functional=not timed)
    return subprocess.run(words, stdin=subprocess.DEVNULL).returncode


def try_here(path: Path, command: Command) -> int:
    """Runs the workload once on this machine. Returns the exit status. ExperimentError: it could not be run or measured."""
    numaplace = Numaplace()
    nodes = host_nodes.select_usable(1, "try")
    suite = relative.resolve_suite(suites.parse_suite(SUITE.format(file=json.dumps(str(path.resolve())))), nodes)
    trial = schedule.Trial(suite.workloads[0], "none", repeat=0, order=0, warmup=False)
    with stop_signals(), Guard() as guard:
        running = Running(trial, suite, nodes, guard.scratch)
        platform = numaplace.read_tasks([os.getpid()])["platform"]
        try:
            return run_and_tell(running, command, numaplace, platform)
        except (OSError, ValueError) as error:
            raise ExperimentError(f"workload {command.name}: {error}") from None
        finally:
            running.stop()


def run_and_tell(running: Running, command: Command, numaplace: Numaplace, platform: str) -> int:
    """Runs the workload and prints each step at once, as a later one may fail. Returns 0 where its check is ok, else 1."""
    print_line("machine", f"{host_nodes.read_machine_name()}, {platform}"
               + (", whose times mean nothing" if platform == "lab-functional" else ""))
    running.start()
    print_line("ready", f"after {running.ready_seconds:.2f} s, {'at once' if not command.ready else 'by its ready condition'}")
    tell_tasks("at start", running, numaplace)
    measured = running.measure()
    for metric, result in zip(command.metrics, measured.metrics):
        print_line("metric", f"{result['name']} = {result['value']:g} {result['unit']}, {'higher' if metric.higher else 'lower'} is better")
    tell_tasks("at end", running, numaplace)
    verdict = running.verify()
    print_line("check", verdict if command.check else f"{verdict}: the file has none but the exit status")
    if verdict != "ok":
        print(f"numaplace experiment: workload {command.name}: {verdict}", file=sys.stderr)
    return 0 if verdict == "ok" else 1


def tell_tasks(when: str, running: Running, numaplace: Numaplace) -> None:
    for state, task in zip(running.read_tasks(numaplace), list(running.tasks), strict=True):
        print_line(when, f"{task.role}: pid {state['pid']} ({state['comm']}), {format_memory(state['pages'])}")


def format_memory(pages: Mapping[str, Any]) -> str:
    size = os.sysconf("SC_PAGE_SIZE")
    return ", ".join(f"node {node} {count * size / (1 << 20):.1f} MiB" for node, count in pages.items()) or "no memory of its own"


def print_line(what: str, text: str) -> None:
    print(f"{what:9} {text}", flush=True)

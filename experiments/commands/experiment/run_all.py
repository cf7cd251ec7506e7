# SPDX-License-Identifier: GPL-2.0-only
"""run --all: every suite, on this machine or each on its own machines of the lab.

Each is a run of its own, as if its command line had been typed. On a real machine one runs after the other. In the lab
a machine has a thread of the host for each of its CPUs, and a busy host sets their clocks apart: as many machines run
at once as the host has processors for.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import NotPutBackError, UsageError
from ...host import host_nodes
from ...host.interrupts import stop_signals
from ...host.process import start
from ...host.tool import last_line
from ...paths import HERE
from ...runner.options import RunOptions
from ...runner.records import results
from ...runner.suite import designs
from ...runner.suite import suite as suites
from ...runner.workloads.kinds import lacking
from ...units import duration

POLL = 0.5   # s
LOG = "run.log"


@dataclass
class Run:
    suite: str
    lab: str | None
    out: Path

    @property
    def name(self) -> str:
        return f"{self.suite}" + (f" on {self.lab}" if self.lab else "")

    def start(self, options: RunOptions) -> None:
        words = replace(options, suite=self.suite, out=self.out, lab=self.lab).words()
        self.out.mkdir(parents=True, exist_ok=True)
        self.begin = time.monotonic()
        self.log = open(self.out / LOG, "wb")
        self.process = start(
            [sys.executable, "-m", "experiments.commands.experiment", *words], signal.SIGTERM, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log,
            env=os.environ | {"PYTHONPATH": f"{HERE.code}:{os.environ.get('PYTHONPATH', '')}"})

    def tell(self) -> None:
        """After its end: what came of it, and why where it did not end well."""
        self.log.close()
        made = results.count(self.out)
        print(f"{self.name}: {made} observations in {duration(time.monotonic() - self.begin)}, results in {self.out}",
              flush=True)
        if self.process.returncode:
            print(f"    ! {last_line((self.out / LOG).read_text(errors='replace'))}", flush=True)


def run(args: argparse.Namespace) -> list[str]:
    """A suite that fails does not keep the others from running. Returns what to say of those that did."""
    if args.suite or args.workloads or args.set or args.tuned:
        raise UsageError("--all: takes no SUITE, --workloads, --set or --tuned")
    waiting = chosen(args, args.out)
    total, running, failed, late, unmeasured = len(waiting), [], [], [], []
    until = None if args.budget is None else time.monotonic() + args.budget
    beside = at_once(waiting, len(os.sched_getaffinity(0)))
    print(f"{total} runs, {beside} at a time", flush=True)
    with stop_signals():
        try:
            while waiting or running:
                while waiting and len(running) < beside:
                    budget = None if until is None else share(until - time.monotonic(), len(waiting), beside)
                    if budget == 0:
                        late, waiting = [one.name for one in waiting], []
                        break
                    running.append(waiting.pop(0))
                    running[-1].start(replace(RunOptions.read(args), all=False, budget=budget))
                time.sleep(POLL)
                over = ended(running)
                failed += [one.name for one in over if one.process.returncode]
                if any(one.process.returncode == NotPutBackError.status and not one.lab for one in over):
                    unmeasured, waiting = [one.name for one in waiting], []
        finally:
            for one in running:
                one.process.terminate()
            for one in running:
                one.process.wait()
    told = [(failed, "did not end well"), (late, "were left out, as the budget was over"),
            (unmeasured, "were left out, as the machine is not as it was")]
    return [f"{len(names)} of {total} runs {what}: {', '.join(names)}" for names, what in told if names]


def at_once(runs: list[Run], processors: int) -> int:
    """So many that their machines' CPUs, on average, are no more than the processors; one at least."""
    if not all(one.lab for one in runs):
        return 1
    cpus = sum(len(node.cpus) for one in runs for node in host_nodes.of_lab(one.lab))
    return max(1, min(len(runs), processors * len(runs) // max(1, cpus)))


def share(left: float, runs: int, beside: int) -> int:
    """Seconds for the next of so many runs: what one does not need is for those after it."""
    return max(0, int(left * min(beside, runs) / runs))


def ended(running: list[Run]) -> list[Run]:
    """Takes those out that have ended, and tells of them."""
    found = [one for one in running if one.process.poll() is not None]
    for one in found:
        running.remove(one)
        one.tell()
    return found


def chosen(args: argparse.Namespace, out: Path) -> list[Run]:
    """In the lab a suite runs on each of its machines."""
    found = []
    for name in suites.names():
        suite = suites.load(name)
        if missing := lacking(suite):
            print(f"{name}: left out, {', '.join(missing)} is not installed", flush=True)
            continue
        if why := designs.without_placement(suites.choose(suite, None, args.policies)):
            print(f"{name}: left out, has no placement: {why}", flush=True)
            continue
        for number, where in enumerate(lab_machines(args, suite)):
            found.append(Run(name, where, out / (name if not number else f"{name}-{where}")))
    return found


def lab_machines(args: argparse.Namespace, suite: suites.Suite) -> list[str | None]:
    """None stands for this machine, which is taken where it has the nodes."""
    if args.lab:
        return [args.lab]
    if args.lab is None and sum(node.usable for node in host_nodes.nodes()) >= suite.nodes:
        return [None]
    return list(suite.machines)

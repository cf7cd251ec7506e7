# SPDX-License-Identifier: GPL-2.0-only
"""run --all: every suite, on this machine or each on its own machines of the lab."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from . import machine, results, suite as suites
from .errors import ExperimentError, UsageError
from .progress import duration

RunOne = Callable[[argparse.Namespace], int]


def run(args: argparse.Namespace, run_one: RunOne) -> int:
    """A suite that fails does not keep the others from running. Returns 0, or 1 if one did."""
    if args.suite or args.workloads or args.set:
        raise UsageError("--all: takes no SUITE, --workloads or --set")
    out = args.out or Path("results")
    failed = []
    for number, one in enumerate(chosen(args, out), 1):
        where = f" on {one.lab} of the lab" if one.lab else ""
        print(f"\n{number}. {one.suite}{where}, results in {one.out}", flush=True)
        begin = time.monotonic()
        try:
            if run_one(one):
                failed.append(one.suite)
        except ExperimentError as error:
            failed.append(one.suite)
            print(f"   {one.suite}: {error}", flush=True)
        print(f"   {results.count(one.out)} observations in {duration(time.monotonic() - begin)}", flush=True)
    if failed:
        raise ExperimentError(f"of all suites, these did not end well: {', '.join(failed)}")
    return 0


def chosen(args: argparse.Namespace, out: Path) -> list[argparse.Namespace]:
    """The command lines of the single runs. In the lab a suite runs on each of its machines."""
    found = []
    for name in suites.names():
        suite = suites.load(name)
        lab = lab_machines(args, suite)
        for number, where in enumerate(lab):
            folder = out / (suite.name if not number else f"{suite.name}-{where}")
            found.append(argparse.Namespace(**vars(args) | {"suite": name, "all": False, "lab": where,
                                                            "out": folder}))
    return found


def lab_machines(args: argparse.Namespace, suite: suites.Suite) -> list[str | None]:
    """None stands for this machine, which is taken where it has the nodes."""
    if args.lab:
        return [args.lab]
    if args.lab is None and sum(node.usable for node in machine.nodes()) >= suite.nodes:
        return [None]
    return list(suite.machines)

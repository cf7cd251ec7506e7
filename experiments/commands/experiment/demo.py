# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment demo: workloads of each kind under four placements, then the table and the report.

On a machine with two nodes it runs on the machine itself, else in the lab.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...host import host_nodes
from ...paths import HERE
from ...runner import check_machine
from ...runner.options import RunOptions
from ...runner.records import results

SUITE = "policy-matrix"
# One of each kind: the others, of the same programs, would double the time.
WORKLOADS = ("contention-0L2R", "cross", "redis-lists")
# n-mass as its paper has it, which gives locality up and moves no page, and with pages that follow their task.
POLICIES = ("none", "maximum-local:pages=follow", "n-mass:pages=follow", "n-mass:pages=stay")
MACHINE = "demo-2s"
BOOTS = 6  # in the lab: two make half of the workloads of a block each, so that two processors end together
OUT = Path("results") / "demo"
MODULE = Path("/sys/module/numaplace")


def print_text(text: str) -> None:
    print(f"demo: {text}", flush=True)


def ask_to_load_module() -> bool:
    """Asks at the terminal whether to load the module. Returns the answer; without root or a terminal False, and asks nothing."""
    if os.geteuid() or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    answer = input("demo: load numaplace.ko into this machine's kernel until the demo ends? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def load_module() -> bool:
    """Loads the module: of a tree the one that it builds, of an installation the one that dkms has built. Returns whether it is loaded."""
    if HERE.installed:
        return subprocess.run(["modprobe", "numaplace"]).returncode == 0
    path = HERE.modules / os.uname().release / "numaplace.ko"
    built = subprocess.run(["make", "-s", "-C", HERE.sources, "module"]).returncode == 0
    return built and subprocess.run(["insmod", path]).returncode == 0


@contextmanager
def provide_module() -> Iterator[None]:
    """Loads the module for the block where the user wants it, and prints by what pages will be moved."""
    if MODULE.exists() or not ask_to_load_module():
        print_text("the module is loaded" if MODULE.exists() else
                   "without the module: pages and tasks are moved by system calls")
        yield
        return
    if not load_module():
        for finding in check_machine.check_signatures(check_machine.Machine()):
            print_text(f"{finding.what}: {finding.remedy}")
        print_text("the module could not be loaded: pages and tasks are moved by system calls")
        yield
        return
    try:
        yield
    finally:
        subprocess.run(["rmmod", "numaplace"])


def run_suite(quick: bool, experiment: Callable[[list[str]], int]) -> int:
    """Runs the demo's suite on this machine or in the lab. Returns the exit status. experiment: as of main()."""
    usable = [node for node in host_nodes.list_nodes() if node.usable]
    options = RunOptions(SUITE, workloads=WORKLOADS, policies=POLICIES, out=OUT, force=True, quick=quick)
    if len(usable) >= 2:
        print_text(f"this machine has {len(usable)} NUMA nodes: the times will be real")
        with provide_module():
            return experiment(options.list_words())
    print_text(f"this machine has one NUMA node: runs in the lab, on {MACHINE}")
    jobs = min(BOOTS, len(os.sched_getaffinity(0)))
    return experiment(replace(options, lab=MACHINE, boots=BOOTS, jobs=jobs).list_words())


def show_report() -> None:
    """Writes the summary and the report of the demo's run, and prints the path of the report."""
    from ...analysis.pages import report, summary

    summary.write_summary(OUT)
    page = report.write_report(OUT)[0]
    print(f"\nThe report, with a figure for every workload: {page.resolve()}")


def main(quick: bool, experiment: Callable[[list[str]], int]) -> int:
    """Runs the demo and prints its table and where its report is. Returns the exit status. experiment: carries out a command of
    `numaplace experiment` by its words."""
    begin = time.monotonic()
    status = run_suite(quick, experiment)
    if results.count_reached(OUT):
        print_text(f"{results.count_reached(OUT)} observations in {time.monotonic() - begin:.0f} s")
        show_report()
    return status

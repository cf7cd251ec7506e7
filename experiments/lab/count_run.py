# SPDX-License-Identifier: GPL-2.0-only
"""The options of `lab run` that ask for counts, and the run that answers them."""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from experiments.lab import boot
from experiments.lab.counts import metrics, profile
from experiments.lab.errors import FAILED_IF, USAGE, LabError


def add_options(run: argparse.ArgumentParser):
    """Adds the options that ask for counts to the parser of `lab run`."""
    counts = run.add_argument_group("counts of accesses, in every mode but --functional")
    counts.add_argument("--count", action="store_true", help="count only: accesses take no time, and times mean nothing")
    counts.add_argument("--fail-if", action="append", default=[], metavar="EXPR",
                        help="status 4 where it is true, such as 'remote_share > 10%%': remote_dram, remote_share, remote_cache, "
                        "loads, stores, dram[NODE], pages[NODE]; may be repeated")
    counts.add_argument("--region", metavar="NAME", help="count only what ran between this region's begin and end (numaplace_region.h)")
    counts.add_argument("--cgroup", metavar="PATH", help="count only the tasks of this cgroup, and of those below it")
    counts.add_argument("--json", type=Path, metavar="FILE", help="write the counts there, of each task, mapping and function")
    counts.add_argument("--junit", type=Path, metavar="FILE", help="write the verdicts there, as JUnit's XML")
    counts.add_argument("--annotate", action="store_true", help="print ::error lines for hosted runners")


def is_asked(args: argparse.Namespace) -> bool:
    """Checks whether any option asks for counts."""
    return bool(args.count or args.fail_if or args.region is not None or args.cgroup is not None or args.json or args.junit
                or args.annotate)


def empty_files(args: argparse.Namespace):
    """Empties the files of counts, or what is in them may be taken for this run's. LabError: one cannot be written."""
    for option, path in (("--json", args.json), ("--junit", args.junit)):
        try:
            if path:
                path.open("w").close()
        except OSError as error:
            raise LabError(USAGE, f"{option} cannot be written to '{path}': {error.strerror}: give another file") from error


def run_counted(job: boot.Job, args: argparse.Namespace, start: Callable[[boot.Job], int]) -> int:
    """Starts the machine by `start` and writes its counts; returns the command's exit status, FAILED_IF where that is 0 and an expression
    is true. LabError: an option cannot be answered."""
    if args.functional:
        raise LabError(USAGE, "--functional counts no accesses: leave it out, or give --count instead")
    try:
        return judge_run(job, args, start)
    except profile.Refused as refused:
        raise LabError(USAGE, str(refused)) from None


def judge_run(job: boot.Job, args: argparse.Namespace, start: Callable[[boot.Job], int]) -> int:
    """Starts the machine and writes its counts and verdicts. Returns the exit status, as run_counted(). Refused: an expression, region or
    cgroup is wrong."""
    from experiments.lab.counts import output, where  # they need a package that other runs do not
    expressions = [metrics.Expression(text, len(job.machine.nodes)) for text in args.fail_if]
    selection = profile.Selection(args.region, args.cgroup)
    empty_files(args)
    with tempfile.TemporaryDirectory(prefix="numaplace-counts-") as folder:
        path = Path(folder) / "profile"
        status = start(replace(job, counts=args.count, profile=path))
        if not path.exists():  # a signal has ended the run
            return status
        run_profile = profile.read_profile(path)
    if status and args.region is not None and args.region not in run_profile.regions:
        return status  # the failed command's, which says more than that its region was not entered
    measured = metrics.compute_metrics(run_profile, selection)
    mode = "lab-counted" if args.count else "lab-timed"
    counted = output.Counted(job.machine.name, mode, job.command, status, selection, run_profile, measured,
                             where.find_remote(run_profile, selection), [e.judge_metrics(measured) for e in expressions])
    output.write_output(counted, args.json, args.junit, args.annotate)
    return status or (FAILED_IF if counted.failures else 0)

# SPDX-License-Identifier: GPL-2.0-only
"""What `experiment run` takes, and the request that it makes of that: for all commands that start runs."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..host import host_nodes
from ..host.host_nodes import read_lab_name
from ..runner.boots import boot_shares
from ..runner.options import RunOptions
from ..runner.repeats import precision
from ..runner.run import Request
from ..runner.suite import estimate
from ..runner.suite import suite as suites
from ..units import percent


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `experiment run` to a parser."""
    parser.add_argument("suite", metavar="SUITE", nargs="?", help="a name that 'list' shows, or a file NAME.toml")
    parser.add_argument("--all", action="store_true", help="every suite, and a report of all")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: results/SUITE; with --all: results/all")
    parser.add_argument("--lab", metavar="MACHINE", nargs="?", const="",
                     help="in the lab, on this machine of it, or the suite's own")
    parser.add_argument("--timed", action="store_true", help="in the lab with simulated time: the default")
    parser.add_argument("--functional", action="store_true", help="in the lab without: times mean nothing")
    parser.add_argument("--kernel", metavar="SERIES", help="of the lab: 6.1, 6.12, 7")
    parser.add_argument("--repeats", type=int, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N")
    parser.add_argument("--repeat-until-ci", metavar="PERCENT", type=percent,
                     help="goes on until every mean's 95 %% interval is no wider, each way")
    parser.add_argument("--max-repeats", type=int, default=30, metavar="N", help="then at most (30)")
    parser.add_argument("--workloads", metavar="NAME,..", type=split_list,
                     help="or patterns, as in '*-remote', or files of programs, NAME.toml")
    parser.add_argument("--placements", dest="policies", metavar="NAME[:O=V,..],..", type=split_policies,
                     help="or mechanisms, with options, as in 'none,n-mass:pages=follow,tiering'")
    parser.add_argument("--tuned", metavar="FILE", type=Path,
                     help="of 'tune': adds its levels, and the same mechanisms at their defaults")
    parser.add_argument("--set", action="append", default=[], metavar="KIND.NAME=VALUE",
                     help="a parameter, as in triad.size=512M")
    parser.add_argument("--engine", choices=["auto", "module", "syscall"], default="auto")
    parser.add_argument("--quick", action="store_true", help="the suite's small levels")
    parser.add_argument("--boots", type=int, metavar="N",
                     help="shares the repeats out over N boots, of the lab or, which then asks for each reboot, of this machine, each with every combination, or of a multiple of the repeats "
                          "with some workloads (one a repeat, or what the suite says)")
    parser.add_argument("--jobs", type=int, metavar="N",
                     help="in the lab: so many of the boots side by side (one a processor; of --boots 1)")
    parser.add_argument("--share", type=int, nargs=2, metavar=("BOOT", "BOOTS"), help=argparse.SUPPRESS)  # what the host tells the guest
    parser.add_argument("--budget", metavar="TIME", type=estimate.parse_budget,
                     help="as many repeats as fit, as in 8h or 1h30min; none begins later")
    parser.add_argument("--no-calibrate", action="store_true",
                     help="does not measure this machine first where a policy needs a contention model")
    parser.add_argument("--resume", action="store_true", help="goes on where a run was stopped")
    parser.add_argument("--force", action="store_true", help="throws away the results in DIR")


def split_list(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def split_policies(text: str) -> list[str]:
    """Splits a list of policies at its commas, but not at those between a policy's options: OPTION=VALUE belongs to the policy before."""
    policies: list[str] = []
    for word in split_list(text):
        if policies and ":" in policies[-1] and "=" in word.partition(":")[0].partition("#")[0]:
            policies[-1] += f",{word}"
        else:
            policies.append(word)
    return policies


def read_options(words: list[str]) -> RunOptions:
    """Reads the words of `experiment run`, `run` first."""
    parser = argparse.ArgumentParser(prog="numaplace experiment run")
    add_run_options(parser)
    return RunOptions.read(parser.parse_args(words[1:]))


def make_request(args: RunOptions) -> Request:
    """Makes the request of a run's options, not adapted to a machine yet. UsageError: an option is wrong, or two exclude each other."""
    if not args.suite:
        raise UsageError("which suite? 'list' shows them; --all runs every one")
    suite = suites.load_suite(args.suite)
    if args.quick:
        suite = suites.replace_levels(suite, suite.quick)
    elif args.lab is None and not read_lab_name():
        suite = suites.replace_levels(suite, suite.real)
    suite = suites.take_lab_levels(suite, choose_lab_machine(args, suite))
    workloads = None if suite.design else args.workloads  # a design makes its workloads on the machine
    suite = suites.change_parameters(suites.choose_cells(suite, workloads, args.policies), args.set)
    suite = suites.replace_repeats(suite, args.repeats, args.seed)
    if args.tuned:
        suite = add_tuned(args, suite)
    suite = replace(suite, calibrate=False) if args.no_calibrate else suite
    for name in ("kernel", "functional", "timed"):
        if getattr(args, name) and args.lab is None:
            raise UsageError(f"--{name} is the lab's: give --lab MACHINE too")
    if args.jobs is not None and args.lab is None:
        raise UsageError("--jobs is the lab's: give --lab MACHINE too")
    boots, jobs = choose_boots(args, suite)
    if boots != 1 and args.repeat_until_ci is not None:
        raise UsageError("--boots and --repeat-until-ci: give one of them, as the repeats of a boot are fixed before it")
    if args.functional and args.timed:
        raise UsageError("--functional and --timed: give one of them")
    if args.resume and args.force:
        raise UsageError("--resume keeps the results and --force throws them away: give one of them")
    until = args.repeat_until_ci
    rule = None if until is None else partial(precision.plan_block, percent=until, most_repeats=args.max_repeats)
    return Request(suite, args.out or Path("results") / suite.name, args.engine, resume=args.resume, force=args.force,
                   workloads=tuple(args.workloads or ()) if suite.design else (), rule=rule, until_ci=until,
                   max_repeats=args.max_repeats, quick=args.quick, budget=args.budget, boots=boots, jobs=jobs, share=args.share)


def choose_boots(args: RunOptions, suite: suites.Suite) -> tuple[int, int]:
    """Chooses how many boots a run has, and how many of them run side by side. UsageError: more of the latter than boots."""
    # In the lab a repeat is a boot of its own, but where times mean nothing, and where it is not known before how many there will be.
    by_repeat = args.lab is not None and args.boots is None and args.repeat_until_ci is None and not args.functional
    boots = boot_shares.choose_boots(suite, suite.boots or suite.repeats) if by_repeat else 1 if args.boots is None else args.boots
    # A functional machine uses several processors itself.
    default_jobs = 1 if args.functional or not by_repeat else min(boots, len(os.sched_getaffinity(0)))
    jobs = default_jobs if args.jobs is None else args.jobs
    if not 1 <= jobs <= max(1, boots):
        raise UsageError(f"--jobs {jobs}: the run has {boots} boot{'s' * (boots > 1)}: give more --boots")
    return boots, jobs


def add_tuned(args: RunOptions, suite: suites.Suite) -> suites.Suite:
    """Returns the suite with the levels of --tuned, and its mechanisms at their defaults. UsageError: the file is not for this run."""
    from .tune import tuned
    repeats = suite.repeats if args.repeat_until_ci is None else max(suite.repeats, args.max_repeats)
    levels = tuned.add_tuned(suite.policies, args.tuned, choose_lab_machine(args, suite) or host_nodes.read_machine_name(),
                             range(suite.seed, suite.seed + repeats))
    return suites.choose_cells(suite, None, levels)


def choose_lab_machine(args: RunOptions, suite: suites.Suite) -> str | None:
    """Returns the machine of the lab that it will run or runs on; none on a real machine."""
    return (args.lab or suite.machines[0]) if args.lab is not None else read_lab_name()

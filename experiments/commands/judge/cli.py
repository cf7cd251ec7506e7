# SPDX-License-Identifier: GPL-2.0-only
"""numaplace judge: boots two kernels in turn, runs a suite in each, and says what the second makes slower or faster."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import CannotError, ExperimentError, UsageError, get_exit_status
from ...host import host_nodes
from ...lab.kernels import known_series
from ...runner.boots import boot_shares
from ...runner.options import RunOptions
from ...runner.run import Request, adapt_to_machine
from ...runner.suite import schedule
from ...units import percent
from ..experiment import cli as runner
from . import blocks, side

SUITE, MACHINE, BOOTS = "kernel-mm", "2x2", 8
REGRESSED = 4  # as `experiment compare --fail-if` has it
NOT_EXCLUDED = 5


def make_parser() -> argparse.ArgumentParser:
    """Makes the parser of `numaplace judge`."""
    top = argparse.ArgumentParser(
        prog="numaplace judge", usage="numaplace judge --kernel A --kernel B [OPTION..] [SUITE]",
        description="Boots two kernels in turn in the lab, runs a suite in each boot, and says in a table that can be mailed what "
                    "kernel B makes slower or faster than kernel A. Exit status: 0 no regression was found, 4 one was, 5 none was and "
                    "one is not excluded, 1 it could not be measured, 2 wrong usage, 3 this computer cannot.")
    top.add_argument("suite", metavar="SUITE", nargs="?", default=SUITE, help=f"of numaplace experiment list, or NAME.toml ({SUITE})")
    top.add_argument("--kernel", action="append", default=[], metavar="SERIES|IMAGE[,DIR]",
                     help=f"{', '.join(known_series())}, or a bzImage of your own with its lib/modules/RELEASE; A, then B")
    for letter in "ab":
        top.add_argument(f"--setup-{letter}", default="", metavar="CMD",
                         help=f"in kernel {letter.upper()}, as root, before the suite: a command of the shell's")
    top.add_argument("--machine", default=MACHINE, metavar="NAME", help=f"of the lab ({MACHINE})")
    top.add_argument("--boots", type=int, default=BOOTS, metavar="N", help=f"of each kernel, a block is one of each ({BOOTS})")
    top.add_argument("--repeats", type=int, metavar="N", help="of the suite, shared out over the boots; one a boot")
    top.add_argument("--workloads", metavar="NAME,..", type=runner.split_list, help="or patterns, as in '*-remote'")
    top.add_argument("--placements", metavar="NAME[:O=V,..],..", type=runner.split_policies, help="or mechanisms; as in 'none,numa-balancing,tiering'")
    top.add_argument("--set", action="append", default=[], metavar="KIND.NAME=VALUE", help="a parameter, as of numaplace experiment run")
    top.add_argument("--quick", action="store_true", help="the suite's small levels")
    top.add_argument("--seed", type=int, metavar="N", help="of the order in a boot")
    top.add_argument("--smallest", type=percent, default=1.0, metavar="PERCENT", help="no change that is smaller is told (1)")
    top.add_argument("--exclude", type=percent, default=5.0, metavar="PERCENT",
                     help="a row that may be so much slower, by its interval, is not excluded (5)")
    top.add_argument("--out", type=Path, default=Path("results/judge"), metavar="DIR", help="default: results/judge")
    top.add_argument("--resume", action="store_true", help="goes on where it was stopped")
    top.add_argument("--force", action="store_true", help="throws away the results in DIR")
    top.add_argument("--json", action="store_true", help="the answer in JSON")
    return top


def plan_run(args: argparse.Namespace, out: Path) -> tuple[Request, list[str]]:
    """Returns the request of the run of one kernel, and the words of its guest's runner. UsageError: the boots do not divide the suite."""
    options = RunOptions(args.suite, lab=args.machine, out=out, boots=args.boots, repeats=args.repeats or args.boots, workloads=args.workloads,
                         policies=args.placements, seed=args.seed, set=args.set, quick=args.quick, resume=args.resume, force=args.force)
    request = adapt_to_machine(runner.make_request(options), host_nodes.list_lab_nodes(args.machine))
    boot_shares.divide_repeats(request.suite, request.boots)
    return request, runner.adapt_to_guest(replace(options, resume=False), request).list_words()  # told to resume when there is something


def measure_sides(args: argparse.Namespace, sides: list[side.Side]) -> Request:
    """Runs the suite in boots of both kernels in turn. Returns kernel A's request."""
    runs = [plan_run(args, one.out) for one in sides]
    for one in sides:
        one.keep_description(args.resume, args.force)
    request, _ = runs[0]
    observations = len(sides) * len(schedule.make_schedule(request.suite))
    print(f"{request.suite.name}: {observations} observations in {len(sides) * request.boots} boots",
          file=sys.stderr, flush=True)
    blocks.run_blocks(request, args.machine, sides, [arguments for _, arguments in runs])
    return request


def list_facts(request: Request, machine: str, sides: list[side.Side]) -> dict[str, Any]:
    """Returns what the answer is of: both kernels as Side.describe_side() has them, machine, suite, boots, repeats, seed."""
    suite = request.suite
    return {"a": sides[0].describe_side(), "b": sides[1].describe_side(), "machine": machine, "suite": suite.name,
            "boots": request.boots, "repeats": suite.repeats, "seed": suite.seed}


def format_facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the lines of the mail's head, each as name and text. facts: as of list_facts()."""
    kernels = [(f"kernel {letter.upper()}", facts[letter]["release"] + (f"; {facts[letter]['setup']}" if facts[letter]["setup"] else ""))
               for letter in "ab"]
    return [*kernels, ("machine", f"{facts['machine']}, simulated by numaplace lab"), ("suite", facts["suite"]),
            ("boots", f"{facts['boots']} of each kernel in turn, {facts['repeats']} repeats, seed {facts['seed']}")]


def carry_out(argv: list[str]) -> int:
    """Measures both kernels and prints the table or its JSON. Returns 0, REGRESSED or NOT_EXCLUDED. ExperimentError or its kinds: it
    failed."""
    args = make_parser().parse_args(argv)
    if len(args.kernel) != 2:
        raise UsageError(f"--kernel is given {len(args.kernel)} times: give it twice, kernel A and then kernel B")
    if args.boots < 2:
        raise UsageError(f"--boots {args.boots}: a mean of fewer than two boots has no interval: give 2 or more")
    if args.resume and args.force:
        raise UsageError("--resume keeps the results and --force throws them away: give one of them")
    sides = [side.find_side(letter, spec, setup, args.out / letter)
             for letter, spec, setup in zip("ab", args.kernel, (args.setup_a, args.setup_b))]
    request = measure_sides(args, sides)
    try:
        from ...analysis.runs.results import ResultsError
        from . import verdict
    except ImportError as error:
        raise CannotError(f"{error.name} is not installed: run 'make setup'") from None
    try:
        judgement = verdict.compare_kernels(sides[0].out, sides[1].out, request.suite.responses, args.smallest / 100, args.exclude / 100)
    except ResultsError as error:
        raise ExperimentError(str(error)) from None
    facts = list_facts(request, args.machine, sides)
    print(json.dumps(facts | judgement.make_dict(), indent=1) if args.json else verdict.format_mail(format_facts(facts), judgement))
    return REGRESSED if judgement.regressed else os.EX_OK if judgement.excluded else NOT_EXCLUDED


def main() -> int:
    return get_exit_status("numaplace judge", lambda: carry_out(sys.argv[1:]), "--resume goes on from here")

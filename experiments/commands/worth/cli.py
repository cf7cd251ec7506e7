# SPDX-License-Identifier: GPL-2.0-only
"""numaplace worth: runs a program under each placement in randomised blocks, and says what the best one buys."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...errors import CannotError, ExperimentError, NotPutBackError, UsageError, get_exit_status
from ...host import host_nodes
from ...host.interrupts import stop_signals
from ...host.process import start_process
from ...lab.command import build_words
from ...paths import HERE
from ...runner import run, run_in_lab
from ...runner.options import RunOptions
from ...runner.records import manifest, results
from ...runner.suite import estimate
from ...units import seconds
from ..experiment import cli as runner
from . import stop, target, trial_suite

BUDGET = 600  # s of the host's time, boots included


def make_parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line; what the host tells the lab's machine is not in its help."""
    top = argparse.ArgumentParser(
        prog="numaplace worth", usage="numaplace worth [OPTION..] -- CMD.. | FILE.toml | PID.. | --cgroup PATH | --unit NAME",
        description="Runs a program, or watches processes that run, as they are and under each placement, in blocks of random order, "
                    "until every option is decided or the budget is spent; says in one sentence what placement buys.")
    top.add_argument("words", nargs="*", metavar="CMD", help="the program, a workload's file NAME.toml, or processes by their numbers")
    top.add_argument("--cgroup", metavar="PATH", help="processes that run: those of this cgroup (version 2)")
    top.add_argument("--unit", metavar="NAME", help="those of this systemd unit, such as redis.service")
    top.add_argument("--url", metavar="URL", help="of processes that run: a page that has a count of what they did, found by --metric; "
                                                  "default: instructions")
    top.add_argument("--window", metavar="TIME", type=seconds, default=5.0, help="of processes that run: how long each placement is watched (5s)")
    top.add_argument("--settle", metavar="TIME", type=seconds, default=1.0, help="of them: how long a placement settles before that (1s)")
    top.add_argument("--metric", metavar="PATTERN", help="of its output, with the value as its one group; default: the seconds of its run")
    top.add_argument("--json-metric", metavar="PATH", help="of its output, which is JSON, as in results.0.rate")
    top.add_argument("--lower", action="store_true", help="less of the metric is better")
    top.add_argument("--placements", metavar="NAME[:O=V,..],..", type=runner.split_policies,
                     help="policies and mechanisms instead of all that this machine has")
    top.add_argument("--after", metavar="TIME", type=seconds, default=0.02, help="how long a program runs before a policy places it (20ms)")
    top.add_argument("--budget", metavar="TIME", default=f"{BUDGET}s", help=f"of this computer's time, as in 10min or 1h ({BUDGET // 60}min)")
    top.add_argument("--lab", metavar="MACHINE", help="on this machine of the lab, such as 2x2")
    top.add_argument("--kernel", metavar="SERIES", help="of the lab: 6.1, 6.12, 7")
    top.add_argument("--out", type=Path, default=Path("results/worth"), metavar="DIR", help="default: results/worth")
    top.add_argument("--resume", action="store_true", help="goes on with the results in DIR, which are of the same program")
    top.add_argument("--force", action="store_true", help="throws away the results in DIR")
    top.add_argument("--json", action="store_true", help="the answer in JSON")
    top.add_argument("--measure", type=int, metavar="BLOCKS", help=argparse.SUPPRESS)  # what the host tells the lab's machine
    top.add_argument("--only", type=runner.split_policies, help=argparse.SUPPRESS)     # and of which placements
    return top


def measure_placements(args: argparse.Namespace) -> str:
    """Measures on this machine, which may be the lab's. Returns what has ended the run. CannotError: one node has memory; ExperimentError:
    nothing was measured."""
    nodes = host_nodes.list_nodes()
    if not host_nodes.has_remote_memory(nodes):
        remedy = "run the program itself in the lab: --lab 2x2 -- CMD" if target.names_processes(args) else (
            "give --lab 2x2, or another machine of the lab")
        raise CannotError(f"this machine has one node with memory, so that no placement differs: {remedy}")
    subject = target.find_target(args, nodes)
    suite, levels = args.out / "worth.toml", list(dict.fromkeys(["none", *(args.placements or subject.levels)]))
    suite.write_text(trial_suite.format_suite(host_nodes.read_machine_name(), levels, 1, subject.metric, subject.workload), encoding="utf-8")
    options = RunOptions(str(suite), out=args.out / "run", resume=args.resume, budget=None if args.measure else parse_budget(args.budget))
    rule = stop.Boot(args.measure, args.only or levels) if args.measure else stop.Stop(args.out / "run")
    try:
        with redirect_stdout(sys.stderr):  # the answer is all that there is on standard output
            request = replace(runner.make_request(options), rule=rule.plan_block)
            runner.run_here(request, partial(target.check_length, levels))
    except target.TooShortError:
        (args.out / "run" / results.NAME).unlink(missing_ok=True)
        raise
    except ExperimentError as error:
        never = isinstance(error, (CannotError, UsageError)) and not isinstance(error, NotPutBackError)
        if never or not results.count_records(args.out / "run"):
            raise
        print(f"numaplace worth: {error}", file=sys.stderr)  # the verdict says which options are not known
    return "" if args.measure else rule.ended


def measure_in_lab(args: argparse.Namespace, argv: list[str]) -> str:
    """Measures in the lab, in boots of some blocks each. The budget is the host's time, and what was measured until it is over counts.
    Returns what has ended the run."""
    if results.count_records(args.out / "run"):
        target.check_same_program(args)
    until, only = time.monotonic() + parse_budget(args.budget), stop.list_next_levels(args.out / "run")
    sources = json.dumps(manifest.read_sources())  # of all boots, also where the tree changes meanwhile
    while only is None or only:
        begun = bool(results.count_records(args.out / "run"))
        boot_words = ["--measure", str(stop.OF_BOOT), *(["--only", ",".join(only)] if only else []), *["--resume"] * begun]
        user_words = [word for k, word in enumerate(argv) if word not in ("--resume", "--force") or "--" in argv[:k]]
        if not boot_lab(args, [*boot_words, *user_words], until, sources):
            return stop.SPENT
        only = stop.list_next_levels(args.out / "run")
    return stop.describe_end(args.out / "run")


def boot_lab(args: argparse.Namespace, words: list[str], until: float, sources: str) -> bool:
    """Boots the machine without a snapshot, which has what a kernel chose at random, to measure with `words`. Returns False at `until`,
    in s of the monotonic clock. sources: as JSON. ExperimentError: nothing is measured by then; SystemExit: the guest has failed."""
    command = build_words(args.lab, [HERE.programs / "numaplace-worth", *words], ["--no-snapshot"], kernel=args.kernel)
    child = start_process(command, signal.SIGTERM, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                          env=os.environ | {manifest.SOURCES: sources})
    try:
        status = child.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        status = None
    finally:
        run_in_lab.end_lab(child)
    if status is None and not results.count_records(args.out / "run"):
        raise ExperimentError(f"--budget {args.budget}: it was over before anything was measured: give more")
    if status:
        raise SystemExit(status)  # which the line above says why
    return status is not None


def parse_budget(text: str) -> float:
    """Parses --budget. Returns seconds. UsageError: it is no time."""
    try:
        return estimate.parse_budget(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--budget {error}") from None


def print_verdict(args: argparse.Namespace, ended: str) -> None:
    """Prints the verdict of the run in --out, as text or as JSON. CannotError: a package is not installed."""
    try:
        from . import verdict
    except ImportError as error:
        raise CannotError(f"{error.name} is not installed: run 'make setup'") from None
    found = replace(verdict.read_verdict(args.out / "run"), ended=ended)
    print(json.dumps(found.make_dict(), indent=1) if args.json else f"{verdict.format_table(found)}\n{found.format_sentence()}")


def prepare_folder(args: argparse.Namespace) -> None:
    """Prepares the folder, before anything boots or is written there. UsageError: it has results, or options contradict each other."""
    if args.resume and args.force:
        raise UsageError("--resume keeps the results and --force throws them away: give one of them")
    with results.lock_folder(args.out / "run"):  # which makes it
        run.prepare_folder(run.Request(None, args.out / "run", resume=args.resume, force=args.force))


def carry_out(argv: list[str]) -> None:
    """Measures here or in the lab, then prints the verdict, unless the host has asked for the blocks. UsageError: the words are wrong."""
    args = make_parser().parse_args(argv)
    parse_budget(args.budget)
    if args.lab:
        run_in_lab.check_shared(args.out)
    if not args.measure:
        prepare_folder(args)
    if args.lab and not args.measure:
        if target.names_processes(args):
            raise UsageError("--lab starts a program: give -- CMD, not processes that run here")
        with stop_signals():
            ended = measure_in_lab(args, argv)
    else:
        ended = measure_placements(args)
    if not args.measure:
        print_verdict(args, ended)


def main() -> int:
    return get_exit_status("numaplace worth", lambda: carry_out(sys.argv[1:]))

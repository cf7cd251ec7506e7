# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment: list, run, tune, try, demo, check-machine, mechanisms, report, compare, pack, unpack."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ...errors import ExperimentError, UsageError, get_exit_status
from ...host import host_nodes
from ...host.host_nodes import read_lab_name
from ...runner.options import RunOptions
from ...runner.progress import Narrator
from ...runner.records import results
from ...runner.records.record import Record
from ...runner.run import Request, adapt_to_machine, execute_suite, plan_run
from ...runner.suite import designs, estimate, schedule
from ...runner.suite import suite as suites
from ...units import format_duration
from ..run_request import add_run_options, choose_lab_machine, make_request, split_list
from ..run_request import split_policies as split_policies  # worth's and judge's
from . import run_all, run_verbs


def make_parser() -> argparse.ArgumentParser:
    """Makes the parser of `numaplace experiment` with all its commands."""
    top = argparse.ArgumentParser(prog="numaplace experiment", description="Suites of experiments.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("list", help="the suites, what they answer and how long they take")
    command.add_argument("--json", action="store_true")
    command.add_argument("--time", action="store_true", help="how long each takes on this machine and in the lab")
    command = commands.add_parser("run", help="runs a suite, on this machine or in the lab")
    add_run_options(command)
    command = commands.add_parser("tune", help="searches the parameters of mechanisms, as many trials for each",
                              description="Runs a suite on another input than it is scored with, in rounds of candidates, and writes the "
                                          "best parameters of each mechanism to DIR/tuned.toml, for 'run --tuned'. Rounds in DIR that are of "
                                          "the same search are not run again.")
    add_tune_options(command)
    command = commands.add_parser("try", help="a workload of your own: checks its file, runs it once",
                              description="Says what the file's program lacks here, runs it once where the kernel puts it, and "
                                          "prints its metric, its check, its processes and their memory.")
    command.add_argument("file", metavar="FILE", type=Path, help="with kind = \"command\"")
    command.add_argument("--lab", metavar="MACHINE", help="in the lab, on this machine of it")
    command.add_argument("--timed", action="store_true", help="in the lab with simulated time: slower")
    command = commands.add_parser("demo", help="workloads of each kind under four placements, the report",
                              description="Runs three workloads of the suite policy-matrix into results/demo: on this machine if it has two "
                                          "nodes, else in the lab.")
    command.add_argument("--quick", action="store_true", help="the suite's small levels")
    command = commands.add_parser("check-machine", help="what this machine lacks for a long run; changes nothing")
    command.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where results will go")
    command = commands.add_parser("mechanisms", help="the kernel's own and others' ways to place, and what each lacks here")
    command.add_argument("files", metavar="FILE.py", nargs="*", help="mechanisms of your own, instead of all")
    command.add_argument("--json", action="store_true")
    run_verbs.add_verbs(commands)
    return top


def add_tune_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `experiment tune` to its parser."""
    parser.add_argument("suite", metavar="SUITE", help="a name that 'list' shows, or a file NAME.toml")
    parser.add_argument("--placements", dest="policies", metavar="MECHANISM,..", type=split_list, required=True,
                     help="mechanisms that have parameters")
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="of each mechanism, the first with its defaults (20)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the training input and the search; default: the suite's and 1000")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: results/tune-SUITE")
    parser.add_argument("--lab", metavar="MACHINE", nargs="?", const="",
                     help="in the lab, on this machine of it, or the suite's own")
    parser.add_argument("--kernel", metavar="SERIES", help="of the lab: 6.1, 6.12, 7")
    parser.add_argument("--workloads", metavar="NAME,..", type=split_list,
                     help="or patterns, as in '*-remote', or files of programs, NAME.toml")
    parser.add_argument("--quick", action="store_true", help="the suite's small levels")
    parser.add_argument("--budget", metavar="TIME", type=estimate.parse_budget, help="as in 8h or 1h30min; no round begins later")


def run_list_command(args: argparse.Namespace) -> int:
    """Prints all suites, or how long each takes, as text or as JSON. Returns 0."""
    if args.time:
        return list_times(args.json)
    descriptions = [describe_suite(suites.load_suite(name)) for name in suites.list_names()]
    if args.json:
        print(json.dumps(descriptions, indent=1))
        return 0
    for suite in descriptions:
        print(f"{suite['name']}: {suite['question']}\n"
              f"  answers to  {suite['paper']}\n"
              f"  in the lab  {', '.join(suite['machines'])}\n"
              f"  workloads   {shorten_names(suite['workloads'])}\n"
              f"  policies    {', '.join(suite['policies'])}\n"
              f"  takes       {suite['takes']}: {suite['observations']} observations, "
              f"{suite['repeats']} repeats and the warm-ups; --quick: {suite['quick_observations']}")
    return 0


def list_times(as_json: bool) -> int:
    """Prints how long each whole suite takes, on this machine where it has the nodes, and on each of its machines of the lab. Returns 0."""
    rows = []
    for name in suites.list_names():
        suite = suites.load_suite(name)
        for lab in (None, *suite.machines):
            rows.append({"suite": name, "on": lab or "here"} | estimate_time(suite, lab))
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        takes = row["by"] if row["seconds"] is None else f"{format_duration(row['seconds']):>8} ({row['by']})"
        print(f"{row['suite']:16} {row['on']:20} {row['observations'] or '-':>6}  {takes}")
    return 0


def estimate_time(suite: suites.Suite, lab: str | None) -> dict[str, object]:
    """Estimates `observations` and `seconds` of a suite on a machine of the lab or, None, on this one; `by`: source, or why not."""
    suite = suites.take_lab_levels(suite, lab) if lab else suites.replace_levels(suite, suite.real)
    try:
        request = adapt_to_machine(Request(suite, Path()), host_nodes.list_lab_nodes(lab) if lab else host_nodes.list_nodes())
    except ExperimentError as error:
        return {"observations": 0, "seconds": None, "by": str(error)}
    estimated = estimate.estimate_run(request.suite, lab)
    return {"observations": estimated.observations, "seconds": estimated.seconds, "by": estimated.source}


def describe_suite(suite: suites.Suite) -> dict[str, object]:
    """Describes a suite for `list`, with the workloads that it has on its first machine of the lab."""
    nodes = host_nodes.list_lab_nodes(suite.machines[0])
    whole, quick = (designs.expand_suite(s, nodes) for s in (suite, suites.replace_levels(suite, suite.quick)))
    return {"name": suite.name, "question": suite.question, "paper": suite.paper,
            "machines": list(suite.machines), "takes": suite.takes,
            "observations": len(schedule.make_schedule(whole)), "quick_observations": len(schedule.make_schedule(quick)),
            "workloads": [w.name for w in whole.workloads],
            "policies": list(suite.policies), "repeats": suite.repeats}


def shorten_names(names: list[str], most: int = 8) -> str:
    return ", ".join(names) if len(names) <= most else (
        f"{', '.join(names[:2])} .. {names[-1]}, {len(names)} in all")


def adapt_to_guest(args: RunOptions, request: Request) -> RunOptions:
    """Returns the options with which the guest makes the same run: by what its host has planned, with tuned levels and not their file."""
    return RunOptions(args.suite, repeats=request.suite.repeats, seed=args.seed, repeat_until_ci=args.repeat_until_ci,
                      max_repeats=args.max_repeats, workloads=args.workloads,
                      policies=list(request.suite.policies) if args.policies or args.tuned else None, set=args.set, engine=args.engine,
                      quick=args.quick, no_calibrate=args.no_calibrate, resume=args.resume)


def run_mechanisms_command(args: argparse.Namespace) -> int:
    """Prints the mechanisms, or those of the files, and what each lacks here. Returns 0. UsageError: a file is no NAME.py."""
    from ...mechanisms import listing
    for file in args.files:
        if not file.endswith(".py"):
            raise UsageError(f"mechanisms {file}: is no file NAME.py")
    rows = listing.make_rows(host_nodes.list_nodes(), args.files)
    print(json.dumps(rows, indent=1) if args.json else "\n".join(map(listing.format_row, rows)))
    return 0


def run_suite(args: RunOptions) -> int:
    """Runs one suite, on this machine or in the lab. Returns the exit status."""
    request = make_request(args)
    if args.lab is not None:
        from ...runner import run_in_lab
        name = choose_lab_machine(args, request.suite)
        request = plan_run(adapt_to_machine(request, host_nodes.list_lab_nodes(name)), name)
        guest = run_in_lab.Guest(["--kernel", args.kernel] if args.kernel else [])
        return run_in_lab.run_in_guest(request, name, guest, adapt_to_guest(args, request).list_words(), functional=args.functional)
    run_here(request)
    return 0


def run_here(request: Request, look: Callable[[Record], None] = lambda record: None) -> None:
    """Runs a suite on this machine and prints each observation; look: called with it then, and what it raises ends the run.
    ExperimentError: an observation is marked."""
    narrator = Narrator()

    def tell(number: int, total: int, record: Record) -> None:
        narrator.tell(number, total, record)
        look(record)

    without_clean = execute_suite(request, tell)
    if without_clean:
        raise ExperimentError(f"{request.out}: {without_clean} observations are marked or failed their "
                              "check; they are never averaged")


def run_run_command(args: argparse.Namespace) -> int:
    """Runs a suite or all of them, then prints the table of what was measured. Returns the exit status."""
    if args.all:
        return run_all.run_suites(args)
    options = RunOptions.read(args)
    if not args.suite or read_lab_name():
        return run_suite(options)
    out = args.out or Path("results") / suites.load_suite(args.suite).name
    before = results.read_write_time(out)
    try:
        return run_suite(options)
    finally:  # also where an observation failed
        if results.read_write_time(out) != before:
            tell_results(out)


def tell_results(out: Path) -> None:
    """Prints the table of a run, and its papers' chapters; says what is missing where the analysis is not installed."""
    try:
        from ...analysis import papers
        from ...analysis.pages import placement_table, text_table
        from ...analysis.runs.results import ResultsError, read_results
    except ImportError as error:
        print(f"the table of the results needs {error.name}: run 'make setup'")
        return
    with suppress(ResultsError):  # nothing but warm-ups
        run_results = read_results(out)
        placement_table.show_run(run_results)
        if chapters := papers.make_chapters(run_results)[0]:
            text_table.show_papers(run_results, chapters)


def run_tune_command(args: argparse.Namespace) -> int:
    """Searches the parameters of mechanisms on the suite's training input. Returns the exit status."""
    from ..tune import command as tune
    seed = tune.choose_training_seed(suites.load_suite(args.suite), args.seed)
    options = tune.make_options(args, seed)
    request = make_request(options)
    machine = choose_lab_machine(options, request.suite)
    request = adapt_to_machine(request, host_nodes.list_lab_nodes(machine) if args.lab is not None else host_nodes.list_nodes())
    return tune.carry_out_search(args, request.suite, seed, machine or host_nodes.read_machine_name(), run_suite)


def run_demo_command(args: argparse.Namespace) -> int:
    from . import demo
    return demo.main(args.quick, main)


def run_try_command(args: argparse.Namespace) -> int:
    """Runs a workload's file once and prints what was seen. Returns the exit status. UsageError: --timed without --lab."""
    from . import try_workload
    if args.timed and args.lab is None:
        raise UsageError("--timed is the lab's: give --lab MACHINE too")
    return try_workload.try_file(args.file, args.lab, args.timed)


def run_check_command(args: argparse.Namespace) -> int:
    from ...runner import check_machine
    return check_machine.print_findings(args.out)


def main(arguments: list[str] | None = None) -> int:
    """Carries out a command line, by default that of the process. Returns the exit status."""
    args = make_parser().parse_args(arguments)
    commands = {"list": run_list_command, "run": run_run_command, "tune": run_tune_command, "try": run_try_command,
                "demo": run_demo_command, "check-machine": run_check_command, "mechanisms": run_mechanisms_command,
                **dict.fromkeys(("report", "compare", "pack", "unpack"), run_verbs.carry_out_verb)}
    resume_by = "the same command" if args.command == "tune" else "--resume"
    return get_exit_status("numaplace experiment", lambda: commands[args.command](args), f"{resume_by} goes on from here")

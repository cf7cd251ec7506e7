# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: a program that is started, or processes that run already."""

import argparse
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import CannotError, ExperimentError, UsageError
from ...host.host_nodes import Node
from ...host.tool import take_last_line
from ...mechanisms import registry
from ...paths import HERE
from ...runner.records.record import Record
from ...runner.suite.command import read_workload_file
from . import trial_suite

NEEDED = 0.2  # s of a program's run: of a shorter one most observations under a policy come too late


@dataclass(frozen=True)
class Target:
    workload: str         # lines of the suite's [[workload]]
    metric: str
    levels: list[str]     # placements, without others asked for


def find_target(args: argparse.Namespace, nodes: Sequence[Node]) -> Target:
    """Finds what is to be measured, by the words: processes that run, a command or a workload's file. UsageError: none."""
    named = [name for name, given in (("CMD, FILE.toml or PID..", args.words), ("--cgroup", args.cgroup), ("--unit", args.unit)) if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)}: give one of them, which says what is measured")
    if args.kernel and not args.measure:
        raise UsageError("--kernel is of the lab: give --lab MACHINE too")
    if names_processes(args):
        return _describe_processes(args, nodes)
    if not args.words:
        raise UsageError("what is to be measured? Give -- CMD, a workload's file, PID.., --cgroup or --unit")
    if args.url:
        raise UsageError("--url is of processes that run: give PID.., --cgroup or --unit")
    return _describe_program(args, nodes)


def check_same_program(args: argparse.Namespace) -> None:
    """Checks that the results in --out are of the program that is given. UsageError: they are of another."""
    if len(args.words) == 1 and args.words[0].endswith(".toml"):
        kept_file, expected_text = args.out / "worth.toml", f"file = {json.dumps(str(Path(args.words[0]).resolve()))}"
    else:
        kept_file, expected_text = args.out / "program.toml", trial_suite.format_workload(args.words, _make_metric(args), args.after, Path.cwd())
    try:
        same = expected_text in kept_file.read_text(encoding="utf-8")
    except OSError:
        same = False
    if not same:
        raise UsageError(f"{args.out} has results of another program, or of other options: give another --out, or throw them away with --force")


def names_processes(args: argparse.Namespace) -> bool:
    """Checks whether the words name processes that run, and not a program that is to be started."""
    return bool(args.cgroup or args.unit or args.words and all(word.isdigit() for word in args.words))


def check_length(levels: Sequence[str], record: Record) -> None:
    """Checks at the first observation that a program did not end before it could be placed while it runs. TooShortError: it did."""
    late = next((level for level in levels if level != "none" and not ((mechanism := registry.make_mechanism(level)) and mechanism.starts)), None)
    unseen = not record["tasks"] if not record["marks"] else any("before it could be" in mark for mark in record["marks"])
    if late and unseen and record["order"] == 0 and record["check"] in ("ok", "not reached"):
        seconds = record["steps"].get("start", 0) + record["steps"].get("ps_before", 0)
        raise TooShortError(f"the program ends within {seconds:.2g} s, and an observation under {late} needs {NEEDED} s of it: give it more work, "
                            "or only start-.. placements with --placements")


class TooShortError(ExperimentError):
    """Of a program: nothing can be said of it."""


def _make_metric(args: argparse.Namespace) -> dict[str, str]:
    """Makes the table [metric] of a workload's file; {} where none is asked for. UsageError: the options contradict each other."""
    if args.metric and args.json_metric:
        raise UsageError("--metric and --json-metric: give one of them")
    if not args.metric and not args.json_metric:
        if args.lower:
            raise UsageError("--lower is of a metric: give --metric PATTERN too")
        return {}
    extraction = {"pattern": args.metric} if args.metric else {"json": args.json_metric}
    return {"name": "metric", "unit": "s" if args.lower else "1/s", "direction": "lower" if args.lower else "higher"} | extraction


def _describe_program(args: argparse.Namespace, nodes: Sequence[Node]) -> Target:
    """Describes a program that is started, by its workload's file, which is written to --out where a command is given."""
    if len(args.words) == 1 and args.words[0].endswith(".toml"):
        if args.metric or args.json_metric:
            raise UsageError(f"{args.words[0]} says its metric itself: leave --metric out")
        file = Path(args.words[0]).resolve()
    else:
        file = args.out.resolve() / "program.toml"
        file.write_text(trial_suite.format_workload(args.words, _make_metric(args), args.after, Path.cwd()), encoding="utf-8")
    return Target(f"file = {json.dumps(str(file))}", read_workload_file(file).metrics[0].name, trial_suite.list_placements(nodes))


def _describe_processes(args: argparse.Namespace, nodes: Sequence[Node]) -> Target:
    """Describes processes that run, whose rate is a count at --url, or their instructions. UsageError: the options are not theirs."""
    if args.json_metric or args.lower:
        raise UsageError("of processes that run the rate is a count at --url, found by --metric: leave the other options out")
    if bool(args.url) != bool(args.metric):
        raise UsageError("--url and --metric belong together: the page, and the pattern of a count on it")
    if args.metric:
        _check_pattern(args.metric)
    pids = [int(word) for word in args.words] or _list_members(args)
    table = trial_suite.format_processes(pids, args.window, args.settle, args.url or "", args.metric or "")
    return Target(table, "rate" if args.url else "instructions", trial_suite.list_undoable(nodes))


def _check_pattern(pattern: str) -> None:
    """Checks the pattern of a count. UsageError: it is none, or has several groups."""
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise UsageError(f"--metric {pattern}: is no regular expression: {error}") from None
    if groups > 1:
        raise UsageError(f"--metric {pattern}: has {groups} groups: the count is one")


def _list_members(args: argparse.Namespace) -> list[int]:
    """Lists the processes of --cgroup or --unit. UsageError: it has none; ExperimentError: they cannot be read."""
    group = args.cgroup or _find_cgroup(args.unit)
    done = subprocess.run([HERE.programs / "numaplace", "ps", "--sample", "0", "--json", "--cgroup", group], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise ExperimentError(take_last_line(done.stderr).removeprefix("numaplace: "))
    pids = [task["pid"] for task in json.loads(done.stdout)["tasks"]]
    if not pids:
        raise UsageError(f"cgroup {group} has no process: name another")
    return pids


def _find_cgroup(unit: str) -> str:
    """Finds the cgroup of a systemd unit. UsageError: the unit does not run; CannotError: there is no systemctl."""
    try:
        group = subprocess.run(["systemctl", "show", "--property", "ControlGroup", "--value", unit], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, check=False).stdout.strip()
    except FileNotFoundError:
        raise CannotError("systemctl is not installed: give --cgroup PATH in the place of --unit") from None
    if not group:
        raise UsageError(f"unit {unit} does not run: start it, or name another")
    return group

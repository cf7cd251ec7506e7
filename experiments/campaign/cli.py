# SPDX-License-Identifier: GPL-2.0-only
"""numaplace campaign: suites on many machines, by ReFrame."""

from __future__ import annotations

import argparse
import subprocess
import sys
import uuid
from pathlib import Path

from experiments.campaign import engine, machines, state
from experiments.errors import ExperimentError, UsageError
from experiments.places import HERE
from experiments.runner.suite import suite as suites

UNFINISHED = 1
PASSED_ON = ("kernel", "repeats", "seed", "repeat_until_ci", "max_repeats", "workloads", "policies", "engine", "boots", "budget")
FLAGS = ("quick", "functional")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="numaplace campaign", usage="numaplace campaign MACHINES.toml SUITE.. [OPTIONS] | status DIR | resume DIR | report DIR",
        description="Runs suites on each machine of a file, one at a time on each, and keeps what they measure.")
    top.add_argument("machines", type=Path, metavar="MACHINES.toml")
    top.add_argument("suites", nargs="+", metavar="SUITE")
    top.add_argument("--out", type=Path, default=Path("results/campaign"), metavar="DIR", help="default: results/campaign")
    for name in PASSED_ON:
        top.add_argument(f"--{name.replace('_', '-')}", metavar="X", help="as of experiment run")
    for name in FLAGS:
        top.add_argument(f"--{name}", action="store_true", help="as of experiment run")
    return top


def options(args: argparse.Namespace) -> list[str]:
    given = {name.replace("_", "-"): getattr(args, name) for name in PASSED_ON}
    return [word for name, value in given.items() if value is not None for word in (f"--{name}", value)] + [
        f"--{name}" for name in FLAGS if getattr(args, name)]


def begin(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    found = machines.read(args.machines)
    for suite in args.suites:
        suites.load(suite)
    folder = args.out.absolute()
    if (folder / state.FILE).exists():
        raise UsageError(f"{args.out} has a campaign already: go on with numaplace campaign resume {args.out}, or give another --out")
    engine.check()
    campaign = state.Campaign(folder, f"campaign-{uuid.uuid4().hex[:8]}", args.suites, options(args), found)
    campaign.write()
    return go_on(campaign)


def go_on(campaign: state.Campaign) -> int:
    engine.run(campaign.folder, campaign.machines)
    return show(campaign)


def show(campaign: state.Campaign) -> int:
    """0 where every step is done or skipped."""
    steps = campaign.steps()
    for step in steps:
        print(f"{step.machine:16} {step.suite:20} {step.state:8} {step.records:5} records  {step.why}".rstrip())
    left = sum(step.state in ("open", "failed") for step in steps)
    if left:
        print(f"campaign: {left} of {len(steps)} are not done: numaplace campaign resume {campaign.folder}", file=sys.stderr)
    return UNFINISHED if left else 0


def report(campaign: state.Campaign) -> int:
    return subprocess.run([HERE.programs / "numaplace", "experiment", "report", campaign.folder / "runs"], check=False).returncode


def main() -> int:
    actions = {"status": show, "resume": go_on, "report": report}
    try:
        if len(sys.argv) == 3 and sys.argv[1] in actions:
            return actions[sys.argv[1]](state.read(Path(sys.argv[2])))
        return begin(sys.argv[1:])
    except ExperimentError as error:
        print(f"numaplace campaign: {error}", file=sys.stderr)
        return error.status

# SPDX-License-Identifier: GPL-2.0-only
"""numaplace campaign: suites on many machines, by ReFrame."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import uuid
from contextlib import nullcontext
from pathlib import Path

from experiments.commands.campaign import engine, machines, state
from experiments.commands.experiment import cli as runner
from experiments.errors import UsageError, exit_status
from experiments.paths import HERE
from experiments.runner.progress import Bar

UNFINISHED = 1
# Options of `experiment run` with and without a value.
VALUES = ("kernel", "repeats", "seed", "repeat-until-ci", "max-repeats", "workloads", "policies", "engine", "boots", "budget")
FLAGS = ("quick", "functional", "no-calibrate")
ACTIONS = """\
actions on the folder of a campaign:
  status DIR            each suite on each machine: done, skipped, failed or open, records, seconds, why
  resume DIR            goes on with what is failed or open
  report DIR            the page of all runs, as of experiment report
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="numaplace campaign", epilog=ACTIONS, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="numaplace campaign [OPTION..] MACHINES.toml SUITE.. | status DIR | resume DIR | report DIR",
        description="Runs suites on each machine of a file, one at a time on each, and keeps what they measure.")
    top.add_argument("machines", type=Path, metavar="MACHINES.toml", help="a table for each machine")
    top.add_argument("suites", nargs="+", metavar="SUITE", help="as of experiment run")
    top.add_argument("--out", type=Path, default=Path("results/campaign"), metavar="DIR", help="default: results/campaign")
    for name in VALUES:
        top.add_argument(f"--{name}", dest=name, metavar="X", help="as of experiment run")
    for name in FLAGS:
        top.add_argument(f"--{name}", dest=name, action="store_true", help="as of experiment run")
    return top


def options(args: argparse.Namespace) -> list[str]:
    given = vars(args)
    return [word for name in VALUES if given[name] is not None for word in (f"--{name}", given[name])] + [
        f"--{name}" for name in FLAGS if given[name]]


def check(found: list[machines.Machine], suites: list[str], words: list[str]) -> None:
    """What `experiment run` would refuse on a machine, it refuses here."""
    for machine in found:
        lab = ["--lab", machine.lab] if machine.lab else []
        for suite in suites:
            runner.request_of(runner.read_options(["run", suite, *lab, *words]))


def kept_names(suites: list[str]) -> list[str]:
    names = [Path(suite).name if suite.endswith(".toml") else suite for suite in suites]
    stems = [name.removesuffix(".toml") for name in names]
    for stem in stems:
        if stems.count(stem) > 1:
            raise UsageError(f"suite '{stem}' is given {stems.count(stem)} times: the campaign's folder has one of each name")
    return names


def begin(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    found, names = machines.read(args.machines), kept_names(args.suites)
    check(found, args.suites, options(args))
    folder = args.out.absolute()
    if (folder / state.FILE).exists():
        raise UsageError(f"{args.out} has a campaign already: go on with numaplace campaign resume {args.out}, or give another --out")
    engine.check()
    try:
        (folder / "suites").mkdir(parents=True, exist_ok=True)
        for suite in args.suites:
            if suite.endswith(".toml"):
                shutil.copy(suite, folder / "suites")
        campaign = state.Campaign(folder, f"campaign-{uuid.uuid4().hex[:8]}", names, options(args), found)
        campaign.write()
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}: give another --out") from None
    return go_on(campaign)


def go_on(campaign: state.Campaign) -> int:
    engine.check()
    before = campaign.steps()
    ended: set[tuple[int, int]] = set()

    def tell(machine: int, suite: int) -> None:
        step = campaign.step(machine, suite)
        if before[machine * len(campaign.suites) + suite].state != "done":
            print(step, flush=True)
        ended.add((machine, suite))
        if bar:
            bar.show(len(ended), f"{step.suite} on {step.machine}: {step.state}")

    # For a log the lines are enough.
    with engine.alone(campaign.folder), (Bar(len(before)) if sys.stdout.isatty() else nullcontext()) as bar:
        engine.run(campaign.folder, campaign.machines, tell)
    return conclude(campaign)


def show(campaign: state.Campaign) -> int:
    print("\n".join(map(str, campaign.steps())))
    return conclude(campaign)


def conclude(campaign: state.Campaign) -> int:
    """0 where every step is done or skipped."""
    steps = campaign.steps()
    left = [step for step in steps if step.left]
    if left:
        print(f"numaplace campaign: {len(left)} of {len(steps)} steps are not done ({left[0].suite} on {left[0].machine}: "
              f"{left[0].why or 'not started'}): numaplace campaign resume {campaign.folder} goes on", file=sys.stderr)
    return UNFINISHED if left else 0


def report(campaign: state.Campaign) -> int:
    return subprocess.run([HERE.programs / "numaplace", "experiment", "report", campaign.folder / state.RUNS],
                          check=False).returncode


def act(argv: list[str]) -> int:
    actions = {"status": show, "resume": go_on, "report": report}
    if not argv or argv[0] not in actions:
        return begin(argv)
    if len(argv) != 2 or argv[1].startswith("-"):
        raise UsageError(f"{argv[0]} takes the folder of a campaign and nothing else: numaplace campaign {argv[0]} DIR")
    return actions[argv[0]](state.read(Path(argv[1])))


def main() -> int:
    return exit_status("numaplace campaign", lambda: act(sys.argv[1:]),
                       "a step on a host by ssh goes on there, and numaplace campaign resume takes what it measures")

# SPDX-License-Identifier: GPL-2.0-only
"""numaplace campaign: suites on many machines."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
import uuid
from dataclasses import replace
from pathlib import Path

from experiments.commands.campaign import engine, machines, state
from experiments.commands.campaign.piece import DONE, SKIPPED
from experiments.commands.run_request import make_request
from experiments.errors import UsageError, get_exit_status
from experiments.paths import HERE

# Options of `experiment run` with and without a value.
VALUES = ("kernel", "repeats", "seed", "repeat-until-ci", "max-repeats", "workloads", "placements", "engine", "boots", "budget")
FLAGS = ("quick", "functional", "no-calibrate")
ACTIONS = """\
actions on the folder of a campaign:
  status DIR            each suite on each machine: done, skipped, failed or open, records, seconds, why
  resume DIR            goes on with what is failed or open
  report DIR            the page of all runs, as of experiment report
"""


def make_parser() -> argparse.ArgumentParser:
    """Makes the parser of a campaign that begins: machines, suites and options of `experiment run`."""
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


def list_options(args: argparse.Namespace) -> list[str]:
    given = vars(args)
    return [word for name in VALUES if given[name] is not None for word in (f"--{name}", given[name])] + [
        f"--{name}" for name in FLAGS if given[name]]


def check_requests(campaign: state.Campaign, suites: list[str]) -> None:
    """Checks that `experiment run` would take each suite on each machine. suites: as on the command line. UsageError: it would not."""
    for machine in campaign.machines:
        for suite in suites:
            make_request(replace(campaign.read_run_options(), suite=suite, lab=machine.lab or None))


def check_files(args: argparse.Namespace) -> None:
    """Checks that the suites are whole in themselves: their copies are elsewhere. UsageError: one names files of workloads."""
    named = [(suite, table["file"]) for suite in args.suites if suite.endswith(".toml")
             for table in tomllib.loads(Path(suite).read_text(encoding="utf-8")).get("workload", []) if "file" in table]
    named += [("--workloads", word) for word in (args.workloads or "").split(",") if word.endswith(".toml")]
    for suite, file in named:
        raise UsageError(f"{suite}: a campaign sends no file such as {file} along: write what it has into the suite")


def list_kept_names(suites: list[str]) -> list[str]:
    """Returns the names under which the campaign keeps the suites: of a file its last part. UsageError: two have the same."""
    names = [Path(suite).name if suite.endswith(".toml") else suite for suite in suites]
    stems = [name.removesuffix(".toml") for name in names]
    for stem in stems:
        if stems.count(stem) > 1:
            raise UsageError(f"suite '{stem}' is given {stems.count(stem)} times: the campaign's folder has one of each name")
    return names


def begin_campaign(argv: list[str]) -> int:
    """Begins the campaign of a command line, with copies of the user's suites in its folder, and runs it. Returns the exit status.
    UsageError: the folder has one already, or cannot be made."""
    args = make_parser().parse_args(argv)
    folder = args.out.absolute()
    campaign = state.Campaign(folder, f"campaign-{uuid.uuid4().hex[:8]}", list_kept_names(args.suites),
                              list_options(args), machines.read_machines(args.machines))
    check_requests(campaign, args.suites)
    check_files(args)
    if (folder / state.FILE).exists():
        raise UsageError(f"{args.out} has a campaign already: go on with numaplace campaign resume {args.out}, or give another --out")
    try:
        (folder / "suites").mkdir(parents=True, exist_ok=True)
        for suite in args.suites:
            if suite.endswith(".toml"):
                shutil.copy(suite, folder / "suites")
        campaign.write()
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}: give another --out") from None
    return resume_campaign(campaign)


def resume_campaign(campaign: state.Campaign) -> int:
    with engine.lock_folder(campaign.folder):
        engine.run_pieces(engine.list_left(campaign.list_pieces()))
    return conclude_campaign(campaign)


def show_campaign(campaign: state.Campaign) -> int:
    print("\n".join(engine.format_line(piece, piece.read_state()) for piece in campaign.list_pieces()))
    return conclude_campaign(campaign)


def conclude_campaign(campaign: state.Campaign) -> int:
    """Prints what has failed or is left. Returns the exit status: 0 where every piece is done or skipped."""
    return engine.conclude_pieces("numaplace campaign", campaign.list_pieces(),
                                  f"numaplace campaign resume {campaign.folder} goes on", (DONE, SKIPPED))


def report_campaign(campaign: state.Campaign) -> int:
    return subprocess.run([HERE.programs / "numaplace", "experiment", "report", campaign.folder / state.RUNS], check=False).returncode


def carry_out(argv: list[str]) -> int:
    """Carries a command line out. Returns the exit status. UsageError: an action has other words than one folder."""
    actions = {"status": show_campaign, "resume": resume_campaign, "report": report_campaign}
    if not argv or argv[0] not in actions:
        return begin_campaign(argv)
    if len(argv) != 2 or argv[1].startswith("-"):
        raise UsageError(f"{argv[0]} takes the folder of a campaign and nothing else: numaplace campaign {argv[0]} DIR")
    return actions[argv[0]](state.read_campaign(Path(argv[1])))


def main() -> int:
    return get_exit_status("numaplace campaign", lambda: carry_out(sys.argv[1:]),
                           "a suite on a host by ssh goes on there, and numaplace campaign resume takes what it measures")

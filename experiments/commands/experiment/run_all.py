# SPDX-License-Identifier: GPL-2.0-only
"""run --all: every suite, on this machine or each on its own machines of the lab, as a campaign of this computer."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ...errors import UsageError
from ...runner.options import RunOptions
from ...runner.records import results
from ..campaign import engine
from ..campaign.piece import list_pieces, list_suites
from . import run_verbs


def run_suites(args: argparse.Namespace) -> int:
    """Runs every suite, and makes one report of what there is then: one that fails does not keep the others from running.

    Returns the exit status. UsageError: there are results, and neither --resume nor --force says what to do with them."""
    if args.suite or args.workloads or args.set or args.tuned:
        raise UsageError("--all: takes no SUITE, --workloads, --set or --tuned")
    args.out = args.out or Path("results") / "all"
    options = replace(RunOptions.read(args), all=False, out=None, budget=None)
    all_pieces = list_pieces(args.out, list_suites(options), options)
    with engine.lock_folder(args.out):
        if not args.resume and not args.force and any(args.out.glob(f"*/{results.NAME}")):
            raise UsageError(f"{args.out} has results: go on with --resume, throw them away with --force, or give another --out")
        if args.force:
            for piece in all_pieces:  # also of those that the budget leaves out
                piece.forget()
        engine.run_pieces(engine.list_left(all_pieces) if args.resume else all_pieces, args.budget, shared=True)
    status = engine.conclude_pieces("numaplace experiment run --all", all_pieces, "--resume goes on")
    if any(args.out.glob(f"*/{results.NAME}")):
        args.command, args.directory = "report", str(args.out)
        status = max(status, run_verbs.carry_out_verb(args))
    return status

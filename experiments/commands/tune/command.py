# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment tune."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ...errors import UsageError
from ...runner.options import RunOptions
from ...runner.suite.suite import Suite
from ...units import format_duration
from . import tuned
from .rounds import BASELINE, Rounds
from .search import Search, check_package, list_parameters

AWAY = 1000  # from the suite's seed: more than repeats that a run has


def choose_training_seed(suite: Suite, given: int | None) -> int:
    """Returns the seed of the training input: `given`, or one far from the suite's. UsageError: a repeat of the suite has it, whose seeds
    are the suite's and those after it."""
    seed = suite.seed + AWAY if given is None else given
    if seed in range(suite.seed, suite.seed + suite.repeats):
        raise UsageError(f"--seed {seed}: suite {suite.name} is scored with seeds {suite.seed} to "
                         f"{suite.seed + suite.repeats - 1}: tune with another one")
    return seed


def make_options(args: argparse.Namespace, seed: int) -> RunOptions:
    """Returns the options of each round's run, without its levels and folder."""
    return RunOptions(args.suite, repeats=1, seed=seed, quick=args.quick, lab=args.lab, kernel=args.kernel, workloads=args.workloads)


def carry_out_search(args: argparse.Namespace, suite: Suite, seed: int, machine: str, run: Callable[[RunOptions], int]) -> int:
    """Searches the parameters of args.policies, writes tuned.toml and prints what was found. Returns 0.

    suite: that of the training input, on its machine; seed: of both; run: makes a run. UsageError: trials or a mechanism are wrong."""
    check_package()
    names = list(dict.fromkeys(args.policies))
    for name in names:
        list_parameters(name)
    if args.trials < 2:
        raise UsageError(f"--trials {args.trials}: at least 2, as the first is that of the defaults")
    out = args.out or Path("results") / f"tune-{suite.name}"
    options = make_options(args, seed)

    def measure(folder: Path, levels: list[str], begun: bool) -> None:
        print(f"{folder.name}: {len(levels) - 1} candidates and {BASELINE}, {len(suite.workloads)} workloads", flush=True)
        run(replace(options, policies=levels, out=folder, resume=begun))

    searches = [Search(name, seed) for name in names]
    head = {"machine": machine, "suite": suite.name, "seed": seed, "kernel": args.kernel or "", "quick": args.quick}
    tuned.check_head(out, head)
    until = None if args.budget is None else time.monotonic() + args.budget
    begin = time.monotonic()
    Rounds(suite, out, measure).make_all(searches, args.trials, until, lambda: tuned.write_tuned(out, head, searches))
    print("\n".join(map(format_result, searches)))
    trials = len(searches[0].tried)
    fewer = f" of {args.trials}, for the budget" if trials < args.trials else ""
    print(f"{trials} trials each{fewer}, in {format_duration(time.monotonic() - begin)}; rank what was found with "
          f"numaplace experiment run {args.suite} --tuned {out / tuned.NAME}")
    return 0


def format_result(search: Search) -> str:
    """Formats what a search found beside the defaults, on the training input."""
    # The largest of many single observations is no measurement: the line names no speed-up to expect.
    return (f"{search.name}: on the training input defaults {format_score(search.default)}, "
            f"found {format_score(search.best.score)}: {search.best.level}")


def format_score(score: float | None) -> str:
    return "not measured cleanly" if score is None else f"{score:.3f}"

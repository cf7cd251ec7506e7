# SPDX-License-Identifier: GPL-2.0-only
"""The answers of the project's commands about a run that is drawn: one function each, and what the words mean."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from ...analysis.pages import summary
from ...analysis.policies import speedup
from ...analysis.policies.decision import Decision
from ...analysis.runs.results import Results
from ...analysis.stats import compare as comparison
from ...commands.judge import verdict as judge_verdict
from ...commands.judge.cli import BOOTS as JUDGE_BOOTS
from ...commands.worth import stop
from ...commands.worth import verdict as worth_verdict
from ...runner.repeats import precision
from . import draw

__all__ = ["JUDGE_BOOTS"]


def decide_speedups(run: Results) -> dict[tuple[str, str], Decision]:
    """Returns the decision on each workload and policy but the baseline."""
    return speedup.decide_cells(run)


def is_precise(values: list[float], percent: float) -> bool:
    return precision.is_precise(values, draw.UNIT, percent)


def mentions_slow_runs(percent: float) -> bool:
    """Checks whether the report of a run until `percent` says that slow runs may not be in its intervals."""
    run = draw.Cells({("w", "none"): 1.0}).draw_run(Random(1), 10)
    return any("slow runs" in note for note in summary.list_notes(replace(run, manifest=run.manifest | {"repeat_until_ci": percent})))


def compute_half_width(values: list[float]) -> float:
    """Returns the half width of the interval of the mean, in percent of the mean; 0 where it has none."""
    return precision.compute_half_width(values, draw.UNIT) or 0.0


@dataclass(frozen=True)
class Worth:
    """Holds what `numaplace worth` answers."""
    named: Decision | None   # the speed-up of the option that the sentence names
    loses: list[str]         # options that are said to lose
    nothing: bool            # "nothing is worth it"
    decided: bool
    options: list[Decision]  # each speed-up with its printed interval
    ended: bool              # by its own rule, before the budget was spent
    said_one_boot: bool      # the sentence says that it holds in one boot


WORTH_BOOTS = stop.BOOTS     # of `numaplace worth --lab` at least


def answer_worth(cells: draw.Cells, source: Random, blocks: int, stops: bool = False) -> Worth:
    """Returns the answer of `numaplace worth` for one program under options, of a run of `blocks` blocks.

    stops: as the command does when it stops by itself: it looks after stop.LOOKS blocks, and ends, or drops decided options."""
    drawn, levels, used_blocks = cells.draw_run(source, blocks), None, blocks
    run = drawn
    for look in (n for n in stop.LOOKS if stops and n < blocks):
        kept = [o for o in drawn.observations if o.repeat < look and (levels is None or o.policy in levels)]
        dropped = [o for o in run.observations if levels is not None and o.policy not in levels]  # has no further blocks
        run = draw.build_results([*kept, *dropped], drawn.policies)
        verdict = _judge_worth(run)
        if not verdict.undecided:
            used_blocks = look
            break
        levels = {worth_verdict.BASELINE, *(option.policy for option in verdict.undecided)}
    else:
        run = draw.build_results([o for o in drawn.observations if levels is None or o.policy in levels]
                                 + [o for o in run.observations if levels is not None and o.policy not in levels], drawn.policies)
    verdict = _judge_worth(run)
    sentence = verdict.format_sentence()
    lost = [o.policy for o in verdict.options if o.significant and o.value < 1 - worth_verdict.LEAST]
    return Worth(verdict.best, lost if " loses " in sentence else [], sentence.startswith("nothing is worth it"), verdict.decided,
                 verdict.options, used_blocks < blocks, "within this boot" in sentence)


def _judge_worth(run: Results) -> worth_verdict.Verdict:
    looked_at = replace(run, manifest=run.manifest | {"suite_text": "looks = true"})
    return worth_verdict.judge_options(list(speedup.decide_cells(looked_at).values()), len(run.select("w", worth_verdict.BASELINE)), None)


def compare_runs(first: Results, second: Results) -> tuple[list[dict[str, Any]], bool]:
    """Returns a row for each cell, as `experiment compare --json` has it, and whether it is said that they hold in one boot only."""
    with tempfile.TemporaryDirectory() as folder:
        found = comparison.compare_runs(*(draw.write_run(Path(folder) / side, run) for side, run in (("a", first), ("b", second))))
    pair, = found["pairs"]
    return pair["rows"], any("of one boot" in note for note in pair["notes"])


@dataclass(frozen=True)
class Judged:
    """Holds what `numaplace judge` answers, by workload."""
    slower: list[str]
    faster: list[str]
    excluded: Callable[[str], bool]  # whether what is printed excludes that this workload is slower
    rows: list[dict[str, Any]]


def judge_runs(first: Results, second: Results, smallest: float = 0.01, exclude: float = 0.05) -> Judged:
    """Returns the verdict of `numaplace judge` on two runs; smallest: change that counts, exclude: slowdown to exclude, as shares."""
    with tempfile.TemporaryDirectory() as folder:
        found = judge_verdict.compare_kernels(*(draw.write_run(Path(folder) / side, run) for side, run in (("a", first), ("b", second))),
                                              [draw.METRIC], smallest, exclude)
    words = {row["workload"]: row["verdict"] for row in found.rows}
    return Judged([w for w, word in words.items() if word == judge_verdict.SLOWER],
                  [w for w, word in words.items() if word == judge_verdict.FASTER],
                  lambda workload: words[workload] != judge_verdict.NOT_EXCLUDED, found.rows)

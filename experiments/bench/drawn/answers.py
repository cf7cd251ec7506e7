# SPDX-License-Identifier: GPL-2.0-only
"""The answers of the project's commands about a run that is drawn: one function each, and what the words mean."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
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
from ...commands.worth import stop
from ...commands.worth import verdict as worth_verdict
from . import draw


def mentions_slow_runs(percent: float) -> bool:
    """Checks whether the report of a run until `percent` says that slow runs may not be in its intervals."""
    run = draw.Cells({("w", "none"): 1.0}).draw_run(Random(1), 10)
    return any("slow runs" in note for note in summary.list_notes(replace(run, manifest=run.manifest | {"repeat_until_ci": percent})))


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


def answer_worth(cells: draw.Cells, source: Random, blocks: int, stops: bool = False) -> Worth:
    """Returns the answer of `numaplace worth` for one program under options, of a run of `blocks` blocks.

    stops: as the command does when it stops by itself: it looks after stop.LOOKS blocks, and ends, or drops decided options."""
    drawn = cells.draw_run(source, blocks)
    levels: Collection[str] = drawn.policies           # that have further blocks
    blocks_of = dict.fromkeys(drawn.policies, 0)       # that each level has had
    for look in (*(n for n in stop.LOOKS if stops and n < blocks), blocks):
        blocks_of |= dict.fromkeys(levels, look)
        verdict = _judge_worth(draw.build_results([o for o in drawn.observations if o.repeat < blocks_of[o.policy]], drawn.policies))
        if not verdict.undecided:
            break
        levels = {worth_verdict.BASELINE, *(option.policy for option in verdict.undecided)}
    sentence = verdict.format_sentence()
    lost = [o.policy for o in verdict.options if o.significant and o.value < 1 - worth_verdict.LEAST]
    return Worth(verdict.best, lost if " loses " in sentence else [], sentence.startswith("nothing is worth it"), verdict.decided,
                 verdict.options, look < blocks, "within this boot" in sentence)


def _judge_worth(run: Results) -> worth_verdict.Verdict:
    looked_at = replace(run, manifest=run.manifest | {"suite_text": "looks = true"})
    return worth_verdict.judge_options(list(speedup.decide_cells(looked_at).values()), len(run.select("w", worth_verdict.BASELINE)), None)


def compare_runs(first: Results, second: Results) -> tuple[list[dict[str, Any]], bool]:
    """Returns a row for each cell, as `experiment compare --json` has it, and whether it is said that they hold in one boot only."""
    with tempfile.TemporaryDirectory() as folder:
        found = comparison.compare_runs(*(draw.write_run(Path(folder) / side, run) for side, run in (("a", first), ("b", second))))
    pair, = found["pairs"]
    return pair["rows"], any("of one boot" in note for note in pair["notes"])


def judge_runs(first: Results, second: Results) -> dict[str, str]:
    """Returns the word of `numaplace judge` on each workload of two runs, at its defaults: 1 % is a change, 5 % slower is excluded."""
    with tempfile.TemporaryDirectory() as folder:
        found = judge_verdict.compare_kernels(*(draw.write_run(Path(folder) / side, run) for side, run in (("a", first), ("b", second))),
                                              [draw.METRIC], smallest=0.01, exclude=0.05)
    return {row["workload"]: row["verdict"] for row in found.rows}

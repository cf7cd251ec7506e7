# SPDX-License-Identifier: GPL-2.0-only
"""A search, round by round: each is one run of the suite with `none` and some candidates of every mechanism."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import ExperimentError, UsageError
from ...runner.boots import boot_shares
from ...runner.records import manifest, results
from ...runner.suite.suite import Suite
from .search import Search

BASELINE = "none"
AT_ONCE = 4  # candidates of a mechanism in a round: a boot for each would take longer, more would learn less


@dataclass(frozen=True)
class Rounds:
    """Makes the rounds. `suite` is that of the training input, on its machine, with one repeat."""

    suite: Suite
    out: Path
    measure: Callable[[Path, list[str], bool], None]  # levels into a folder; whether its run has begun

    def make_all(self, searches: Sequence[Search], trials: int, until: float | None, after_round: Callable[[], None]) -> None:
        """Makes rounds until every search has so many trials, all the same number. until: s of the monotonic clock, after which no round
        begins; after_round: called after each. ExperimentError: the first round has no score."""
        for number in range(-(-trials // AT_ONCE)):
            if number and until is not None and time.monotonic() >= until:
                return
            count = min(AT_ONCE, trials - number * AT_ONCE)
            levels = [level for search in searches for level in search.ask_levels(count)]
            scores = self.make_round(self.out / f"round-{number}", list(dict.fromkeys([BASELINE, *levels])))
            if not number and not scores:
                raise ExperimentError(f"{self.out}/round-0: no candidate was measured cleanly beside {BASELINE} under every workload: "
                                      f"'numaplace experiment report {self.out}/round-0' shows why")
            for search in searches:
                search.tell_scores(scores)
            after_round()

    def make_round(self, folder: Path, levels: list[str]) -> dict[str, float]:
        """Runs what is left of a round. Returns the scores by level, none of what was not measured cleanly. ExperimentError: it was cut."""
        suite, begun = replace(self.suite, policies=tuple(levels)), (folder / results.NAME).exists()
        if results.count_records(folder):
            check_same(folder, suite)
        if has_left(folder, suite):
            try:
                self.measure(folder, levels, begun)
            except ExperimentError:
                if has_left(folder, suite):
                    raise
        return compute_scores(folder, len(suite.workloads))


def has_left(folder: Path, suite: Suite) -> bool:
    return boot_shares.divide_repeats(suite, 1)[0].has_left(results.read_records(folder))


def check_same(folder: Path, suite: Suite) -> None:
    """Checks that the round has the candidates that the optimiser asks for now, on the same input. UsageError: it has not."""
    try:
        then = json.loads((folder / manifest.NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / manifest.NAME} cannot be read ({error}): remove {folder}") from None
    now = {"seed": suite.seed, "suite_text": suite.text, "workloads": [w.name for w in suite.workloads], "policies": list(suite.policies)}
    for key, value in now.items():
        kept = then.get(key)
        if (list(kept) if isinstance(kept, dict) else kept) != value:
            raise UsageError(f"{folder} is of another search: its {key.replace('_', ' ')} differs; take the options that it began "
                             "with, or another --out")


def compute_scores(folder: Path, workload_count: int) -> dict[str, float]:
    """Computes, by level, the geometric mean of the speed-ups against none over all workloads; not of a level that lacks one of them."""
    from ...analysis.policies.speedup import compute_totals
    from ...analysis.runs.results import read_results
    return {total.policy: total.ratio.value for total in compute_totals(read_results(folder))
            if total.ratio is not None and total.workloads == workload_count}

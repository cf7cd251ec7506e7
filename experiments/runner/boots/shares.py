# SPDX-License-Identifier: GPL-2.0-only
"""Repeats shared out over boots: each boot makes whole blocks, that is every cell as often."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ..suite import schedule
from ..suite.suite import Suite


@dataclass(frozen=True)
class Share:
    suite: Suite
    boot: int
    begin: int  # the first repeat
    end: int    # the repeat before which it ends

    def has(self, record: dict[str, Any]) -> bool:
        """A warm-up is of one boot alone."""
        return self.begin <= record["repeat"] < self.end and not record.get("warmup")

    def left(self, records: list[dict[str, Any]]) -> bool:
        """Whether observations are to be made; warm-ups alone are no reason for a boot."""
        done = schedule.done(records)
        return any(not trial.warmup and self.begin <= trial.repeat < self.end and trial.key not in done
                   for trial in schedule.make(self.suite))


def of(suite: Suite, boots: int) -> list[Share]:
    """They differ by one repeat at most."""
    if not 1 <= boots <= suite.repeats:
        raise UsageError(f"--boots {boots}: this run has {suite.repeats} repeats, and each boot makes one at least: "
                         "give another number, or more --repeats")
    ends = [suite.repeats * boot // boots for boot in range(boots + 1)]
    return [Share(suite, boot, begin, end) for boot, (begin, end) in enumerate(itertools.pairwise(ends))]

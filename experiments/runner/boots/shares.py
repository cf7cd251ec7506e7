# SPDX-License-Identifier: GPL-2.0-only
"""Repeats shared out over boots: each boot makes whole blocks, that is every cell as often."""

from __future__ import annotations

from typing import Any

from ...errors import UsageError
from ..suite import schedule
from ..suite.suite import Suite


def ends(repeats: int, boots: int) -> list[int]:
    """The repeat before which each boot ends; shares differ by one at most."""
    if not 1 <= boots <= repeats:
        raise UsageError(f"--boots {boots}: this run has {repeats} repeats, and each boot makes one at least: "
                         "give another number, or more --repeats")
    return [repeats * (boot + 1) // boots for boot in range(boots)]


def left(suite: Suite, records: list[dict[str, Any]], end: int) -> bool:
    """Whether observations before this repeat are to be made; warm-ups alone are no reason for a boot."""
    done = schedule.done(records)
    return any(not trial.warmup and trial.repeat < end and trial.key not in done for trial in schedule.make(suite))

# SPDX-License-Identifier: GPL-2.0-only
"""The papers' tables and figures: names that a suite may give in `presents`."""

from __future__ import annotations

from collections.abc import Callable

from ..results import Results
from . import bergstrom, deters, heard, luo, prabhanjan
from .chapter import Chapter

__all__ = ["PRESENTATIONS", "Chapter", "chapters"]

PRESENTATIONS: dict[str, Callable[[Results, str], Chapter]] = {
    "luo-contention": luo.contention,
    "luo-cross": luo.cross,
    "luo-split": luo.split,
    "bergstrom-stream": bergstrom.stream,
    "heard-cachetest": heard.cachetest,
    "prabhanjan-times": prabhanjan.times,
    "prabhanjan-counters": prabhanjan.counters,
    "prabhanjan-benchmark": prabhanjan.benchmark,
    "deters-stealing": deters.stealing,
}


def chapters(results: Results, prefix: str = "paper") -> tuple[list[Chapter], list[str]]:
    """In the suite's order; names that are not known come back as the second.

    The prefix keeps the ids of two runs on one page apart.
    """
    known = [name for name in results.presents if name in PRESENTATIONS]
    unknown = [name for name in results.presents if name not in PRESENTATIONS]
    found = [PRESENTATIONS[name](results, f"{prefix}-{name}") for name in known]
    for chapter in found:
        chapter.platforms = tuple(results.platforms)
    return found, unknown

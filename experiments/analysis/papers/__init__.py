# SPDX-License-Identifier: GPL-2.0-only
"""The papers' tables and figures: names that a suite may give in `presents`."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..runs.results import Results
from . import bergstrom, deters, heard, luo, prabhanjan
from .chapter import NO_POLICY, Chapter

__all__ = ["PRESENTATIONS", "Chapter", "make_chapters"]

PRESENTATIONS: dict[str, Callable[[Results, str], Chapter]] = {
    "luo-contention": luo.make_contention,
    "luo-cross": luo.make_cross,
    "luo-split": luo.make_split,
    "bergstrom-stream": bergstrom.make_stream,
    "heard-cachetest": heard.make_cachetest,
    "prabhanjan-times": prabhanjan.make_times,
    "prabhanjan-counters": prabhanjan.make_counters,
    "prabhanjan-benchmark": prabhanjan.make_benchmark,
    "deters-stealing": deters.make_stealing,
}


def make_chapters(results: Results, prefix: str = "paper") -> tuple[list[Chapter], list[str]]:
    """Makes a chapter for each presentation of the suite and each policy, in the suite's order; returns them and the unknown names.

    `prefix` begins the chapters' ids, so that those of two runs on one page differ."""
    known = [name for name in results.presents if name in PRESENTATIONS]
    unknown = [name for name in results.presents if name not in PRESENTATIONS]
    return [_make_chapter(results, name, policy, prefix) for name in known for policy in results.policies], unknown


def _make_chapter(results: Results, name: str, policy: str, prefix: str) -> Chapter:
    """Makes the chapter of one presentation under one policy, with the policy in name and title unless the run has NO_POLICY alone."""
    if results.policies == [NO_POLICY]:
        return PRESENTATIONS[name](results, f"{prefix}-{name}")
    suffix = f"{results.policies.index(policy)}-{re.sub('[^A-Za-z0-9]+', '-', policy)}"
    chapter = PRESENTATIONS[name](results.select_policy(policy), f"{prefix}-{name}-{suffix}")
    chapter.name += f"-{suffix}"
    chapter.policy = policy
    chapter.title += f", policy {policy}"
    return chapter

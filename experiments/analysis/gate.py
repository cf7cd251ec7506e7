# SPDX-License-Identifier: GPL-2.0-only
"""experiment compare --fail-if 'bandwidth < -3 %': thresholds that decide the exit status."""

from __future__ import annotations

import fnmatch
import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Any

STATUS = 4  # of a threshold that is crossed


@dataclass(frozen=True)
class Threshold:
    metric: str    # or a pattern of metrics
    below: bool
    change: float  # of b against a, as -0.03

    def crossed(self, relative: float) -> bool:
        return relative < self.change if self.below else relative > self.change

    @property
    def text(self) -> str:
        return f"{self.metric} {'<' if self.below else '>'} {100 * self.change:+g} %"


def threshold(text: str) -> Threshold:
    match = re.fullmatch(r"\s*([\w*?.\[\]-]+?)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*%\s*", text)
    if not match:
        raise ArgumentTypeError(f"'{text}' is not METRIC < PERCENT, such as 'bandwidth < -3 %' or 'seconds > 5 %'")
    return Threshold(match[1], match[2] == "<", float(match[3]) / 100)


def judge(found: dict[str, Any], thresholds: list[Threshold]) -> list[str]:
    """A line for each row that crosses a threshold, and for what cannot be judged: no row, or none in b.

    A difference that Welch's or the paired test does not find significant crosses nothing; where there is no test,
    the means decide.
    """
    return [line for pair in found["pairs"] for limit in thresholds for line in _of_pair(pair, limit)]


def _of_pair(pair: dict[str, Any], limit: Threshold) -> list[str]:
    rows = [row for row in pair["rows"] if fnmatch.fnmatchcase(row["metric"], limit.metric)]
    missing = [name for name in pair["only_in_a"] if fnmatch.fnmatchcase(name.rpartition(" / ")[2], limit.metric)]
    where = f"{limit.text}: {pair['b']['directory']}"
    if not rows and not missing:
        return [f"{where}: no metric of that name"]
    return [f"{where}: {name} was not measured" for name in missing] + [
        f"{where}: {row['workload']} / {row['policy']} / {row['metric']} changed by {100 * row['relative']:+.1f} %"
        f" ({_by(row)})" for row in rows
        if row["relative"] is not None and limit.crossed(row["relative"]) and _counts(row)]


def _counts(row: dict[str, Any]) -> bool:
    """A row that only repeats another one is judged by its own p value."""
    p = row["p"] if row["same_as"] else row["p_holm"]
    return p is None or p < 0.05


def _by(row: dict[str, Any]) -> str:
    if row["p"] is not None:
        return f"p {row['p'] if row['same_as'] else row['p_holm']:.2g}"
    return "by one observation" if min(row["n_a"], row["n_b"]) < 2 else "no spread"

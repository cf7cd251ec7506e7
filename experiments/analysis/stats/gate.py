# SPDX-License-Identifier: GPL-2.0-only
"""experiment compare --fail-if 'bandwidth < -3 %': thresholds that decide the exit status."""

from __future__ import annotations

import fnmatch
import math
import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # at run time it would load scipy for each command line
    from .compare import Comparison, Pair, Row

STATUS = 4  # of a threshold that is crossed
ALPHA = 0.05


@dataclass(frozen=True)
class Threshold:
    metric: str    # or a pattern of metrics
    below: bool
    change: float  # of b against a, as -0.03

    def is_crossed(self, low: float, high: float) -> bool:
        """Checks whether the whole interval of b / a lies beyond the limit."""
        return high < 1 + self.change if self.below else low > 1 + self.change

    @property
    def text(self) -> str:
        return f"{self.metric} {'<' if self.below else '>'} {100 * self.change:+g} %"


def parse_threshold(text: str) -> Threshold:
    """Parses a threshold, such as 'bandwidth < -3 %'; ArgumentTypeError where the text is none."""
    match = re.fullmatch(r"\s*([\w*?.\[\]-]+?)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*%\s*", text)
    if not match:
        raise ArgumentTypeError(f"'{text}' is not METRIC < PERCENT, such as 'bandwidth < -3 %' or 'seconds > 5 %'")
    return Threshold(match[1], match[2] == "<", float(match[3]) / 100)


def judge_rows(comparison: Comparison, thresholds: list[Threshold]) -> list[str]:
    """Returns a line for each row that crosses a threshold, and for what cannot be judged: no row, or none in b.

    A row crosses where the 95 % interval of b / a lies wholly beyond the limit, and the difference is significant after
    Holm's correction, as there are many rows.
    """
    return [line for pair in comparison["pairs"] for limit in thresholds for line in _judge_pair(pair, limit)]


def list_undecided(comparison: Comparison, thresholds: list[Threshold]) -> list[str]:
    """Returns a line for each mean beyond a limit without an interval: it decides nothing."""
    return [f"{_format_told(pair, limit, row)}, not judged: b / a has no interval"
            for pair in comparison["pairs"] for limit in thresholds for row in _select_rows(pair, limit)
            if row["mean_b"] is not None and _find_interval(row) is None and limit.is_crossed(_find_ratio(row), _find_ratio(row))]


def _judge_pair(pair: Pair, limit: Threshold) -> list[str]:
    """Returns a line for each row of a pair that crosses a threshold, and for each metric of it that b lacks."""
    rows = _select_rows(pair, limit)
    missing = [name for name in pair["only_in_a"] if fnmatch.fnmatchcase(name.rpartition(" / ")[2], limit.metric)]
    where = f"{limit.text}: {pair['b']['directory']}"
    if not rows and not missing:
        return [f"{where}: no metric of that name"]
    return [f"{where}: {name} was not measured" for name in missing] + [
        f"{_format_told(pair, limit, row)} ({_format_change(row)})" for row in rows if _crosses(row, limit)]


def _select_rows(pair: Pair, limit: Threshold) -> list[Row]:
    return [row for row in pair["rows"] if fnmatch.fnmatchcase(row["metric"], limit.metric)]


def _format_told(pair: Pair, limit: Threshold, row: Row) -> str:
    change = f"by {100 * (row['ratio'] - 1):+.1f} %" if row["ratio"] is not None else f"from 0 by {row['difference']:+.4g} {row['unit']}"
    return f"{limit.text}: {pair['b']['directory']}: {row['workload']} / {row['policy']} / {row['metric']} changed {change}"


def _divide_by_zero(difference: float) -> float:
    """Returns b / a where a is 0: infinite, with the sign of the difference; 1 without one."""
    return math.copysign(math.inf, difference) if difference else 1


def _find_ratio(row: Row) -> float:
    return _divide_by_zero(row["difference"]) if row["ratio"] is None else row["ratio"]


def _find_interval(row: Row) -> tuple[float, float] | None:
    """Returns the 95 % interval of b / a; where the mean of a is 0 by that of b - a, which is a point without spread. None: no interval."""
    if row["ratio"] is not None:
        low, high = row["ratio_ci95_low"], row["ratio_ci95_high"]
        return None if low is None else (low, high)
    if min(row["n_a"], row["n_b"]) < 2:
        return None
    low, high = (row["difference"] if row[end] is None else row[end] for end in ("ci95_low", "ci95_high"))
    return _divide_by_zero(low), _divide_by_zero(high)


def _crosses(row: Row, limit: Threshold) -> bool:
    """Checks a row; a multiple of another metric is judged by its own p value, one without spread (no p) by its interval alone."""
    p, interval = row["p"] if row["same_as"] else row["p_holm"], _find_interval(row)
    return interval is not None and limit.is_crossed(*interval) and (p is None or p < ALPHA)


def _format_change(row: Row) -> str:
    p, unit = row["p"] if row["same_as"] else row["p_holm"], "%" if row["ratio"] is not None else row["unit"]
    ends = [100 * (row[f"ratio_ci95_{end}"] - 1) if row["ratio"] is not None else row[f"ci95_{end}"] for end in ("low", "high")]
    return " to ".join(f"{row['difference'] if end is None else end:{'+.1f' if unit == '%' else '+.4g'}}" for end in ends) + f" {unit}" + (
        "" if p is None else f", p {p:.2g}")

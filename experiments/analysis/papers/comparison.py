# SPDX-License-Identifier: GPL-2.0-only
"""The numbers that a paper prints beside ours: the difference, our interval, and what a uniform machine would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..machines.uniform import make_uniform
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import Interval, Ratio

INFINITE = float("inf")


@dataclass(frozen=True)
class Printed:
    """A number of a paper with the same number of a run; a text may print a range or a bound, whose other end is infinite."""

    cell: str  # of the paper's table or figure
    unit: str
    low: float
    high: float
    ours: Ratio | None  # None where the run has not measured it

    @classmethod
    def number(cls, cell: str, unit: str, value: float, ours: Ratio | Interval | None) -> Printed:
        return cls(cell, unit, value, value, convert_to_ratio(ours))

    @property
    def text(self) -> str:
        """Returns what the paper prints: a number, a range, or a bound."""
        if self.low == self.high:
            return text_format.format_number(self.low)
        if self.high == INFINITE:
            return f"over {text_format.format_number(self.low)}"
        if self.low == -INFINITE:
            return f"under {text_format.format_number(self.high)}"
        return f"{text_format.format_number(self.low)} to {text_format.format_number(self.high)}"


@dataclass(frozen=True)
class Compared:
    """A printed number that the run has measured."""

    printed: Printed
    ours: Ratio
    uniform: float | None  # what a machine without remote memory would give; None where it cannot be derived

    @property
    def difference(self) -> float:
        """Ours less the paper's, of a range less its nearer end; 0 inside."""
        return self.ours.value - min(max(self.ours.value, self.printed.low), self.printed.high)

    @property
    def cells(self) -> tuple[str, str, str, str, str, str]:
        """Returns six texts: cell, ours, interval, paper, difference and uniform machine."""
        limits = text_format.DASH
        if self.ours.low is not None and self.ours.high is not None:
            limits = f"{text_format.format_number(self.ours.low)} to {text_format.format_number(self.ours.high)}"
        name = f"{self.printed.cell}, {self.printed.unit}" if self.printed.unit else self.printed.cell
        return (name, text_format.format_number(self.ours.value), limits, self.printed.text, text_format.format_number(self.difference),
                text_format.format_number(self.uniform))

    def make_dict(self) -> dict[str, Any]:
        """Returns the row for summary.json; an end that a text leaves open is null."""
        low, high = (None if abs(end) == INFINITE else end for end in (self.printed.low, self.printed.high))
        return {"cell": self.printed.cell, "unit": self.printed.unit, "ours": self.ours.value, "ci95_low": self.ours.low,
                "ci95_high": self.ours.high, "paper_low": low, "paper_high": high, "difference": self.difference, "uniform": self.uniform}


HEAD = ("cell", "ours", "95 % interval", "paper", "difference", "uniform machine")
Make = Callable[[Results], list[Printed]]


def compare_printed(results: Results, make: Make) -> list[Compared]:
    """Compares each number that `make` finds in the run with the paper's, in its order, and with the same of a uniform machine.

    Numbers that the run has not measured are left out."""
    uniform = make_uniform(results)
    by_cell = {p.cell: p.ours.value for p in make(uniform) if p.ours} if uniform else {}
    return [Compared(p, p.ours, by_cell.get(p.cell)) for p in make(results) if p.ours]


def summarise(compared: Sequence[Compared]) -> list[str]:
    """Returns a line for each unit: the number of cells, the mean of the differences without their signs, and the worst one."""
    lines = []
    for unit in dict.fromkeys(c.printed.unit for c in compared):
        same_unit = [c for c in compared if c.printed.unit == unit]
        worst = max(same_unit, key=lambda c: abs(c.difference))
        mean = fmean(abs(c.difference) for c in same_unit)
        cells = f"{len(same_unit)} cell" + ("s" if len(same_unit) > 1 else "")
        lines.append(f"{unit or 'ratios'}: {cells}, mean difference {text_format.format_number(mean)}, "
                     f"worst {text_format.format_number(worst.difference)} at {worst.printed.cell}")
    return lines


def convert_to_ratio(found: Ratio | Interval | None) -> Ratio | None:
    """Returns a mean with its interval as the other type of a value with limits."""
    return Ratio(found.mean, found.low, found.high) if isinstance(found, Interval) else found

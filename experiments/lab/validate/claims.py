# SPDX-License-Identifier: GPL-2.0-only
"""A claim about the lab: how it is measured, the table that shows it, and what was asked of it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Check:
    what: str
    measured: str
    asked: str
    holds: bool


@dataclass
class Outcome:
    lines: list[str] = field(default_factory=list)  # the table
    checks: list[Check] = field(default_factory=list)
    data: dict = field(default_factory=dict)        # its figures, for who draws them

    def say(self, line: str = ""):
        self.lines.append(line)

    def at_most(self, what: str, value: float, most: float, unit: str = "{:.1%}"):
        self.checks.append(Check(what, unit.format(value), "at most " + unit.format(most), bool(value <= most)))

    def at_least(self, what: str, value: float, least: float, unit: str = "{:.1%}"):
        self.checks.append(Check(what, unit.format(value), "at least " + unit.format(least), bool(value >= least)))

    def between(self, what: str, value: float, low: float, high: float, unit: str = "{:+.0%}"):
        asked = f"{unit.format(low)} to {unit.format(high)}"
        self.checks.append(Check(what, unit.format(value), asked, bool(low <= value <= high)))

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Claim:
    name: str
    title: str
    measure: Callable[[], Outcome]

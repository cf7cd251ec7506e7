# SPDX-License-Identifier: GPL-2.0-only
"""A claim about a measurement: how it is measured, the table that shows it, and its bounds."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
BOUND_FAILS = 4  # the exit status where all was measured and a bound does not hold; 1 is that of any error


@dataclass(frozen=True)
class Check:
    what: str
    value: float
    measured: str  # the value in words, with its unit
    asked: str     # the bound in words
    verdict: str   # HOLDS, FAILS or UNDECIDED


@dataclass
class Outcome:
    lines: list[str] = field(default_factory=list)  # the table
    checks: list[Check] = field(default_factory=list)
    data: dict = field(default_factory=dict)        # its figures, for drawing

    def say(self, line: str = ""):
        self.lines.append(line)

    def check(self, what: str, value: float, unit: str, asked: str, verdict: str | bool):
        """Adds a check. unit: a format of the value, as "{:.1%}"; verdict: one of the three words, or whether it holds."""
        word = verdict if isinstance(verdict, str) else HOLDS if verdict else FAILS
        self.checks.append(Check(what, value, unit.format(value), asked, word))

    def at_most(self, what: str, value: float, most: float, unit: str = "{:.1%}"):
        self.check(what, value, unit, "at most " + unit.format(most), bool(value <= most))

    def at_least(self, what: str, value: float, least: float, unit: str = "{:.1%}"):
        self.check(what, value, unit, "at least " + unit.format(least), bool(value >= least))

    def interval_at_least(self, what: str, value: float, low: float, high: float, least: float, unit: str):
        """Checks that a value with an interval is at least `least`; UNDECIDED where only the interval reaches it. unit: as of check()."""
        verdict = UNDECIDED if value < least <= high else bool(value >= least)
        within = unit + f" ({unit.format(low)} to {unit.format(high)})"
        self.check(what, value, within, "at least " + unit.format(least), verdict)

    def between(self, what: str, value: float, low: float, high: float, unit: str = "{:+.0%}"):
        asked = f"{unit.format(low)} to {unit.format(high)}"
        self.check(what, value, unit, asked, bool(low <= value <= high))

    def make_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Claim:
    name: str
    title: str
    measure: Callable[[], Outcome]


def verdicts(checks: list[Check]) -> list[str]:
    """Formats a line for each check, in columns."""
    what_width, measured_width = (max((len(getattr(check, name)) for check in checks), default=0) for name in ("what", "measured"))
    return [f"{c.verdict:9}  {c.what:{what_width}}  {c.measured:>{measured_width}}  {c.asked}" for c in checks]


def all_hold(checks: list[Check]) -> bool:
    return all(check.verdict == HOLDS for check in checks)

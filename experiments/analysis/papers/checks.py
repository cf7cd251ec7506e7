# SPDX-License-Identifier: GPL-2.0-only
"""The statements of a paper's text, as signs, orders and ranges that measured numbers can fail.

A statement is one or more ratios of means. Each has Fieller's 95 % interval: a part holds where the
whole interval is inside the statement's range, fails where it is wholly outside, and is undecided
where it is partly inside. Where any one of many parts decides, each is given its share of the 5 %
(Bonferroni). In the lab the interval is wider by the model's error on either side. One observation
each has no interval: the ratio agrees or disagrees, and shows nothing of "at some size".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from .. import text_format
from ..stats import LEVEL, Ratio, ratio

HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "fails", "undecided", "not measured"
AGREES, DISAGREES = "agrees", "disagrees"  # of one observation each
FOR, AGAINST = (HOLDS, AGREES), (FAILS, DISAGREES)
PLURALS = {HOLDS: "hold", FAILS: "fail", AGREES: "agree", DISAGREES: "disagree"}
INFINITE = float("inf")
SINGLE = "by one observation each, no interval"
NO_EXISTENCE = "which shows nothing of one among several"
WITHIN = "within the model's error"

# What agreement can be worth, the most first. The tallies have this order.
PREDICTED = "predicted"        # nothing was fitted to it
FITTED = "fitted"              # a number of the machine file was chosen so that it holds
INPUT = "input"                # a number of the machine file is what the statement says
CONSTRUCTION = "construction"  # the program or the model cannot do otherwise
SELF = "self"                  # the numbers are the paper's own
KINDS = (PREDICTED, FITTED, INPUT, CONSTRUCTION, SELF)


@dataclass(frozen=True)
class Part:
    """low < mean(a) / mean(b) < high; or of a ratio that another model has found."""

    name: str
    a: Sequence[float]
    b: Sequence[float]
    low: float
    high: float
    found: Ratio | None = None

    @property
    def repeated(self) -> bool:
        return self.found is not None or min(len(self.a), len(self.b)) > 1

    def ratio(self, level: float) -> Ratio | None:
        if self.found or not (self.a and self.b):
            return self.found
        return ratio(self.a, self.b, level)


@dataclass(frozen=True)
class Finding:
    verdict: str
    text: str
    single: bool = False


@dataclass(frozen=True)
class Check:
    """A statement with its verdict."""

    where: str    # section or figure of the paper
    machine: str  # the paper's machine of which it is said; "" is any
    says: str     # in our words, with the range that we read into it
    kind: str
    verdict: str
    evidence: str
    parts: int
    single: bool = False  # one observation each decided, without an interval


@dataclass(frozen=True)
class Statement:
    """What a paper says, and the comparisons that decide. `kind` is that of the paper's machine in the lab."""

    where: str
    says: str
    parts: tuple[Part, ...]
    machine: str
    kind: str
    one: bool  # one part is enough for it, or all are needed

    def judge(self, kind: str, error: float = 0.0) -> Check:
        found = self._findings(error)
        decides = (FOR, UNDECIDED, ABSENT, AGAINST) if self.one else (AGAINST, UNDECIDED, FOR, ABSENT)
        verdict = next((f.verdict for wanted in decides for f in found if f.verdict in wanted), ABSENT)
        told = [f for f in found if f.verdict == verdict]
        single = any(f.single for f in told)
        evidence = _evidence(told, found) + (f"; {SINGLE}" if single else "")
        if single and self.one:  # of many equal cells one is always above the others
            verdict, evidence = UNDECIDED, f"{evidence}, {NO_EXISTENCE}"
        return Check(self.where, self.machine, self.says, kind, verdict, evidence, len(found), single)

    def _findings(self, error: float) -> list[Finding]:
        """The verdict that one part gives to the whole has as many chances to be wrong as there are parts. The
        opposite needs every part, so it is as safe as each of them."""
        alone = HOLDS if self.one else FAILS
        tests = sum(p.repeated for p in self.parts)
        share = (1 - LEVEL) / max(1, tests)
        found = [[_judge(p, level, not tests, error) for level in (LEVEL, 1 - share)] for p in self.parts]
        return [strict if usual.verdict in (alone, UNDECIDED) else usual for usual, strict in found]


def _judge(part: Part, level: float, single: bool, error: float) -> Finding:
    found = part.ratio(level)
    if found is None:
        return Finding(ABSENT, f"{part.name}: not measured")
    low, high = (found.value, found.value) if single else (found.low, found.high)
    text = f"{part.name} {text_format.number(found.value)}"
    if low is None or high is None:
        return Finding(UNDECIDED, text)
    if not single:
        text += f" ({text_format.number(low)} to {text_format.number(high)})"
    verdict, safe = _place(part, low, high), _place(part, *widened(low, high, error))
    if safe != verdict:
        text += f", {WITHIN} of {100 * error:.0f} %"
    words = {HOLDS: AGREES, FAILS: DISAGREES} if single else {}
    return Finding(words.get(safe, safe), text, single)


def _place(part: Part, low: float, high: float) -> str:
    inside = part.low < low and high < part.high
    outside = high <= part.low or low >= part.high
    return HOLDS if inside else FAILS if outside else UNDECIDED


def widened(low: float, high: float, error: float) -> tuple[float, float]:
    """By a relative error, which is of the logarithm, on either side."""
    factor = exp(error)
    return min(low / factor, low * factor), max(high / factor, high * factor)


def between(name: str, a: Sequence[float], b: Sequence[float], low: float = -INFINITE,
            high: float = INFINITE) -> Part:
    return Part(name, a, b, low, high)


def inside(name: str, values: Sequence[float], low: float, high: float) -> Part:
    """low < mean < high, of numbers that are shares already: Student's 95 % interval."""
    return between(name, values, [1.0] * len(values), low, high)


def greater(name: str, a: Sequence[float], b: Sequence[float]) -> Part:
    return between(name, a, b, 1.0)


def alike(name: str, a: Sequence[float], b: Sequence[float], within: float) -> Part:
    return between(name, a, b, 1 - within, 1 + within)


def every(where: str, says: str, parts: Sequence[Part], machine: str = "", kind: str = PREDICTED) -> Statement:
    """Holds where all its parts do, and fails where one does; parts that were not measured are counted."""
    return Statement(where, says, tuple(parts), machine, kind, one=False)


def some(where: str, says: str, parts: Sequence[Part], machine: str = "", kind: str = PREDICTED) -> Statement:
    """Holds where one of its parts does, and fails where all do, which needs all of them measured."""
    return Statement(where, says, tuple(parts), machine, kind, one=True)


def _evidence(told: Sequence[Finding], found: Sequence[Finding], most: int = 3) -> str:
    text = "; ".join(f.text for f in told[:most])
    if len(told) > most:
        text += f"; and {len(told) - most} more"
    measured = sum(f.verdict != ABSENT for f in found)
    if 0 < len(told) < measured and told[0].verdict != ABSENT:
        text += f" ({len(told)} of {measured} comparisons)"
    return text + (f"; {measured} of {len(found)} comparisons measured" if 0 < measured < len(found) else "")


def by_kind(checks: Sequence[Check]) -> list[tuple[str, str]]:
    """Kinds and the counts of their verdicts, predictions first."""
    return [(kind, _count(found)) for kind in KINDS if (found := [c for c in checks if c.kind == kind])]


def _count(checks: Sequence[Check]) -> str:
    """3 of 5 hold, 1 fails, 1 undecided; what was not measured is none of the 5."""
    judged = [c for c in checks if c.verdict != ABSENT]
    counts = {v: sum(c.verdict == v for c in checks) for v in (*FOR, *AGAINST, UNDECIDED, ABSENT)}
    first = HOLDS if counts[HOLDS] or not counts[AGREES] else AGREES
    if not judged:
        return f"{counts[ABSENT]} {ABSENT}"
    told = [f"{counts.pop(first)} of {len(judged)} {PLURALS[first] if len(judged) > 1 else first}"]
    return ", ".join(told + [f"{n} {PLURALS.get(v, v) if n > 1 else v}" for v, n in counts.items() if n])


def tally(checks: Sequence[Check]) -> str:
    return "; ".join(f"{kind}: {counts}" for kind, counts in by_kind(checks)) or "not in this run"

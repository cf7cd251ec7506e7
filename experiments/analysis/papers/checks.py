# SPDX-License-Identifier: GPL-2.0-only
"""The statements of a paper's text, as signs, orders and ranges that measured numbers can fail.

A statement is one or more ratios of means. Each has Fieller's 95 % interval: a part holds where the
whole interval is inside the statement's range, fails where it is wholly outside, and is undecided
where it is partly inside. Where any one of many parts decides, each is given its share of the 5 %
(Bonferroni). Without an interval (one observation) the ratio itself decides, and the check says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import text_format
from ..stats import LEVEL, Ratio, ratio

HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "fails", "undecided", "not measured"
INFINITE = float("inf")
SINGLE = "by one observation each, no interval"


@dataclass(frozen=True)
class Part:
    """low < mean(a) / mean(b) < high."""

    name: str
    a: Sequence[float]
    b: Sequence[float]
    low: float
    high: float

    @property
    def repeated(self) -> bool:
        return min(len(self.a), len(self.b)) > 1


@dataclass(frozen=True)
class Finding:
    verdict: str
    text: str
    single: bool = False


@dataclass(frozen=True)
class Check:
    where: str    # section or figure of the paper
    machine: str  # the paper's machine of which it is said; "" is any
    says: str     # in our words, with the range that we read into it
    verdict: str
    evidence: str
    parts: int
    single: bool = False  # one observation each decided, without an interval


def judge(name: str, found: Ratio, low: float, high: float) -> Finding:
    """By the interval."""
    text = f"{name} {text_format.number(found.value)}"
    if found.low is None or found.high is None:
        return Finding(UNDECIDED, text)
    inside = low < found.low and found.high < high
    outside = found.high <= low or found.low >= high
    return Finding(HOLDS if inside else FAILS if outside else UNDECIDED,
                   f"{text} ({text_format.number(found.low)} to {text_format.number(found.high)})")


def _judge(part: Part, level: float, single: bool) -> Finding:
    found = ratio(part.a, part.b, level) if part.a and part.b else None
    if found is None:
        return Finding(ABSENT, f"{part.name}: not measured")
    if not single:
        return judge(part.name, found, part.low, part.high)
    verdict = HOLDS if part.low < found.value < part.high else FAILS
    return Finding(verdict, f"{part.name} {text_format.number(found.value)}", single=True)


def _judge_all(parts: Sequence[Part], alone: str) -> list[Finding]:
    """`alone` is the verdict that one part gives to the whole statement: it has as many chances to
    be wrong as there are parts. The opposite needs every part, so it is as safe as each of them."""
    tests = sum(p.repeated for p in parts)
    share = (1 - LEVEL) / max(1, tests)
    found = [(_judge(p, LEVEL, not tests), _judge(p, 1 - share, not tests)) for p in parts]
    return [strict if usual.verdict in (alone, UNDECIDED) else usual for usual, strict in found]


def between(name: str, a: Sequence[float], b: Sequence[float], low: float = 0.0,
            high: float = INFINITE) -> Part:
    return Part(name, a, b, low, high)


def inside(name: str, values: Sequence[float], low: float, high: float) -> Part:
    """low < mean < high, of numbers that are shares already: Student's 95 % interval."""
    return between(name, values, [1.0] * max(2, len(values)), low, high)


def greater(name: str, a: Sequence[float], b: Sequence[float]) -> Part:
    return between(name, a, b, 1.0)


def alike(name: str, a: Sequence[float], b: Sequence[float], within: float) -> Part:
    return between(name, a, b, 1 - within, 1 + within)


def every(where: str, says: str, parts: Sequence[Part], machine: str = "") -> Check:
    """A statement that holds where all its parts do, and fails where one does."""
    order = (FAILS, ABSENT, UNDECIDED, HOLDS)
    return _check(where, says, _judge_all(parts, alone=FAILS), machine, order)


def some(where: str, says: str, parts: Sequence[Part], machine: str = "") -> Check:
    """A statement that holds where one of its parts does, and fails where all do."""
    order = (HOLDS, UNDECIDED, FAILS, ABSENT)
    return _check(where, says, _judge_all(parts, alone=HOLDS), machine, order)


def _check(where: str, says: str, found: Sequence[Finding], machine: str,
           order: Sequence[str]) -> Check:
    """The first verdict of the order that a part has is the statement's."""
    verdict = next((v for v in order if any(f.verdict == v for f in found)), ABSENT)
    told = [f for f in found if f.verdict == verdict]
    single = any(f.single for f in told)
    evidence = _evidence(told, len(found)) + (f"; {SINGLE}" if single else "")
    return Check(where, machine, says, verdict, evidence, len(found), single)


def _evidence(told: Sequence[Finding], of: int, most: int = 3) -> str:
    text = "; ".join(f.text for f in told[:most])
    if len(told) > most:
        text += f"; and {len(told) - most} more"
    return text + (f" ({len(told)} of {of} comparisons)" if 0 < len(told) < of else "")


def tally(checks: Sequence[Check]) -> str:
    counts = [(v, sum(c.verdict == v for c in checks)) for v in (HOLDS, FAILS, UNDECIDED, ABSENT)]
    told = [f"{n} {'hold' if v == HOLDS and n != 1 else 'fail' if v == FAILS and n != 1 else v}"
            for v, n in counts if n]
    single = sum(c.single for c in checks)
    of = "" if single == sum(c.verdict != ABSENT for c in checks) else f"{single} of them "
    return (", ".join(told) or "not in this run") + (f"; {of}{SINGLE}" if single else "")

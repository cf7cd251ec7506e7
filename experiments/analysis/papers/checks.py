# SPDX-License-Identifier: GPL-2.0-only
"""The statements of a paper's text, as signs, orders and ranges that measured numbers can fail.

A statement is one or more ratios of means. Each has Fieller's 95 % interval: a part holds where the
whole interval is inside the statement's range, fails where it is wholly outside, and is undecided
where it is partly inside. Without an interval (one observation) the ratio itself decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import words
from ..stats import ratio

HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "fails", "undecided", "not measured"
INFINITE = float("inf")


@dataclass(frozen=True)
class Part:
    verdict: str
    text: str


@dataclass(frozen=True)
class Check:
    where: str    # section or figure of the paper
    machine: str  # the paper's machine of which it is said; "" is any
    says: str     # in our words, with the range that we read into it
    verdict: str
    evidence: str
    parts: int


def between(name: str, a: Sequence[float], b: Sequence[float], low: float = 0.0,
            high: float = INFINITE) -> Part:
    """low < mean(a) / mean(b) < high."""
    found = ratio(a, b) if a and b else None
    if found is None:
        return Part(ABSENT, f"{name}: not measured")
    first, last = (found.value if end is None else end for end in (found.low, found.high))
    bounded = found.low is not None or min(len(a), len(b)) < 2
    inside = low < first and last < high
    outside = last <= low or first >= high
    verdict = HOLDS if inside else FAILS if outside else UNDECIDED
    if not bounded:
        verdict = UNDECIDED
    limits = "" if found.low is None else f" ({words.number(found.low)} to {words.number(found.high)})"
    return Part(verdict, f"{name} {words.number(found.value)}{limits}")


def inside(name: str, values: Sequence[float], low: float, high: float) -> Part:
    """low < mean < high, of numbers that are shares already: Student's 95 % interval."""
    if not values:
        return Part(ABSENT, f"{name}: not measured")
    return between(name, values, [1.0] * max(2, len(values)), low, high)


def greater(name: str, a: Sequence[float], b: Sequence[float]) -> Part:
    return between(name, a, b, 1.0)


def alike(name: str, a: Sequence[float], b: Sequence[float], within: float) -> Part:
    return between(name, a, b, 1 - within, 1 + within)


def every(where: str, says: str, parts: Sequence[Part], machine: str = "") -> Check:
    """A statement that holds where all its parts do."""
    for verdict in (FAILS, ABSENT, UNDECIDED):
        told = [p for p in parts if p.verdict == verdict]
        if told:
            return Check(where, machine, says, verdict, _evidence(told, len(parts)), len(parts))
    verdict = HOLDS if parts else ABSENT
    return Check(where, machine, says, verdict, _evidence(parts, len(parts)), len(parts))


def some(where: str, says: str, parts: Sequence[Part], machine: str = "") -> Check:
    """A statement that holds where one of its parts does."""
    for verdict in (HOLDS, UNDECIDED, FAILS):
        told = [p for p in parts if p.verdict == verdict]
        if told:
            return Check(where, machine, says, verdict, _evidence(told, len(parts)), len(parts))
    return Check(where, machine, says, ABSENT, _evidence(parts, len(parts)), len(parts))


def _evidence(told: Sequence[Part], of: int, most: int = 3) -> str:
    text = "; ".join(p.text for p in told[:most])
    if len(told) > most:
        text += f"; and {len(told) - most} more"
    return text + (f" ({len(told)} of {of} comparisons)" if 0 < len(told) < of else "")


def tally(checks: Sequence[Check]) -> str:
    counts = [(v, sum(c.verdict == v for c in checks)) for v in (HOLDS, FAILS, UNDECIDED, ABSENT)]
    told = [f"{n} {'hold' if v == HOLDS and n != 1 else 'fail' if v == FAILS and n != 1 else v}"
            for v, n in counts if n]
    return ", ".join(told) or "not in this run"

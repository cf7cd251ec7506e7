# SPDX-License-Identifier: GPL-2.0-only
"""The statements of a paper's text, as signs, orders and ranges that measured numbers can fail.

A statement is one or more ratios of means. Each has Fieller's 95 % interval: a part holds where the
whole interval is inside the statement's range, fails where it is wholly outside, and is undecided
where it is partly inside. Where any one of many parts decides, each is given its share of the 5 %
(Bonferroni). In the lab it is the union of the intervals on every machine that the lab's may be
(family.py). One observation each has no interval: the ratio agrees or disagrees, and shows nothing
of "at some size".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..runs import text_format
from ..stats.intervals import LEVEL, Ratio, ratio

HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "fails", "undecided", "not measured"
UNDECIDABLE = "not decidable here"  # known before anything is measured
AGREES, DISAGREES = "agrees", "disagrees"  # of one observation each
FOR, AGAINST = (HOLDS, AGREES), (FAILS, DISAGREES)
PLURALS = {HOLDS: "hold", FAILS: "fail", AGREES: "agree", DISAGREES: "disagree"}
INFINITE = float("inf")
SINGLE = "by one observation each, no interval"
NO_EXISTENCE = "which shows nothing of one among several"
WITHIN = "not on every machine that the model may stand for"
NARROW = "the range is narrower than the model's error, so that it cannot hold whatever is measured"

# Whose numbers the same judge is shown beside the run's.
PAPERS, UNIFORM, OPPOSITE = "the paper's numbers", "a uniform machine", "the opposite effect"

# What agreement can be worth, the most first. The tallies have this order.
PREDICTED = "predicted"        # nothing was fitted to it
FITTED = "fitted"              # a number of the machine file was chosen so that it holds
INPUT = "input"                # a number of the machine file is what the statement says
CONSTRUCTION = "construction"  # the program cannot do otherwise, or in the lab the model
MODEL = "model"                # construction in the lab, predicted of hardware; never of a check
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
    by_model: bool = False


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
    by_model: bool = False  # undecided by what the model may stand for, not by the repeats
    controls: dict[str, str] = field(default_factory=dict)  # verdicts of the same judge on other numbers, by name


@dataclass(frozen=True)
class Statement:
    """What a paper says, and the comparisons that decide. `kind` is that of the paper's machine in the lab."""

    where: str
    says: str
    parts: tuple[Part, ...]
    machine: str
    kind: str
    one: bool  # one part is enough for it, or all are needed

    def judge(self, kind: str, variants: Sequence[Statement] = ()) -> Check:
        """variants: this statement of the run as every other machine would have given it."""
        found = self._findings(variants)
        decides = (FOR, UNDECIDED, ABSENT, AGAINST) if self.one else (AGAINST, UNDECIDED, FOR, ABSENT)
        verdict = next((f.verdict for wanted in decides for f in found if f.verdict in wanted), ABSENT)
        told = [f for f in found if f.verdict == verdict]
        single = any(f.single for f in told)
        evidence = _evidence(told, found) + (f"; {SINGLE}" if single else "")
        if single and self.one:  # of many equal cells one is always above the others
            verdict, evidence = UNDECIDED, f"{evidence}, {NO_EXISTENCE}"
        return Check(self.where, self.machine, self.says, kind, verdict, evidence, len(found), single,
                     verdict == UNDECIDED and any(f.by_model for f in told))

    def _findings(self, variants: Sequence[Statement]) -> list[Finding]:
        """The verdict that one part gives to the whole has as many chances to be wrong as there are parts. The
        opposite needs every part, so it is as safe as each of them."""
        alone = HOLDS if self.one else FAILS
        tests = sum(p.repeated for p in self.parts)
        share = (1 - LEVEL) / max(1, tests)
        found = [[_judge(versions, level, not tests) for level in (LEVEL, 1 - share)]
                 for versions in self._versions(variants)]
        return [strict if usual.verdict in (alone, UNDECIDED) else usual for usual, strict in found]

    def _versions(self, variants: Sequence[Statement]) -> list[tuple[Part, ...]]:
        """Each part with itself on the other machines."""
        return list(zip(self.parts, *(v.parts for v in variants), strict=True))

    def can_hold(self, variants: Sequence[Statement]) -> bool:
        """Whether some measurement would show it, of the model's own values and those of the other machines."""
        possible = [_can_hold(versions) for versions in self._versions(variants)]
        return not possible or (any(possible) if self.one else all(possible))


def _can_hold(versions: Sequence[Part]) -> bool:
    part, found = versions[0], [p.ratio(LEVEL) for p in versions]
    if part.low <= 0 or part.high == INFINITE or any(r is None or r.value <= 0 for r in found):
        return True
    values = [r.value for r in found if r]
    return part.high / part.low > max(values) / min(values)


def _judge(versions: Sequence[Part], level: float, single: bool) -> Finding:
    """Of a part on the lab's machine, first, and on every other that it may be."""
    part, found = versions[0], [r for p in versions if (r := p.ratio(level)) is not None]
    if len(found) < len(versions):
        return Finding(ABSENT, f"{part.name}: not measured")
    ends = [(r.value, r.value) if single else (r.low, r.high) for r in found]
    text = f"{part.name} {text_format.number(found[0].value)}"
    if any(None in both for both in ends):
        return Finding(UNDECIDED, text)
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if low < high:
        text += f" ({text_format.number(low)} to {text_format.number(high)})"
    verdict, safe = _place(part, *ends[0]), _place(part, low, high)
    if safe != verdict:
        text += f", {WITHIN}"
    words = {HOLDS: AGREES, FAILS: DISAGREES} if single else {}
    return Finding(words.get(safe, safe), text, single, by_model=safe != verdict)


def _place(part: Part, low: float, high: float) -> str:
    inside = part.low < low and high < part.high
    outside = high <= part.low or low >= part.high
    return HOLDS if inside else FAILS if outside else UNDECIDED


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


def separates(c: Check) -> bool:
    """Whether the same judge says something else of a uniform machine: else the statement is none about NUMA."""
    return UNIFORM in c.controls and c.controls[UNIFORM] != c.verdict


def separation(checks: Sequence[Check]) -> str:
    """How many of the decided statements are told apart from a uniform machine."""
    decided = [c for c in checks if c.verdict in (*FOR, *AGAINST) and UNIFORM in c.controls]
    return f"{sum(map(separates, decided))} of {len(decided)} decided ones get another verdict of {UNIFORM}" if decided else ""


def by_kind(checks: Sequence[Check]) -> list[tuple[str, str]]:
    """Kinds and the counts of their verdicts, predictions first."""
    return [(kind, _count(found)) for kind in KINDS if (found := [c for c in checks if c.kind == kind])]


def _count(checks: Sequence[Check]) -> str:
    """3 of 5 hold, 1 fails, 1 undecided; what was not measured, or cannot be decided, is none of the 5."""
    judged = [c for c in checks if c.verdict not in (ABSENT, UNDECIDABLE)]
    counts = {v: sum(c.verdict == v for c in checks) for v in (*FOR, *AGAINST, UNDECIDED, UNDECIDABLE, ABSENT)}
    first = HOLDS if counts[HOLDS] or not counts[AGREES] else AGREES
    if not judged:
        return ", ".join(f"{counts[v]} {v}" for v in (UNDECIDABLE, ABSENT) if counts[v])
    told = [f"{counts.pop(first)} of {len(judged)} {PLURALS[first] if len(judged) > 1 else first}"]
    return ", ".join(told + [f"{n} {PLURALS.get(v, v) if n > 1 else v}" for v, n in counts.items() if n])


def tally(checks: Sequence[Check]) -> str:
    return "; ".join(f"{kind}: {counts}" for kind, counts in by_kind(checks)) or "not in this run"

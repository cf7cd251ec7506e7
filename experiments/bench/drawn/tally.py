# SPDX-License-Identifier: GPL-2.0-only
"""Shares of what was drawn, beside their bounds."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, stdev

from ...analysis.policies.decision import Decision
from ...analysis.stats.intervals import Ratio

SHOWN = 1.96  # deviations: 95 %
SURE = 3.29   # 99.9 %: of 250 lines at their bound one table in eight has a line outside it by chance
OK, SAID, FAILS, NONE = "ok", "ok: it is said", "FAILS", "-"


@dataclass(frozen=True)
class Bound:
    """Bounds the share of answers, or the mean of numbers."""

    what: str
    least: float = -math.inf
    most: float = math.inf

    def format_text(self) -> str:
        """Formats the bound in percent, or as 'within 0.003'; NONE where there is none."""
        if self.least == -math.inf and self.most == math.inf:
            return NONE
        if self.is_mean:
            return f"within {self.most:g}"
        return f"at least {100 * self.least:g} %" if self.least > -math.inf else f"at most {100 * self.most:g} %"

    @property
    def is_mean(self) -> bool:
        return self.least == -self.most and self.most < math.inf

    def is_failed(self, low: float, high: float) -> bool:
        """Checks whether the whole interval is outside."""
        return high < self.least or low > self.most


HOLDS = Bound("an interval holds the truth", least=0.93)
EQUAL = Bound("equal to the reference", least=1.0)


def bound_false(word: str) -> Bound:
    return Bound(f"false: {word}", most=0.05)


def holds_truth(found: Decision | Ratio, true: float) -> bool:
    """Checks whether an interval holds the true value; one without limits is printed as unbounded, and holds it."""
    return found.low is None or found.high is None or found.low <= true <= found.high


@dataclass(frozen=True)
class Event:
    """Holds what one answer gives. `good` is whether the interval holds, or the false word was given, or a number whose mean is bounded."""

    bound: Bound
    value: float
    excused: bool = False  # the answer itself says that it does not hold beyond what it is of


@dataclass(frozen=True)
class Case:
    """Names what is drawn. `draw` makes one run and gives the events of its answers; of as many runs as `runs`."""

    name: str
    drawn: str
    runs: int
    draw: Callable[[Random], Iterable[Event]]


@dataclass(frozen=True)
class Line:
    """Holds a line of the output: a share or a mean with its limits, beside its bound."""
    name: str
    drawn: str
    what: str
    n: int
    value: float
    low: float
    high: float
    bound: str
    verdict: str


def build_lines(case: Case, seed: int) -> Iterator[Line]:
    """Draws the case's runs and builds a line for each bound that their events are of."""
    runs = [list(case.draw(Random(f"{seed}/{case.name}/{case.drawn}/{k}"))) for k in range(case.runs)]
    for bound in dict.fromkeys(event.bound for events in runs for event in events):
        found = [[e for e in events if e.bound == bound] for events in runs]
        yield build_line(case, bound, [events for events in found if events])


def build_line(case: Case, bound: Bound, runs: Sequence[Sequence[Event]]) -> Line:
    """Builds the line of one bound from the events of each run: share or mean, 95 % limits, and a verdict by 99.9 % limits."""
    values = [[float(e.value) for e in events] for events in runs]
    n, value = sum(map(len, values)), fmean(v for run in values for v in run)
    limits = _compute_mean_limits if bound.is_mean else _compute_share_limits
    low, high = limits(values, value, n, SHOWN)
    is_wanted = bound.least > 0  # an interval that holds; a false word is bounded above
    failed = [e for events in runs for e in events if bool(e.value) != is_wanted]
    if bound.format_text() == NONE:
        verdict = NONE
    elif not bound.is_failed(*limits(values, value, n, SURE)):
        verdict = OK
    else:
        verdict = SAID if all(e.excused for e in failed) else FAILS
    return Line(case.name, case.drawn, bound.what, n, value, low, high, bound.format_text(), verdict)


def compute_wilson(share: float, n: float, z: float = SHOWN) -> tuple[float, float]:
    """Computes the interval of a share of n answers, of z deviations. Wilson, Journal of the American Statistical Association 22, 1927."""
    middle, half_width = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half_width) / (1 + z**2 / n), (middle + half_width) / (1 + z**2 / n)


def _compute_share_limits(runs: Sequence[Sequence[float]], share: float, n: int, z: float) -> tuple[float, float]:
    """Computes limits of a share, at z deviations; answers of one run, which depend on each other, count as fewer of the same scatter."""
    error = _compute_error(runs, share, n)
    low, high = compute_wilson(share, min(n, share * (1 - share) / error**2) if error else n, z)
    return max(0.0, low), 1.0 if share == 1 else min(1.0, high)


def _compute_mean_limits(runs: Sequence[Sequence[float]], mean: float, n: int, z: float) -> tuple[float, float]:
    error = _compute_error(runs, mean, n)
    return mean - z * error, mean + z * error


def _compute_error(runs: Sequence[Sequence[float]], mean: float, n: int) -> float:
    """Returns the standard error of the mean of all n values, by runs; 0 of one run. Cochran, Sampling Techniques, 1977, equation 9A.5."""
    if len(runs) < 2:
        return 0.0
    return math.sqrt(len(runs)) * stdev(sum(run) - mean * len(run) for run in runs) / n

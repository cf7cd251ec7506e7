# SPDX-License-Identifier: GPL-2.0-only
"""What a run decides of a workload under a placement beside the baseline. Terminal, page, price, worth and ranks print the ratio of
the two, its interval and the word for it from here. `compare` and `judge` are of two runs: stats/compare.py."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from ...runner.repeats import looks
from ...runner.repeats.precision import LEAST
from ..stats.intervals import Ratio

ALPHA = 0.05
POWER = 0.9     # a change of `least` is found in so many of such runs
NOTHING = 0.01  # a change within this is none that matters
FASTER, SLOWER, SAME, MODEL, OPEN = "faster", "slower", "no change above 1 %", "not on every machine of the model", "not decided"
CHANCE = "started on different nodes"
MARKS = {FASTER: "*", SLOWER: "*", SAME: "=", MODEL: "m", CHANCE: "s", OPEN: ""}
LEGEND = ("* decided; = no change above 1 %; m decided by the runs, but not on every machine that the model may stand for; s its programs, "
          "or those under none, started on different nodes, so that an interval of fewer than five blocks is too narrow; without a mark: "
          "not decided")
ENOUGH = 5  # blocks, where the node that a program starts on is chance: make check-statistics, "start node by chance"


@dataclass(frozen=True)
class Decision:
    """The ratio is above 1 where the placement is faster. low and high are its 95 % limits, of this ratio alone; in the lab on
    every machine that the lab's may be. They are None where nothing bounds it, as with one block."""

    workload: str
    policy: str
    value: float
    low: float | None
    high: float | None
    blocks: int = 2              # repeats or boots, of the side that has fewer
    p_holm: float | None = None  # of the blocks, adjusted over all placements and workloads of the run
    boots: int = 0               # that the blocks are; 0: repeats within one boot
    runs: Ratio | None = None    # by the blocks alone, where the machines of the model are in low and high
    least: float | None = None   # smallest change, a share, that is found in nine of ten such runs
    observations: int = 0        # clean ones, of the side that has fewer
    looked_at: bool = False      # low and high are of all options and looks of the run together; nothing is adjusted by p_holm
    starts: int = 1              # nodes that its tasks, or the baseline's, have started on in different observations

    @property
    def by_runs(self) -> Ratio:
        return self.runs or Ratio(self.value, self.low, self.high)

    @property
    def word(self) -> str:
        """Returns the word for the decision, one of MARKS."""
        if self.by_chance:
            return CHANCE
        if self.significant:
            return FASTER if self.value > 1 else SLOWER
        runs = self.by_runs
        if runs.low is None or runs.high is None:
            return OPEN
        if 1 - NOTHING < runs.low <= runs.high < 1 + NOTHING:
            return SAME
        return MODEL if self.rejected and runs.excludes(1) else OPEN

    @property
    def significant(self) -> bool:
        """Checks the decision by the blocks, and on every machine that the lab's may be."""
        return not self.by_chance and self.rejected and Ratio(self.value, self.low, self.high).excludes(1)

    @property
    def by_chance(self) -> bool:
        return self.starts > 1 and self.blocks < ENOUGH

    @property
    def rejected(self) -> bool:
        """Checks whether it is rejected that nothing differs: by p, or by the interval where that is of the whole run."""
        return self.enough if self.looked_at else self.p_holm is not None and self.p_holm < ALPHA

    @property
    def enough(self) -> bool:
        """Checks whether a run that was looked at has enough observations and boots: with few, none may have been a slow one."""
        return self.observations >= LEAST and (not self.boots or self.boots >= looks.BOOTS)

    @property
    def mark(self) -> str:
        return MARKS[self.word]

    def format_limits(self) -> str:
        """Formats '[1.08, 1.13]'; '' where nothing bounds it on both sides, as a negative ratio is none."""
        if self.low is None or self.high is None or self.low <= 0:
            return ""
        return f"[{self.low:.{self.decimals}f}, {self.high:.{self.decimals}f}]"

    @property
    def decimals(self) -> int:
        """Returns so many that the interval's width has a digit: two at least, four at most."""
        width = 0.0 if self.low is None or self.high is None else self.high - self.low
        return 2 if width <= 0 else min(4, max(2, math.ceil(-math.log10(width))))

    @property
    def ratio(self) -> str:
        return f"{self.value:.{self.decimals}f}"

    def text(self) -> str:
        """Formats '1.11 * [1.08, 1.13]'."""
        return " ".join(filter(None, (self.ratio, self.mark, self.format_limits())))


def compute_smallest_found(a: Sequence[float], b: Sequence[float], tests: int) -> float | None:
    """Returns the smallest change of mean(b), as a share of it, that a paired t test of these blocks finds with POWER.

    It is that of the first of Holm's steps over m `tests`: (t(1-alpha/2m, n-1) + t(power, n-1)) s / sqrt(n), s the deviation of the
    differences. None for fewer than two blocks, or where mean(b) is 0.
    Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, section 2.3.5; t in place of the noncentral t."""
    n = len(a)
    if n < 2 or not statistics.fmean(b):
        return None
    spread = statistics.stdev(y - x for x, y in zip(a, b, strict=True))
    quantiles = stats.t.ppf(1 - ALPHA / 2 / max(1, tests), n - 1) + stats.t.ppf(POWER, n - 1)
    return float(quantiles * spread / math.sqrt(n) / abs(statistics.fmean(b)))


def describe_blocks(decisions: Sequence[Decision]) -> str:
    """Names what the intervals are of: '3 boots of each', '3 repeats within one boot'."""
    counts = sorted({(found.boots, found.blocks) for found in decisions})
    parts = [f"{blocks} boots" if boots > 1 else f"{blocks} repeat{'s' * (blocks != 1)} within one boot" for boots, blocks in counts]
    return " or ".join(dict.fromkeys(parts))


def describe_least(decisions: Sequence[Decision]) -> str:
    """Returns in words the smallest change that such runs find, in percent, in the best and in the worst of the cells."""
    known = sorted(100 * found.least for found in decisions if found.least is not None and math.isfinite(found.least))
    if not known:
        return "one block finds no change"
    return (f"found in nine of ten such runs: changes of {_format_percent(known[0])} in the steadiest cell, "
            f"{_format_percent(known[-1])} in the least steady")


def _format_percent(value: float) -> str:
    return f"{value:.2g} %" if value < 100 else f"{value:.0f} %"

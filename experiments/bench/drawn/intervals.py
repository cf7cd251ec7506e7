# SPDX-License-Identifier: GPL-2.0-only
"""The statistics themselves: beside other implementations, and how often they hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from statistics import fmean

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ...analysis.policies import speedup
from ...analysis.policies.decision import CHANCE
from ...analysis.runs.results import Results
from ...analysis.stats.intervals import (
    adjust_p_values,
    compare_means,
    compare_pairs,
    compute_paired_ratio,
    compute_ratio,
    compute_t_interval,
)
from ...runner.repeats import precision
from . import answers, draw
from .draw import Boots, Cells, Noise
from .tally import EQUAL, HOLDS, Bound, Case, Event, bound_false, holds_truth

LEVEL = 0.05
TRUE = 1.05

# Of a value: how it scatters, and the true mean of its factors.
PRECISE: dict[str, tuple[Noise, float]] = {
    "normal 1 %": (draw.make_normal(0.01), 1), "normal 3 %": (draw.make_normal(0.03), 1), "normal 4 %": (draw.make_normal(0.04), 1),
    "lognormal 10 %": (draw.make_lognormal(0.1), math.exp(0.005)), "two modes 100/160": (draw.draw_two_modes, 1.3),
    "1 in 10 is 10 % more": (draw.make_slow(0.10, 1.1), 1.01), "1 in 20 is 20 % more": (draw.make_slow(0.05, 1.2), 1.01),
    "1 in 50 is 50 % more": (draw.make_slow(0.02, 1.5), 1.01)}
RATIOS: dict[str, tuple[Noise, Noise, float]] = {  # of the option, of the baseline, and the mean of the baseline's factors
    "normal 1 %": (draw.make_normal(0.01), draw.make_normal(0.01), 1), "normal 5 %": (draw.make_normal(0.05), draw.make_normal(0.05), 1),
    "lognormal 20 %": (draw.make_lognormal(0.2), draw.make_lognormal(0.2), 1),
    "1 in 10 is 10 % slower": (draw.make_slow(0.1, 1 / 1.1), draw.make_slow(0.1, 1 / 1.1), 1),
    "the baseline starts on one of two nodes": (draw.make_normal(0.01), draw.draw_two_modes, 1.3)}
LEVELS: dict[str, Noise] = {"normal 3 %": draw.make_normal(0.03), "1 in 10 is 10 % more": draw.make_slow(0.1, 1.1),
                            "lognormal 20 %": draw.make_lognormal(0.2), "drift of 10 %": draw.draw_drift,
                            "autocorrelated 0.5": draw.draw_correlated}


def build_cases() -> Iterator[Case]:
    """Builds the cases of the statistics: references, speed-ups, Holm's correction, levels, boots, and runs until they are precise."""
    yield Case("references", "p values and pairs of 2 to 11 values, beside scipy and statsmodels", 250, check_references)
    for name, (option_noise, base_noise, base_mean) in RATIOS.items():
        for n in (2, 3, 5, 10, 30):
            yield Case(f"speed-up {n}", f"{name}, {n} blocks, true 1.05", 400,
                       partial(check_speed_up, blocks=n, option_noise=option_noise, base_noise=base_noise, base_mean=base_mean))
    for n in (3, 10):
        yield Case(f"holm {n}", f"seven options as fast as the baseline, normal 3 %, {n} blocks", 300,
                   partial(check_equal_options, blocks=n))
    for name, noise in LEVELS.items():
        yield Case("levels", f"none beside none#2, {name}, 10 repeats", 300,
                   lambda d, noise=noise: compare_levels(draw.draw_planned(noise, d, 10)))
    yield Case("boots", "five boots of four repeats, 3 % between boots, 1 % within", 150, check_boot_means)
    for percent, most in ((0.5, 200), (2.0, 30)):
        slow_is_said = answers.mentions_slow_runs(percent)
        for name, (noise, true) in PRECISE.items():
            yield Case(f"precise {percent:g}", f"{name}, until {percent:g} %, at most {most}", 100,
                       partial(check_until_precise, noise=noise, true_mean=true, percent=percent, most=most,
                               slow_is_said=slow_is_said and "1 in" in name))


def check_references(source: Random) -> Iterator[Event]:
    """Yields, for each of our tests and intervals, whether it gives for drawn values what scipy or statsmodels gives."""
    n, m = source.randint(2, 11), source.randint(2, 11)
    a, b, both = ([source.gauss(10, 1) for _ in range(k)] for k in (n, m, n))
    p_values = [source.random() ** 3 for _ in range(n)]
    test, pair, quotient = compare_means(a, b), compare_pairs(a, both), compute_paired_ratio(a, both)
    limits = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
    pairs = {"Holm, of statsmodels": np.allclose(adjust_p_values(p_values), multipletests(p_values, method="holm")[1]),
             "Welch, of scipy": np.allclose((test.p, test.low, test.high), (stats.ttest_ind(a, b, equal_var=False).pvalue, *limits)),
             "Student in blocks, of scipy": np.isclose(pair.p, stats.ttest_rel(a, both).pvalue),
             "Fieller in blocks: the roots": quotient.low is None or np.allclose((quotient.low, quotient.high), find_roots(a, both)),
             "p of blocks and their interval": quotient.low is None or (pair.p < LEVEL) != (quotient.low <= 1 <= quotient.high)}
    yield from (Event(Bound(name, EQUAL.least), bool(same)) for name, same in pairs.items())


def find_roots(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Finds the two ratios r, the smaller first, for which Student's t of a - r b is at the limit."""
    t_squared = float(stats.t.ppf(1 - LEVEL / 2, len(a) - 1)) ** 2 / len(a)
    cov = np.cov(a, b)
    quadratic = [fmean(b) ** 2 - t_squared * cov[1, 1], -2 * (fmean(a) * fmean(b) - t_squared * cov[0, 1]),
                 fmean(a) ** 2 - t_squared * cov[0, 0]]
    return sorted(np.roots(quadratic).real)


def check_speed_up(source: Random, blocks: int, option_noise: Noise, base_noise: Noise, base_mean: float) -> Iterator[Event]:
    """Yields whether an interval of a speed-up holds the truth, and, where nothing differs, whether a word says that something does.

    An interval without limits holds it. Where programs start on different nodes the mark says that it may be too narrow.
    base_mean: of the factors of base_noise."""
    for true in (TRUE, 1.0):
        cells = Cells({("w", "none"): 1.0, ("w", "o"): true * base_mean}, option_noise, noises={("w", "none"): base_noise})
        run = cells.draw_run(source, blocks)
        found, = speedup.decide_cells(run).values()
        true_ratio = true * base_mean / find_shown_mean(run, base_noise, base_mean)
        if true_ratio == 1:
            yield Event(bound_false("faster or slower"), found.significant)
        else:
            yield Event(HOLDS, holds_truth(found, true_ratio), found.word == CHANCE)


def find_shown_mean(run: Results, base_noise: Noise, base_mean: float) -> float:
    """Returns the mean of the baseline's factors; where it has two modes and all observations started on one node, that node's."""
    nodes = {o.tasks[0]["node_before"] for o in run.select("w", "none")}
    return draw.MODES[nodes.pop()] if base_noise is draw.draw_two_modes and len(nodes) == 1 else base_mean


def check_equal_options(source: Random, blocks: int) -> Iterator[Event]:
    """Draws seven options as fast as the baseline and yields whether any is said to differ."""
    cells = Cells({("w", p): 1.0 for p in ("none", *"abcdefg")}, draw.make_normal(0.03))
    speedups = speedup.decide_cells(cells.draw_run(source, blocks))
    yield Event(bound_false("any of seven differs"), any(s.significant for s in speedups.values()))


def compare_levels(run: Results) -> Iterator[Event]:
    """Yields, of each method, whether it finds a difference between two levels, none and none#2, that are one policy."""
    cells = []  # of each workload: values by repeat under both levels, where both have at least two repeats in common
    for workload in run.workloads:
        if run.select(workload):
            (metric, _unit), *_ = run.list_performance_metrics(workload)
            a, b = ({o.repeat: o.get_value(metric) for o in run.select_independent(workload, level) if o.get_value(metric) is not None}
                    for level in ("none", "none#2"))
            if len(a.keys() & b.keys()) > 1:
                cells.append((a, b))
    both = [([a[k] for k in sorted(a.keys() & b.keys())], [b[k] for k in sorted(a.keys() & b.keys())]) for a, b in cells]
    p_values = [compare_means(list(a.values()), list(b.values())).p for a, b in cells]
    ratios = [compute_ratio(list(b.values()), list(a.values())) for a, b in cells]
    yield from (Event(bound_false("Welch's test"), p < LEVEL) for p in p_values if p is not None)
    yield from (Event(bound_false("Student's, in blocks"), p < LEVEL) for p in (compare_pairs(a, b).p for a, b in both) if p is not None)
    yield from (Event(bound_false("Fieller's without 1"), not r.low <= 1 <= r.high) for r in ratios if r and r.low is not None)
    yield Event(bound_false("Holm over the run"), any(p < LEVEL for p in adjust_p_values(p_values) if p is not None))


def check_boot_means(source: Random) -> Iterator[Event]:
    """Draws four workloads in five boots and yields whether each interval of the mean, by boots, holds the true one."""
    run = Cells({(w, "none"): 1.0 for w in "abcd"}, draw.make_normal(0.01), Boots(5, 0.03)).draw_run(source, 20)
    for workload in run.workloads:
        found = compute_t_interval([o.get_value(draw.METRIC) for o in run.select_independent(workload)])
        yield Event(HOLDS, found.low <= draw.MEAN <= found.high)


def check_until_precise(source: Random, noise: Noise, true_mean: float, percent: float, most: int, slow_is_said: bool) -> Iterator[Event]:
    """Draws a run until its mean is within `percent`, at most `most` values, and yields whether its interval holds the true mean.

    slow_is_said: the report says that slow runs may not be in it."""
    values = list(noise(source, most))
    n = next((n for n in range(precision.LEAST, most) if precision.is_precise(values[:n], draw.UNIT, percent)), most)
    mean = fmean(values[:n])
    half_width = precision.compute_half_width(values[:n], draw.UNIT) / 100 * mean
    yield Event(HOLDS, abs(mean - true_mean) <= half_width, slow_is_said)

# SPDX-License-Identifier: GPL-2.0-only
"""A bootstrap interval of a mean, without numpy: the runner needs it inside the lab, where an import takes long.

Efron, Journal of the American Statistical Association 82, 1987: bias-corrected and accelerated (BCa).
"""

import random
from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean

RESAMPLES = 2000  # which make check-statistics lowers
NORMAL = NormalDist()


def compute_interval(values: Sequence[float]) -> tuple[float, float]:
    """Computes the limits of the mean's 95 % interval, the same for the same values; the mean twice where there is one value, or all are
    equal."""
    mean, spread = fmean(values), sum((v - fmean(values)) ** 2 for v in values)
    if len(values) < 2 or not spread:
        return mean, mean
    generator = random.Random(len(values))
    means = sorted(fmean(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    below = sum((m < mean) + 0.5 * (m == mean) for m in means) / RESAMPLES
    bias = NORMAL.inv_cdf(min(max(below, 1 / RESAMPLES), 1 - 1 / RESAMPLES))  # a share of 0 or 1 has no normal deviate
    skew = sum((v - mean) ** 3 for v in values) / (6 * sqrt(spread) ** 3)

    def compute_limit(tail: float) -> float:
        """Computes the limit that leaves this share of the means below it."""
        z = bias + NORMAL.inv_cdf(tail)
        place = NORMAL.cdf(bias + z / (1 - skew * z)) * (RESAMPLES - 1)
        low = min(int(place), RESAMPLES - 2)
        return means[low] + (place - low) * (means[low + 1] - means[low])

    return compute_limit(0.025), compute_limit(0.975)

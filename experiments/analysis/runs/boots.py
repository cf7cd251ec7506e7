# SPDX-License-Identifier: GPL-2.0-only
"""Values of several boots, which are not independent of each other."""

import statistics
from collections.abc import Sequence


def compute_boot_means(values: Sequence[float], boots: Sequence[str]) -> dict[str, float]:
    """Computes the mean of each boot's values, in the order of the boots: these are independent of each other where values are not.

    The boot is a random effect. With as many values of each boot, Student's t of the boots' means is exact, whatever the
    variances between and within boots: Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013."""
    groups: dict[str, list[float]] = {}
    for value, boot in zip(values, boots, strict=True):
        groups.setdefault(boot, []).append(value)
    return {boot: statistics.fmean(found) for boot, found in groups.items()}

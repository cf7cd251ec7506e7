# SPDX-License-Identifier: GPL-2.0-only
"""How small a difference a number of repeats finds: the two-sided t test of two levels, before anything is run.

Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, chapter 2; the noncentral t of statsmodels.
"""

from __future__ import annotations

import math

ALPHA, POWER = 0.05, 0.80
DEVIATIONS = (0.5, 1.0, 3.0)  # percent, of repeats: what the statement shows where nothing is known


def detectable(repeats: int) -> float | None:
    """In standard deviations of the repeats; None where one repeat tells nothing."""
    from statsmodels.stats.power import TTestIndPower

    if repeats < 2:
        return None
    return float(TTestIndPower().solve_power(nobs1=repeats, alpha=ALPHA, power=POWER))


def needed(deviations: float) -> float:
    """Repeats of each level that find a difference of so many standard deviations; not rounded."""
    from statsmodels.stats.power import TTestIndPower

    return float(TTestIndPower().solve_power(effect_size=deviations, alpha=ALPHA, power=POWER))


def statement(repeats: int, effect: float = 2.0) -> str:
    """One line: what so many repeats find, and how many find `effect` percent."""
    found = detectable(repeats)
    if found is None:
        return f"power: 1 repeat finds no difference; {_at_least_two(effect)} find {effect:g} %"
    small = ", ".join(f"{found * sd:.2g} % where repeats differ by {sd:g} %" for sd in DEVIATIONS)
    return (f"power: {repeats} repeats find, with {POWER:.0%}, {small} (standard deviation); "
            f"{_at_least_two(effect)} find {effect:g} %")


def _at_least_two(effect: float) -> str:
    return " / ".join(str(max(2, math.ceil(needed(effect / sd)))) for sd in DEVIATIONS)

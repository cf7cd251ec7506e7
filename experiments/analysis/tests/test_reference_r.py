# SPDX-License-Identifier: GPL-2.0-only
"""Everything that the analysis computes, beside what R 4.2 computes of its own data sets.

reference-r.csv is what reference.R prints; where Rscript is installed, it is printed again.
"""

from __future__ import annotations

import csv
import math
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from experiments.analysis import linear_model, power, run_order
from experiments.analysis.linear_model import anova, contrasts, effects, fit
from experiments.analysis.stats import Difference, hedges, holm, paired, paired_ratio, ratio, t_interval, welch
from experiments.analysis.tests.test_analysis_stats import SLEEP_1, SLEEP_2

FOLDER = Path(__file__).parent
SCRIPT, PRINTED = FOLDER / "reference.R", FOLDER / "reference-r.csv"
DOSE_2 = [23.6, 18.5, 33.9, 25.5, 26.4, 32.5, 26.7, 21.5, 23.3, 29.5,
          25.5, 26.4, 22.4, 24.5, 24.8, 30.9, 26.4, 27.3, 29.4, 23.0]
DOSE_1 = [16.5, 16.5, 15.2, 17.3, 22.5, 17.3, 13.6, 14.5, 18.8, 15.5,
          19.7, 23.3, 23.6, 26.4, 20.0, 25.2, 25.8, 21.2, 14.5, 27.3]
WARP = {("A", "L"): [26, 30, 54, 25, 70, 52, 51, 26, 67], ("A", "M"): [18, 21, 29, 17, 12, 18, 35, 30, 36],
        ("A", "H"): [36, 21, 24, 18, 10, 43, 28, 15, 26], ("B", "L"): [27, 14, 29, 19, 29, 31, 41, 20, 44],
        ("B", "M"): [42, 26, 19, 16, 39, 28, 21, 39, 29], ("B", "H"): [20, 21, 24, 17, 13, 15, 15, 16, 28]}
NPK = [(1, 0, 1, 49.5), (1, 1, 1, 62.8), (1, 0, 0, 46.8), (1, 1, 0, 57), (2, 1, 0, 59.8), (2, 1, 1, 58.5),
       (2, 0, 0, 55.5), (2, 0, 1, 56), (3, 0, 1, 62.8), (3, 1, 1, 55.8), (3, 1, 0, 69.5), (3, 0, 0, 55),
       (4, 1, 0, 62), (4, 1, 1, 48.8), (4, 0, 0, 45.5), (4, 0, 1, 44.2), (5, 1, 1, 52), (5, 0, 0, 51.5),
       (5, 1, 0, 49.8), (5, 0, 1, 48.8), (6, 1, 0, 57.2), (6, 1, 1, 59), (6, 0, 1, 53.2), (6, 0, 0, 56)]
LH = [2.4, 2.4, 2.4, 2.2, 2.1, 1.5, 2.3, 2.3, 2.5, 2.0, 1.9, 1.7, 2.2, 1.8, 3.2, 3.2, 2.7, 2.2, 2.2, 1.9, 1.9, 1.8, 2.7,
      3.0, 2.3, 2.0, 2.0, 2.9, 2.9, 2.7, 2.7, 2.3, 2.6, 2.4, 1.8, 1.7, 1.5, 1.4, 2.1, 3.3, 3.5, 3.5, 3.1, 2.6, 2.1, 3.4,
      3.0, 2.9]


def read(text: str) -> dict[str, list[float]]:
    found = defaultdict(list)
    for name, value in csv.reader(text.splitlines()):
        found[name].append(float(value))
    return found


R = read(PRINTED.read_text())


def same(name: str, *ours: float | None, rel: float = 1e-9) -> None:
    assert ours == pytest.approx(R[name], rel=rel), name


def of(test: Difference) -> Sequence[float | None]:
    return test.difference, test.low, test.high, test.t, test.df, test.p


def test_means_and_differences() -> None:
    one = t_interval(SLEEP_1)
    same("t_interval", one.mean, one.low, one.high)
    same("welch", *of(welch(SLEEP_1, SLEEP_2)))
    same("paired", *of(paired(SLEEP_1, SLEEP_2)))
    effect = hedges(SLEEP_1, SLEEP_2)
    same("hedges", effect.value, effect.low, effect.high)
    same("holm", *holm([0.01, 0.04, 0.03, 0.005, 0.2, 0.011]))


def test_ratios() -> None:
    for name, found in (("fieller", ratio(DOSE_2, DOSE_1)), ("fieller_paired", paired_ratio(DOSE_2, DOSE_1))):
        same(name, found.value, found.low, found.high)


def warp() -> linear_model.Model:
    """Unbalanced: R's first four rows are left out."""
    rows = [{"wool": w, "tension": t, "breaks": float(y)} for (w, t), ys in WARP.items() for y in ys]
    data = pd.DataFrame(rows[4:])
    found = linear_model._fit(data, "breaks", ("wool", "tension"), (), 2, log=False)
    tests = linear_model._tests(found)
    return linear_model.Model("breaks", ("wool", "tension"), (), False, 2, found, *tests, tests)


def test_analysis_of_variance() -> None:
    table = {term.name: term for term in anova(warp())}
    for name, ours in (("anova_wool", "wool"), ("anova_tension", "tension"), ("anova_wool_tension", "wool × tension")):
        term = table[ours]
        same(name, term.sum_sq, term.df, term.f, term.p)
    same("anova_residual", table["Residual"].sum_sq, table["Residual"].df)
    same("shapiro", warp().normal_p, rel=1e-6)  # another approximation of the same coefficients
    same("breusch_pagan", warp().even_p)


def test_effects_and_contrasts() -> None:
    grand, found = effects(warp())
    ours = {(e.term, e.level): e.estimate for e in found} | {("grand", ""): grand}
    ours |= {("contrast", f"{c.first}, {c.second}"): c.estimate for c in contrasts(warp(), "tension", "L")}
    for name, key in (("grand", ("grand", "")), ("effect_wool_A", ("wool", "A")), ("effect_tension_M", ("tension", "M")),
                      ("effect_tension_H", ("tension", "H")), ("effect_wool_A_tension_L", ("wool × tension", "A, L")),
                      ("contrast_L_H", ("contrast", "L, H"))):
        e = ours[key]
        same(name, e.value, e.error, *e.limits[0.90], *e.limits[0.95], e.p)


def test_blocks() -> None:
    data = pd.DataFrame(NPK, columns=["repeat", "N", "P", "yield"])
    table = {term.name: term for term in anova(fit(data, "yield", ["N", "P"], ["repeat"]))}
    same("npk_residual", table["Residual"].sum_sq, table["Residual"].df)
    same("npk_NP", table["N × P"].f)


def test_power() -> None:
    same("power_delta", *(power.detectable(n) for n in (3, 5, 10, 20, 30)), rel=1e-5)
    same("power_n", *(power.needed(d) for d in (0.5, 1, 2)), rel=1e-5)


def test_run_order() -> None:
    found = run_order.of(LH)
    same("ljung_box", found.box, found.dependence_p)
    same("kendall", found.tau, found.drift_p)


def test_every_printed_value_is_compared() -> None:
    """A name that no test above asks for would be a value without a comparison."""
    text = Path(__file__).read_text()
    assert [name for name in R if f'"{name}"' not in text] == []
    assert all(math.isfinite(v) for values in R.values() for v in values)


@pytest.mark.skipif(not shutil.which("Rscript"), reason="Rscript is not installed: apt-get install r-base-core")
def test_r_prints_the_same_again() -> None:
    done = subprocess.run(["Rscript", "--vanilla", SCRIPT], capture_output=True, text=True, timeout=300, check=True)
    again = read(done.stdout)
    assert again.keys() == R.keys()
    for name, values in again.items():
        assert values == pytest.approx(R[name], rel=1e-9), name

# SPDX-License-Identifier: GPL-2.0-only
"""The linear models against published worked examples with known answers.

* NIST StRD, SiRstv (one-way analysis of variance; lower level of difficulty): data and certified
  values in nist-sirstv.csv.
* Moore and Krupat's conformity data (`Moore` in R's carData; Fox and Weisberg, "An R Companion to
  Applied Regression"): unbalanced two-way Type II table as printed in statsmodels' ANOVA page and
  by car::Anova in R.
* Jain, "The Art of Computer Systems Performance Analysis", 1991, examples 17.1 and 18.1 to 18.3:
  2x2 factorial designs of memory and cache, without and with replication: effects, allocation of
  variation, 90 % intervals. Deters' paper follows this book.
* Engel's food expenditure (`engel` in R's quantreg): Koenker and Bassett's regression quantiles as
  printed in quantreg's documentation.
"""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

import numpy
import pandas as pd
import pytest
from scipy import stats
from statsmodels.api import OLS
from statsmodels.datasets import engel

from experiments.analysis.figures import anova_report
from experiments.analysis.stats import linear_model
from experiments.analysis.stats.linear_model import Model, anova, contrasts, effects, fit, residuals
from experiments.analysis.stats.quantile import beside_ols

# conformity by partner's status and authoritarianism
MOORE = {
    ("low", "low"): [8, 7, 10, 6, 13, 12, 7, 6, 8, 12],
    ("low", "medium"): [12, 4, 4, 9],
    ("low", "high"): [4, 8, 13, 9, 24, 7, 23, 13],
    ("high", "low"): [21, 23, 15, 12, 16],
    ("high", "medium"): [12, 17, 14, 16, 20, 8, 14, 17, 7, 17, 15],
    ("high", "high"): [19, 9, 7, 11, 14, 13, 10],
}


def moore() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"partner": partner, "category": category, "conformity": float(y)}
            for (partner, category), ys in MOORE.items()
            for y in ys
        ]
    )


def terms(found: Model | str) -> dict[str, linear_model.Term]:
    assert isinstance(found, Model)
    return {term.name: term for term in anova(found)}


def test_anova_published_moore() -> None:
    data = moore()
    assert len(data) == 45
    table = terms(fit(data, "conformity", ["category", "partner"]))
    published = {
        "category": (11.614700, 2, 0.276958, 0.759564),
        "partner": (212.213778, 1, 10.120692, 0.002874),
        "category × partner": (175.488928, 2, 4.184623, 0.022572),
    }
    for name, (sum_sq, df, f, p) in published.items():
        assert table[name].sum_sq == pytest.approx(sum_sq, abs=5e-7)
        assert table[name].df == df
        assert table[name].f == pytest.approx(f, abs=5e-7)
        assert table[name].p == pytest.approx(p, abs=5e-7)
    assert table["Residual"].sum_sq == pytest.approx(817.763961, abs=5e-7)
    assert table["Residual"].df == 39


def test_anova_by_hand_with_blocks() -> None:
    # Two policies, five blocks. Differences 4, 6, 5, 5, 5: SS(policy) = 10 * 2.5^2 = 62.5;
    # error = sum((d - 5)^2) / 2 = 1 with 4 degrees of freedom. Values below 0 have no logarithm.
    rows = [
        {"policy": policy, "repeat": i, "y": 2.0 * i - 20 + (d if policy == "b" else 0.0)}
        for i, d in enumerate((4.0, 6.0, 5.0, 5.0, 5.0), 1)
        for policy in "ab"
    ]
    table = terms(fit(pd.DataFrame(rows), "y", ["policy"], ["repeat"]))
    assert table["policy"].sum_sq == pytest.approx(62.5)
    assert table["Residual"].sum_sq == pytest.approx(1.0)
    assert table["Residual"].df == 4
    assert table["policy"].f == pytest.approx(62.5 / (1.0 / 4))
    assert sum(term.share for term in table.values()) == pytest.approx(1)


def test_anova_takes_the_logarithm_when_residuals_ask() -> None:
    noise = random.Random(3)
    rows = [
        {"policy": p, "y": scale * math.exp(noise.gauss(0, 1))}
        for p, scale in (("a", 1.0), ("b", 20.0))
        for _ in range(20)
    ]
    found = fit(pd.DataFrame(rows), "y", ["policy"])
    assert isinstance(found, Model) and found.log and found.formula == "ln(y) ~ policy"
    assert min(found.plain) < 0.05 < min(found.normal_p, found.even_p)
    second = contrasts(found, "policy")[0].estimate.value
    logs = [[math.log(r["y"]) for r in rows if r["policy"] == p] for p in "ab"]
    assert second == pytest.approx(sum(logs[1]) / 20 - sum(logs[0]) / 20)


def test_even_variance_is_koenkers_test() -> None:
    """A funnel: n R^2 of the squared residuals on the fitted values, chi-square of one degree."""
    noise = random.Random(5)
    rows = [{"f": f, "y": x * (1 + 0.3 * noise.gauss(0, 1)) - 40}
            for f, x in (("a", 10.0), ("b", 30.0), ("c", 90.0)) for _ in range(30)]
    found = fit(pd.DataFrame(rows), "y", ["f"])
    fitted, squares = numpy.asarray(found.fit.fittedvalues), numpy.asarray(found.fit.resid) ** 2
    by_hand = stats.chi2.sf(len(rows) * numpy.corrcoef(fitted, squares)[0, 1] ** 2, 1)
    assert found.even_p == pytest.approx(by_hand) and found.even_p < 0.05
    assert not found.log  # values below 0 have no logarithm


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("a", 1, 1.0), ("a", 2, 2.0)], "nothing was varied"),
        ([("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 1.5), ("b", 2, 2.5)], "too few observations"),
        (
            [(p, r, 5.0 if p == "a" else 6.0) for p in "ab" for r in range(1, 7)],
            "repeats do not differ",
        ),
    ],
)
def test_anova_says_why_not(rows: list, why: str) -> None:
    frame = pd.DataFrame(rows, columns=["policy", "repeat", "y"])
    assert why in fit(frame, "y", ["policy"], ["repeat"])


def test_anova_with_an_empty_cell_is_refused() -> None:
    rows = [(w, p, float(i)) for w in "vw" for p in "ab" for i in range(5) if (w, p) != ("w", "b")]
    frame = pd.DataFrame(rows, columns=["workload", "policy", "y"])
    assert "no clean observation" in fit(frame, "y", ["workload", "policy"])


def sirstv() -> tuple[pd.DataFrame, dict[str, float]]:
    lines = (Path(__file__).parent / "nist-sirstv.csv").read_text().splitlines()
    certified = dict(line[2:].split(" = ") for line in lines if " = " in line)
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    frame = pd.DataFrame(rows).astype({"resistivity": float})
    return frame, {name: float(value) for name, value in certified.items()}


def test_anova_certified_by_nist() -> None:
    frame, certified = sirstv()
    found = fit(frame, "resistivity", ["instrument"])
    between, within = anova(found)
    assert len(frame) == 25 and not found.log
    assert (between.df, within.df) == (certified["between_df"], certified["within_df"])
    assert between.sum_sq == pytest.approx(certified["between_ss"], rel=1e-12)
    assert within.sum_sq == pytest.approx(certified["within_ss"], rel=1e-12)
    assert between.f == pytest.approx(certified["f"], rel=1e-12)
    assert between.share == pytest.approx(certified["r_squared"], rel=1e-12)


JAIN = {("4", "1"): (15, 18, 12), ("16", "1"): (45, 48, 51),
        ("4", "2"): (25, 28, 19), ("16", "2"): (75, 75, 81)}


def jain() -> Model:
    rows = [{"memory": m, "cache": c, "mips": float(y)} for (m, c), ys in JAIN.items() for y in ys]
    found = fit(pd.DataFrame(rows), "mips", ["memory", "cache"])
    assert isinstance(found, Model)
    return found


def test_effects_published_by_jain() -> None:
    """Example 18.1: q0 41, qA 21.5, qB 9.5, qAB 5; 18.3: their 90 % intervals."""
    grand, found = effects(jain())
    assert grand.value == pytest.approx(41)
    assert grand.limits[0.90] == pytest.approx((39.08, 42.91), abs=0.01)
    table = {(e.term, e.level): e.estimate for e in found}
    published = {
        ("memory", "16"): (21.5, 19.58, 23.41),
        ("cache", "2"): (9.5, 7.58, 11.41),
        ("memory × cache", "16, 2"): (5.0, 3.08, 6.91),
    }
    for key, (value, low, high) in published.items():
        assert table[key].value == pytest.approx(value)
        assert table[key].limits[0.90] == pytest.approx((low, high), abs=0.01)
        assert table[key].apart(0.90)
    assert table["memory", "4"].value == pytest.approx(-21.5)
    assert table["memory × cache", "4, 2"].value == pytest.approx(-5)


def test_allocation_of_variation_published_by_jain() -> None:
    """Example 18.2: SSA 5547, SSB 1083, SSAB 300, SSE 102: 78.88, 15.40, 4.27, 1.45 %."""
    found = {name: (t.sum_sq, 100 * t.share) for name, t in terms(jain()).items()}
    assert found["memory"] == pytest.approx((5547, 78.88), abs=0.005)
    assert found["cache"] == pytest.approx((1083, 15.40), abs=0.005)
    assert found["memory × cache"] == pytest.approx((300, 4.27), abs=0.005)
    assert found["Residual"] == pytest.approx((102, 1.45), abs=0.005)


def test_contrast_is_twice_the_effect_and_agrees_with_the_f_test() -> None:
    found = jain()
    (contrast,) = contrasts(found, "memory")
    assert (contrast.first, contrast.second) == ("4", "16")
    assert contrast.estimate.value == pytest.approx(2 * 21.5)
    narrow, wide = contrast.estimate.limits[0.90], contrast.estimate.limits[0.95]
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert contrast.estimate.p == pytest.approx(terms(found)["memory"].p)  # t^2 = F


def test_contrasts_against_a_base_are_adjusted() -> None:
    frame, _ = sirstv()
    found = contrasts(fit(frame, "resistivity", ["instrument"]), "instrument", base="1")
    assert [(c.first, c.second) for c in found] == [("1", i) for i in "2345"]
    smallest = min(found, key=lambda c: c.estimate.p)
    assert smallest.p_holm == pytest.approx(min(1, 4 * smallest.estimate.p))


def test_an_unbalanced_contrast_weighs_cells_alike() -> None:
    """Means of cell means, not of observations: a: (1 + 5) / 2, b: (2 + 8) / 2."""
    cells = {("a", "x"): [0.0, 1.0, 2.0] * 4, ("a", "y"): [4.0, 5.0, 6.0],
             ("b", "x"): [1.0, 2.0, 3.0], ("b", "y"): [7.0, 8.0, 9.0]}
    rows = [{"f": f, "g": g, "y": y} for (f, g), ys in cells.items() for y in ys]
    (contrast,) = contrasts(fit(pd.DataFrame(rows), "y", ["f", "g"]), "f")
    assert contrast.estimate.value == pytest.approx(5 - 3)


def test_limits_of_a_ratio_are_where_the_models_test_turns() -> None:
    """Unbalanced, so the two means share the block's estimate: their covariance counts."""
    data = moore().assign(repeat=[i % 3 for i in range(45)])
    found = fit(data, "conformity", ["partner", "category"], ["repeat"])
    assert isinstance(found, Model) and not found.log
    high, low = (linear_model._Cells(found).mean(partner=level) for level in ("high", "low"))
    ratio = linear_model.relative(found, "partner", "high", "low", 0.90)
    assert ratio.low < ratio.value < ratio.high
    for r in (ratio.low, ratio.high):
        assert float(found.fit.t_test(high - r * low).pvalue) == pytest.approx(0.10)
    assert linear_model.relative(found, "partner", "high", "none", 0.90) is None


def test_ratio_of_logarithms_is_the_contrast() -> None:
    data = moore().assign(conformity=lambda d: numpy.exp(d["conformity"]))
    found = fit(data, "conformity", ["partner", "category"])
    assert isinstance(found, Model) and found.log
    ratio = linear_model.relative(found, "partner", "high", "low", 0.90)
    (contrast,) = contrasts(found, "partner", "low")
    expected = (contrast.estimate.value, *contrast.estimate.limits[0.90])
    assert [math.log(v) for v in (ratio.value, ratio.low, ratio.high)] == pytest.approx(expected)


def test_a_share_at_the_ends_of_its_contrasts_interval() -> None:
    """In a balanced design, made again with the contrast moved to its interval's end."""
    noise = random.Random(1)
    data = pd.DataFrame([{"a": a, "b": b, "y": a + 5 * b + noise.gauss(0, 1)}
                         for a in (0, 1) for b in range(3) for _ in range(4)])
    found = fit(data, "y", ["a", "b"])
    assert isinstance(found, Model) and not found.log
    share = linear_model.explained(found, terms(found)["a"], 0.90)
    estimate = contrasts(found, "a", "0")[0].estimate
    moved = data.assign(y=data["y"] + (estimate.limits[0.90][1] - estimate.value) * data["a"])
    assert share.high == pytest.approx(terms(fit(moved, "y", ["a", "b"]))["a"].share)
    assert share.value == terms(found)["a"].share and share.low < share.value


def test_residuals_by_hand() -> None:
    found = residuals(jain())
    assert sorted(set(found.fitted)) == pytest.approx([15, 24, 48, 77])
    assert sum(r * r for r in found.residuals) == pytest.approx(102)
    assert list(found.ordered) == sorted(found.ordered) and len(found.normal) == 12
    # Filliben: the median rank of the largest of n is 0.5^(1/n)
    assert found.normal[-1] == pytest.approx(stats.norm.ppf(0.5 ** (1 / 12)))


def test_quantiles_published_engel() -> None:
    """quantreg: 0.5601806 at the median; 0.4017658, 0.4741032, 0.6440141, 0.6862995; lm 0.4851784."""
    (found,) = beside_ols(engel.load_pandas().data, "foodexp", "income")
    values = {s.tau: s.value for s in found.slopes}
    assert values == pytest.approx({None: 0.4851784, 0.1: 0.4017658, 0.25: 0.4741032,
                                    0.5: 0.5601806, 0.75: 0.6440141, 0.9: 0.6862995}, abs=1e-6)
    assert all(s.low < s.value < s.high for s in found.slopes)


def test_a_tail_that_the_mean_hides() -> None:
    """b has the median of a and a longer upper tail: only high quantiles differ."""
    rows = [{"memory": m, "y": 10 + (k * (3 if m == "remote" and k > 0 else 1))}
            for m in ("local", "remote") for k in range(-60, 61)]
    (found,) = beside_ols(pd.DataFrame(rows), "y", "memory")
    values = {s.tau: s.value for s in found.slopes}
    assert found.change == "memory: local → remote"
    assert values[0.25] == pytest.approx(0, abs=0.01) and values[0.9] > 20


def test_quantiles_say_why_not() -> None:
    few = pd.DataFrame({"memory": ["local", "remote"] * 3, "y": range(6)})
    assert "too few observations (6)" in beside_ols(few, "y", "memory")
    many = pd.DataFrame({"memory": list("abcdef") * 9, "y": range(54)})
    assert "6 levels" in beside_ols(many, "y", "memory")


def test_quantiles_of_several_levels_are_against_the_base() -> None:
    rows = [{"policy": p, "y": start + k} for p, start in (("b", 5.0), ("none", 0.0), ("c", 9.0))
            for k in range(-10, 11)]
    found = beside_ols(pd.DataFrame(rows), "y", "policy", base="none")
    assert [c.change for c in found] == ["policy: none → b", "policy: none → c"]
    medians = [next(s.value for s in c.slopes if s.tau == 0.5) for c in found]
    assert medians == pytest.approx([5, 9], abs=0.01)


def test_an_unreplicated_design_takes_its_interaction_as_error() -> None:
    """One observation in each of nine cells: four degrees of freedom are left for the error."""
    rows = [{"a": a, "b": b, "y": x} for a, xs in
            (("1", (10.0, 12.5, 20.0)), ("2", (13.0, 15.0, 24.0)), ("3", (12.0, 13.5, 22.0)))
            for b, x in zip("xyz", xs)]
    found = fit(pd.DataFrame(rows), "y", ["a", "b"])
    assert found.order == 1 and found.formula in ("y ~ a + b", "ln(y) ~ a + b")
    table = terms(found)
    assert set(table) == {"a", "b", "Residual"} and table["Residual"].df == 4
    means = pd.DataFrame(rows).groupby("a")["y"].mean()
    if not found.log:
        assert table["a"].sum_sq == pytest.approx(3 * ((means - means.mean()) ** 2).sum())
    assert all(" × " not in e.term for e in effects(found)[1])
    twice = pd.DataFrame(rows * 2).assign(y=lambda d: d.y + ([0.1] * 9 + [0.0] * 9))
    assert fit(twice, "y", ["a", "b"]).order == 2


def test_quantiles_need_observations_beyond_them() -> None:
    """Of 20 observations the median has ten on each side, the quartiles five."""
    noise = random.Random(1)
    rows = [{"memory": m, "y": noise.gauss(10, 1)} for m in ("local", "remote") for _ in range(10)]
    assert [s.tau for s in beside_ols(pd.DataFrame(rows), "y", "memory")[0].slopes] == [None, 0.5]
    (more,) = beside_ols(pd.DataFrame(rows * 5), "y", "memory")
    assert [s.tau for s in more.slopes] == [None, 0.1, 0.25, 0.5, 0.75, 0.9]


def test_tests_of_few_residuals_tell_nothing() -> None:
    noise = random.Random(1)
    rows = [{"policy": p, "repeat": i, "y": math.exp(noise.gauss(0, 0.5))} for i in range(12) for p in "abc"]
    few, many = (fit(pd.DataFrame(rows[:n]), "y", ["policy"], ["repeat"]) for n in (9, 36))
    assert not few.tests_tell and many.tests_tell
    told = anova_report.analyse(pd.DataFrame(rows[:9]), "y", "s", ["policy"], "x")
    assert told["few"] and not anova_report.analyse(pd.DataFrame(rows), "y", "s", ["policy"], "x")["few"]


def saturating(share: float) -> pd.DataFrame:
    """One observation each of local x remote threads; a share of the rise is lost as both rise."""
    noise = random.Random(2)
    return pd.DataFrame([{"local": str(a), "remote": str(b), "y": 100 + 10 * a + 8 * b - share * a * b + noise.gauss(0, 0.3)}
                         for a in range(5) for b in range(5)])


def test_an_interaction_in_the_error_is_found_by_tukey_and_no_p_is_given() -> None:
    saturated, additive = (anova_report.analyse(saturating(s), "y", "MB/s", ["local", "remote"], "x", blocks=(), focus="local")
                           for s in (1.5, 0))
    assert saturated["pooled"] and additive["pooled"]
    assert not saturated["tested"] and additive["tested"]
    assert {t["p"] for t in saturated["terms"]} == {"–"} and saturated["contrasts"] == []
    assert additive["terms"][0]["p"] != "–" and additive["contrasts"]


def test_tukeys_degree_by_its_definition() -> None:
    """Adding the squared fitted values to the design: the F of that one column."""
    found = fit(saturating(0.2), "y", ["local", "remote"])
    exog, y = found.fit.model.exog, found.fit.model.endog
    larger = OLS(y, numpy.column_stack([exog, numpy.asarray(found.fit.fittedvalues) ** 2])).fit()
    assert linear_model.additive_p(found) == pytest.approx(float(larger.pvalues[-1]), rel=1e-6)


def test_what_is_cut_is_said() -> None:
    noise = random.Random(2)
    rows = [{"a": str(x), "b": str(y), "v": noise.gauss(10, 1)} for x in range(12) for y in range(4) for _ in range(2)]
    told = anova_report.analyse(pd.DataFrame(rows), "v", "s", ["a", "b"], "x", blocks=(), focus="a")
    assert told["effects"]["not_shown"] == 48 and len(told["effects"]["rows"]) == 16
    assert told["not_shown"] == 66 - anova_report.MAX_CONTRASTS == 66 - len(told["contrasts"])

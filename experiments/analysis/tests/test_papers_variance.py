# SPDX-License-Identifier: GPL-2.0-only
"""Deters' analysis of variance, by hand."""

import pandas as pd
import pytest

from experiments.analysis.papers.variance import Model, compute_anova, fit_model

# Two runtimes, five blocks. Differences 4, 6, 5, 5, 5: SS(runtime) = 10 * 2.5^2 = 62.5; error = sum((d - 5)^2) / 2 = 1
# with 4 degrees of freedom.
ROWS = pd.DataFrame([{"runtime": runtime, "repeat": i, "y": 2.0 * i + 10 + (d if runtime == "b" else 0.0)}
                     for i, d in enumerate((4.0, 6.0, 5.0, 5.0, 5.0), 1) for runtime in "ab"])


def model(log: bool = False) -> Model:
    found = fit_model(ROWS, "y", ["runtime"], ["repeat"], log)
    assert isinstance(found, Model)
    return found


def test_terms_and_share() -> None:
    runtime, blocks, error = compute_anova(model())
    assert (runtime.name, blocks.name, error.name) == ("runtime", "repeat", "Residual")
    assert (runtime.sum_sq, error.sum_sq, error.df, runtime.f) == pytest.approx((62.5, 1.0, 4, 250))
    assert runtime.share + blocks.share + error.share == pytest.approx(1)


@pytest.mark.parametrize(("rows", "why"), [
    ([("a", 1, 1.0), ("a", 2, 2.0)], "nothing was varied"),
    ([("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 1.5), ("b", 2, 2.5)], "too few observations"),
    ([(p, r, 5.0 if p == "a" else 6.0) for p in "ab" for r in range(1, 7)], "repeats do not differ")])
def test_the_reason_is_given_where_there_is_no_model(rows: list, why: str) -> None:
    assert why in fit_model(pd.DataFrame(rows, columns=["runtime", "repeat", "y"]), "y", ["runtime"], ["repeat"])

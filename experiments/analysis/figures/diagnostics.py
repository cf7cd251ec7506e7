# SPDX-License-Identifier: GPL-2.0-only
"""The two plots that show whether a model's numbers may be believed, and quantiles beside it."""

from __future__ import annotations

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runs import text_format
from ..stats.linear_model import Residuals
from ..stats.quantile import Comparison
from . import charts, theme

SIZE_IN = (4.7, 2.3)


def residual_plots(found: Residuals, prefix: str, response: str) -> str:
    """Left: residuals over fitted values, without trend or funnel where the model fits.
    Right: ordered residuals over normal quantiles, on the line where they are normal."""
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure(SIZE_IN, layout="constrained")
        left, right = figure.subplots(1, 2)
        left.axhline(0, color=theme.colour("muted"), linewidth=0.9)
        _dots(left, found.fitted, found.residuals)
        charts.dress(left, "fitted values", "residuals")
        ends = [found.normal[0], found.normal[-1]]
        line = [found.intercept + found.slope * x for x in ends]
        right.plot(ends, line, "-", color=theme.colour("muted"), linewidth=0.9)
        _dots(right, found.normal, found.ordered)
        charts.dress(right, "normal quantiles", "ordered residuals")
        told = (
            f"{len(found.residuals)} residuals from {text_format.number(min(found.residuals))} to "
            f"{text_format.number(max(found.residuals))} over fitted values from "
            f"{text_format.number(min(found.fitted))} to {text_format.number(max(found.fitted))}"
        )
        return theme.inline(figure, prefix, f"Residuals of {response}", told)


def _dots(axes: Axes, x: tuple[float, ...], y: tuple[float, ...]) -> None:
    axes.plot(x, y, "o", markersize=3.6, markerfacecolor="none", markeredgewidth=0.9,
              markeredgecolor=theme.colour("node0"))


def quantile_plot(found: Comparison, prefix: str, unit: str) -> str:
    """The coefficient at each quantile, and least squares' as a line with its band."""
    mean, *rest = found.slopes
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((SIZE_IN[0], 2.1), layout="constrained")
        axes = figure.subplots()
        axes.axhspan(mean.low, mean.high, color=theme.colour("node1"), alpha=0.25, linewidth=0)
        axes.axhline(mean.value, color=theme.colour("node1"), linewidth=1.4)
        axes.axhline(0, color=theme.colour("muted"), linewidth=0.8)
        errors = [[0 if s.low is None else s.value - s.low for s in rest],
                  [0 if s.high is None else s.high - s.value for s in rest]]
        axes.errorbar([s.tau for s in rest], [s.value for s in rest], errors, fmt="o-",
                      markersize=4.5, linewidth=1.2, capsize=0, color=theme.colour("node0"))
        axes.set_xlim(0, 1)
        charts.dress(axes, "quantile of the response", f"change, {unit}")
        told = "; ".join(
            f"{'least squares' if s.tau is None else s.tau} {text_format.number(s.value)}"
            for s in found.slopes
        )
        return theme.inline(figure, prefix, f"Effect of {found.change} by quantile", told)

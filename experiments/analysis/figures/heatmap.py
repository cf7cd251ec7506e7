# SPDX-License-Identifier: GPL-2.0-only
"""A heat map of two factors, with the values in its squares: readable without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure

from ..runs import text_format
from . import theme
from .charts import Raw, format_told, list_rows

ROW_IN, WIDTH_IN = 0.27, 4.7


def draw_grid(
    grid: Sequence[Sequence[float | None]], rows: Sequence[float], columns: Sequence[float],
    prefix: str, title: str, x: str, y: str, value: str, *, log: bool = False,
    raw: Sequence[Sequence[Raw]] = (),
) -> str:
    """Draws numbers in coloured squares, darker where they are larger, None as an empty one; returns an <svg> element.

    `rows` and `columns` are the levels along `y` and `x`; `value` titles the numbers; log: shades by the logarithm; raw: the
    observations of each square, for its tip."""
    known = [v for row in grid for v in row if v is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((WIDTH_IN, 0.75 + ROW_IN * len(rows)), layout="constrained")
        axes = figure.subplots()
        for i, row in enumerate(grid):
            for j, v in enumerate(row):
                if v is None:
                    continue
                axes.barh(i, 0.94, 0.9, j - 0.47, color=theme.get_colour("node0"), linewidth=0,
                          alpha=0.08 + 0.5 * _compute_shade(v, low, high, log))
                axes.text(j, i, _format_short(v), ha="center", va="center_baseline", size=7,
                          color=theme.get_colour("ink"))
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        axes.set_xticks(range(len(columns)), [text_format.format_tick(c) for c in columns], size=7.5)
        axes.set_yticks(range(len(rows)), [text_format.format_tick(r) for r in rows], size=8.5)
        axes.tick_params(colors=theme.get_colour("muted"), length=0)
        axes.set_xlabel(x, size=8.5, color=theme.get_colour("muted"))
        axes.set_ylabel(y, size=8.5, color=theme.get_colour("muted"))
        axes.set_title(value, loc="left", size=8.5, color=theme.get_colour("muted"))
        for spine in axes.spines.values():
            spine.set(visible=False)
        described = "; ".join(
            f"{y} {text_format.format_tick(r)}: " + ", ".join(
                f"{text_format.format_tick(c)} {text_format.format_number(v)}" for c, v in zip(columns, row, strict=True))
            for r, row in zip(rows, grid, strict=True)
        )
        tips = [
            theme.Tip(j, i, format_told((f"{y} {text_format.format_tick(rows[i])}, {x} {text_format.format_tick(columns[j])}",
                                         f"{value}: {v:.6g}"),
                                        behind := raw[i][j] if raw else ()), list_rows(behind))
            for i, row in enumerate(grid) for j, v in enumerate(row) if v is not None
        ]
        return theme.make_inline(figure, prefix, title, described, [(axes, tips)])


def _compute_shade(value: float, low: float, high: float, log: bool) -> float:
    """Computes where a value lies between `low` and `high`, from 0 to 1; log: by logarithms, where `low` is above 0."""
    if high <= low:
        return 0.5
    if log and low > 0:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _format_short(value: float) -> str:
    """Formats a number with two digits, thousands as k: there are ten squares in a row."""
    if 1e3 <= abs(value) < 1e6:
        return text_format.format_tick(float(f"{value / 1e3:.2g}")) + "k"
    return text_format.format_tick(float(f"{value:.2g}")).replace("-", "−")

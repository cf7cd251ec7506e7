# SPDX-License-Identifier: GPL-2.0-only
"""Curves with confidence intervals and coloured grids, as the papers draw them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from ..runs import text_format
from ..runs.results import Observation
from . import theme

Raw = tuple[tuple[int, float], ...]  # observations: line of results.jsonl, value

MOST_TOLD = 6  # values of observations in a tip
MARKERS = "osD^vPX*"
STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
PANEL_IN = (4.7, 2.75)


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    raw: Raw = ()  # of which it is the mean


@dataclass(frozen=True)
class Curve:
    name: str
    points: tuple[Point, ...]
    paper: bool = False  # printed in the paper, not measured here: hollow and dashed
    colour: int | None = None  # curves of one colour belong together

    @property
    def told(self) -> str:
        values = ", ".join(f"{text_format.format_tick(p.x)}: {text_format.format_number(p.y)}" for p in self.points)
        return f"{self.name}: {values}"


def dress_axes(axes: Axes, x: str, y: str) -> None:
    """Gives axes the look of all axes of the report."""
    axes.set_xlabel(text_format.make_printable(x), size=8.5, color=theme.get_colour("muted"))
    axes.set_ylabel(text_format.make_printable(y), size=8.5, color=theme.get_colour("muted"))
    axes.tick_params(colors=theme.get_colour("muted"), labelsize=8.5, length=3,
                     color=theme.get_colour("line"))
    axes.grid(color=theme.get_colour("line"), linewidth=0.6)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: text_format.format_tick(value))
    axes.locator_params(nbins=5)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=theme.get_colour("line"))


def draw_lines(
    curves: Sequence[Curve], prefix: str, title: str, x: str, y: str, *,
    from_zero: bool = True, log_x: bool = False, ticks: Sequence[float] | None = None,
) -> str:
    """Draws one panel; every curve has a name, a colour, a marker and, cycling, a line of its own."""
    with matplotlib.rc_context(theme.SETTINGS):
        rows = -(-len(curves) // 2)
        figure = Figure((PANEL_IN[0], PANEL_IN[1] + 0.17 * rows), layout="constrained")
        axes = figure.subplots()
        for i, curve in enumerate(curves):
            _draw_curve(axes, curve, i if curve.colour is None else curve.colour)
        dress_axes(axes, x, y)
        if log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: text_format.format_tick(value))
        if ticks is not None:
            axes.set_xticks(ticks)
            axes.minorticks_off()
        low = min((p.low if p.low is not None else p.y for c in curves for p in c.points), default=0)
        if from_zero and low >= 0:
            axes.set_ylim(bottom=0)
        _put_legend_above(axes, handlelength=2.6, columnspacing=1.2)
        ys = [p.y for c in curves for p in c.points]
        return theme.make_inline(figure, prefix, title, "; ".join(c.told for c in curves),
                                 [(axes, [make_tip(c, p, x) for c in curves for p in c.points])],
                                 (lambda: make_log(axes.yaxis)) if needs_log(ys) else None)


def list_raw(observations: Iterable[Observation], metric: str) -> Raw:
    return tuple((o.line, value) for o in observations if (value := o.value(metric)) is not None)


def make_tip(curve: Curve, p: Point, x: str = "", place: float | None = None) -> theme.Tip:
    """Makes the tip at a point, or at another place where that is drawn: a bar's."""
    limits = "" if p.low is None else f" ({text_format.format_number(p.low)} to {text_format.format_number(p.high)})"
    at = f"{x} {text_format.format_tick(p.x)}" if place is None else x
    return theme.Tip(p.x if place is None else place, p.y,
                     format_told((curve.name, f"{at.strip()}: {text_format.format_number(p.y)}{limits}",
                                  "not measured here" if curve.paper else ""), p.raw), list_rows(p.raw))


def format_told(lines: Iterable[str], raw: Raw) -> str:
    """Returns the text of a tip: below its own lines the values of the observations, as results.jsonl has them."""
    values = ", ".join(f"{value:.10g}" for _, value in raw[:MOST_TOLD]) + (", …" if len(raw) > MOST_TOLD else "")
    return "\n".join(filter(None, (*lines, raw and f"n = {len(raw)}: {values}")))


def list_rows(raw: Raw) -> str:
    """Returns the rows of the table of observations that a tip leads to."""
    return " ".join(f"o{line}" for line, _ in raw)


def needs_log(values: Sequence[float]) -> bool:
    """Checks whether all are above 0 and a decade apart: below that a logarithmic axis shows nothing new."""
    return bool(values) and 0 < 10 * min(values) <= max(values)


def make_log(axis: Axis) -> None:
    """Makes an axis logarithmic that may begin at 0, which a logarithmic one cannot."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(lambda value, _: text_format.format_tick(value))
    axis.set_minor_formatter("")
    axis.axes.relim()
    axis.axes.autoscale(axis=axis.axis_name)


def _put_legend_above(axes: Axes, **spacing: float) -> None:
    """Puts the legend above the axes: Debian 12's matplotlib has none outside the axes of a figure."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8.5,
                labelcolor=theme.get_colour("ink"), borderaxespad=0.2, **spacing)


def _draw_curve(axes: Axes, curve: Curve, colour: int) -> None:
    hue = theme.get_node_colour(colour)
    xs, ys = [p.x for p in curve.points], [p.y for p in curve.points]
    axes.plot(
        xs, ys, marker=MARKERS[colour % len(MARKERS)], markersize=4.5, color=hue,
        linestyle=STYLES[2] if curve.paper else STYLES[0], linewidth=1.1 if curve.paper else 1.6,
        markerfacecolor="none" if curve.paper else hue, markeredgewidth=1,
        label=text_format.make_printable(curve.name), clip_on=False, zorder=2 if curve.paper else 3,
    )
    for p in curve.points:
        if p.low is not None and p.high is not None:
            axes.plot([p.x, p.x], [p.low, p.high], "-", color=hue, linewidth=1.1, zorder=2)


def draw_bars(groups: Sequence[str], curves: Sequence[Curve], prefix: str, title: str, y: str) -> str:
    """Bars side by side, on a logarithmic scale where the small ones would vanish.

    The x of a point is the place of its group.
    """
    width = 0.8 / max(1, len(curves))
    with matplotlib.rc_context(theme.SETTINGS):
        figure, tips = Figure((PANEL_IN[0], PANEL_IN[1] + 0.2), layout="constrained"), []
        axes = figure.subplots()
        for i, curve in enumerate(curves):
            hue = theme.get_node_colour(i if curve.colour is None else curve.colour)
            at = [p.x + (i - (len(curves) - 1) / 2) * width for p in curve.points]
            axes.bar(at, [p.y for p in curve.points], width * 0.92, label=curve.name,
                     color="none" if curve.paper else hue, edgecolor=hue, linewidth=1)
            for x, p in zip(at, curve.points, strict=True):
                tips.append(make_tip(curve, p, groups[int(p.x)], x))
                if p.low is not None and p.high is not None:
                    axes.plot([x, x], [p.low, p.high], "-", color=theme.get_colour("ink"),
                              linewidth=1.1)
        dress_axes(axes, "", y)
        values = [p.y for c in curves for p in c.points]
        if min(values) > 0 and max(values) > 50 * min(values):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: text_format.format_tick(value))
            axes.minorticks_off()
        axes.set_xticks(range(len(groups)), [text_format.shorten_text(g, 14) for g in groups])
        axes.grid(visible=False, axis="x")
        _put_legend_above(axes)
        return theme.make_inline(figure, prefix, title, "; ".join(c.told for c in curves), [(axes, tips)])

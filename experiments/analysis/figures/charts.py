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

LOG_BARS = 50  # the largest bar over the smallest: above that the smallest would not be seen on a linear axis
MOST_TOLD = 6  # values of observations in a tip
MARKERS = "osD^vPX*"
SOLID, DOTTED = "-", (0, (1.5, 1.5))
PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 4.7, 2.75  # without the legend
LEGEND_ROW_IN = 0.17


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None   # of the interval of y
    high: float | None = None
    raw: Raw = ()  # of which it is the mean


@dataclass(frozen=True)
class Curve:
    name: str
    points: tuple[Point, ...]
    paper: bool = False  # printed in the paper, not measured here: hollow and dotted
    colour: int | None = None  # curves of one colour belong together

    @property
    def description(self) -> str:
        """Returns the curve in words, for screen readers: its name, then "x: y" of each point."""
        values = ", ".join(f"{text_format.format_tick(p.x)}: {text_format.format_number(p.y)}" for p in self.points)
        return f"{self.name}: {values}"


def dress_axes(axes: Axes, x: str, y: str) -> None:
    """Gives axes the labels `x` and `y`, and the colours, grid and number format of all axes of the report."""
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
    """Draws curves in one panel, told apart by colour and marker, a paper's dotted; returns an <svg> element, which has a logarithmic
    version too where needs_log().

    `prefix` begins the element's ids, `x` and `y` label the axes, `ticks` are those of x (None: about five); from_zero: the y axis begins
    at 0 where no value is below it."""
    with matplotlib.rc_context(theme.SETTINGS):
        legend_rows = -(-len(curves) // 2)  # of two names each
        figure = Figure((PANEL_WIDTH_IN, PANEL_HEIGHT_IN + LEGEND_ROW_IN * legend_rows), layout="constrained")
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
        return theme.make_inline(figure, prefix, title, "; ".join(c.description for c in curves),
                                 [(axes, [make_tip(c, p, x) for c in curves for p in c.points])],
                                 (lambda: make_log(axes.yaxis)) if needs_log(ys) else None)


def list_raw(observations: Iterable[Observation], metric: str) -> Raw:
    return tuple((o.line, value) for o in observations if (value := o.get_value(metric)) is not None)


def make_tip(curve: Curve, point: Point, x: str = "", place: float | None = None) -> theme.Tip:
    """Makes the tip at a point of a curve, with its values; `x` labels the axis. A bar is drawn at `place`, not at the point's x."""
    limits = "" if point.low is None else f" ({text_format.format_number(point.low)} to {text_format.format_number(point.high)})"
    label = f"{x} {text_format.format_tick(point.x)}" if place is None else x
    return theme.Tip(point.x if place is None else place, point.y,
                     format_told((curve.name, f"{label.strip()}: {text_format.format_number(point.y)}{limits}",
                                  "not measured here" if curve.paper else ""), point.raw), list_rows(point.raw))


def format_told(lines: Iterable[str], raw: Raw) -> str:
    """Returns the text of a tip: below its own lines the values of the observations, as results.jsonl has them."""
    values = ", ".join(f"{value:.10g}" for _, value in raw[:MOST_TOLD]) + (", …" if len(raw) > MOST_TOLD else "")
    return "\n".join(filter(None, (*lines, raw and f"n = {len(raw)}: {values}")))


def list_rows(raw: Raw) -> str:
    """Returns the rows of the table of observations that a tip leads to."""
    return " ".join(f"o{line}" for line, _ in raw)


def needs_log(values: Sequence[float]) -> bool:
    """Checks whether all values are above 0 and the largest is ten times the smallest: only then a logarithmic axis shows more."""
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
    """Draws a curve with its intervals as vertical lines; `colour` numbers its colour and marker; a paper's curve is hollow and dotted."""
    hue = theme.get_node_colour(colour)
    xs, ys = [p.x for p in curve.points], [p.y for p in curve.points]
    axes.plot(
        xs, ys, marker=MARKERS[colour % len(MARKERS)], markersize=4.5, color=hue,
        linestyle=DOTTED if curve.paper else SOLID, linewidth=1.1 if curve.paper else 1.6,
        markerfacecolor="none" if curve.paper else hue, markeredgewidth=1,
        label=text_format.make_printable(curve.name), clip_on=False, zorder=2 if curve.paper else 3,
    )
    for p in curve.points:
        if p.low is not None and p.high is not None:
            axes.plot([p.x, p.x], [p.low, p.high], "-", color=hue, linewidth=1.1, zorder=2)


def draw_bars(groups: Sequence[str], curves: Sequence[Curve], prefix: str, title: str, y: str) -> str:
    """Draws a group of bars for each name, one bar a curve, with intervals; `y` labels the axis; returns an <svg> element.

    The x of a point is the index of its group. The y axis is logarithmic where the largest value is over LOG_BARS times the smallest."""
    width = 0.8 / max(1, len(curves))  # of a bar; a group has 1, of which 0.2 stays empty
    with matplotlib.rc_context(theme.SETTINGS):
        figure, tips = Figure((PANEL_WIDTH_IN, PANEL_HEIGHT_IN + 0.2), layout="constrained"), []
        axes = figure.subplots()
        for i, curve in enumerate(curves):
            hue = theme.get_node_colour(i if curve.colour is None else curve.colour)
            centres = [p.x + (i - (len(curves) - 1) / 2) * width for p in curve.points]
            axes.bar(centres, [p.y for p in curve.points], width * 0.92, label=curve.name,
                     color="none" if curve.paper else hue, edgecolor=hue, linewidth=1)
            for x, p in zip(centres, curve.points, strict=True):
                tips.append(make_tip(curve, p, groups[int(p.x)], x))
                if p.low is not None and p.high is not None:
                    axes.plot([x, x], [p.low, p.high], "-", color=theme.get_colour("ink"),
                              linewidth=1.1)
        dress_axes(axes, "", y)
        values = [p.y for c in curves for p in c.points]
        if min(values) > 0 and max(values) > LOG_BARS * min(values):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: text_format.format_tick(value))
            axes.minorticks_off()
        axes.set_xticks(range(len(groups)), [text_format.shorten_text(g, 14) for g in groups])
        axes.grid(visible=False, axis="x")
        _put_legend_above(axes)
        return theme.make_inline(figure, prefix, title, "; ".join(c.description for c in curves), [(axes, tips)])

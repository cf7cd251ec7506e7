# SPDX-License-Identifier: GPL-2.0-only
"""A paper's printed numbers against ours on logarithmic axes: on the line they are the same."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from ..figures import charts, theme
from ..figures.charts import Curve, Point
from ..runs import text_format
from ..stats.intervals import Interval

SIDE_IN = 4.2
MARGIN = 1.15  # of the axes, beyond the smallest and the largest number
CAPTION = "On the line both are the same. The paper prints no spread; ours have 95 % intervals."


def pair(printed: float, ours: Interval, scale: float = 1.0) -> Point:
    return Point(printed, ours.mean * scale, *(None if e is None else e * scale for e in (ours.low, ours.high)))


def draw(groups: Sequence[Curve], prefix: str, title: str, unit: str = "") -> str:
    """x of a point is the paper's number, y is ours; numbers of 0 and less have no place on a logarithm."""
    curves = [Curve(g.name, tuple(p for p in g.points if p.x > 0 and p.y > 0)) for g in groups]
    both = [v for c in curves for p in c.points for v in (p.x, p.y)]
    ends = [min(both) / MARGIN, max(both) * MARGIN]
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((SIDE_IN, SIDE_IN), layout="constrained")
        axes = figure.subplots()
        axes.plot(ends, ends, color=theme.colour("muted"), linewidth=1, zorder=1)
        for i, curve in enumerate(curves):
            _points(axes, curve, i)
        charts.dress(axes, f"paper{unit and ', ' + unit}", f"ours{unit and ', ' + unit}")
        axes.set_aspect("equal")
        for axis in (axes.xaxis, axes.yaxis):
            charts.make_log(axis)
            if ends[1] < 10 * ends[0]:  # a decade's ticks would be one or none
                axis.set_major_locator(MaxNLocator(5))
                axis.set_minor_locator(NullLocator())
        axes.set(xlim=ends, ylim=ends)
        axes.legend(loc="upper left", frameon=False, fontsize=8.5, labelcolor=theme.colour("ink"))
        tips = [_tip(c, p) for c in curves for p in c.points]
        return theme.inline(figure, prefix, title, "; ".join(_told(c) for c in curves), [(axes, tips)])


def _points(axes, curve: Curve, colour: int) -> None:
    hue = theme.node_colour(colour)
    axes.plot([p.x for p in curve.points], [p.y for p in curve.points], linestyle="", color=hue, markersize=4.5,
              marker=charts.MARKERS[colour % len(charts.MARKERS)], label=text_format.printable(curve.name), zorder=3)
    for p in curve.points:
        if p.low is not None and p.high is not None and p.low > 0:
            axes.plot([p.x, p.x], [p.low, p.high], "-", color=hue, linewidth=1.1, zorder=2)


def _told(curve: Curve) -> str:
    return f"{curve.name}: " + ", ".join(
        f"paper {text_format.number(p.x)} ours {text_format.number(p.y)}" for p in curve.points)


def _tip(curve: Curve, p: Point) -> theme.Tip:
    limits = "" if p.low is None else f" ({text_format.number(p.low)} to {text_format.number(p.high)})"
    return theme.Tip(p.x, p.y, f"{curve.name}\npaper {text_format.number(p.x)}, "
                     f"ours {text_format.number(p.y)}{limits}")

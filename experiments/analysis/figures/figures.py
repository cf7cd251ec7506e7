# SPDX-License-Identifier: GPL-2.0-only
"""One figure per workload: what each policy did with the pages, and how long it took."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runs import text_format
from ..runs.results import MetricName, Observation, Results, list_values
from ..stats.intervals import Interval, compute_t_interval
from . import theme
from .charts import make_log, needs_log

WIDTH_IN = 4.7
ROW_IN = 0.165
MAX_METRICS = 3
LABEL, CHIP, BAR = 0.30, 0.045, 0.54  # where the squares start, their and the bars' widths
LABEL_WIDTH = 17  # characters of a policy beside its row
DOTS = 0.17  # how far below its row's middle an observation is drawn
AXIS_MARGIN = 0.06      # of the width of what is shown, beyond it
FROM_ZERO_BELOW = 0.75  # of the largest value: an axis with something below that begins at 0
SMALL = {"ink": "muted", "size": 8.5}


@dataclass(frozen=True)
class TaskState:
    """Holds the nodes of one task and of its pages, over all clean observations of a policy."""

    role: str
    when: str  # "before" or "after" apply
    node: int | None
    nodes_seen: tuple[int | None, ...]
    pages: dict[int, float]  # mean, by node

    @property
    def total(self) -> float:
        return sum(self.pages.values())


def list_task_states(observations: list[Observation]) -> list[TaskState]:
    """Returns two states per role, before and after, in the order of the tasks."""
    tasks: dict[str, list[dict]] = {}
    for o in observations:
        for task in o.tasks:
            tasks.setdefault(str(task.get("role", "task")), []).append(task)
    return [_compute_state(role, when, tasks[role]) for role in tasks for when in ("before", "after")]


def _compute_state(role: str, when: str, tasks: list[dict]) -> TaskState:
    """Computes the state of a role's tasks, one an observation: the most frequent node, all nodes, and mean pages by node."""
    pages: Counter[int] = Counter()
    for task in tasks:
        for node, count in (task.get(f"pages_{when}") or {}).items():
            pages[int(node)] += count / len(tasks)
    seen = Counter(task.get(f"node_{when}") for task in tasks)
    node = seen.most_common(1)[0][0]
    return TaskState(role, when, node, tuple(seen), dict(sorted(pages.items())))


def draw_placement(results: Results, workload: str, prefix: str) -> str:
    """Draws stacked bars of each task's pages by node, before and after, under each policy; returns an <svg> element."""
    groups, tips = [(p, list_task_states(results.select(workload, p))) for p in results.policies], []
    rows = sum(len(states) + 1.6 for _, states in groups) + 2
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((WIDTH_IN, rows * ROW_IN))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, 1), ylim=(rows, 0))
        axes.axis("off")
        _draw_legend(axes, [state for _, states in groups for state in states])
        y = 2.0
        for policy, states in groups:
            _write_text(axes, 0, y + 0.5, policy, weight="bold")
            if not states:
                _write_text(axes, LABEL, y + 0.5, "no clean observation", **SMALL)
            for i, state in enumerate(states):
                _draw_bar(axes, state, y + 1.2 + i)
                tips += _make_bar_tips(policy, state, y + 1.7 + i, results.select(workload, policy))
            y += len(states) + 1.6
        title = f"{workload}: pages per node"
        return theme.make_inline(figure, f"{prefix}-placement", title, _describe_placement(groups), [(axes, tips)])


def _make_bar_tips(policy: str, state: TaskState, y: float, observations: list[Observation]) -> list[theme.Tip]:
    """Makes a tip in the middle of each node's part of a bar at the height `y`, in rows from the top."""
    tips, left, rows = [], LABEL + CHIP + 0.012, " ".join(f"o{o.line}" for o in observations)
    for node, pages in state.pages.items():
        width = BAR * pages / state.total if pages else 0
        if width:
            tips.append(theme.Tip(left + width / 2, y, f"{policy}: {state.role}, {state.when}\nnode {node}: "
                                   f"{pages:.10g} of {state.total:.10g} pages\nmean of n = {len(observations)}", rows))
        left += width
    return tips


def _write_text(axes: Axes, x: float, y: float, text: str, ink: str = "ink", **style: object) -> None:
    """Writes a piece of text, centred on y."""
    style = {"va": "center", "color": theme.get_colour(ink)} | style
    axes.text(x, y, text_format.make_printable(text), **style)


def _draw_legend(axes: Axes, states: list[TaskState]) -> None:
    """Draws the colours of the nodes above the bars, and what the columns of task and pages are."""
    x, y = 0.0, 0.55
    if not states:
        return
    nodes = sorted({n for s in states for n in (*s.pages, *s.nodes_seen) if n is not None})
    step = min(0.21, 0.9 / max(1, len(nodes)))  # the last tenth is the pages' column
    words, width = "on node " if step == 0.21 else "node " if step > 0.1 else "", min(0.024, 0.3 * step)
    for node in nodes if step > 0.06 else []:  # of more nodes the tips name them
        axes.barh(y, width, 0.62, x, color=theme.get_node_colour(node))
        _write_text(axes, x + width + 0.01, y, f"{words}{node}", "muted")
        x += step
    if x < 0.65:  # there is room for it
        axes.barh(y, 0.024, 0.62, x, color="none", edgecolor=theme.get_colour("muted"), linewidth=0.8)
        _write_text(axes, x + 0.034, y, "node of the task", "muted")
    _write_text(axes, 1, y, "pages", ha="right", **SMALL)


def _draw_bar(axes: Axes, state: TaskState, y: float) -> None:
    """Draws the bar of one task's state in the row `y`; a task's two bars stand closer together than two tasks."""
    before = state.when == "before"
    middle = y + 0.5 + (0.06 if before else -0.06)
    if before:
        _write_text(axes, 0, y + 1, text_format.shorten_text(state.role, 13))
    _write_text(axes, LABEL - 0.012, middle, state.when, ha="right", **SMALL)
    _draw_chip(axes, state, middle)
    left = LABEL + CHIP + 0.012
    for node, pages in state.pages.items():
        if not pages:
            continue
        share = pages / state.total
        _draw_block(axes, middle, left, share * BAR, node, before)
        if share >= 0.2 and not before:  # of less there is no room for the text
            _write_text(axes, left + share * BAR / 2, middle, f"{math.floor(100 * share)} %",
                        theme.name_text_colour(node), va="center_baseline", ha="center", size=8.5)
        left += share * BAR
    total = text_format.format_count(state.total) if state.total else "no pages"
    _write_text(axes, 1, middle, total, ha="right", **SMALL)


def _draw_chip(axes: Axes, state: TaskState, middle: float) -> None:
    """Draws the node the task runs on, in that node's colour: same colour as its bar means local."""
    before, certain = state.when == "before", len(state.nodes_seen) == 1
    node = state.node if certain else None
    text = ("any" if node is None else str(node)) if certain else "*"
    _draw_block(axes, middle, LABEL, CHIP, node, before)
    _write_text(axes, LABEL + CHIP / 2, middle, text, "ink" if before else theme.name_text_colour(node),
                va="center_baseline", ha="center", size=8.5, weight="bold")


def _draw_block(axes: Axes, middle: float, left: float, width: float, node: int | None, pale: bool) -> None:
    """Draws a part of a bar from `left` on, around the height `middle`, in the colour of a node; grey for None."""
    axes.barh(middle, width, 0.8, left, color=theme.get_node_colour(node), linewidth=0,
              alpha=0.5 if pale else 1)


def _describe_placement(groups: list[tuple[str, list[TaskState]]]) -> str:
    """Returns in words where tasks run and how many pages each node has, under each policy: the figure's description."""
    parts = []
    for policy, states in groups:
        for s in states:
            pages = ", ".join(f"{round(n)} pages on node {node}" for node, n in s.pages.items())
            place = "no single node" if s.node is None else f"node {s.node}"
            parts.append(f"{policy}, {s.role}, {s.when}: runs on {place}, {pages or 'no pages'}")
    return "; ".join(parts)


def draw_timing(results: Results, workload: str, prefix: str) -> str | None:
    """Draws every observation as a dot, the mean and its 95 % interval, one row per policy, for up to MAX_METRICS metrics.

    Returns an <svg> element; None where the workload has no metric."""
    metrics = list_distinct_metrics(results, workload)[:MAX_METRICS]
    if not metrics:
        return None
    lines = max(format_row_label(policy).count("\n") + 1 for policy in results.policies)
    block = len(results.policies) * max(0.36, 0.1 + 0.13 * lines) + 0.95
    total = block * len(metrics)
    with matplotlib.rc_context(theme.SETTINGS):
        figure, tips = Figure((WIDTH_IN, total)), []
        for i, (metric, unit) in enumerate(metrics):
            bottom = 1 - (i + 1) / len(metrics) + 0.52 / total
            axes = figure.add_axes((0.24, bottom, 0.44, (block - 0.87) / total))
            _draw_metric(axes, results, workload, metric, unit)
            tips.append((axes, _make_tips(results, workload, metric, unit)))
        wide = [axes for axes, points in tips if needs_log([tip.x for tip in points])]
        title = f"{workload}: " + ", ".join(text_format.make_label(m) for m, _ in metrics)
        description = "; ".join(_describe_metric(results, workload, *m) for m in metrics)
        return theme.make_inline(figure, f"{prefix}-time", title, description, tips,
                                 (lambda: [make_log(axes.xaxis) for axes in wide]) if wide else None)


def _make_tips(results: Results, workload: str, metric: str, unit: str) -> list[theme.Tip]:
    """Makes a tip for each clean observation, at its value and in its policy's row."""
    tips = []
    for y, policy in enumerate(results.policies):
        clean = [o for o in results.select(workload, policy) if o.get_value(metric) is not None]
        marked = sum((o.workload, o.policy) == (workload, policy) and bool(o.marks) for o in results.measured)
        for o in clean:
            tips.append(theme.Tip(
                o.get_value(metric), y + DOTS,
                f"{policy}: {o.get_value(metric):.10g} {unit}\none of n = {len(clean)}, {marked} more are marked\n"
                f"repeat {o.repeat}, order {o.order}, line {o.line} of results.jsonl", f"o{o.line}"))
    return tips


def list_distinct_metrics(results: Results, workload: str) -> list[MetricName]:
    """Lists name and unit of each metric that has values, but not of one with the same values as a metric before it."""
    found: dict[tuple[float | None, ...], MetricName] = {}
    for metric in results.list_performance_metrics(workload):
        seen = tuple(o.get_value(metric.name) for o in results.select(workload))
        if any(v is not None for v in seen):
            found.setdefault(seen, metric)
    return list(found.values())


def _draw_metric(axes: Axes, results: Results, workload: str, metric: str, unit: str) -> None:
    """Draws one metric on its axes: a row for each policy with its dots, mean and interval, and these as text at the right."""
    groups = [list_values(results.select_independent(workload, policy), metric) for policy in results.policies]
    intervals = [compute_t_interval(values) for values in groups if values]
    dots = [list_values(results.select(workload, policy), metric) for policy in results.policies]
    _draw_axis(axes, [v for values in dots for v in values], intervals, len(groups))
    beside = {"transform": axes.get_yaxis_transform()}
    for y, (policy, values, seen) in enumerate(zip(results.policies, groups, dots, strict=True)):
        axes.text(-0.04, y, format_row_label(policy), ha="right", va="center", size=8.5, linespacing=1.05,
                  color=theme.get_colour("ink"), **beside)
        if values:
            _draw_row(axes, y, seen, compute_t_interval(values))
            _write_text(axes, 1.05, y, text_format.format_spread(compute_t_interval(values)), **beside)
        else:
            _write_text(axes, 0.02, y, "no clean observation", "muted", **beside)
    better = text_format.name_direction(unit)
    title = f"{text_format.make_label(metric)}, {unit}" + (f" ({better})" if better else "")
    axes.set_title(text_format.make_printable(title), loc="left", size=9.5, color=theme.get_colour("ink"),
                   x=-0.48, pad=7)


def format_row_label(policy: str) -> str:
    """Returns the name, and each option in a line below it; of a long one its end, where levels differ."""
    name, *options = filter(None, re.split("[:,#]", text_format.make_printable(policy)))
    return "\n".join([text_format.shorten_text(name, LABEL_WIDTH),
                      *(o if len(o) <= LABEL_WIDTH else f"…{o[1 - LABEL_WIDTH:]}" for o in options)])


def _draw_row(axes: Axes, y: float, values: list[float], interval: Interval) -> None:
    """Draws a row: a circle for each value, a diamond for the mean, a line for the interval; a cut line ends in an arrow head."""
    dark, line = theme.get_colour("ink"), y - 0.12
    axes.plot(values, [y + DOTS] * len(values), "o", markersize=4.5, markerfacecolor="none",
              markeredgewidth=1.1, markeredgecolor=theme.get_colour("node0"), clip_on=False, zorder=3)
    if interval.low is not None:
        first, last = axes.get_xlim()
        ends = [max(interval.low, first), min(interval.high, last)]
        axes.plot(ends, [line] * 2, "-", linewidth=2.2, color=dark, solid_capstyle="butt", zorder=2)
        for end, cut, head in zip(ends, (interval.low < first, interval.high > last), "<>",
                                  strict=True):
            if cut:
                axes.plot([end], [line], head, markersize=5, color=dark, clip_on=False, zorder=2)
    axes.plot([interval.mean], [line], "D", markersize=5, color=dark, zorder=4)


def compute_limits(values: list[float], intervals: list[Interval]) -> tuple[float, float]:
    """Computes the ends of an axis that shows all values, in their unit; an interval's upper end counts up to twice the largest value.

    The axis begins at 0 where no value is negative, and the values are equal or something shown is below 3/4 of the largest."""
    low, high = min(values), max(values)
    ends = [end for i in intervals for end in (i.low, i.high) if end is not None]
    wide_low, wide_high = min([low, *ends]), min(max([high, *ends]), high + abs(high))
    if low < 0:
        return wide_low, wide_high
    if low == high or wide_low < FROM_ZERO_BELOW * high:
        return 0.0, wide_high * (1 + AXIS_MARGIN) or 1.0
    pad = AXIS_MARGIN * (wide_high - wide_low)
    return wide_low - pad, wide_high + pad


def _draw_axis(axes: Axes, values: list[float], intervals: list[Interval], rows: int) -> None:
    """Sets the limits, ticks and grid of a metric's axis for `rows` rows, and says below it where it does not start at 0."""
    axes.set(xlim=compute_limits(values, intervals), ylim=(rows - 0.45, -0.55), yticks=[])
    axes.locator_params(axis="x", nbins=4, steps=[1, 2, 5, 10])
    axes.xaxis.set_major_formatter(lambda x, _: text_format.format_tick(x))
    axes.tick_params(axis="x", colors=theme.get_colour("muted"), labelsize=8.5, length=3,
                     color=theme.get_colour("line"))
    axes.grid(axis="x", color=theme.get_colour("line"), linewidth=0.7)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set(visible=side == "bottom", color=theme.get_colour("line"))
    if axes.get_xlim()[0] > 0:
        axes.set_xlabel("the axis does not start at 0", size=8.5, color=theme.get_colour("muted"))


def _describe_metric(results: Results, workload: str, metric: str, unit: str) -> str:
    """Returns in words the mean and the interval of a metric under each policy: the figure's description."""
    parts = []
    for policy in results.policies:
        values = list_values(results.select_independent(workload, policy), metric)
        text = text_format.format_spread(compute_t_interval(values)) if values else "no clean observation"
        what = "boots" if any(o.is_mean for o in results.select_independent(workload, policy)) else "observations"
        parts.append(f"{policy} {text}" + (f" ({len(values)} {what})" if values else ""))
    return f"{text_format.make_label(metric)} in {unit}: " + ", ".join(parts)

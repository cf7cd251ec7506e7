# SPDX-License-Identifier: GPL-2.0-only
"""One figure per workload: what each policy did with the pages, and how long it took."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import matplotlib

matplotlib.use("svg")
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from . import theme, words  # noqa: E402
from .load import Observation, Results  # noqa: E402
from .stats import Interval, t_interval  # noqa: E402

WIDTH_IN = 4.7
ROW_IN = 0.165
MAX_METRICS = 3
LABEL, CHIP = 0.30, 0.045


@dataclass(frozen=True)
class TaskState:
    """Where one task ran and where its pages were, over all clean observations of a policy."""

    role: str
    when: str
    node: int | None
    nodes_seen: tuple[int | None, ...]
    pages: dict[int, float]

    @property
    def total(self) -> float:
        return sum(self.pages.values())


def task_states(observations: list[Observation]) -> list[TaskState]:
    """Two states per role, before and after, in the order of the tasks."""
    roles = list(dict.fromkeys(str(t.get("role", "task")) for o in observations for t in o.tasks))
    return [_state(role, when, [t for o in observations for t in o.tasks
                                if str(t.get("role", "task")) == role])
            for role in roles for when in ("before", "after")]


def _state(role: str, when: str, tasks: list[dict]) -> TaskState:
    pages: Counter[int] = Counter()
    for task in tasks:
        for node, count in (task.get(f"pages_{when}") or {}).items():
            pages[int(node)] += count / len(tasks)
    seen = Counter(task.get(f"node_{when}") for task in tasks)
    node = seen.most_common(1)[0][0]
    return TaskState(role, when, node, tuple(seen), dict(sorted(pages.items())))


def placement_panel(results: Results, workload: str, prefix: str) -> str:
    """Stacked bars: the share of every task's pages on each node, before and after."""
    groups = [(p, task_states(results.select(workload, p))) for p in results.policies]
    rows = sum(len(states) + 1.6 for _, states in groups) + 2
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((WIDTH_IN, rows * ROW_IN))
        axes = _canvas(figure, rows)
        _legend(axes, sorted({n for _, states in groups for s in states
                              for n in (*s.pages, *s.nodes_seen) if n is not None}))
        y = 2.0
        for policy, states in groups:
            axes.text(0, y + 0.5, words.printable(policy), weight="bold", va="center",
                      color=theme.colour("ink"))
            y += 1.2
            for state in states:
                _bar(axes, state, y + (0.06 if state.when == "before" else -0.06))
                y += 1
            if not states:
                axes.text(0.3, y - 0.7, "no clean observation", va="center",
                          color=theme.colour("muted"))
            y += 0.4
        return theme.inline(figure, f"{prefix}-placement", f"{workload}: pages per node",
                            _describe_placement(groups))


def _canvas(figure: Figure, rows: float) -> Axes:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1), ylim=(rows, 0))
    axes.axis("off")
    return axes


def _legend(axes: Axes, nodes: list[int]) -> None:
    x = 0.0
    for node in nodes:
        axes.barh(0.55, 0.024, 0.62, x, color=theme.node_colour(node))
        axes.text(x + 0.034, 0.55, f"on node {node}", va="center", color=theme.colour("muted"))
        x += 0.21
    if x < 0.65:
        axes.barh(0.55, 0.024, 0.62, x, color="none", edgecolor=theme.colour("muted"), linewidth=0.8)
        axes.text(x + 0.034, 0.55, "node of the task", va="center", color=theme.colour("muted"))
    axes.text(1, 0.55, "pages", va="center", ha="right", size=8.5, color=theme.colour("muted"))


def _bar(axes: Axes, state: TaskState, y: float) -> None:
    middle, thick = y + 0.5, 0.8
    if state.when == "before":
        axes.text(0, y + 1, words.shorten(words.printable(state.role), 13), va="center",
                  color=theme.colour("ink"))
    axes.text(LABEL - 0.012, middle, state.when, va="center", ha="right", size=8.5,
              color=theme.colour("muted"))
    _chip(axes, state, middle, thick)
    left, full = LABEL + CHIP + 0.012, 0.54
    for node, pages in state.pages.items():
        if state.total and pages:
            share = pages / state.total
            axes.barh(middle, share * full, thick, left, color=theme.node_colour(node),
                      alpha=0.5 if state.when == "before" else 1, linewidth=0)
            if state.when == "after" and share >= 0.2:
                axes.text(left + share * full / 2, middle, f"{100 * share:.0f} %", size=8.5,
                          va="center_baseline", ha="center", color=theme.on_node_colour(node))
            left += share * full
    axes.text(1, middle, words.number(round(state.total)) if state.total else "no pages", size=8.5,
              va="center", ha="right", color=theme.colour("muted"))


def _chip(axes: Axes, state: TaskState, middle: float, thick: float) -> None:
    """The node the task runs on, in that node's colour: same colour as its bar means local."""
    certain = state.node if len(state.nodes_seen) == 1 else None
    text = "*" if len(state.nodes_seen) > 1 else ("any" if state.node is None else str(state.node))
    axes.barh(middle, CHIP, thick, LABEL, color=theme.node_colour(certain), linewidth=0,
              alpha=0.5 if state.when == "before" else 1)
    axes.text(LABEL + CHIP / 2, middle, text, size=8.5, weight="bold", va="center_baseline", ha="center",
              color=theme.colour("ink") if state.when == "before" else theme.on_node_colour(certain))


def _describe_placement(groups: list[tuple[str, list[TaskState]]]) -> str:
    parts = []
    for policy, states in groups:
        for s in states:
            pages = ", ".join(f"{round(n)} pages on node {node}" for node, n in s.pages.items())
            place = "no single node" if s.node is None else f"node {s.node}"
            parts.append(f"{policy}, {s.role}, {s.when}: runs on {place}, {pages or 'no pages'}")
    return "; ".join(parts)


def timing_panel(results: Results, workload: str, prefix: str) -> str | None:
    """Every observation as a dot, the mean and its 95 % interval, one row per policy."""
    metrics = results.performance_metrics(workload)[:MAX_METRICS]
    if not metrics:
        return None
    block = len(results.policies) * 0.36 + 0.95
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((WIDTH_IN, block * len(metrics)))
        for i, (metric, unit) in enumerate(metrics):
            bottom = 1 - (i + 1) / len(metrics) + 0.52 / (block * len(metrics))
            height = (block - 0.87) / (block * len(metrics))
            axes = figure.add_axes((0.24, bottom, 0.49, height))
            _metric(axes, results, workload, metric, unit)
        description = "; ".join(_describe_metric(results, workload, *m) for m in metrics)
        return theme.inline(figure, f"{prefix}-time", f"{workload}: " + ", ".join(words.label(m) for m, _ in metrics), description)


def values(results: Results, workload: str, policy: str, metric: str) -> list[float]:
    found = (o.value(metric) for o in results.select(workload, policy))
    return [v for v in found if v is not None]


def _metric(axes: Axes, results: Results, workload: str, metric: str, unit: str) -> None:
    everything: list[float] = []
    for y, policy in enumerate(results.policies):
        found = values(results, workload, policy, metric)
        axes.text(-0.04, y, words.printable(policy), transform=axes.get_yaxis_transform(),
                  ha="right", va="center", color=theme.colour("ink"))
        if not found:
            axes.text(0.02, y, "no clean observation", va="center", color=theme.colour("muted"),
                      transform=axes.get_yaxis_transform())
            continue
        interval = t_interval(found)
        everything += found + [v for v in (interval.low, interval.high) if v is not None]
        _row(axes, y, found, interval)
    _axis(axes, everything, len(results.policies))
    better = words.direction(unit)
    axes.set_title(words.printable(f"{words.label(metric)}, {unit}") + (f" ({better})" if better else ""),
                   loc="left", size=9.5, color=theme.colour("ink"), x=-0.48, pad=7)


def _row(axes: Axes, y: float, found: list[float], interval: Interval) -> None:
    axes.plot(found, [y + 0.17] * len(found), "o", markersize=4.5, markerfacecolor="none",
              markeredgewidth=1.1, markeredgecolor=theme.colour("node0"), clip_on=False, zorder=3)
    if interval.low is not None:
        axes.plot([interval.low, interval.high], [y - 0.12] * 2, "-", linewidth=2.2,
                  color=theme.colour("mean"), solid_capstyle="butt", zorder=2)
    axes.plot([interval.mean], [y - 0.12], "D", markersize=5, color=theme.colour("mean"), zorder=4)
    axes.text(1.05, y, words.spread(interval), transform=axes.get_yaxis_transform(), va="center",
              color=theme.colour("ink"))


def _axis(axes: Axes, everything: list[float], rows: int) -> None:
    low, high = (min(everything), max(everything)) if everything else (0.0, 1.0)
    from_zero = low >= 0 and low < 0.75 * high
    pad = 0.06 * ((high - low) or abs(high) or 1)
    axes.set_xlim(0 if from_zero or not everything else low - pad, high + pad)
    axes.set_ylim(rows - 0.45, -0.55)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=4, steps=[1, 2, 5, 10])
    axes.xaxis.set_major_formatter(lambda x, _: words.number(x))
    axes.tick_params(axis="x", colors=theme.colour("muted"), labelsize=8.5, length=3,
                     color=theme.colour("line"))
    axes.grid(axis="x", color=theme.colour("line"), linewidth=0.7)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(theme.colour("line"))
    if not from_zero and everything:
        axes.set_xlabel("the axis does not start at 0", size=8.5, color=theme.colour("muted"))


def _describe_metric(results: Results, workload: str, metric: str, unit: str) -> str:
    parts = []
    for policy in results.policies:
        found = values(results, workload, policy, metric)
        text = words.spread(t_interval(found)) if found else "no clean observation"
        parts.append(f"{policy} {text}" + (f" ({len(found)} observations)" if found else ""))
    return f"{words.label(metric)} in {unit}: " + ", ".join(parts)

# SPDX-License-Identifier: GPL-2.0-only
"""Pages per node over the time of an observation, below the bandwidth of its tasks.

Pages are known at the times that the record has: before apply, after it, and after the measurement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..figures import theme
from ..figures.charts import dress_axes
from ..runs import text_format
from ..runs.results import Observation, Results

WIDTH_IN, RATE_IN, PAGES_IN, ROOM_IN = 4.7, 0.85, 1.0, 0.85
STEPS = 50  # of the curve of the bandwidth


@dataclass(frozen=True)
class Sample:
    """Holds a sample; t in seconds from the beginning of apply."""

    t: float
    pages: dict[int, int]  # of all tasks, by node
    moved: int             # pages of all tasks so far


@dataclass(frozen=True)
class TimeSeries:
    policy: str
    observation: Observation
    apply_s: float  # that apply took
    samples: tuple[Sample, ...]
    rate: tuple[tuple[float, float], ...]  # time, MB/s of all tasks; none where a workload has no stretches


def list_series(results: Results, workload: str) -> list[TimeSeries]:
    """Lists the series of the first clean observation under each policy that has samples; none of older runs."""
    series = []
    for policy in results.policies:
        observation = next((o for o in results.select(workload, policy) if o.raw.get("samples") and o.raw.get("apply_at")), None)
        if observation is not None:
            series.append(_make_series(observation))
    return series


def _make_series(o: Observation) -> TimeSeries:
    """Makes the series of an observation that has samples, with times in s from the beginning of apply."""
    begin, end = o.raw["apply_at"]
    samples = tuple(Sample(s["t_s"] - begin, _group_by_node(s["pages"]), s["moved"]) for s in o.raw["samples"])
    return TimeSeries(o.policy, o, end - begin, samples, tuple((t - begin, rate) for t, rate in _compute_rate(o)))


def _group_by_node(pages_of_tasks: dict[str, dict[str, int]]) -> dict[int, int]:
    """Adds up the pages of all tasks, which are by role and node; returns them by node, in ascending order."""
    pages: Counter[int] = Counter()
    for by_node in pages_of_tasks.values():
        pages.update({int(node): count for node, count in by_node.items()})
    return dict(sorted(pages.items()))


def _compute_rate(o: Observation) -> Iterator[tuple[float, float]]:
    """Yields STEPS times in s with the MB/s of all threads that work then; the stretches of a thread are taken to be of equal length."""
    threads = [thread for task in o.tasks for thread in _list_threads(task.get("details"))]
    if not threads:
        return
    first, last = min(begin for begin, _, _ in threads), max(end for _, end, _ in threads)
    # The stretch that a thread is in is the part of its time that has passed, times the number of its stretches.
    for step in range(STEPS):
        moment = first + (last - first) * (step + 0.5) / STEPS
        yield moment, sum(stretches[int(len(stretches) * (moment - begin) / (end - begin))]
                          for begin, end, stretches in threads if begin <= moment < end)


def _list_threads(details: Any) -> Iterator[tuple[float, float, list[float]]]:
    """Yields, of each thread of a task's `details`, beginning and end of its work in s, and MB/s of its stretches; nothing without them."""
    wanted = ("started", "finished", "operations", "bytes_credited", "samples_ns")
    if not isinstance(details, dict) or not all(details.get(key) for key in wanted):
        return
    bytes_each = details["bytes_credited"] / details["operations"]
    for samples in details["samples_ns"]:
        if samples:
            yield details["started"], details["finished"], [1e3 * bytes_each / ns for ns in samples]


def draw_panel(results: Results, workload: str, prefix: str) -> str | None:
    """Draws axes of bandwidth and, below, of stacked pages for each policy; returns an <svg> element, None without samples."""
    every_series = list_series(results, workload)
    if not every_series:
        return None
    heights = [inches for series in every_series for inches in ((RATE_IN, PAGES_IN) if series.rate else (PAGES_IN,))]
    with matplotlib.rc_context(theme.SETTINGS):
        figure = Figure((WIDTH_IN, sum(heights) + ROOM_IN * len(every_series)), layout="constrained")
        axes = list(figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])
        tips = []
        for series in every_series:
            upper = axes.pop(0) if series.rate else None
            tips += _draw_rate_and_pages(upper, axes.pop(0), series)
        title = f"{workload}: bandwidth and pages per node over time"
        return theme.make_inline(figure, f"{prefix}-series", title, "; ".join(map(_describe_series, every_series)), tips)


def _draw_rate_and_pages(rate: Axes | None, pages: Axes, series: TimeSeries) -> list[tuple[Axes, Sequence[theme.Tip]]]:
    """Draws one series on its axes, the time of apply shaded; returns the axes of pages with their tips. rate: None without stretches."""
    if rate:
        rate.plot(*zip(*series.rate, strict=True), "-", color=theme.get_colour("ink"), linewidth=1.1)
        dress_axes(rate, "", "MB/s")
        rate.set_ylim(bottom=0)
    _draw_pages(pages, series)
    dress_axes(pages, "s from the beginning of apply", "pages")
    for axes in (rate, pages):
        if axes:
            axes.axvspan(0, series.apply_s, color=theme.get_colour("muted"), alpha=0.3, linewidth=0)
            axes.set_xlim(*_compute_time_range(series))
    (rate or pages).set_title(text_format.make_printable(series.policy), loc="left", size=9.5, color=theme.get_colour("ink"))
    return [(pages, [_format_tip(series, sample) for sample in series.samples])]


def _compute_time_range(series: TimeSeries) -> tuple[float, float]:
    times = [m.t for m in series.samples] + [series.apply_s] + [t for t, _ in series.rate]
    return min(0.0, *times), max(times)


def _draw_pages(axes: Axes, series: TimeSeries) -> None:
    """Draws the pages of each node over time in s, stacked: straight lines through apply, and the samples before and after it."""
    samples = sorted([*series.samples, *_find_samples_around_apply(series)], key=lambda sample: sample.t)
    nodes = sorted({node for sample in samples for node in sample.pages})
    axes.stackplot([sample.t for sample in samples], [[sample.pages.get(node, 0) for sample in samples] for node in nodes],
                   colors=[theme.get_node_colour(node) for node in nodes], linewidth=0)
    for sample in series.samples:
        axes.axvline(sample.t, color=theme.get_colour("surface"), linewidth=0.8, linestyle=":")


def _find_samples_around_apply(series: TimeSeries) -> list[Sample]:
    """Returns the last sample before apply, moved to its beginning, and the first one after it, moved to its end; none that is missing."""
    last_before = [replace(m, t=0.0) for m in series.samples if m.t < 0][-1:]
    first_after = [replace(m, t=series.apply_s) for m in series.samples if m.t > series.apply_s][:1]
    return last_before + first_after


def _format_tip(series: TimeSeries, m: Sample) -> theme.Tip:
    o = series.observation
    pages = ", ".join(f"{count} pages on node {node}" for node, count in m.pages.items())
    return theme.Tip(m.t, sum(m.pages.values()) / 2, f"{series.policy}, {m.t:+.3f} s: {pages}\n{m.moved} moved so far\n"
                     f"repeat {o.repeat}, line {o.line} of results.jsonl", f"o{o.line}")


def _describe_series(series: TimeSeries) -> str:
    return f"{series.policy}: " + ", ".join(
        f"at {m.t:+.3f} s {' and '.join(f'{count} on node {node}' for node, count in m.pages.items())}, {m.moved} moved"
        for m in series.samples)

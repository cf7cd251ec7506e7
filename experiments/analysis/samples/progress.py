# SPDX-License-Identifier: GPL-2.0-only
"""When a placement took effect: pages moved and accesses to fast memory over the time of an observation, by the runner's looks.

A look's accesses are those since the one before it, and only the lab counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..figures.charts import Curve, Point, draw_lines
from ..runs import text_format
from ..runs.results import Observation, Results

MOST = 0.9      # of the pages that moved
PARTS = 4       # of the time: the first and the last are compared with each other
TIME = "s from the placement"


@dataclass(frozen=True)
class Look:
    t: float             # s, from the first look of its observation
    moved: int           # pages so far
    fast: float | None   # share of the accesses since the look before; None: none was counted


@dataclass(frozen=True)
class Progress:
    """Holds the means of a cell's observations."""

    moved: float
    half_s: float | None  # until half of the pages had moved that did, to a look; None: none moved in an observation
    most_s: float | None  # the same for MOST of them
    first: float | None   # share of accesses to fast memory in the first of PARTS of the time; None: not counted
    last: float | None


def list_fast_nodes(results: Results) -> set[str]:
    """Lists the IDs of the nodes with CPUs."""
    return {str(node["id"]) for node in results.manifest.get("nodes") or [] if node.get("cpus")}


def list_looks(o: Observation, fast_nodes: set[str]) -> list[Look]:
    """Lists the looks of an observation; none where its suite asked for none."""
    raw = (o.raw.get("kernel") or {}).get("looks") or []
    return [Look(look["t_s"] - raw[0]["t_s"], look["moved"], _compute_share(look, before, fast_nodes))
            for before, look in zip(raw[:1] + raw, raw, strict=False)]


def _compute_share(look: dict[str, Any], before: dict[str, Any], fast_nodes: set[str]) -> float | None:
    """Computes the share of fast memory of the accesses between two looks; None where there were none, or they were not counted."""
    lines = {node: n - before["accesses"].get(node, 0) for node, n in look["accesses"].items()}
    total = sum(lines.values())
    return sum(n for node, n in lines.items() if node in fast_nodes) / total if total else None


def compute_progress(results: Results, workload: str, policy: str) -> Progress | None:
    """Computes the means of a cell's clean observations; None where none has looks."""
    fast_nodes = list_fast_nodes(results)
    found = [looks for o in results.select(workload, policy) if (looks := list_looks(o, fast_nodes))]
    if not found:
        return None
    return Progress(fmean(looks[-1].moved for looks in found), *(_average([_find_time(looks, part) for looks in found]) for part in (0.5, MOST)),
                    *(_average([_average_share(looks, part) for looks in found]) for part in (0, PARTS - 1)))


def _find_time(looks: list[Look], part: float) -> float | None:
    """Finds when this part of the pages that moved had moved; None where none did."""
    wanted = part * looks[-1].moved
    return next(look.t for look in looks if look.moved >= wanted) if wanted else None


def _average_share(looks: list[Look], part: int) -> float | None:
    """Averages the shares of one of PARTS of the time, the first is 0; None where one is missing."""
    end = looks[-1].t
    return _average([look.fast for look in looks[1:] if part * end < PARTS * look.t <= (part + 1) * end])


def _average(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def list_rows(results: Results) -> list[tuple[str, ...]]:
    """Lists a row of texts for each cell with looks: workload, policy, pages moved, s until half and MOST of them had moved, shares of
    accesses to fast memory in the first and the last of PARTS of the time."""
    cells = [(w, p, compute_progress(results, w, p)) for w in results.workloads for p in results.policies]
    return [(w, p, text_format.format_count(found.moved), text_format.format_number(found.half_s), text_format.format_number(found.most_s),
             text_format.format_fraction(found.first), text_format.format_fraction(found.last)) for w, p, found in cells if found]


def explain_stillness(results: Results) -> Iterator[str]:
    """Yields a line for each workload and mechanism under which no page moved: what the kernel has counted of the mechanism's steps, the
    sum of all observations, in the order of the steps."""
    for workload in results.workloads:
        for policy in results.policies:
            kernels = [o.raw["kernel"] for o in results.select(workload, policy) if (o.raw.get("kernel") or {}).get("looks")]
            steps: Counter[str] = Counter()
            for kernel in kernels:
                steps.update(kernel["looks"][-1]["counters"])
            if steps and not any(kernel["looks"][-1]["moved"] for kernel in kernels):
                told = ", ".join(f"{name} {text_format.format_count(n)}" for name, n in steps.items())
                yield f"{workload}, {policy}: no page moved: {told}"


def draw_progress(results: Results, workload: str, prefix: str) -> str | None:
    """Draws the share of accesses to fast memory and, below, the pages moved over time, a curve for the first clean observation under each
    policy; returns <svg> elements, None without looks."""
    fast_nodes = list_fast_nodes(results)
    first = {policy: next((o for o in results.select(workload, policy) if list_looks(o, fast_nodes)), None) for policy in results.policies}
    looks = {policy: (o.line, list_looks(o, fast_nodes)) for policy, o in first.items() if o}
    if not looks:
        return None
    shares = [Curve(policy, tuple(Point(look.t, 100 * look.fast, raw=((line, 100 * look.fast),)) for look in found if look.fast is not None))
              for policy, (line, found) in looks.items()]
    moved = [Curve(policy, tuple(Point(look.t, look.moved, raw=((line, look.moved),)) for look in found)) for policy, (line, found) in looks.items()]
    drawn = [draw_lines(curves, f"{prefix}-{name}", f"{workload}: {label} over time", TIME, label)
             for name, curves, label in (("fast", [c for c in shares if c.points], "% of accesses to fast memory"), ("moved", moved, "pages moved"))
             if curves]
    return "\n".join(drawn)

# SPDX-License-Identifier: GPL-2.0-only
"""The report's first tables: speed-up and locality by workload and policy, and when a migration has paid."""

from __future__ import annotations

import math
from typing import Any

from ..runs import text_format
from ..runs.results import PLACEMENT_METRICS, Results, compute_mean, list_values
from ..stats.intervals import Ratio, compute_t_interval
from . import cost
from .decision import LEGEND, Decision, describe_blocks, describe_least
from .speedup import BASELINE, SOLUTION, compute_totals, decide_cells, decide_solutions, find_response, has_speedups

FULL_SHADE = math.log(2)  # twice as fast, or half as fast, has the whole colour
MIB = 1 << 20
UNBOUNDED = "unbounded"


def make_matrix(results: Results, slugs: dict[str, str]) -> dict[str, Any]:
    """Makes the report's first table: a cell for each workload and policy, and their totals; without speed-ups where times mean nothing."""
    timed = has_speedups(results)
    found, solved = (decide_cells(results), decide_solutions(results)) if timed else ({}, {})
    rows = [{"workload": w, "slug": slugs[w], "response": response.label if timed and (response := find_response(results, w)) else "",
             "cells": [_make_cell(results, w, p, found.get((w, p)), timed, solved.get((w, p))) for p in results.policies]}
            for w in results.workloads]
    decisions = list(found.values())
    return {"policies": results.policies, "rows": rows, "timed": timed, "tests": len(found), "legend": LEGEND,
            "of": describe_blocks(decisions), "least": describe_least(decisions),
            "totals": make_total_cells(results) if timed else []}


def _make_cell(results: Results, workload: str, policy: str, speedup: Decision | None, timed: bool,
               solution: Decision | None) -> dict[str, Any]:
    """Makes the cell of a workload under a policy: its speed-up where times mean something (`timed`), else the locality, and its look."""
    before, after, moved = (compute_mean(results.select_independent(workload, policy), m) for m in PLACEMENT_METRICS)
    if not results.select(workload, policy):
        marked = sum((o.workload, o.policy) == (workload, policy) for o in results.measured)
        return {"head": text_format.DASH, "told": [f"{marked} marked" if marked else "not measured"],
                "hue": "node0", "shade": 0, "mark": "", "limits": "", "why": ""}
    moves = f"{text_format.format_count(moved)} moved"
    if not timed:
        lines = [f"was {text_format.format_fraction(before)},", moves]
        return {"head": text_format.format_fraction(after), "told": lines, "hue": "node0", "mark": "", "limits": "", "why": "",
                "shade": 0 if after is None else round(0.06 + 0.44 * after, 3)}
    locality = f"locality {text_format.format_fraction(before)} → {text_format.format_fraction(after)},"
    limits, why = _format_bounds(speedup) if speedup else ("", "")
    with_move = [f"with the move in it: {solution.text()};"] if solution else []
    return _choose_look(speedup) | {"head": _format_head(results, workload, policy, speedup), "limits": limits, "why": why,
                                    "told": [*with_move, locality, moves]}


def _format_head(results: Results, workload: str, policy: str, speedup: Decision | None) -> str:
    """Formats the cell's first line: the speed-up; of the baseline, the mean that the others are compared with."""
    metric = find_response(results, workload)
    if speedup:
        return f"{speedup.ratio}×"
    mean = compute_mean(results.select_independent(workload, policy), metric.name) if metric and policy == BASELINE else None
    return text_format.format_number(mean)


def _choose_look(speedup: Decision | None) -> dict[str, Any]:
    """Chooses the cell's hue (a name of theme's colours), shade (0 to 0.45) and mark by the speed-up; shade 0 where it is not decided."""
    if not speedup or not speedup.significant:
        return {"hue": "node0", "shade": 0, "mark": speedup.mark if speedup else ""}
    part = min(1.0, abs(math.log(speedup.value)) / FULL_SHADE)
    return {"hue": "node2" if speedup.value >= 1 else "node4", "shade": round(0.45 * part, 3), "mark": speedup.mark}


def format_times(value: float) -> str:
    return f"{value:.2f}×" if value < 9.995 else f"{text_format.format_number(value)}×"


def _format_bounds(found: Decision) -> tuple[str, str]:
    """Formats the interval of a speed-up; returns it, and why nothing bounds it, as with a limit of 0 or less, or ""."""
    if found.blocks < 2:
        return "no interval", ""
    if found.low is None or found.high is None:
        return UNBOUNDED, "The mean that divides is not different from 0 at 95 %: nothing bounds their ratio."
    if found.low <= 0:
        return UNBOUNDED, ("The mean that is divided is not different from 0 at 95 %: nothing bounds the slow-down. "
                           f"Fieller's limits: {format_limits(Ratio(found.value, found.low, found.high))}.")
    return found.format_limits(), ""


def format_limits(found: Ratio) -> str:
    if found.low is None or found.high is None:
        return "no interval"
    return f"{text_format.format_number(found.low)} to {text_format.format_number(found.high)}".replace("-", "−")


def make_total_cells(results: Results) -> list[dict[str, Any]]:
    """Makes a cell of texts for each policy: geometric mean, limits and rank; the baseline's is 1 by definition and has no rank."""
    by_policy = {total.policy: total for total in compute_totals(results)}
    cells = []
    for policy in results.policies:
        total = by_policy.get(policy)
        if total is None:
            cells.append({"mean": "1", "limits": "", "rank": text_format.DASH, "decided": True})
        elif total.ratio is None:
            cells.append({"mean": text_format.DASH, "limits": f"{total.workloads} of {len(results.workloads)} workloads",
                          "rank": text_format.DASH, "decided": True})
        else:
            low, high = total.ratio.low, total.ratio.high
            cells.append({"mean": format_times(total.ratio.value), "limits": format_limits(total.ratio), "rank": format_rank(total.ranks),
                          "decided": low is not None and high is not None and not low <= 1 <= high})
    return cells


def format_rank(ranks: tuple[int, int]) -> str:
    best, worst = ranks
    return str(best) if best == worst else f"{best} to {worst}"


def make_price_table(results: Results) -> dict[str, Any] | None:
    """Returns one row for each workload and policy but the baseline; None where times mean nothing."""
    if not has_speedups(results):
        return None
    solved = decide_solutions(results)
    rows = [_make_price_row(results, *key, found, solved.get(key)) for key, found in cost.list_costs(results).items()]
    return {"rows": rows, "recorded": any(row["recorded"] for row in rows)}


def _make_price_row(results: Results, workload: str, policy: str, found: cost.Cost | None, solution: Decision | None) -> dict[str, Any]:
    """Makes a row of the price of moving, each cell as its text and its number: seconds, MiB moved, break-even; short without a cost."""
    row: dict[str, Any] = {"workload": workload, "policy": policy, "recorded": found is not None}
    if found is None:
        return row
    even, *ends = found.break_even
    return row | {
        "speedup": (format_times(found.speedup.value), found.speedup.value),
        "seconds": (_format_seconds(found.seconds.mean), found.seconds.mean),
        "moved": (text_format.format_number(found.bytes / MIB), found.bytes),
        "even": (format_duration(even), "" if even == cost.NEVER else even),
        "even_limits": "" if None in ends else " to ".join(map(format_duration, ends)),
        "solution": [*(_format_solution(results, workload, p) for p in (policy, BASELINE)),
                     (f"{format_times(solution.value)} {solution.mark}", solution.value, solution.format_limits())]
        if solution else [("not measured", "", ""), (text_format.DASH, "", ""), (text_format.DASH, "", "")],
    }


def _format_solution(results: Results, workload: str, policy: str) -> tuple[str, float, str]:
    """Formats the seconds of the whole work with its placement in them, as the cell's text, its number and, empty, its limits."""
    found = compute_t_interval(list_values(results.select_independent(workload, policy), SOLUTION))
    return text_format.format_spread(found), found.mean, ""


def _format_seconds(value: float) -> str:
    return f"{text_format.format_number(value)} s"


def format_duration(seconds: float) -> str:
    """Formats seconds as hours or minutes where these are 2 or more, else as seconds; NEVER as 'never'."""
    if seconds == cost.NEVER:
        return "never"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{text_format.format_number(seconds / size, 2)} {unit}"
    return _format_seconds(seconds)

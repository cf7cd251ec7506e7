# SPDX-License-Identifier: GPL-2.0-only
"""Two runs side by side: ratios and differences of means, Welch's test, Holm's correction.

Fieller's interval of b / a, Welch's interval of b - a and Hedges' g are each of one row; only the
p values are adjusted, over all rows that have a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .results import Results, ResultsError, natural, policy_rank, read
from .stats import hedges, holm, ratio, t_interval, welch

ALPHA = 0.05
Key = tuple[str, str, str, str]


def values(results: Results) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = {}
    for o in results.clean:
        for m in o.metrics:
            found.setdefault((o.workload, o.policy, m.name, m.unit), []).append(m.value)
    return found


def compare(a: str | Path, b: str | Path) -> dict[str, Any]:
    """One row per workload, policy and metric that both runs have."""
    first, second = read(a), read(b)
    for results in (first, second):
        if len(results.platforms) > 1:
            raise ResultsError(
                f"{results.directory}: holds numbers of more than one platform "
                f"({', '.join(results.platforms)}); compare runs of one platform each"
            )
    left, right = values(first), values(second)
    both = sorted(
        left.keys() & right.keys(), key=lambda k: (natural(k[0]), policy_rank(k[1]), k[2])
    )
    if not both:
        raise ResultsError(
            f"{first.directory} and {second.directory}: no workload, policy and "
            "metric in common; compare two runs of the same suite"
        )
    rows = [_row(key, left[key], right[key]) for key in both]
    for row, p in zip(rows, holm([row["p"] for row in rows])):
        row["p_holm"] = p
        row["significant"] = None if p is None else p < ALPHA
    return {
        "a": _run(first),
        "b": _run(second),
        "alpha": ALPHA,
        "notes": _notes(first, second),
        "rows": rows,
        "only_in_a": _names(left.keys() - right.keys()),
        "only_in_b": _names(right.keys() - left.keys()),
    }


def _notes(first: Results, second: Results) -> list[str]:
    """Reservations about a difference, for the reader."""
    found = ["a difference has every cause that changed between the runs, not only the wanted one: "
             "compare a run with its own repetition first"]
    if first.platforms != second.platforms:
        found.append("the two have different platforms: their times are not of one kind")
    for name in ("machine", "release", "suite_text", "parameters", "engine", "tool", "module", "cpu", "thp",
                 "repeat_until_ci"):
        ours, theirs = first.manifest.get(name), second.manifest.get(name)
        if ours != theirs and None not in (ours, theirs):
            told = f": {ours} and {theirs}" if isinstance(ours, str) and len(ours) < 60 else ""
            found.append(f"{name.replace('_', ' ')} differs{told}")
    for results in (first, second):
        marked = sum(bool(o.marks) for o in results.measured)
        if marked:
            found.append(f"{results.directory}: {marked} marked, not counted")
        if results.nodes == 1:
            found.append(f"{results.directory}: one node, so nothing in it is remote")
    return found


def _row(key: Key, a: list[float], b: list[float]) -> dict[str, Any]:
    mean_a, test, times, effect = t_interval(a).mean, welch(a, b), ratio(b, a), hedges(a, b)
    return {
        "workload": key[0],
        "policy": key[1],
        "metric": key[2],
        "unit": key[3],
        "mean_a": mean_a,
        "n_a": len(a),
        "mean_b": t_interval(b).mean,
        "n_b": len(b),
        "difference": test.difference,
        "ci95_low": test.low,
        "ci95_high": test.high,
        "relative": test.difference / mean_a if mean_a else None,
        "ratio": times.value if times else None,
        "ratio_ci95_low": times.low if times else None,
        "ratio_ci95_high": times.high if times else None,
        "hedges_g": effect.value if effect else None,
        "hedges_g_ci95_low": effect.low if effect else None,
        "hedges_g_ci95_high": effect.high if effect else None,
        "t": test.t,
        "df": test.df,
        "p": test.p,
    }


def _run(results: Results) -> dict[str, str]:
    return {
        "directory": str(results.directory),
        "suite": results.suite,
        "machine": results.machine,
        "platform": ", ".join(results.platforms),
    }


def _names(keys: Iterable[Key]) -> list[str]:
    return sorted(" / ".join(key[:3]) for key in keys)

# SPDX-License-Identifier: GPL-2.0-only
"""Two runs side by side: differences of means, Welch's test, Holm's correction over all rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .load import Results, ResultsError, natural, policy_rank, read
from .stats import holm, t_interval, welch

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
        if len(results.sources) > 1:
            raise ResultsError(
                f"{results.directory}: holds numbers of more than one source "
                f"({', '.join(results.sources)}); compare runs of one source each"
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
        "rows": rows,
        "only_in_a": _names(left.keys() - right.keys()),
        "only_in_b": _names(right.keys() - left.keys()),
    }


def _row(key: Key, a: list[float], b: list[float]) -> dict[str, Any]:
    mean_a, test = t_interval(a).mean, welch(a, b)
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
        "t": test.t,
        "df": test.df,
        "p": test.p,
    }


def _run(results: Results) -> dict[str, str]:
    return {
        "directory": str(results.directory),
        "suite": results.suite,
        "machine": results.machine,
        "source": ", ".join(results.sources),
    }


def _names(keys: Iterable[Key]) -> list[str]:
    return sorted(" / ".join(key[:3]) for key in keys)

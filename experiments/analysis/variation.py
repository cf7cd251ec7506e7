# SPDX-License-Identifier: GPL-2.0-only
"""Which factor explains the variation: analysis of variance of a workload's first metric."""

from __future__ import annotations

from typing import Any

import pandas as pd

from . import words
from .load import Results
from .stats import Anova, anova


def frame(results: Results, workloads: list[str], metric: str) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "workload": o.workload,
                "policy": o.policy,
                "repeat": o.repeat,
                metric: o.value(metric),
            }
            for w in workloads
            for o in results.select(w)
            if o.value(metric) is not None
        ]
    )


def within_workload(results: Results, workload: str) -> dict[str, Any] | None:
    """Policy, with the repeat as a block: every repeat is one pass over all combinations."""
    metrics = results.performance_metrics(workload)
    if not metrics or not results.select(workload):
        return None
    metric, unit = metrics[0]
    data = frame(results, [workload], metric)
    return _told(metric, unit, [workload], anova(data, metric, ["policy"], ["repeat"]))


def across_workloads(results: Results) -> list[dict[str, Any]]:
    """Workload x policy, for every first metric that two workloads or more share."""
    shared: dict[tuple[str, str], list[str]] = {}
    for workload in results.workloads:
        metrics = results.performance_metrics(workload)
        if metrics and results.select(workload):
            shared.setdefault(metrics[0], []).append(workload)
    found = []
    for (metric, unit), workloads in shared.items():
        if len(workloads) > 1:
            data = frame(results, workloads, metric)
            found.append(
                _told(
                    metric, unit, workloads, anova(data, metric, ["workload", "policy"], ["repeat"])
                )
            )
    return found


def _told(metric: str, unit: str, workloads: list[str], found: Anova | str) -> dict[str, Any]:
    told = {
        "metric": words.label(metric),
        "unit": unit,
        "workloads": workloads,
        "why_not": found if isinstance(found, str) else "",
        "terms": [],
    }
    if isinstance(found, str):
        return told
    told |= {
        "model": found.model,
        "n": found.n,
        "log": found.log,
        "shapiro": words.p_value(found.shapiro_p),
        "terms": [
            {
                "name": "error" if t.name == "Residual" else t.name,
                "sum_sq": words.number(t.sum_sq),
                "df": f"{t.df:g}",
                "f": words.number(t.f),
                "p": words.p_value(t.p),
                "share": f"{100 * t.share:.1f} %",
                "raw": t,
            }
            for t in found.terms
        ],
    }
    return told

# SPDX-License-Identifier: GPL-2.0-only
"""Every observation with its place in the files: what a point of a figure leads to."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from . import text_format
from .results import PLACEMENT_METRICS, Observation, Results

MOST_METRICS = 3
LOGS = ("lab.log", "console*.log", "run.log")


def table(results: Results) -> dict[str, Any]:
    factors = list(dict.fromkeys(f for o in results.measured for f in o.factors))
    return {
        "factors": [text_format.label(f) for f in factors],
        "policies": results.policies != ["none"],
        "logs": [(path.name, quote(path.name)) for name in LOGS for path in sorted(results.directory.glob(name))],
        "rows": [_row(o, factors) for o in results.observations],
    }


def _row(o: Observation, factors: list[str]) -> dict[str, Any]:
    return {
        "line": o.line, "order": o.order, "repeat": o.repeat, "workload": o.workload, "policy": o.policy,
        "levels": [o.factors.get(f, "") for f in factors],
        "metrics": [f"{text_format.label(m.name)} {m.value:.10g} {m.unit}" for m in o.metrics
                    if m.name not in PLACEMENT_METRICS][:MOST_METRICS],
        "seconds": o.raw.get("seconds"),
        "told": ["warm-up"] * o.warmup + list(o.marks),
    }

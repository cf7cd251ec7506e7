# SPDX-License-Identifier: GPL-2.0-only
"""Every observation with its place in the files: what a point of a figure leads to."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from ..papers.chapter import Drawing
from ..runs import text_format
from ..runs.results import PLACEMENT_METRICS, Observation, Results

MOST_METRICS = 3
TIP = re.compile(r'(data-more="([^"]+)"[^>]*><title>[^<]*)')
LOGS = ("lab.log", "console*.log", "run.log")


def make_table(results: Results) -> dict[str, Any]:
    """Makes the table of all observations for the page: names of its factors, log files, and a row for each observation."""
    factors = list(dict.fromkeys(f for o in results.measured for f in o.factors))
    return {
        "factors": [text_format.make_label(f) for f in factors],
        "policies": results.policies != ["none"],
        "logs": [(path.name, quote(path.name)) for name in LOGS for path in sorted(results.directory.glob(name))],
        "rows": [_make_row(o, factors) for o in results.observations],
    }


def _make_row(o: Observation, factors: list[str]) -> dict[str, Any]:
    """Makes the row of an observation: its place in the files, levels, first MOST_METRICS metrics, seconds that it took, and marks."""
    return {
        "line": o.line, "order": o.order, "repeat": o.repeat, "workload": o.workload, "policy": o.policy,
        "levels": [o.factors.get(f, "") for f in factors],
        "metrics": [f"{text_format.make_label(m.name)} {m.value:.10g} {m.unit}" for m in o.metrics
                    if m.name not in PLACEMENT_METRICS][:MOST_METRICS],
        "seconds": o.raw.get("seconds"),
        "told": ["warm-up"] * o.warmup + list(o.marks),
    }


def tell_marks(drawings: list[Drawing], results: Results) -> None:
    """Adds to every tip with observations how many more of their workloads are marked; replaces the drawings in the list."""
    by_line = {o.line: (o.workload, o.policy) for o in results.observations}
    marked = [(o.workload, o.policy) for o in results.measured if o.marks]

    def add_count(tip: re.Match[str]) -> str:
        cells = {by_line[int(name[1:])] for name in tip[2].split()}
        return f"{tip[1]}\n{sum(cell in cells for cell in marked)} more are marked"

    drawings[:] = [replace(d, svg=Markup(TIP.sub(add_count, d.svg))) for d in drawings]

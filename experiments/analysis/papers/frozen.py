# SPDX-License-Identifier: GPL-2.0-only
"""The papers' statements and ranges without any measurement, as a run's manifest keeps them.

`statements.json` in experiments/reference has them as text. The runner puts those of the suite's presentations and
their hash into the manifest; a report compares them with what it judges by.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.runner import statements

from ..results import Results
from . import bergstrom, deters, heard_checks, luo_checks, prabhanjan_checks
from .cells import Cells
from .checks import INFINITE, Part, Statement


def lines() -> dict[str, list[str]]:
    """By presentation, one a statement."""
    none = Cells(Results(Path(), {}, (), ()), ())
    found = {
        "luo-contention": luo_checks.contention(none),
        "luo-cross": luo_checks.cross(none),
        "luo-split": luo_checks.split(none),
        "bergstrom-stream": bergstrom.statements(none, "copy"),
        "heard-cachetest": heard_checks.checks(none),
        "prabhanjan-times": prabhanjan_checks.times(none),
        "prabhanjan-counters": prabhanjan_checks.counters([]),
        "prabhanjan-benchmark": prabhanjan_checks.benchmark(none, ["lrange_600"]),
        "deters-stealing": [s for metric in deters.SAYS for s in deters.statements(pd.DataFrame(), metric)],
    }
    return {name: [_line(s) for s in said] for name, said in found.items()}


def _line(s: Statement) -> str:
    rule = "one of" if s.one else "every"
    return f"{s.machine or 'any machine'}, {s.kind}, {s.where}: {s.says} [{rule} {_ranges(s.parts)}]"


def _ranges(parts: Sequence[Part]) -> str:
    counts: dict[str, int] = {}
    for part in parts:
        low, high = ("" if abs(end) == INFINITE else f"{end:.4g}" for end in (part.low, part.high))
        text = f"{low} to {high}" if low and high else f"over {low}" if low else f"under {high}"
        counts[text] = counts.get(text, 0) + 1
    return "; ".join(f"{n} × {text}" for text, n in counts.items())


def changed(manifest: dict[str, Any], presentation: str) -> list[str]:
    """Statements that this report judges by and that were others, or none, when the run was made."""
    kept = manifest.get(statements.KEY)
    then = kept.get(presentation) if isinstance(kept, dict) else None
    now = statements.of([presentation]).get(presentation)
    if not isinstance(then, dict) or now is None or then.get("sha256") == now["sha256"]:
        return []
    before = then.get("lines") or []
    return [f"now: {line}" for line in now["lines"] if line not in before] + [
        f"when it ran: {line}" for line in before if line not in now["lines"]]

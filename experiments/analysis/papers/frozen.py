# SPDX-License-Identifier: GPL-2.0-only
"""The papers' statements, their ranges and what they compare, without any measurement, as a run's manifest keeps them.

`statements.json` in experiments/reference has them as text. The runner puts those of the suite's presentations and
their hash into the manifest; a report compares them with what it judges by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from experiments.runner.records import statements

from ..runs.results import Results
from ..stats.intervals import LEVEL
from . import bergstrom, deters, drawn_runs, heard, heard_checks, luo, luo_checks, prabhanjan, prabhanjan_checks
from .across import bergstrom_machines, luo_machines
from .cells import Cells
from .checks import INFINITE, Part, Statement

DIGITS = 6  # of a ratio: those after them differ between versions of the numeric packages


def lines() -> dict[str, list[str]]:
    """By presentation, one a statement; what is said of two machines stands with each one's suite."""
    threads = {name: luo.cells_of(made, "local", "remote")
               for name, made in (("contention", drawn_runs.luo()), ("split", drawn_runs.luo_split()))}
    redis = Cells(drawn_runs.redis(), prabhanjan.FACTORS)
    found = {
        "luo-contention": [*luo_checks.contention(threads["contention"]), *luo_machines(*map(drawn_runs.luo, "ab"))],
        "luo-cross": luo_checks.cross(luo.cells_of(drawn_runs.luo_cross(), "reference", "opposite")),
        "luo-split": luo_checks.split(threads["split"]),
        "bergstrom-stream": [*bergstrom.statements(bergstrom.cells_of(drawn_runs.stream()), "copy"),
                             *bergstrom_machines(*map(drawn_runs.stream, "ab"))],
        "heard-cachetest": heard_checks.checks(heard.cells_of(drawn_runs.cachetest())),
        "prabhanjan-times": prabhanjan_checks.times(redis),
        "prabhanjan-counters": prabhanjan_checks.counters(drawn_runs.counted().clean),
        "prabhanjan-benchmark": prabhanjan_checks.benchmark(
            Cells(drawn_runs.redis_benchmark(), prabhanjan.BENCHMARKED), ["lrange_600", "ping_inline"]),
        "deters-stealing": [s for metric in deters.SAYS for s in deters.made(drawn_runs.stealing(), metric)],
    }
    return {name: [_line(s) for s in said] for name, said in found.items()}


def _line(s: Statement) -> str:
    rule = "one of" if s.one else "every"
    return (f"{s.machine or 'any machine'}, {s.kind}, {s.where}: {s.says} "
            f"[{rule} {_ranges(s.parts)}; compared: {_compared(s.parts)}]")


def _compared(parts: Sequence[Part]) -> str:
    """A short hash of each part's ratio and interval in the drawn run, with its range; the order of parts is nothing."""
    told = "\n".join(sorted(f"{_drawn(part)} in {part.low:.{DIGITS}g} to {part.high:.{DIGITS}g}" for part in parts))
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def _drawn(part: Part) -> str:
    found = part.ratio(LEVEL)
    if found is None:
        raise ValueError(f"{part.name}: the drawn run lacks a cell of it, so what it compares would not be frozen")
    return " ".join("none" if end is None else f"{end:.{DIGITS}g}" for end in (found.value, found.low, found.high))


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


def judged_by(results: Results) -> list[str]:
    """Where the code that judges is not the one with which the run was made; nothing where no statement is judged."""
    if not statements.of(results.presents):
        return []
    then = results.manifest.get(statements.CODE_KEY)
    if not then or not results.manifest.get(statements.KEY):
        return ["the papers' statements: the run does not say by which statements and code it was to be judged"]
    return ["the papers' statements: judged by other code than when it ran"] if then != statements.code() else []

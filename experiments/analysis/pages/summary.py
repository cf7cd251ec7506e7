# SPDX-License-Identifier: GPL-2.0-only
"""summary.json: one row per workload, policy, metric and platform."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runner.repeats import precision
from ..runs.results import PLATFORMS, Results, read_results
from ..stats.intervals import compute_t_interval

if TYPE_CHECKING:
    from ..papers import Chapter

# Of a run that ended so: the shares are those of make check-statistics.
NARROW = ("repeats ended when the intervals were narrow: where one run in ten to fifty is slow, only 3 to 7 of 10 such intervals hold "
          "the mean; raise --repeats until slow runs are among them")


def make_rows(results: Results) -> list[dict[str, Any]]:
    """Makes a row for each workload, policy, metric and platform: the mean, Student's 95 % limits, and n; None as limits where n is 1."""
    groups: dict[tuple[str, str, str, str, str], list[float]] = {}
    for o in results.independent:
        for metric_value in o.metrics:
            groups.setdefault((o.workload, o.policy, metric_value.name, metric_value.unit, o.platform), []).append(metric_value.value)
    rows = []
    for (workload, policy, metric, unit, platform), values in groups.items():
        interval = compute_t_interval(values)
        rows.append(
            {
                "workload": workload,
                "policy": policy,
                "metric": metric,
                "unit": unit,
                "mean": interval.mean,
                "ci95_low": interval.low,
                "ci95_high": interval.high,
                "n": interval.n,
                "platform": platform,
            }
        )
    return sorted(
        rows,
        key=lambda r: (
            results.workloads.index(r["workload"]),
            results.policies.index(r["policy"]),
            r["metric"],
            PLATFORMS.index(r["platform"]),
        ),
    )


def list_notes(results: Results) -> list[str]:
    """Lists notes for a reader of the means: observations left out, means without an interval, and what intervals rest on."""
    notes = [*results.notices, *(f"this machine: {doubt}" for doubt in results.manifest.get("doubts") or [])]
    warmups = sum(o.warmup for o in results.observations)
    marked = sum(bool(o.marks) for o in results.measured)
    if warmups:
        notes.append(f"{_format_count(warmups, 'warm-up')} not averaged")
    if marked:
        notes.append(f"{_format_count(marked, 'marked observation')} not averaged")
    if any(row["n"] == 1 for row in make_rows(results)):
        notes.append("a mean of one observation has no confidence interval")
    return [*notes, *_note_ticks(results), *_note_host(results), *_note_boots(results), *_note_precision(results)]


def _note_ticks(results: Results) -> list[str]:
    """Returns a line on the part of a CPU that ticks took in the boots of a scaled machine; none of another."""
    boots = results.manifest.get("boots") or []
    shares = [100 * share for boot in boots if isinstance(share := boot.get("tick_share"), (int, float))]
    return [f"the kernel's ticks took {min(shares):.1f} % to {max(shares):.1f} % of a CPU, by boot"] if shares else []


def _note_host(results: Results) -> list[str]:
    """Returns a line on the host's load during a run of the lab, whose devices take the host's time; none without records of it."""
    loads = [load for o in results.clean if isinstance(load := o.raw.get("host_load"), (int, float))]
    return [f"the lab's host had a load of {min(loads):.1f} to {max(loads):.1f}"] if loads else []


def _note_boots(results: Results) -> list[str]:
    """Returns a line on what intervals are made from where a run has several boots; none for one boot."""
    if len(results.boots) < 2:
        return []
    counts = Counter((o.workload, o.policy, o.boot) for o in results.clean)
    cells: dict[tuple[str, str], set[int]] = {}
    for (workload, policy, _), n in counts.items():
        cells.setdefault((workload, policy), set()).add(n)
    uneven = sum(len(numbers) > 1 for numbers in cells.values())
    note = (f"observations of {len(results.boots)} boots: of a cell that several boots made, means, tests and intervals are "
            "of the boots' means, and n is their number")
    return [note + (f"; {_format_count(uneven, 'cell')} not as often in each boot: there they are not exact" if uneven else "")]


def _note_precision(results: Results) -> list[str]:
    """Returns what the intervals are worth where a run was to go on until its means are precise; none for another run."""
    percent = results.manifest.get("repeat_until_ci")
    if not isinstance(percent, (int, float)):
        return []
    names = [str(name) for name in results.manifest.get("responses") or []]
    unreached = precision.describe_imprecise(names, [o.raw for o in results.observations], percent)
    return [*([unreached] if unreached else []), NARROW]


def _format_count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def build_summary(results: Results, chapters: Iterable[Chapter] = ()) -> dict[str, Any]:
    """Builds the object of summary.json, created now: the run, its notes, the rows of means, and a row for each number of a paper."""
    return {
        "suite": results.suite,
        "platform": ", ".join(results.platforms),
        "machine": results.machine,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "notes": list_notes(results),
        "rows": make_rows(results),
        "papers": [{"presentation": c.name, "policy": c.policy} | number.make_dict() for c in chapters for number in c.compared],
    }


def write_summary(directory: str | Path, chapters: Iterable[Chapter] = ()) -> Path:
    """Reads a run and writes summary.json into its folder; returns the path. ResultsError: the run is unreadable."""
    results = read_results(directory)
    return write_text(
        results.directory / "summary.json",
        json.dumps(build_summary(results, chapters), indent=1, ensure_ascii=False) + "\n",
    )


def write_text(path: Path, text: str) -> Path:
    """Writes a file whole or not at all, over a partial file beside it; returns its path."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
    return path

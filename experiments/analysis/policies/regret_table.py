# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the report and of the terminal: regret, and what each placement cost the machine."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...mechanisms import activity as activity_of
from ..runs import text_format
from ..runs.boots import compute_boot_means
from ..runs.results import Results
from ..stats.intervals import Ratio, compute_t_interval
from .regret import LEAST, Regrets, compute_regrets, is_comparable
from .speedup import find_response

REMOTE = "remote_share"  # metric: of the accesses to memory, those to another node's
UNDECIDED = " ?"


def make_table(results: Results) -> dict[str, Any] | None:
    """Makes the table of regrets as texts: for each workload and policy a pair (to the best static placement, to the oracle).

    Returns None where nothing acts while programs work, or times mean nothing."""
    if not is_comparable(results):
        return None
    found = compute_regrets(results)
    rows = [{"workload": w, "best": list_references(found.references.get(w)),
             "cells": [(format_regret(found.static.get((w, p))), format_regret(found.oracle.get((w, p)))) for p in results.policies]}
            for w in results.workloads if any(name == w for name, _ in (*found.static, *found.oracle))]
    return {"policies": results.policies, "rows": rows, "means": [format_regret(found.mean.get(p)) for p in results.policies],
            "notes": list_notes(found)}


def list_references(found: Counter[str] | None) -> list[str]:
    """Lists the static placements that were the reference: 'maximum-local'; or 'maximum-local 2/3' and 'none 1/3', of three blocks."""
    if not found or len(found) == 1:
        return list(found or ())
    return [f"{level} {blocks}/{found.total()}" for level, blocks in found.most_common()]


def list_notes(found: Regrets) -> list[str]:
    """Lists a sentence on the workloads of too few blocks, and one on those without a surely best static placement."""
    few = [w for w in found.best if w not in found.references]
    undecided = [w for w, level in found.best.items() if w in found.references and level is None]
    lines = [f"no regret to a static placement: {', '.join(few)}: the best one is chosen by other blocks than that in which it is "
             f"compared with, so that {LEAST} blocks are needed"] if few else []
    return lines + ([f"no static placement is distinguishable from the others as the best: {', '.join(undecided)}"] if undecided else [])


def format_regret(found: Ratio | None) -> str:
    """Formats a regret as '12 % [8, 16]', with '?' where it is not decided; '' where there is none."""
    if found is None:
        return ""
    ends = "" if found.low is None or found.high is None else f" [{round(100 * found.low)}, {round(100 * found.high)}]"
    return f"{round(100 * found.value)} %{ends}{'' if found.excludes(0) else UNDECIDED}".replace("-", "−")


def list_activity(results: Results) -> list[dict[str, Any]]:
    """Lists what the kernel did while programs worked: a row of texts for each workload and policy that recorded it; times in s."""
    rows = []
    for workload in results.workloads:
        metric = find_response(results, workload)
        for policy in results.policies:
            observations = [o for o in results.select_independent(workload, policy) if isinstance(o.raw.get("kernel"), dict)]
            if observations:
                rows.append({"workload": workload, "policy": policy,
                             "speed": format_spread([o.get_value(metric.name) for o in observations]) if metric else text_format.DASH,
                             "unit": metric.unit if metric else "",
                             "remote": format_spread([o.get_value(REMOTE) for o in observations]),
                             **list_kernels(results, workload, policy)})
    return rows


def list_kernels(results: Results, workload: str, policy: str) -> dict[str, str]:
    """Returns what the kernel did in a cell: of all its observations, by boot where there are several, as its metrics are."""
    observations = [o for o in results.select(workload, policy) if isinstance(o.raw.get("kernel"), dict)]
    boots = [o.boot for o in observations]

    def format_values(values: list[float]) -> str:
        return format_spread(list(compute_boot_means(values, boots).values()) if len(set(boots)) > 1 else values)

    kernels = [o.raw["kernel"] for o in observations]
    return {"moved": format_values([activity_of.count_moved(kernel) for kernel in kernels]),
            **{name: format_values([kernel[f"{name}_s"] for kernel in kernels]) for name in ("system", "threads")}}


def format_spread(values: list[float | None]) -> str:
    """Formats the mean of a metric with its interval; a dash where an observation lacks it, as the others are no fair sample then."""
    known = [value for value in values if value is not None]
    return text_format.format_spread(compute_t_interval(known)) if known and len(known) == len(values) else text_format.DASH

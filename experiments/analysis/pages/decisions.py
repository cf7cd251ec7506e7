# SPDX-License-Identifier: GPL-2.0-only
"""The policies' decisions in words, from the plans that were applied."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ..runs import text_format
from ..runs.results import Observation, Results

# Counts of a migration that mean "left where it was"; already, absent and file pages are no fault.
LEFT_BEHIND = ("pinned", "shared", "hugetlb", "thp_split", "busy", "no_memory", "no_huge")


def list_decisions(results: Results, workload: str) -> list[dict[str, Any]]:
    """Lists, for each policy, its decisions for a workload, equal ones of several repeats and tasks once, and the policy's options.

    The decisions of marked observations are in it only where there is no clean one."""
    rows = []
    for policy in results.policies:
        clean = results.select(workload, policy)
        measured = [o for o in results.measured if (o.workload, o.policy) == (workload, policy)]
        observations = [o for o in clean or measured if o.apply]
        groups: dict[tuple, list[dict[str, Any]]] = {}
        for o in observations:
            for decision in o.apply.get("decisions") or []:
                role = _find_role(o, decision)
                made = decision | {"told": (o.raw.get("inputs") or {}).get(role), "role": role, "line": o.line}
                groups.setdefault(_make_key(made), []).append(made)
        described = [_format_group(group, len(observations)) for group in groups.values()]
        options = next((_format_options(o.apply) for o in observations), "")
        rows.append({"policy": policy, "options": options, "clean": bool(clean), "told": _merge_tasks(described)})
    return rows


def _format_options(apply: dict[str, Any]) -> str:
    """Formats the policy's options of what `apply --json` printed, as 'NAME VALUE, ..'; "" where it has none."""
    options = apply.get("options")
    if not isinstance(options, dict):
        return ""
    return ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in options.items())


def _find_role(o: Observation, decision: dict[str, Any]) -> str:
    names = {task.get("pid"): str(task.get("role", "")) for task in o.tasks}
    return names.get(decision.get("pid")) or str(decision.get("comm", "task"))


def _make_key(decision: dict[str, Any]) -> tuple:
    """Makes what equal decisions have in common: they differ at most in the numbers of the reason and of the inputs."""
    reason = re.sub(r"\d[\d.,]*", "#", str(decision.get("reason") or ""))
    sources = [str((decision.get(name) or {}).get("source")) for name in ("penalty", "mpki", "told") if isinstance(decision.get(name) or {}, dict)]
    return (*(decision.get(name) for name in ("role", "from", "to", "pages_to")), reason, str(decision.get("error") or ""), *sources)


def _count_left(decision: dict[str, Any]) -> dict[str, int]:
    """Returns the number of pages that should have moved and did not, by reason."""
    migrate = (decision.get("result") or {}).get("migrate") or {}
    return {name: migrate[name] for name in LEFT_BEHIND if migrate.get(name)}


def _count_moved(decision: dict[str, Any]) -> int:
    """Returns the number of pages that moved; the plan's number where nothing was migrated."""
    migrate = (decision.get("result") or {}).get("migrate") or {}
    return migrate.get("moved", decision.get("pages_to_move") or 0)


def _format_group(decisions: list[dict[str, Any]], observation_count: int) -> dict[str, Any]:
    """Formats equal decisions as the cells of their line on the page: means of pages; the reason is that of the first.

    observation_count: of the workload under the policy."""
    first, n = decisions[0], len(decisions)
    made_in = len({decision["line"] for decision in decisions})
    left_behind = Counter[str]()
    for decision in decisions:
        left_behind.update(_count_left(decision))
    return {
        "roles": [first["role"]],
        "where": _format_destination(first),
        "pages": _format_pages(first, sum(map(_count_moved, decisions)) / n),
        "reason": str(first.get("reason") or ""),
        "left": ", ".join(f"{text_format.format_count(pages / n)} {text_format.make_label(name)}" for name, pages in left_behind.items()),
        "known": _format_inputs(decisions),
        "error": str(first.get("error") or ""),
        "often": "" if made_in == observation_count else f"in {made_in} of {observation_count} observations",
    }


def _format_inputs(decisions: list[dict[str, Any]]) -> str:
    """Formats the inputs of the policy for the task, their range and source: for one that the plan calls declared, the runner's source."""
    inputs, declared = [], decisions[0].get("told") or {}
    for key, name in (("penalty", "penalty"), ("mpki", "MPKI")):
        estimates = [decision[key] for decision in decisions if isinstance(decision.get(key), dict)]
        values = [estimate["value"] for estimate in estimates if isinstance(estimate.get("value"), (int, float))]
        if values:
            source = estimates[0].get("source") or ""
            span = " to ".join(dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values))))
            inputs.append(f"{name} {span} {declared.get('source', source) if source == 'declared' else source}".strip())
    return ", ".join([*inputs, *([declared["source"]] if str(declared.get("source")).startswith("not measured") else [])])


def _merge_tasks(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merges the lines that differ in nothing but their tasks."""
    merged: list[dict[str, Any]] = []
    for line in lines:
        same = next((m for m in merged if m | {"roles": []} == line | {"roles": []}), None)
        if same:
            same["roles"] += line["roles"]
        else:
            merged.append(line)
    return merged


def _format_destination(decision: dict[str, Any]) -> str:
    from_node, to_node = decision.get("from"), decision.get("to")
    if to_node is None or from_node == to_node:
        return "stays" if from_node is None else f"stays on node {from_node}"
    return f"to node {to_node}" if from_node is None else f"node {from_node} → node {to_node}"


def _format_pages(decision: dict[str, Any], moved: float) -> str:
    target = decision.get("pages_to")
    if target is None or not moved:
        return "pages stay"
    return f"{text_format.format_count(moved)} pages to node {target}"

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
        groups: dict[tuple, dict[str, Any]] = {}
        for o in observations:
            for decision in o.apply.get("decisions") or []:
                role = _find_role(o, decision)
                _add_decision(groups, decision | {"told": (o.raw.get("inputs") or {}).get(role)}, role, o.repeat)
        described = [_tell_group(group, len(observations)) for group in groups.values()]
        options = next((_format_options(o.apply) for o in observations), "")
        rows.append(
            {"policy": policy, "options": options, "clean": bool(clean), "told": _merge_tasks(described)}
        )
    return rows


def _format_options(apply: dict[str, Any]) -> str:
    options = apply.get("options")
    if not isinstance(options, dict):
        return ""
    return ", ".join(
        f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in options.items()
    )


def _find_role(o: Observation, decision: dict[str, Any]) -> str:
    names = {task.get("pid"): str(task.get("role", "")) for task in o.tasks}
    return names.get(decision.get("pid")) or str(decision.get("comm", "task"))


def _add_decision(groups: dict, decision: dict[str, Any], role: str, repeat: int) -> None:
    """Adds a decision to the group of equal ones, which differ at most in the numbers inside the reason."""
    reason = str(decision.get("reason") or "")
    nodes = (decision.get("from"), decision.get("to"), decision.get("pages_to"))
    key = (role, *nodes, re.sub(r"\d[\d.,]*", "#", reason), str(decision.get("error") or ""))
    new = {
        "role": role,
        "repeats": set(),
        "decision": decision,
        "reason": reason,
        "pages": [],
        "left": Counter(),
    }
    group = groups.setdefault(key, new)
    group["repeats"].add(repeat)
    group["pages"].append(_count_moved(decision))
    group["left"].update(_count_left(decision))


def _count_left(decision: dict[str, Any]) -> dict[str, int]:
    """Returns the number of pages that should have moved and did not, by reason."""
    migrate = (decision.get("result") or {}).get("migrate") or {}
    return {name: migrate[name] for name in LEFT_BEHIND if migrate.get(name)}


def _count_moved(decision: dict[str, Any]) -> int:
    """Returns the number of pages that moved; the plan's number where nothing was migrated."""
    migrate = (decision.get("result") or {}).get("migrate") or {}
    return migrate.get("moved", decision.get("pages_to_move") or 0)


def _tell_group(group: dict[str, Any], observations: int) -> dict[str, Any]:
    """Formats a group of equal decisions as the cells of its line on the page."""
    decision, pages, repeats = group["decision"], group["pages"], len(group["repeats"])
    return {
        "roles": [group["role"]],
        "where": _format_destination(decision),
        "pages": _format_pages(decision, sum(pages) / len(pages)),
        "reason": group["reason"],
        "left": ", ".join(
            f"{text_format.format_count(n / len(pages))} {text_format.make_label(name)}"
            for name, n in group["left"].items()
        ),
        "known": _format_inputs(decision),
        "error": str(decision.get("error") or ""),
        "often": "" if repeats == observations else f"in {repeats} of {observations} observations",
    }


def _format_inputs(decision: dict[str, Any]) -> str:
    """Formats the inputs of the policy for the task, with their sources: for one that the plan calls declared, the runner's source."""
    inputs, declared = [], decision.get("told") or {}
    for key, name in (("penalty", "penalty"), ("mpki", "MPKI")):
        estimate = decision.get(key)
        if isinstance(estimate, dict) and isinstance(estimate.get("value"), (int, float)):
            source = estimate.get("source") or ""
            inputs.append(f"{name} {estimate['value']:.3g} {declared.get('source', source) if source == 'declared' else source}".strip())
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
    start, end = decision.get("from"), decision.get("to")
    if end is None or start == end:
        return "stays" if start is None else f"stays on node {start}"
    return f"to node {end}" if start is None else f"node {start} → node {end}"


def _format_pages(decision: dict[str, Any], moved: float) -> str:
    target = decision.get("pages_to")
    if target is None or not moved:
        return "pages stay"
    return f"{text_format.format_count(moved)} pages to node {target}"

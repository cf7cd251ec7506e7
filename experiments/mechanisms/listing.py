# SPDX-License-Identifier: GPL-2.0-only
"""The mechanisms as a table: what each is, its parameters, and what it lacks on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..host.host_nodes import Node
from .registry import KNOWN, make_mechanism


def make_rows(nodes: Sequence[Node], files: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Makes a row for each mechanism that is known, or for those of the user's files: names, texts, parameters, and what lacks here."""
    mechanisms = {name: type(make_mechanism(name)) for name in files} or KNOWN
    return [{"name": name, "about": mechanism.about, "acts_on": "programs as they start" if mechanism.starts else "running programs",
             "counters": list(mechanism.counters), "lacks": mechanism({}).call("lacks", nodes),
             "parameters": {key: {"about": p.about, "low": p.low, "high": p.high, "default": p.default}
                            for key, p in mechanism.parameters.items()}} for name, mechanism in mechanisms.items()]


def format_row(row: dict[str, Any]) -> str:
    """Formats a row as lines of text."""
    lines = [f"{row['name']}: {row['about']}", f"  here        {row['lacks'] or 'can be switched on'}",
             f"  acts on     {row['acts_on']}"]
    for key, p in row["parameters"].items():
        default = "the kernel's" if p["default"] is None else p["default"]
        lines.append(f"  {key:24} {p['low']} to {p['high']}, default {default}: {p['about']}")
    return "\n".join(lines)

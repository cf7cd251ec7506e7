# SPDX-License-Identifier: GPL-2.0-only
"""What the papers print, and which suite stands for it: python -m experiments.analysis.papers.coverage"""

from __future__ import annotations

import tomllib
from pathlib import Path

from . import reference

SUITES = Path(__file__).parents[2] / "suites"


def suites() -> dict[str, list[str]]:
    """By presentation."""
    found: dict[str, list[str]] = {}
    for path in sorted(SUITES.glob("*.toml")):
        for name in tomllib.loads(path.read_text(encoding="utf-8")).get("presents", []):
            found.setdefault(name, []).append(path.stem)
    return found


def table() -> list[str]:
    presented = suites()
    rows = ["| paper | item | suites | state | reason |", "|---|---|---|---|---|"]
    for row in reference.rows("coverage.csv"):
        ran = ", ".join(f"`{name}`" for name in presented.get(row["presentation"], []))
        rows.append(f"| {row['paper']} | {row['item']} | {ran} | {row['state']} | {row['reason']} |")
    return rows


if __name__ == "__main__":
    print("\n".join(table()))

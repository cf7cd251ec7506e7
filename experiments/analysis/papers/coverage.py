# SPDX-License-Identifier: GPL-2.0-only
"""What the papers print, and whether the suites stand for it: python -m experiments.analysis.papers.coverage

A row of coverage.csv names what it needs: a suite with levels of its factors or values of its options, a presentation,
a statement of one, a test. The state is found from the files that have them.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.paths import HERE
from experiments.runner.records import statements

from . import reference

SUITES = Path(__file__).parents[2] / "suites"
LAB, HARDWARE = "lab", "hardware"
YES, PART, NO = "yes", "part", "no"


@dataclass(frozen=True)
class Row:
    paper: str
    item: str
    needs: dict[str, tuple[str, ...]]  # with the places where each is run
    reason: str  # why it is impossible

    @property
    def state(self) -> str:
        met = sum(bool(places) for places in self.needs.values())
        return NO if not met else YES if met == len(self.needs) else PART

    @property
    def lacking(self) -> list[str]:
        return [need for need, places in self.needs.items() if not places]

    @property
    def places(self) -> list[str]:
        """Where all is run that is run anywhere."""
        met = [places for places in self.needs.values() if places]
        return [place for place in (LAB, HARDWARE) if met and all(place in places for places in met)]


def suites(folder: Path = SUITES) -> dict[str, dict[str, Any]]:
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}


def rows(folder: Path = SUITES) -> list[Row]:
    found = suites(folder)
    return [Row(row["paper"], row["item"], {need: _places(need, found) for need in map(str.strip, row["needs"].split(";"))
                                            if need}, row["impossible"])
            for row in reference.rows("coverage.csv")]


def _places(need: str, found: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """Where a need is met: `tests/FILE.py::NAME`, `PRESENTATION: TEXT`, `SUITE KEY=LEVEL,LEVEL ...`."""
    if "::" in need:
        path, _, name = need.partition("::")
        return (LAB, HARDWARE) if f"def {name}(" in (HERE.sources / path).read_text(encoding="utf-8") else ()
    name, _, text = need.partition(": ")
    if text:
        known = json.loads(statements.FILE.read_text(encoding="utf-8"))
        told = any(text in line for line in known.get(name, []))
        return (LAB, HARDWARE) if told and _presented(name, found) else ()
    name, *wanted = need.split()
    if name not in found:
        return ()
    return tuple(place for place in (LAB, HARDWARE)
                 if all(_has(_settings(found[name], place), *level.split("=")) for level in wanted))


def _presented(name: str, found: dict[str, dict[str, Any]]) -> bool:
    return any(name in suite.get("presents", []) for suite in found.values())


def _settings(suite: dict[str, Any], place: str) -> dict[str, set[str]]:
    """Levels of factors, values of options as KIND.OPTION, and the machines and presentations."""
    real = suite.get("real", {}) if place == HARDWARE else {}
    found = {name: {str(n) for n in suite.get(name, [])} for name in ("machines", "presents")}
    for name, levels in (suite.get("factors", {}) | real.get("factors", {})).items():
        if name == "case":
            cases = {key for case in levels for key in case}
            found |= {key: {part for case in levels if key in case for part in str(case[key]).split(",")} for key in cases}
        else:
            found[name] = {str(level) for level in levels}
    kinds = {kind for kind, options in suite.items() if isinstance(options, dict)} - {"factors", "quick", "real", "on"}
    for kind in kinds:
        for key, value in (suite[kind] | real.get(kind, {})).items():
            found[f"{kind}.{key}"] = set(str(value).split(","))
    return found | {"repeats": {str(n) for n in range(2, real.get("repeats", suite.get("repeats", 1)) + 1)}}


def _has(settings: dict[str, set[str]], key: str, levels: str) -> bool:
    return set(levels.split(",")) <= settings.get(key, set())


def table() -> list[str]:
    told = ["| paper | item | state | run in | stands for it | lacking | impossible, because |", "|---|---|---|---|---|---|---|"]
    for row in rows():
        met = "; ".join(f"`{need}`" for need in row.needs if need not in row.lacking)
        lacking = "; ".join(f"`{need}`" for need in row.lacking)
        told.append(f"| {row.paper} | {row.item} | {row.state} | {', '.join(row.places)} | {met} | {lacking} | {row.reason} |")
    return told


if __name__ == "__main__":
    print("\n".join(table()))

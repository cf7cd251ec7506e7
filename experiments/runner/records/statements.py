# SPDX-License-Identifier: GPL-2.0-only
"""The papers' statements and the code that judges them, as they are when a run is made: a later change shows in the report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[2]
FILE = TOP / "reference" / "statements.json"
KEY, CODE_KEY = "statements", "judging_code"  # of the manifest
JUDGING = ("analysis/papers/*.py", "analysis/machines/*.py", "analysis/stats/intervals.py", "model_fit/*.py", "reference/*")


def of(presentations: Iterable[str]) -> dict[str, dict[str, Any]]:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: {"sha256": hashlib.sha256("\n".join(known[name]).encode()).hexdigest(), "lines": known[name]}
            for name in presentations if name in known}


def code(top: Path = TOP) -> str:
    """A hash of all that makes a verdict of numbers: the comparisons, their statistics, the other machines, the tables."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in JUDGING for path in top.glob(pattern) if path.is_file()):
        digest.update(f"{path.relative_to(top)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()

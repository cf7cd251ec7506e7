# SPDX-License-Identifier: GPL-2.0-only
"""The papers' statements as they are when a run is made: a range that is changed later shows in the report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "reference" / "statements.json"
KEY = "statements"  # of the manifest


def of(presentations: Iterable[str]) -> dict[str, dict[str, Any]]:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: {"sha256": hashlib.sha256("\n".join(known[name]).encode()).hexdigest(), "lines": known[name]}
            for name in presentations if name in known}

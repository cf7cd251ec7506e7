# SPDX-License-Identifier: GPL-2.0-only
"""The price of a placement: the seconds of apply, and what it moved."""

from __future__ import annotations

from typing import Any


def of(applied: dict[str, Any], seconds: float, watched: float) -> dict[str, float | int]:
    """watched: the part of the seconds in which apply only looked on while the tasks worked."""
    moves = [(decision.get("result") or {}).get("migrate") or {} for decision in applied["decisions"]]
    return {"apply_s": round(seconds, 6), "watched_s": watched,
            "move_s": sum(move.get("ns", 0) for move in moves) / 1e9,
            "moved_bytes": sum(move.get("bytes", 0) for move in moves)}

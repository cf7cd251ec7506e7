# SPDX-License-Identifier: GPL-2.0-only
"""When a run is looked at before it ends: each look is one more try for chance."""

from __future__ import annotations

from bisect import bisect_left

LOOKS = (10, 14, 20, 28, 40, 57, 80, 113, 160, 200)  # blocks of one boot
BOOTS = 3  # at least, where there are several; each further one is looked at


def number(blocks: int, boots: int) -> int:
    """Of the look at so many, from 1 on."""
    return 1 + bisect_left(LOOKS[:-1], blocks) if boots == 1 else max(1, boots - BOOTS + 1)

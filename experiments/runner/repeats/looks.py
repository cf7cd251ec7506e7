# SPDX-License-Identifier: GPL-2.0-only
"""When a run is looked at before it ends: each look is one more try for chance, and its intervals are of all looks together."""

from bisect import bisect_left

LOOKS = (10, 14, 20, 28, 40, 57, 80, 113, 160, 200)  # blocks of one boot
MISSES = 0.05  # of all runs, in which one of the intervals may not hold
BOOTS = 3  # at least, where there are several; each further one is looked at


def find_look(blocks: int, boots: int) -> int:
    """Finds the number of the look at so many blocks and boots, from 1 on: that of LOOKS, the last of them also later; of several boots one
    for each from BOOTS on, the first also earlier."""
    return 1 + bisect_left(LOOKS[:-1], blocks) if boots == 1 else max(1, boots - BOOTS + 1)


def compute_level(options: int, blocks: int, boots: int = 1) -> float:
    """Returns the level of one interval, for all to hold together in 95 %: each of so many options has its share (Bonferroni), and of that
    look j has 1 / (j (j + 1)), so that all looks have no more than the whole. An option that is left out has had no look since."""
    look = find_look(blocks, boots)
    return 1 - MISSES / options / (look * (look + 1))

# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's own work by the clock takes of a CPU: in a scaled machine of the lab, the bias of its times."""

import time
from statistics import median

SECONDS = 1.0  # 250 ticks of Debian's kernels
LONG = 5       # a gap so many times the usual one is not the loop's


def measure_tick_share(seconds: float = SECONDS) -> float:
    """Measures the share of a CPU's time, 0..1, that is not a program's: the long gaps in a loop that reads the clock."""
    last, gaps = time.monotonic_ns(), []
    end = last + int(seconds * 1e9)
    while last < end:
        now = time.monotonic_ns()
        gaps.append(now - last)
        last = now
    usual = median(gaps)
    return sum(gap - usual for gap in gaps if gap > LONG * usual) / sum(gaps)

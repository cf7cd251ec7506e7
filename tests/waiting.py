# SPDX-License-Identifier: GPL-2.0-only
"""Waits for what another process or the kernel does."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True

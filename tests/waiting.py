# SPDX-License-Identifier: GPL-2.0-only
"""Waits for what another process or the kernel does."""

import time
from collections.abc import Callable
from pathlib import Path


def eventually(condition: Callable[[], object], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def has_ended(pid: int) -> bool:
    """Or is a zombie, which only its parent has not reaped yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True

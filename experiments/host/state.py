# SPDX-License-Identifier: GPL-2.0-only
"""What a record says of the machine at that time."""

import os
from pathlib import Path
from typing import Any

BOOT = Path("/proc/sys/kernel/random/boot_id")


def read_boot_id() -> str:
    """Returns the id of the kernel's boot; in the lab the guest's."""
    return BOOT.read_text().strip()


def read_state() -> dict[str, Any]:
    """Reads what a record says of the machine: the boot and the load."""
    return {"boot_id": read_boot_id(), "load": read_load()}


def read_load() -> float:
    """Reads how many tasks run or wait to, on average over a minute."""
    return round(os.getloadavg()[0], 2)

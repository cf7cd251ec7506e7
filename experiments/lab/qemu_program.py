# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU that the lab runs: this machine's own where that is new enough, or the one that setup/qemu has unpacked."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from experiments.lab.errors import UNABLE, LabError
from experiments.paths import HERE, cache

NAME = "qemu-system-x86_64"
OLDEST = (10, 0)


@functools.cache
def read_full_version(program: str) -> str:
    """Returns the version as the program prints it, such as 10.0.2; 0.0 where it prints none."""
    try:
        output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return "0.0"
    match = re.search(r"version (\d+\.\d+[.\d]*)", output)
    return match[1] if match else "0.0"


def read_version(program: str) -> tuple[int, int]:
    major, minor, *_ = read_full_version(program).split(".")
    return int(major), int(minor)


def get_unpacked_path() -> Path:
    return cache() / "qemu/bin" / NAME


def find() -> str:
    """Finds the path of the QEMU to run. LabError: none is new enough."""
    installed = shutil.which(NAME)
    if installed and read_version(installed) >= OLDEST:
        return installed
    if os.access(get_unpacked_path(), os.X_OK):
        return str(get_unpacked_path())
    fault = f"is version {read_full_version(installed)}" if installed else "is not installed"
    needed = ".".join(map(str, OLDEST))
    raise LabError(UNABLE, f"{NAME} {fault}, and the lab's machine runs in version {needed} or newer: "
                   f"{HERE.remedy('run make setup')}")

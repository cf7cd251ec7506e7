# SPDX-License-Identifier: GPL-2.0-only
"""What a test needs built. make check builds everything before the tests and says so: make reads hundreds of files."""

import functools
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def build(*targets: str) -> None:
    if "NUMAPLACE_BUILT" not in os.environ:
        subprocess.run(["make", "-s", *targets], cwd=ROOT, check=True)

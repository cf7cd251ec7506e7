# SPDX-License-Identifier: GPL-2.0-only
"""Programs of CUnit suites, whose main is cunit_main.c."""

import re
import subprocess
from pathlib import Path

from tests import building

ROOT = Path(__file__).resolve().parents[1]


def assertions(program: str) -> int:
    """Builds a program and runs it: every test passes. The number of their assertions."""
    building.build(program)
    run = subprocess.run([ROOT / program], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return int(re.search(r"asserts\s+\d+\s+(\d+)", run.stdout)[1])

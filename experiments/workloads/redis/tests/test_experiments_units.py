# SPDX-License-Identifier: GPL-2.0-only
"""Runs the CUnit tests of the programs' parts, under the sanitizers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def test_units() -> None:
    subprocess.run(["make", "-s", "build/tests/test_experiments"], cwd=ROOT, check=True)
    run = subprocess.run([ROOT / "build/tests/test_experiments"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    asserts = re.search(r"asserts\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", run.stdout)
    total, ran, _passed, failed = map(int, asserts.groups())
    assert (failed, ran) == (0, total) and total > 10_000

# SPDX-License-Identifier: GPL-2.0-only
"""The module on a machine whose nodes lack memory or CPUs."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.lab
def test_module_on_odd_nodes():
    done = subprocess.run(
        [sys.executable, "-m", "experiments.lab", "run", "--machine", "kmod/tests/odd.toml", "--plain",
         "--timeout", "300", "--", ".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "kmod/tests/guest/odd_nodes.py"], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

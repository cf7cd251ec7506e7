# SPDX-License-Identifier: GPL-2.0-only
"""Every tracing script and perf beside the module's counts, on each series: a piece of make check-full.

Not in `make check`: bpftrace reads the kernel's types for minutes in an emulated machine.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.lab import kernels

TOP = Path(__file__).resolve().parents[2]


def boot(series: str, console: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "experiments.lab", "run", "--machine", "demo-2s", "--functional", "--kernel", series,
         "--timeout", "1200", "--console", str(console), "--", ".venv/bin/python", "-m", "pytest", "-q", "-s",
         "-p", "no:cacheprovider", "kmod/tests/guest/trace_tools.py"],
        cwd=TOP, capture_output=True, text=True, check=False)


@pytest.mark.lab
@pytest.mark.parametrize("series", kernels.known_series())
def test_tracing_tools_agree_with_the_module(series, tmp_path):
    done = boot(series, tmp_path / "console")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr

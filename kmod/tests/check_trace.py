# SPDX-License-Identifier: GPL-2.0-only
"""Every tracing script and perf beside the module's counts, on each series: a piece of make check-full.

Not in `make check`: bpftrace reads the kernel's types for minutes in an emulated machine.
"""

import subprocess
from pathlib import Path

import pytest

from experiments.lab import kernels
from experiments.lab.command import build_words

TOP = Path(__file__).resolve().parents[2]


def boot(series: str, console: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        build_words("demo-2s", [".venv/bin/python", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "kmod/tests/guest/trace_tools.py"],
                    ["--console", console], functional=True, kernel=series, seconds=1200),
        cwd=TOP, capture_output=True, text=True, check=False)


@pytest.mark.lab
@pytest.mark.parametrize("series", kernels.known_series())
def test_tracing_tools_agree_with_the_module(series, tmp_path):
    done = boot(series, tmp_path / "console")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr

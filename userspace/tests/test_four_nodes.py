# SPDX-License-Identifier: GPL-2.0-only
"""Pages and tasks on machines of more than two nodes, a boot of its own for each."""

import subprocess
from pathlib import Path

import pytest

from experiments.lab import kernels
from experiments.lab.command import build_words

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.lab
@pytest.mark.full("a minute for each machine")
@pytest.mark.parametrize("nodes", ["four", "three"])
def test_on_more_nodes(nodes: str) -> None:
    module = TOP / "build" / "modules" / kernels.DEFAULT_SERIES / "numaplace.ko"
    done = subprocess.run(
        build_words(f"userspace/tests/{nodes}_nodes.toml", ["env", f"NUMAPLACE_KO={module}", ".venv/bin/python", "-m", "pytest", "-q",
                                                            "-p", "no:cacheprovider", f"userspace/tests/guest/{nodes}_nodes.py"],
                    functional=True, seconds=300),
        cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

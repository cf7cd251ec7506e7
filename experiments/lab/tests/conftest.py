# SPDX-License-Identifier: GPL-2.0-only
"""The tool reads the machine files."""

import subprocess

import pytest

from experiments.places import HERE


@pytest.fixture(scope="session", autouse=True)
def tool():
    subprocess.run(["make", "-s", "build/numaplace"], cwd=HERE.code, check=True)

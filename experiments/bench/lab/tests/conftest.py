# SPDX-License-Identifier: GPL-2.0-only
"""The tool reads the machine files."""


import pytest

from tests import building


@pytest.fixture(scope="session", autouse=True)
def tool():
    building.build("build/numaplace")

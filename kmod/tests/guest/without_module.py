# SPDX-License-Identifier: GPL-2.0-only
"""For tests on kernels that take no module."""

import driver
import pytest

TOOL = driver.TOP / "build" / "numaplace"


@pytest.fixture(autouse=True)
def clean_kernel():
    """In place of the usual one: here the module cannot be loaded."""
    log = driver.KernelLog()
    yield
    assert log.faults() == []

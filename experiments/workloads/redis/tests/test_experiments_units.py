# SPDX-License-Identifier: GPL-2.0-only
"""Runs the CUnit tests of the programs' parts, under the sanitizers."""

from tests import cunit


def test_units() -> None:
    assert cunit.assertions("build/tests/test_experiments") > 10_000

# SPDX-License-Identifier: GPL-2.0-only
"""Runs the policies' CUnit tests, plain and under the sanitizers."""

import subprocess
from pathlib import Path

import pytest

from tests import building, cunit

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("binary", ["build/tests/test_policies", "build/asan/test_policies"])
def test_policies(binary: str) -> None:
    assert cunit.assertions(binary) > 100_000


@pytest.mark.parametrize("words", [
    ["policy_allocations"],                                 # none of them per task
    ["policy_quality", "60", "3000", "throughput"],         # within 1 % of the best of all
    ["policy_quality", "60", "3000", "fairness"],
])
def test_measures(words: list[str]) -> None:
    program = f"build/tests/{words[0]}"
    building.build(program)
    run = subprocess.run([ROOT / program, *words[1:]], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr

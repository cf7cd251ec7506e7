# SPDX-License-Identifier: GPL-2.0-only
"""Runs the policies' CUnit tests, under the sanitizers; plain with ten times as many random machines."""

import subprocess
from pathlib import Path

import pytest

from tests import building, cunit

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long("the sanitized suites, with 300 random machines a property")
def test_policies() -> None:
    assert cunit.assertions("build/asan/test_policies") > 100_000


@pytest.mark.full("a minute for the machines that the sanitized build has a tenth of")
def test_policies_on_more_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMAPLACE_ROUNDS", "3000")
    assert cunit.assertions("build/tests/test_policies") > 1_000_000


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

# SPDX-License-Identifier: GPL-2.0-only
"""Runs the policies' CUnit tests, plain and under the sanitizers."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def asserts_run(output: str) -> int:
    """The number of assertions in CUnit's summary, after checking that none failed."""
    match = re.search(r"asserts\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", output)
    assert match, f"no CUnit summary:\n{output}"
    total, ran, _passed, failed = map(int, match.groups())
    assert failed == 0 and ran == total, output
    return ran


@pytest.mark.parametrize("binary", ["build/tests/test_policies", "build/asan/test_policies"])
def test_policies(binary: str) -> None:
    subprocess.run(["make", "-s", binary], cwd=ROOT, check=True)
    run = subprocess.run([ROOT / binary], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert asserts_run(run.stdout) > 100_000, run.stdout


@pytest.mark.parametrize("words", [
    ["policy_allocations"],                                 # none of them per task
    ["policy_quality", "60", "3000", "throughput"],         # within 1 % of the best of all
    ["policy_quality", "60", "3000", "fairness"],
])
def test_measures(words: list[str]) -> None:
    program = f"build/tests/{words[0]}"
    subprocess.run(["make", "-s", program], cwd=ROOT, check=True)
    run = subprocess.run([ROOT / program, *words[1:]], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr

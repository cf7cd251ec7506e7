# SPDX-License-Identifier: GPL-2.0-only
"""How the tests inside the lab are chosen, their faults found, and counted what did not run."""

import os
import subprocess
import sys

import pytest

from experiments.lab import console
from tests import guest


def test_guest_runs_the_tests_that_are_listed(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    (tmp_path / "listed").write_text("test_x.py::test_two\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "tests.guest_report", "-p", "no:cacheprovider", "-v", f"--rootdir={tmp_path}",
                           tmp_path], capture_output=True, text=True, check=False, cwd=guest.TOP,
                          env=os.environ | {"NUMAPLACE_TESTS": str(tmp_path / "listed")})
    assert "test_two PASSED" in done.stdout and "test_one" not in done.stdout, done.stdout


def test_guest_reports_a_fault_with_what_follows():
    lines = ["quiet"] * 5 + ["WARNING: CPU: 1"] + [f"line {n}" for n in range(100)] + ["BUG: KASAN"]
    first, second = console.find_reports(lines)
    assert first == lines[5:5 + console.REPORT_LINES]
    assert second == ["BUG: KASAN"]


@pytest.mark.parametrize("line", [
    "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... } 6 jiffies s: 57 root: 0x2/.",
    "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [np-mem:311]",
    "INFO: task kworker/u8:1:40 blocked for more than 120 seconds.",
])
def test_guest_takes_a_cpu_that_does_not_go_on_for_a_fault(line):
    assert console.find_reports(["quiet", f"[   91.512] {line}", "quiet"]) == [[f"[   91.512] {line}", "quiet"]]


def test_what_needs_another_kernel_is_counted_as_not_run(tmp_path):
    """In the runner's own last line, beside what passed and what was skipped for another reason."""
    (tmp_path / "conftest.py").write_text("from tests.not_run import *\n")
    (tmp_path / "test_x.py").write_text(
        "import pytest\n"
        "def test_one(): pass\n"
        "def test_two(): pytest.skip('the kernel gave no huge pages')\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "def test_three(n): pytest.skip('this kernel has no fault injection: make check-debug')\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tmp_path], capture_output=True,
                          text=True, check=False, cwd=guest.TOP)
    *_, reason, last = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout
    assert reason == "not run: 3, this kernel has no fault injection: make check-debug"
    assert "1 passed, 1 skipped, 3 not run in " in last

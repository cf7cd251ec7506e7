# SPDX-License-Identifier: GPL-2.0-only
"""What is said of two chases beside each other, and what is asked of the machine and of the program."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.host.topology import Cpu
from experiments.workloads.mem import bench_multichase
from experiments.workloads.mem.bench_kernels import Ratio

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("ratio, word", [
    (Ratio(1.04, 1.03, 1.05), "holds"), (Ratio(0.96, 0.95, 0.97), "holds"), (Ratio(1.0, 0.9, 1.04), "undecided"), (Ratio(1.06, 1.04, 1.2), "undecided"),
    (Ratio(0.94, 0.8, 0.96), "undecided"), (Ratio(1.06, 1.055, 1.07), "fails"), (Ratio(0.9, 0.8, 0.94), "fails")])
def test_both_sides_are_bounds(ratio: Ratio, word: str) -> None:
    check, = bench_multichase.asked("4 L3", ratio).checks
    assert check.verdict == word and check.asked == "0.95 to 1.05"


def test_sizes_are_those_of_the_cpu_s_caches() -> None:
    cpu = Cpu(0, 0, 0, 1 << 20, 32 << 20)
    assert [bench_multichase.size_of(part, cpu) for part in bench_multichase.SIZES] == [1 << 19, 16 << 20, 128 << 20]
    with pytest.raises(SystemExit, match="does not say how large its caches are"):
        bench_multichase.size_of("4 L3", Cpu(0, 0, 0))


def test_without_a_multichase_it_says_where_it_comes_from() -> None:
    done = subprocess.run([sys.executable, "-m", "experiments.workloads.mem.bench_multichase", "no-such-program"],
                          capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "build github.com/google/multichase" in done.stderr

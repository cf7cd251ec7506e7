# SPDX-License-Identifier: GPL-2.0-only
"""How sure a ratio of the benchmark is, and what is said of a bound then."""

import pytest

from experiments.workloads.mem import bench_kernels
from experiments.workloads.mem.bench_kernels import Ratio


@pytest.mark.parametrize("pairs, low, high", [(7, 1, 7), (15, 4, 12), (25, 8, 18)])
def test_a_ratio_s_interval_are_the_ranks_of_the_median(pairs: int, low: int, high: int) -> None:
    """Ranks of the 95 % interval, as tables of the sign test print them."""
    found = Ratio.divide([2.0 * k for k in range(pairs, 0, -1)], [2.0] * pairs)
    assert (found.middle, found.low, found.high) == ((pairs + 1) / 2, low, high)


@pytest.mark.parametrize("ratio, word", [
    (Ratio(1.01, 0.9, 1.1), "holds"), (Ratio(0.99, 0.9, 1.1), "undecided"), (Ratio(0.9, 0.8, 0.99), "fails")])
def test_a_bound_inside_the_interval_is_undecided(capsys, ratio: Ratio, word: str) -> None:
    assert bench_kernels.print_verdicts(bench_kernels.check_bounds({"stream_mem_avx": ratio})) == (word == "holds")
    assert capsys.readouterr().out.split()[0] == word

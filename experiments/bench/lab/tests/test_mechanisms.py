# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel does with memory tiers and with memory in use, in one short boot each; `make bench-lab` has the rest."""

import pytest

from experiments.bench.lab import accessed, mechanisms
from experiments.bench.lab.accessed_inside import MIB, WHOLE, parse_aggregations
from experiments.bench.lab.mechanisms_inside import PAGES
from experiments.lab import kernels


@pytest.mark.lab
@pytest.mark.parametrize("series", [series for series in kernels.known_series() if series not in mechanisms.WITHOUT_TIERS])
@pytest.mark.full("what the kernel does without numaplace")
def test_kernel_makes_tiers_and_demotes_and_promotes(series):
    found = mechanisms.run_program(series, "tiers", "demotion", "promotion", timed=False)
    tiers = found["tiers"]
    assert tiers["tiers"] == mechanisms.TIERS
    assert tiers["access"] == {"node0": {"read_latency": 95, "read_bandwidth": 60000},
                               "node1": {"read_latency": 95, "read_bandwidth": 60000},
                               "node2": {"read_latency": 220, "read_bandwidth": 28000}}
    assert tiers["weights"] == ([2, 2, 1] if series == "7" else [1, 1, 1])
    demoted, promoted = found["demotion"], found["promotion"]
    assert demoted["home"] == promoted["away"] == PAGES
    assert demoted["away"] >= mechanisms.LEAST_DEMOTED * PAGES and demoted["counted"] >= demoted["away"]
    assert promoted["seconds"] is not None and promoted["counted"]["pgpromote_success"] >= 0.9 * PAGES


@pytest.mark.lab
@pytest.mark.full("what the kernel does without numaplace")
def test_ageing_finds_the_pages_that_are_used():
    lines = accessed.run_program("6.12", "ageing", 4)[4 * MIB]
    assert accessed.count_by_ageing(lines) == pytest.approx(4 * MIB, rel=0.01), lines


def test_trace_of_damon_is_read_by_aggregations():
    half = WHOLE // 2
    row = " kdamond.0-9 [000] ..... 1.0: damon_aggregated: target_id=0 nr_regions=2 {}-{}: {} 7\n"
    text = "# tracer: nop\n" + "".join(row.format(*one) for one in [(0, half, 20), (half, WHOLE, 0)] * 2)
    assert parse_aggregations(text) == [[(0, half, 20), (half, WHOLE, 0)]] * 2

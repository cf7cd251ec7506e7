# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel does with memory tiers and with memory in use, at its default settings, in one boot each."""

from statistics import median

import pytest

from experiments.bench.lab import inside
from experiments.bench.lab.tests.accessed_inside import MIB, PAGE, WHOLE, parse_aggregations
from experiments.bench.lab.tests.mechanisms_inside import PAGES
from experiments.lab import kernels

WITHOUT_TIERS = ("6.1",)  # which takes memory that is there at its start for one tier, whatever the firmware says
TIERS = ["0-1", "2"]
LEAST_DEMOTED = 0.95
HOT_MIB = (1, 4, 16)
WITHOUT_DAMON = ("6.1",)  # Debian's is built so


def run_mechanisms(series: str, *what: str, timed: bool) -> dict[str, dict]:
    """Boots the kernel on cxl-3n, whose node 2 is slow memory, and returns the records of mechanisms_inside.py by its words, `what`."""
    records = inside.run_program("cxl-3n", "python3", "experiments/bench/lab/tests/mechanisms_inside.py", *what, timeout=1500, timed=timed,
                                 kernel=series)
    return {record["what"]: record for record in records}


def count_by_ageing(records: list[dict]) -> int:
    """Returns the bytes in use by MGLRU: of the last round, the generation before the youngest, as the youngest was made after them."""
    pages = {int(generation): count for generation, count in records[-1]["pages"].items()}
    return pages[max(pages) - 1] * PAGE


def count_by_damon(records: list[dict]) -> float:
    """Returns the bytes in use by DAMON: the median of the later half of the aggregations, when the regions have found their borders."""
    return median(record["used"] for record in records[len(records) // 2:])


@pytest.mark.lab
@pytest.mark.parametrize("series", [series for series in kernels.known_series() if series not in WITHOUT_TIERS])
@pytest.mark.full("what the kernel does without numaplace")
def test_kernel_makes_tiers_and_demotes_and_promotes(series):
    found = run_mechanisms(series, "tiers", "demotion", "promotion", timed=False)
    tiers = found["tiers"]
    assert tiers["tiers"] == TIERS
    assert tiers["access"] == {"node0": {"read_latency": 95, "read_bandwidth": 60000},
                               "node1": {"read_latency": 95, "read_bandwidth": 60000},
                               "node2": {"read_latency": 220, "read_bandwidth": 28000}}
    assert tiers["weights"] == ([2, 2, 1] if series == "7" else [1, 1, 1])
    demoted, promoted = found["demotion"], found["promotion"]
    assert demoted["home"] == promoted["away"] == PAGES
    assert demoted["away"] >= LEAST_DEMOTED * PAGES and demoted["counted"] >= demoted["away"]
    assert promoted["seconds"] is not None and promoted["counted"] >= 0.9 * PAGES


@pytest.mark.lab
@pytest.mark.parametrize("series", kernels.known_series())
@pytest.mark.full("what the kernel does without numaplace")
def test_balancing_scans_once_a_second_of_the_machines(series):
    """scan_period_min_ms, by default: the only user of its memory, all of it local, takes no hint faults, which would change its
    period (kernel/sched/fair.c, update_task_scan_period())."""
    first, second, *_ = run_mechanisms(series, "scans", timed=True)["scans"]["at"]
    assert second - first == pytest.approx(1, rel=0.05)


@pytest.mark.lab
@pytest.mark.parametrize(("series", "count"), [(series, count) for series in kernels.known_series() for count in
                                               (count_by_ageing, count_by_damon) if count is count_by_ageing or series not in WITHOUT_DAMON])
@pytest.mark.full("what the kernel does without numaplace")
def test_memory_in_use_is_found_by_accessed_bits(series, count):
    records = inside.run_program("demo-2s", "python3", "experiments/bench/lab/tests/accessed_inside.py", count.__name__.removeprefix("count_by_"),
                                 *map(str, HOT_MIB), timeout=1500, kernel=series)
    found = {size: count([record for record in records if record["hot"] == size * MIB]) / MIB for size in HOT_MIB}
    assert found == pytest.approx({size: size for size in HOT_MIB}, rel=0.05)
    if count is count_by_ageing:
        assert found[4] == pytest.approx(4, rel=0.01)


def test_trace_of_damon_is_read_by_aggregations():
    half = WHOLE // 2
    row = " kdamond.0-9 [000] ..... 1.0: damon_aggregated: target_id=0 nr_regions=2 {}-{}: {} 7\n"
    text = "# tracer: nop\n" + "".join(row.format(*one) for one in [(0, half, 20), (half, WHOLE, 0)] * 2)
    assert parse_aggregations(text) == [[(0, half, 20), (half, WHOLE, 0)]] * 2

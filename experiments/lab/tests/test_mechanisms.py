# SPDX-License-Identifier: GPL-2.0-only
"""Memory tiers of a machine that has memory without CPUs, and what the kernel does with them."""

import pytest

from experiments.lab import hmat, machine
from experiments.lab.validate import accessed, mechanisms
from experiments.lab.validate.accessed_inside import MIB, WHOLE, aggregations
from experiments.lab.validate.mechanisms_inside import PAGES


def test_table_has_each_way_from_cpus_to_memory():
    cxl = machine.find("cxl-3n")
    options = hmat.options(cxl)
    assert options[:2] == ["-machine", "hmat=on"]
    said = [dict(field.partition("=")[::2] for field in word.split(",")[1:]) for word in options if word.startswith("hmat-lb,")]
    latency = {(one["initiator"], one["target"]): one["latency"] for one in said if "latency" in one}
    # local, the other socket, behind CXL from either: DRAM and links of the machine file
    assert latency == {("0", "0"): "95", ("0", "1"): "155", ("0", "2"): "220",
                       ("1", "0"): "155", ("1", "1"): "95", ("1", "2"): "280"}
    bandwidth = {(one["initiator"], one["target"]): one["bandwidth"] for one in said if "bandwidth" in one}
    assert bandwidth == {("0", "0"): "60000M", ("0", "1"): "40000M", ("0", "2"): "28000M",
                         ("1", "0"): "40000M", ("1", "1"): "60000M", ("1", "2"): "28000M"}
    assert [hmat.initiator(cxl, node) for node in range(3)] == ["", "", ",initiator=0"]


@pytest.mark.parametrize("name", ["demo-2s", "memoryless-3n"])
def test_machine_whose_memory_is_all_of_cpus_has_no_table(name):
    described = machine.find(name)
    assert hmat.options(described) == []
    assert {hmat.initiator(described, node) for node in range(len(described.nodes))} == {""}


@pytest.mark.lab
@pytest.mark.parametrize("series", mechanisms.WITH_TIERS)
def test_kernel_makes_tiers_and_demotes_and_promotes(series):
    found = mechanisms.measure(series, "tiers", "demotion", "promotion", timed=False)
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
def test_ageing_finds_the_pages_that_are_used():
    lines = accessed.measure("6.12", "ageing", 4)[4 * MIB]
    assert accessed.found_by_ageing(lines) == pytest.approx(4 * MIB, rel=0.01), lines


def test_trace_of_damon_is_read_by_aggregations():
    half = WHOLE // 2
    row = " kdamond.0-9 [000] ..... 1.0: damon_aggregated: target_id=0 nr_regions=2 {}-{}: {} 7\n"
    text = "# tracer: nop\n" + "".join(row.format(*one) for one in [(0, half, 20), (half, WHOLE, 0)] * 2)
    assert aggregations(text) == [[(0, half, 20), (half, WHOLE, 0)]] * 2

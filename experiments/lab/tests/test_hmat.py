# SPDX-License-Identifier: GPL-2.0-only
"""The table that tells a kernel of memory without CPUs."""

import pytest

from experiments.lab import hmat, machine


def test_table_has_each_way_from_cpus_to_memory():
    cxl = machine.find("cxl-3n")
    options = hmat.build_options(cxl)
    assert options[:2] == ["-machine", "hmat=on"]
    said = [dict(field.partition("=")[::2] for field in word.split(",")[1:]) for word in options if word.startswith("hmat-lb,")]
    latency = {(one["initiator"], one["target"]): one["latency"] for one in said if "latency" in one}
    # local, the other socket, behind CXL from either: DRAM and links of the machine file
    assert latency == {("0", "0"): "95", ("0", "1"): "155", ("0", "2"): "220",
                       ("1", "0"): "155", ("1", "1"): "95", ("1", "2"): "280"}
    bandwidth = {(one["initiator"], one["target"]): one["bandwidth"] for one in said if "bandwidth" in one}
    assert bandwidth == {("0", "0"): "60000M", ("0", "1"): "40000M", ("0", "2"): "28000M",
                         ("1", "0"): "40000M", ("1", "1"): "60000M", ("1", "2"): "28000M"}
    assert [hmat.format_initiator(cxl, node) for node in range(3)] == ["", "", ",initiator=0"]


@pytest.mark.parametrize("name", ["demo-2s", "memoryless-3n"])
def test_machine_whose_memory_is_all_of_cpus_has_no_table(name):
    described = machine.find(name)
    assert hmat.build_options(described) == []
    assert {hmat.format_initiator(described, node) for node in range(len(described.nodes))} == {""}

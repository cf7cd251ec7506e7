# SPDX-License-Identifier: GPL-2.0-only
"""How much memory the suites' workloads need by node, at the levels of a real machine."""

import pytest

from experiments.host import host_nodes
from experiments.runner.kinds import footprint
from experiments.runner.suite import designs
from experiments.runner.suite import suite as suites

MIB = 1 << 20


def needs(name: str, workload: str, on: str = "xeon-e5-2620v4-2s") -> dict[int, float]:
    """MiB by node."""
    suite = suites.load_suite(name)
    suite = designs.expand_suite(suites.replace_levels(suite, suite.real), host_nodes.list_lab_nodes(on))
    found = next(w for w in suite.workloads if w.name == workload)
    return {node: size / MIB for node, size in footprint.count_bytes(found, suite).items()}


@pytest.mark.parametrize("suite, workload, mib", [
    ("contention", "contention-4L4R", {0: 8 * 240}),  # 4 x 20 MiB, three arrays
    ("contention", "contention-4L4R-threads", {0: 2 * 240}),  # a process has its arrays once
    ("contention", "contention-8L8R", {0: 16 * 240}),
    ("cross", "cross-2x3", {0: 3 * 240, 1: 2 * 240}),
    ("split", "split-1L2R", {0: 240, 1: 2 * 240}),
    ("numa-stream", "copy-unstrided-local-16t", {0: 640, 1: 640}),
    ("numa-stream", "triad-unstrided-remote-1t", {1: 960}),
    ("policy-matrix", "split", {0: 120, 1: 240 + 120}),
    ("work-stealing", "heat-vanilla-first", {0: 4 * 320}),
    ("work-stealing", "heat-locality-spread", {0: 4 * 320, 1: 320}),
    ("random-update", "random-update-1410065408-1410065408-remote", {1: 4 * 1410065408 / MIB}),  # ints
    # The server's and the client's bytes for each element.
    ("redis-lists", "lists-10000000-p1-remote", {1: 50 * 3 * 10**7 / MIB, 0: 35 * 3 * 10**7 / MIB}),
    ("redis-keys", "keys-10000000-p1-remote", {1: 100 * 10**7 / MIB, 0: 105 * 10**7 / MIB}),
    ("redis-zsets", "zsets-2000000-p16-local", {0: (140 + 35) * 6 * 10**6 / MIB}),
    ("redis-benchmark", "redis-benchmark-1024B-p1-remote", {1: 4 * 10**6 * 1024 / MIB}),  # SET, LPUSH, RPUSH and HSET
])
def test_memory_by_node(suite: str, workload: str, mib: dict[int, float]) -> None:
    assert needs(suite, workload) == pytest.approx(mib, rel=1e-6)


@pytest.mark.parametrize("suite, workload, server", [
    ("redis-lists", "lists-699051-p1-local", 40), ("redis-keys", "keys-932068-p1-local", 90)])
def test_a_count_that_is_a_size_makes_data_of_that_size(suite: str, workload: str, server: int) -> None:
    """4 L3 are 80 MiB: so many elements at their bytes in the server, strings of 10 characters in the mean."""
    elements = int(workload.split("-")[1]) * (3 if suite == "redis-lists" else 1)
    assert elements * server / MIB == pytest.approx(80, rel=1e-4)
    assert needs(suite, workload)[0] > 80


def test_keys_and_scale_that_are_sizes() -> None:
    """16 L3 are 320 MiB: values of 1 KiB, and an array of doubles of 65536 times the scale."""
    for suite, key, number in (("redis-memtier", "keys", 320 << 10), ("work-stealing", "scale", 640),
                               ("policy-matrix", "elements", 121574)):
        found = suites.load_suite(suite)
        found = designs.expand_suite(suites.replace_levels(found, found.real), host_nodes.list_lab_nodes("xeon-e5-2620v4-2s"))
        kind = "stealing" if key == "scale" else "redis" if suite == "policy-matrix" else suite
        assert found.parameters[kind][key] == number
    cases = designs.expand_suite(suites.replace_levels(suites.load_suite("redis-benchmark"), suites.load_suite("redis-benchmark").real),
                                 host_nodes.list_lab_nodes("xeon-e5-2620v4-2s")).levels["case"]
    assert [case["keys"] for case in cases] == [0, 320 << 10]


def test_data_on_a_node_of_memory_alone() -> None:
    suite = suites.load_suite("work-stealing")
    suite = designs.expand_suite(suite, host_nodes.select_usable(1, suite.name, among=host_nodes.list_lab_nodes("cxl-3n")))
    heat = next(w for w in suite.workloads if w.name == "heat-locality-memory-only")
    assert footprint.count_bytes(heat, suite) == {0: 32 * 32 * 65536, 2: 16 * 32 * 65536}


def test_every_workload_of_every_suite_needs_some() -> None:
    for name in suites.list_names():
        suite = suites.load_suite(name)
        for levels in ({}, suite.quick, suite.real):
            found = designs.expand_suite(suites.replace_levels(suite, levels), host_nodes.list_lab_nodes(suite.machines[0]))
            assert all(min(footprint.count_bytes(w, found).values()) > 0 for w in found.workloads)

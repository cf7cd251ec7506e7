# SPDX-License-Identifier: GPL-2.0-only
"""Cores and caches as sysfs says, the order of CPUs, and levels that are parts of the machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.errors import UsageError
from experiments.host import host_nodes, topology
from experiments.host.topology import Cpu
from experiments.runner.suite import designs, relative
from experiments.runner.suite import suite as suites

MIB = 1 << 20


def one_cpu(root: Path, number: int, siblings: str, shared: str) -> None:
    folder = root / f"cpu{number}"
    (folder / "topology").mkdir(parents=True)
    (folder / "topology/thread_siblings_list").write_text(siblings + "\n")
    for index, (level, kind, size, cpus) in enumerate([
            (1, "Data", "32K", siblings), (1, "Instruction", "64K", siblings), (2, "Unified", "1024K", siblings),
            (3, "Unified", "32768K", shared)]):
        cache = folder / f"cache/index{index}"
        cache.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", cpus)):
            (cache / name).write_text(f"{text}\n")


def side_by_side(root: Path) -> tuple[Cpu, ...]:
    """Siblings numbered side by side, two cores a last-level cache: as POWER, some VMs, and EPYC by its L3."""
    for number in range(8):
        core, half = number // 2 * 2, number // 4 * 4
        one_cpu(root, number, f"{core}-{core + 1}", f"{half}-{half + 3}")
    return topology.read_host_cpus(range(8), root)


@pytest.mark.parametrize("spread, order", [
    ("l3", (0, 4, 2, 6, 1, 5, 3, 7)), ("cores", (0, 2, 4, 6, 1, 3, 5, 7)), ("compact", (0, 1, 2, 3, 4, 5, 6, 7))])
def test_cpus_are_taken_by_core_then_by_cache(tmp_path: Path, spread: str, order: tuple[int, ...]) -> None:
    cpus = side_by_side(tmp_path)
    assert cpus[5] == Cpu(5, 4, 4, MIB, 32 * MIB)
    assert topology.order_cpus(cpus, spread) == order
    assert topology.order_cpus(reversed(cpus), spread) == order


def test_siblings_numbered_far_apart_come_last_too(tmp_path: Path) -> None:
    """As Intel's: CPU n and n + 4 are a core."""
    for number in range(8):
        one_cpu(tmp_path, number, f"{number % 4},{number % 4 + 4}", "0-7")
    cpus = topology.read_host_cpus(range(8), tmp_path)
    assert topology.order_cpus(cpus, "l3") == topology.order_cpus(cpus, "cores") == tuple(range(8))
    assert topology.order_cpus(cpus, "compact") == (0, 4, 1, 5, 2, 6, 3, 7)


def test_a_kernel_that_says_nothing_of_caches(tmp_path: Path) -> None:
    cpus = topology.read_host_cpus((3, 1), tmp_path)
    assert cpus == (Cpu(3, 3, 3), Cpu(1, 1, 1)) and topology.order_cpus(cpus, "l3") == (1, 3)


def test_another_spread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="spread 'wide': is not one of l3, cores, compact"):
        topology.order_cpus(side_by_side(tmp_path), "wide")


def test_a_lab_machine_has_the_caches_of_its_file() -> None:
    places = host_nodes.list_lab_nodes("opteron-6172-4s")[1].places
    assert places[0] == Cpu(6, 6, 6, MIB // 2, 5 * MIB) and {cpu.l3 for cpu in places} == {6}
    loongson = host_nodes.list_lab_nodes("ls3a-2s")[0].places[0]
    assert (loongson.l2_bytes, loongson.l3_bytes) == (4 * MIB, 4 * MIB), "the last level counts as L3"


@pytest.mark.parametrize("text, size", [
    ("0.5 L2", MIB // 2), ("0.9 L3", 15073280), ("4 L3", 64 * MIB), ("0.25 node", 256 * MIB), ("0.001 L2", 65536)])
def test_sizes_are_parts_of_the_machine(text: str, size: int) -> None:
    assert relative.resolve_size(text, host_nodes.list_lab_nodes("cxl-3n")) == size


def test_a_part_of_a_node_is_the_same_in_each_boot() -> None:
    """A kernel reserves more or less of it: of 1 GiB, 905 and 950 MiB were seen to be left."""
    nodes = host_nodes.list_lab_nodes("cxl-3n")
    sizes = {relative.resolve_size("0.25 node", [replace(node, total_kib=node.total_kib - reserved) for node in nodes])
             for reserved in (0, 20_000, 75_000, 121_000)}
    assert sizes == {256 * MIB}


def test_a_machine_that_does_not_say_its_caches() -> None:
    nodes = [replace(node, places=()) for node in host_nodes.list_lab_nodes("demo-2s")]
    assert relative.resolve_size("0.5 node", nodes) == 512 * MIB
    with pytest.raises(UsageError, match="size '4 L3': this machine does not say how large its L3 is; give bytes"):
        relative.resolve_size("4 L3", nodes)


@pytest.mark.parametrize("text, count", [("all", 12), ("1/2", 6), ("1/4", 3), ("1/16", 1)])
def test_threads_are_parts_of_the_cores(text: str, count: int) -> None:
    assert relative.resolve_threads(text, 12) == count


def test_parts_that_are_no_parts_get_one_line() -> None:
    with pytest.raises(UsageError, match="'half' is no number of threads: give a number, a part as '1/4', or 'all'"):
        relative.resolve_threads("half", 4)


def test_levels_become_numbers_and_equal_ones_are_one() -> None:
    contention = replace(suites.load_suite("contention"), levels={"local": [0, 1, "1/4", "1/2", "all"], "remote": ["all"]})
    found = designs.expand_suite(contention, host_nodes.list_lab_nodes("xeon-e5620-2s"))
    assert found.levels == {"local": [0, 1, 2, 4], "remote": [4]}
    stream = replace(suites.load_suite("numa-stream"), levels=suites.load_suite("numa-stream").levels | {"threads": [1, "1/2", "all"]})
    assert designs.expand_suite(stream, host_nodes.list_lab_nodes("xeon-x7560-4s")).levels["threads"] == [1, 16, 32]


def test_a_suite_is_run_with_every_spread_that_it_asks_for() -> None:
    suite = suites.load_suite("split")
    suite = replace(suite, levels={"local": [2], "remote": [0], "spread": ["l3", "cores", "compact"]})
    nodes = [replace(node, places=tuple(replace(cpu, l3=cpu.id % 2 + node.cpus[0]) for cpu in node.places))
             for node in host_nodes.list_lab_nodes("xeon-e5620-2s")]
    found = designs.expand_suite(replace(suite, levels=suite.levels | {"spread": ["l3", "compact"]}), nodes).workloads
    one = designs.expand_suite(suite, host_nodes.list_lab_nodes("xeon-e5620-2s")).workloads
    assert [(w.name, w.factors, w.options["spread"]) for w in one] == [
        ("split-2L0R", {"local": 2, "remote": 0}, "l3")], "orders that are the same on this machine are one level"
    assert [(w.name, w.factors["spread"], w.options["spread"]) for w in found] == [
        ("split-2L0R-l3", "l3", "l3"), ("split-2L0R-compact", "compact", "compact")]


def test_the_matrix_has_a_node_of_memory_alone() -> None:
    suite = replace(suites.load_suite("latency-matrix"), levels={"chains": [1]})
    found = designs.expand_suite(suite, host_nodes.select_usable(1, "latency-matrix", among=host_nodes.list_lab_nodes("cxl-3n"))).workloads
    assert [(w.factors["from"], w.factors["to"]) for w in found] == [(a, b) for a in (0, 1) for b in (0, 1, 2)]
    assert designs.expand_suite(suite, host_nodes.list_lab_nodes("demo-2s")[:1]).workloads[0].factors == {"chains": 1, "from": 0, "to": 0}

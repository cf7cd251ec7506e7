# SPDX-License-Identifier: GPL-2.0-only
"""Workloads that the designs make of their levels, on the lab's machines by their files."""

from collections import Counter
from dataclasses import replace

import pytest

from experiments.commands.campaign.piece import list_suites
from experiments.errors import UsageError
from experiments.host import host_nodes
from experiments.host.topology import Cpu
from experiments.runner.options import RunOptions
from experiments.runner.suite import designs, schedule
from experiments.runner.suite import suite as suites

NAMES = [name for name in suites.list_names() if suites.load_suite(name).design]


def workloads(name: str, on: str, **levels: list) -> dict[str, suites.Workload]:
    suite = suites.load_suite(name)
    found = designs.expand_suite(replace(suite, levels=suite.levels | levels), host_nodes.list_lab_nodes(on)).workloads
    assert len({w.name for w in found}) == len(found)
    return {w.name: w for w in found}


def where(workload: suites.Workload) -> list[tuple[int, tuple[int, ...], int]]:
    return [(task.runs_on, task.memory_on, task.threads) for task in workload.tasks]


def test_contention_has_every_pair_but_none_of_both() -> None:
    found = workloads("contention", "xeon-e5620-2s")
    assert {(w.factors["local"], w.factors["remote"]) for w in found.values()} == {
        (x, y) for x in range(5) for y in range(5)} - {(0, 0)}
    assert where(found["contention-2L1R"]) == [(0, (0,), 1), (0, (0,), 1), (1, (0,), 1)]
    assert [task.group for task in found["contention-2L1R"].tasks] == ["local", "local", "remote"]


def test_threads_instead_of_processes() -> None:
    found = workloads("contention", "xeon-e5620-2s", workers=["processes", "threads"])
    assert len(found) == 48 and found["contention-2L1R"].factors["workers"] == "processes"
    assert where(found["contention-2L3R-threads"]) == [(0, (0,), 2), (1, (0,), 3)]
    assert where(found["contention-0L3R-threads"]) == [(1, (0,), 3)]


def test_levels_that_a_machine_cannot_have_are_left_out() -> None:
    assert "contention-3L0R" not in workloads("contention", "demo-2s")
    assert len(workloads("contention", "demo-2s")) == 8
    assert max(w.factors["local"] + w.factors["remote"]
               for w in workloads("split", "xeon-e5620-2s").values()) == 4


def test_cross_and_split() -> None:
    assert where(workloads("cross", "xeon-e5620-2s")["cross-1x2"]) == [(0, (1,), 1), (1, (0,), 1), (1, (0,), 1)]
    assert where(workloads("split", "xeon-e5620-2s")["split-1L2R"]) == [(0, (0,), 1), (0, (1,), 1), (0, (1,), 1)]


def test_stream_spreads_threads_sparsely_and_goes_to_another_package() -> None:
    found = workloads("numa-stream", "opteron-6172-4s")
    assert {w.factors["threads"] for w in found.values()} == {1, 2, 4, 8, 16, 24, 32, 40, 48}
    assert Counter(task.threads for task in found["copy-strided-local-24t"].tasks) == {3: 8}
    assert len(found["copy-unstrided-remote-4t"].tasks) == 4
    distances = [node.distances for node in host_nodes.list_lab_nodes("opteron-6172-4s")]
    far = max(max(row.values()) for row in distances)
    near = min(d for row in distances for d in row.values() if d > 10)
    assert near < far
    for task in found["copy-unstrided-remote-48t"].tasks:
        assert distances[task.runs_on][task.memory_on[0]] > near
    memory = [task.memory_on for task in found["copy-unstrided-remote-48t"].tasks]
    assert sorted(memory) == [(k,) for k in range(8)]


def test_cachetest_has_alphas_for_zipf_alone() -> None:
    found = workloads("cachetest", "opteron-sixcore-4s")
    assert len(found) == 10 * 2 * (1 + 1 + 9)
    assert "alpha" not in found["uniform-500K-local"].factors
    zipf = found["zipf1.05-2447K-remote"]
    assert zipf.factors == {"pattern": "zipf", "alpha": 1.05, "size_kb": 2447, "memory": "remote"}
    assert where(zipf) == [(1, (0,), 1)] and int(zipf.options["size"]) % 4096 == 0


def test_times_have_the_papers_sizes_on_real_machines() -> None:
    real = suites.replace_levels(suites.load_suite("random-update"), suites.load_suite("random-update").real)
    found = designs.expand_suite(real, host_nodes.list_lab_nodes("xeon-e5-2620v4-2s")).workloads
    assert {(w.factors["size"], w.factors["accesses"]) for w in found} == {
        (20 << 20, 10**7),  # 4 L3 of this machine, beside the paper's
        (3 * 10**8, 3 * 10**8), (3 * 10**8, 10**7), (9 * 10**8, 10**7),  # the printed count, and the one that its time fits
        (10**10 % 2**32, 10**10 % 2**32), (10**11 % 2**32, 10**11 % 2**32), (10**10 % 2**32, 10**11 % 2**32)}  # overflowed


def on_lab(name: str, on: str, **levels: list) -> dict[str, suites.Workload]:
    """With the nodes of memory alone, as a run has them."""
    suite = suites.load_suite(name)
    nodes = host_nodes.select_usable(1, name, among=host_nodes.list_lab_nodes(on))
    return {w.name: w for w in designs.expand_suite(replace(suite, levels=suite.levels | levels), nodes).workloads}


def test_load_stands_beside_the_chase_and_memory_alone_is_a_level() -> None:
    found = on_lab("loaded-latency", "cxl-3n", mix=["2:1"], delay=[0, 50])
    assert {(w.factors["memory"], w.factors["delay"]) for w in found.values()} == {
        (memory, delay) for memory in ("local", "remote", "memory-only") for delay in (0, 50)}
    assert where(found["loaded-memory-only-2r1w-3t-d0"]) == [(0, (2,), 1), (0, (2,), 3)]
    assert where(found["loaded-remote-2r1w-3t-d50"]) == [(0, (1,), 1), (0, (1,), 3)]


@pytest.mark.parametrize("name", [
    "cachetest", "sort", "random-update", "numa-stream", "redis-benchmark", "redis-memtier",
    *(f"redis-{name}" for name in ("lists", "keys", "zsets", "tokens"))])
def test_memory_alone_is_a_level_where_the_machine_has_it(name: str) -> None:
    found = [w for w in on_lab(name, "cxl-3n").values() if w.factors["memory"] == "memory-only"]
    if name.startswith("redis"):
        found = [replace(w, tasks=w.tasks[:1]) for w in found]  # the client is beside its server
    assert found and all(task.memory_on == (2,) and task.runs_on < 2 for w in found for task in w.tasks)
    assert not any(w.factors["memory"] == "memory-only" for w in on_lab(name, "demo-2s").values())


def test_memory_alone_in_the_designs_of_two_groups() -> None:
    """All memory, or that of the remote group; the levels are told apart where both are there."""
    found = on_lab("contention", "cxl-3n", local=[2], remote=[1])
    assert where(found["contention-2L1R-memory-only"]) == [(0, (2,), 1), (0, (2,), 1), (1, (2,), 1)]
    assert found["contention-2L1R"].factors == {"local": 2, "remote": 1, "memory": "local"}
    assert where(on_lab("split", "cxl-3n", local=[1], remote=[1])["split-1L1R-memory-only"]) == [(0, (0,), 1), (0, (2,), 1)]
    assert on_lab("contention", "demo-2s")["contention-1L1R"].factors == {"local": 1, "remote": 1}


def test_data_of_work_stealing_on_memory_alone() -> None:
    found = on_lab("work-stealing", "cxl-3n")["heat-vanilla-memory-only"]
    assert (found.factors["data"], found.options["data"], where(found)) == ("memory-only", "2", [(0, (2,), 1)])
    assert not any("memory-only" in name for name in on_lab("work-stealing", "demo-2s"))


def test_a_listed_workload_of_memory_alone() -> None:
    found = on_lab("policy-matrix", "cxl-3n")
    assert where(found["memory-only"]) == [(0, (2,), 1), (1, (2,), 1)] and len(found) == 9
    cxl = host_nodes.select_usable(1, "policy-matrix", among=host_nodes.list_lab_nodes("cxl-3n"))
    two = designs.expand_suite(suites.load_suite("policy-matrix"), [*cxl, replace(cxl[2], id=3)]).workloads
    assert [(w.name, w.tasks[0].memory_on) for w in two if "memory-only" in w.name] == [
        ("memory-only-2", (2,)), ("memory-only-3", (3,))]
    assert "memory-only" not in on_lab("policy-matrix", "demo-2s")


def test_lines_go_between_cores_of_a_cache_and_of_two_nodes() -> None:
    found = on_lab("core-to-core", "cxl-3n")
    near, far = found["same-L3-node1-dirty-reader"], found["other-node-0to1-clean-owner"]
    assert (near.options["owner_cpu"], near.options["reader_cpu"], where(near)) == (4, 5, [(1, (1,), 1)])
    assert (far.options["owner_cpu"], far.options["reader_cpu"], where(far)) == (0, 4, [(1, (0,), 1)])
    assert len(found) == 2 * 2 + 2 * 2 * 2 and not any("same-node" in name for name in found)


def test_two_caches_of_a_node_and_siblings() -> None:
    """CPUs 2k and 2k + 1 are a core, four CPUs share a cache: the owner's sibling reads nothing."""
    node = host_nodes.list_lab_nodes("demo-2s")[0]
    places = tuple(Cpu(n, n // 2 * 2, n // 4 * 4, 1 << 20, 1 << 24) for n in range(8))
    pairs = [(apart, a[1], b[1]) for apart, a, b in designs.list_core_pairs([replace(node, cpus=tuple(range(8)), places=places)])]
    assert pairs == [("same L3", 0, 2), ("same node", 0, 4)]


@pytest.mark.parametrize("name", NAMES)
def test_every_suite_fits_its_machines_quick_and_whole(name: str) -> None:
    suite = suites.load_suite(name)
    for on in suite.machines:
        whole = designs.expand_suite(suite, host_nodes.list_lab_nodes(on))
        quick = designs.expand_suite(suites.replace_levels(suite, suite.quick), host_nodes.list_lab_nodes(on))
        assert 2 <= len(schedule.make_schedule(quick)) < len(schedule.make_schedule(whole))
        alone = {"memory"} if name in ("contention", "split") else set()  # of one level on a machine without such nodes
        assert all(set(w.factors) >= set(whole.levels) - {"alpha", "case"} - alone for w in whole.workloads)


@pytest.mark.parametrize("name, changes, said", [
    ("sort", {"design": "none such"}, "design 'none such' is not one of contention, cross, "),
    ("contention", {"levels": {"local": [1]}}, "design contention needs the factor remote"),
    ("contention", {"levels": {"local": [1], "remote": [1], "locale": [1]}}, "factor 'locale' is not one of local, remote"),
    ("contention", {"levels": {"local": [9], "remote": [9]}}, "no combination of its levels fits"),
    ("cachetest", {"levels": suites.load_suite("cachetest").levels | {"spread": ["l3"]}},
     "suite cachetest: factor 'spread': it measures with one thread a node"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_design_and_wrong_levels_get_one_line(name: str, changes: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        designs.expand_suite(replace(suites.load_suite(name), **changes), host_nodes.list_lab_nodes("xeon-e5620-2s"))


@pytest.mark.parametrize("name", ["latency-matrix", "loaded-latency", "core-to-core", "work-stealing"])
def test_what_measures_places_that_it_names_has_no_placement(name: str) -> None:
    suite, nodes = suites.load_suite(name), host_nodes.list_lab_nodes("cxl-3n")
    designs.expand_suite(suite, nodes)
    with pytest.raises(UsageError, match=f"^suite {name}: has no placement: it.* leave --placements out$"):
        designs.expand_suite(suites.choose_cells(suite, None, ["none", "n-mass"]), nodes)


def test_all_suites_leave_those_out_and_say_why(capsys) -> None:
    names = {name for name, _ in list_suites(RunOptions(lab="cxl-3n", policies=["none", "interleave"]))}
    assert "core-to-core" not in names and {"contention", "cross", "cachetest", "redis-lists"} <= names
    assert "core-to-core: left out, has no placement: it measures" in capsys.readouterr().out

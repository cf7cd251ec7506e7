# SPDX-License-Identifier: GPL-2.0-only
"""Which nodes the suites take for remote ones, and that check-machine and the manifest say it."""

from dataclasses import replace

import pytest

from experiments.host import distance, host_nodes
from experiments.runner import check_machine
from experiments.runner.suite import designs
from experiments.runner.suite import suite as suites

ALL_NODES = {"numa-stream", "work-stealing", "latency-matrix", "loaded-latency", "core-to-core", "arena", "kernel-mm", "promotion", "tier-ratio",
             "np-llm", "np-buffers", "np-postgres"}
TWO_NODES = [name for name in suites.list_names() if name not in ALL_NODES]


def made(rows: list[list[int]], ids: list[int] | None = None) -> list[host_nodes.Node]:
    ids = ids or list(range(len(rows)))
    return [host_nodes.Node(number, tuple(range(4 * k, 4 * k + 4)), dict(zip(ids, rows[k])), 64 << 20, 64 << 20)
            for k, number in enumerate(ids)]


PACKAGES = [[10, 16, 22, 22], [16, 10, 22, 22], [22, 22, 10, 16], [22, 22, 16, 10]]


def used(name: str, nodes: list[host_nodes.Node]) -> set[int]:
    found = designs.expand_suite(suites.load_suite(name), nodes)
    return {n for w in found.workloads for task in w.tasks for n in (task.runs_on, *task.memory_on)}


@pytest.mark.parametrize("name", TWO_NODES)
def test_suites_of_two_nodes_take_another_package(name: str) -> None:
    assert used(name, made(PACKAGES)) == {0, 2}
    assert used(name, made(PACKAGES, [0, 2, 4, 6])) == {0, 2}


@pytest.mark.parametrize("name", TWO_NODES)
def test_suites_of_two_nodes_stay_on_the_first_two_of_their_machines_in_the_lab(name: str) -> None:
    """What was measured there stays comparable."""
    suite = suites.load_suite(name)
    for on in suite.machines:
        assert used(name, host_nodes.list_lab_nodes(on)) == {0, 1}
        if suite.design:  # the design's own positions are those of HOME and FAR
            as_made = tuple(w for w in designs.DESIGNS[suite.design].make(suite.levels, host_nodes.list_lab_nodes(on))
                            if designs.fits_nodes(w, host_nodes.list_lab_nodes(on)))
            assert designs.expand_suite(suite, host_nodes.list_lab_nodes(on)).workloads == as_made


@pytest.mark.parametrize("rows, pair", [
    ([[10, 20], [20, 10]], (0, 1)),
    ([[10, 20, 20], [20, 10, 20], [20, 20, 10]], (0, 1)),
    ([[10, 20, 20], [20, 10, 30], [20, 30, 10]], (1, 2)),
    ([[10, 31, 22], [20, 10, 20], [22, 20, 10]], (0, 2)),  # 0 to 1 is far, 1 to 0 is not
    ([[10]], (0, 1)),
])
def test_the_farthest_pair_is_the_first_of_its_kind(rows: list[list[int]], pair: tuple[int, int]) -> None:
    assert distance.find_far_pair(made(rows)) == pair


@pytest.mark.parametrize("name", ["cachetest", "sort", "contention", "latency-matrix", "core-to-core"])
def test_where_there_is_one_node_nothing_is_called_remote(name: str) -> None:
    alone = replace(host_nodes.list_lab_nodes("demo-2s")[0], distances={0: 10})
    found = designs.expand_suite(suites.load_suite(name), [alone]).workloads
    assert found and all(w.factors.get("memory") != "remote" and not w.factors.get("remote") for w in found)


@pytest.mark.parametrize("name, pairs", [
    ("contention", [(4, 0, 22)]), ("cross", [(0, 4, 22), (4, 0, 22)]), ("sort", [(0, 4, 22)]),
    ("cachetest", [(4, 0, 22)]), ("redis-keys", [(0, 4, 22)]), ("work-stealing", []),
    ("numa-stream", [(0, 4, 22), (2, 6, 22), (4, 0, 22), (6, 2, 22)]),
])
def test_a_run_s_distances_are_known_by_ids(name: str, pairs: list[tuple[int, int, int]]) -> None:
    nodes = made(PACKAGES, [0, 2, 4, 6])
    found = designs.expand_suite(suites.load_suite(name), nodes)
    assert [tuple(one.values()) for one in distance.list_remote(found.workloads, nodes)] == pairs


def said(rows: list[list[int]], monkeypatch) -> list[str]:
    monkeypatch.setattr(host_nodes, "list_nodes", lambda _root: made(rows))
    return [f.what for f in check_machine.check_nodes(check_machine.Machine()) if "distances" in f.what]


def test_check_machine_says_which_nodes_are_remote(monkeypatch) -> None:
    assert said(PACKAGES, monkeypatch) == ["nodes at several distances: suites of two nodes take 0 and 2, 22 apart; "
                                           "numa-stream takes the farthest that all nodes have at once"]
    assert said([[10, 21], [21, 10]], monkeypatch) == []

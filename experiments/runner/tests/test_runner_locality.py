# SPDX-License-Identifier: GPL-2.0-only
"""Locality is counted over anonymous pages, by the node that a task runs on."""

from typing import Any

from experiments.runner import locality, observe


def task(node: int | None, **pages: int) -> dict[str, Any]:
    """As 'numaplace ps --json' prints it; n0 and n1 are the pages on nodes 0 and 1."""
    return {"pid": 1, "comm": "t", "threads": 1, "cores": 1, "cpus": "0-1", "node": node,
            "pages": {name[1:]: count for name, count in pages.items()},
            "file_pages": {"0": 1000, "1": 1000}, "locality": None,
            "penalty": {"value": 1.2, "source": "declared"},
            "mpki": {"value": 2.0, "source": "declared"}}


def test_of_one_task() -> None:
    assert locality.compute_locality([task(0, n0=300, n1=100)]) == 0.75
    assert locality.compute_locality([task(1, n0=300, n1=100)]) == 0.25
    assert locality.compute_locality([task(1, n0=300)]) == 0.0
    assert locality.compute_locality([task(0)]) is None
    assert locality.compute_locality([task(None, n0=300)]) is None


def test_over_all_tasks_every_page_counts_the_same() -> None:
    assert locality.compute_locality([task(0, n0=900), task(1, n0=100)]) == 0.9
    assert locality.compute_locality([task(0, n0=0, n1=10), task(1, n0=10, n1=0)]) == 0.0
    assert locality.compute_locality([task(0, n0=10), task(None, n1=10)]) is None
    assert locality.compute_locality([task(0), task(1)]) is None


def test_share_on_some_nodes() -> None:
    spread = task(0, n0=60, n1=40)
    assert locality.compute_share(spread, [0]) == 0.6
    assert locality.compute_share(spread, [0, 1]) == 1.0
    assert locality.compute_share(task(0), [1]) == 0.0


def test_pages_that_are_to_be_spread_are_not_where_all_are_on_one_node() -> None:
    assert locality.compute_smallest_share(task(0, n0=50, n1=50), [0, 1]) == 1.0
    assert locality.compute_smallest_share(task(0, n0=60, n1=40), [0, 1]) == 0.8
    assert locality.compute_smallest_share(task(0, n0=100), [0, 1]) == 0.0
    assert locality.compute_smallest_share(task(0, n0=90, n1=10), [0]) == 0.9


APPLIED = {"platform": "lab-functional", "policy": "maximum-local", "undone": False, "decisions": [
    {"pid": 10, "to": 0, "pages_to": 0, "result": {"cpus": None, "mem": None, "migrate": None}},
    {"pid": 11, "to": 0, "pages_to": 0, "result": {"cpus": "0-1", "mem": None, "migrate": {"moved": 6}}},
    {"pid": 12, "to": 1, "pages_to": 1, "result": {"cpus": None, "mem": "preferred:1",
                                                   "migrate": {"moved": 800}}}]}


def test_what_apply_has_changed() -> None:
    assert observe.list_placed(APPLIED) == [11, 12]
    assert observe.list_placed(APPLIED | {"undone": True}) == []
    assert observe.count_moved_pages(APPLIED) == 806


def test_a_task_s_record_is_the_contract_s() -> None:
    record = observe.make_task_record("server", task(1, n0=80, n1=20), task(0, n0=100), None)
    assert record["role"] == "server"
    assert (record["node_before"], record["node_after"]) == (1, 0)
    assert (record["locality_before"], record["locality_after"]) == (0.2, 1.0)
    assert record["pages_before"] == {"0": 80, "1": 20}
    assert record["pages_after"] == {"0": 100}

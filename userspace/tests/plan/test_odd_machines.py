# SPDX-License-Identifier: GPL-2.0-only
"""Plans on machines that public reports describe (numactl 127, 165; xen-api 6249; gramine 2122; kubernetes 135581), as snapshots."""
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
GIB, MIB_PAGES = 1 << 30, 256
Decided = dict[int, tuple[int | None, int]]  # of each pid: the node that it goes to, and how many pages move


def distances(n: int, remote: int) -> list[list[int]]:
    return [[10 if i == j else remote for j in range(n)] for i in range(n)]


def machine(rows: list[list[int]], cpus: list[str], memory: list[int], first: int = 0) -> list[dict[str, Any]]:
    """memory: GiB of each node."""
    return [{"id": first + i, "cpus": cpus[i], "has_memory": memory[i] > 0, "mem_total": memory[i] * GIB, "mem_free": memory[i] * GIB // 2,
             "distances": row} for i, row in enumerate(rows)]


def task(pid: int, node: int, mib: dict[int, int], cores: int = 1) -> dict[str, Any]:
    return {"pid": pid, "start": pid, "comm": f"t{pid}", "threads": cores, "cores": cores, "node": node, "cpus": "",
            "pages": {str(on): size * MIB_PAGES for on, size in mib.items()},
            "penalty": {"value": 1.6, "source": "declared"}, "mpki": {"value": 20, "source": "declared"}}


def written(folder: Path, nodes: list[dict[str, Any]], tasks: list[dict[str, Any]]) -> Path:
    for one in tasks:
        one["cpus"] = next(node["cpus"] for node in nodes if node["id"] == one["node"])
        one["pages"] = {str(node["id"]): one["pages"].get(str(node["id"]), 0) for node in nodes}
        one["file_pages"] = dict.fromkeys(one["pages"], 0)
    path = folder / "odd.json"
    path.write_text(json.dumps({"snapshot": 1, "platform": "real", "tasks": tasks,
                                "machine": {"name": "odd", "page_size": 4096, "nodes": nodes}}))
    return path


def numaplace(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "build/numaplace", *words], capture_output=True, text=True, timeout=60, check=False)


def decided(snapshot: Path, policy: str = "maximum-local", *words: str) -> Decided:
    done = numaplace("plan", "--json", "--snapshot", snapshot, "-p", policy, *words)
    assert done.returncode == 0, done.stderr
    return {one["pid"]: (one["to"], one["pages_to_move"]) for one in json.loads(done.stdout)["decisions"]}


def test_a_task_on_a_node_whose_cpus_are_all_isolated_has_a_decision(tmp_path: Path) -> None:
    nodes = machine(distances(2, 21), ["0-3", "4-7"], [8, 8])
    nodes[1]["usable_cpus"] = 0
    assert set(decided(written(tmp_path, nodes, [task(91, 1, {1: 500}), task(92, 0, {1: 100})]), "none")) == {91, 92}


def large(n: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Boards of eight nodes; a task on every fourth has its memory five nodes further."""
    rows = [[10 if i == j else 40 if i // 8 == j // 8 else 65 for j in range(n)] for i in range(n)]
    return (machine(rows, [f"{4 * i}-{4 * i + 3}" for i in range(n)], [8] * n),
            [task(1000 + i, i, {(i + 5) % n: 200}, 2) for i in range(0, n, 4)])


@pytest.mark.parametrize(("nodes", "tasks", "expected"), [
    pytest.param(machine(distances(4, 12), ["0-5", "6-11", "12-17", "18-23"], [0, 64, 64, 0]),
                 [task(11, 0, {2: 1000}), task(12, 3, {1: 500, 2: 500}), task(13, 1, {1: 900})],
                 {11: (2, 0), 12: (1, 500 * MIB_PAGES), 13: (1, 0)}, id="memory-at-two-of-four-nodes"),
    pytest.param(machine(distances(4, 20), ["", "", "0-7", ""], [8, 5, 0, 1]), [task(21, 2, {0: 700, 3: 300}), task(22, 2, {1: 800})],
                 {21: (2, 0), 22: (2, 0)}, id="cpus-on-a-node-without-memory"),
    pytest.param(machine(distances(4, 20), ["0-7", "8-15", "16-23", "24-31"], [32] * 4, first=4), [task(71, 4, {7: 500}), task(72, 7, {4: 500})],
                 {71: (7, 0), 72: (4, 0)}, id="nodes-4-to-7"),
    pytest.param(machine([[10, 15, 21], [15, 10, 23], [26, 23, 10]], ["0-7", "8-15", "16-23"], [64] * 3),
                 [task(41, 0, {2: 2000}, 4), task(42, 2, {0: 2000}, 4)], {41: (2, 0), 42: (0, 0)}, id="distances-not-symmetric"),
    pytest.param(machine([[10, 21, 255], [21, 10, 255], [255, 255, 10]], ["0-7", "8-15", ""], [64] * 3), [task(61, 0, {2: 1000}), task(62, 1, {0: 1000})],
                 {61: (0, 1000 * MIB_PAGES), 62: (0, 0)}, id="a-node-that-is-called-unreachable"),
    pytest.param(machine(distances(2, 10), ["0-7", "8-15"], [32, 32]), [task(81, 0, {1: 500})], {81: (1, 0)}, id="all-distances-equal"),
])
def test_tasks_go_to_their_memory(tmp_path: Path, nodes: list[dict[str, Any]], tasks: list[dict[str, Any]], expected: Decided) -> None:
    assert decided(written(tmp_path, nodes, tasks)) == expected


@pytest.mark.parametrize("policy", ["maximum-local", "n-mass", "carrefour", "asymsched", "weighted", "interleave", "none"])
def test_256_nodes(tmp_path: Path, policy: str) -> None:
    assert len(decided(written(tmp_path, *large(256)), policy)) == 64


def test_memory_of_devices_is_left_by_tasks_of_the_processors(tmp_path: Path) -> None:
    """Two nodes with CPUs, and 32 of which every eighth has a device's memory."""
    rows = [[10 if i == j else 40 if i < 2 and j < 2 else 80 for j in range(34)] for i in range(34)]
    nodes = machine(rows, ["0-71", "72-143", *[""] * 32], [480, 480, *[186 * (i % 8 == 0) for i in range(32)]])
    tasks = [task(30 + i, i % 2, {1 - i % 2: 4000, 2: 50}, 8) for i in range(4)]
    assert {to for to, _ in decided(written(tmp_path, nodes, tasks)).values()} == {0, 1}
    assert all(moved == 50 * MIB_PAGES for _, moved in decided(written(tmp_path, nodes, tasks)).values())


def test_nodes_that_are_not_named_get_no_page(tmp_path: Path) -> None:
    """Nodes 2 to 9 hold devices' memory."""
    rows = [[10 if i == j else 40 if i < 2 and j < 2 else 80 for j in range(10)] for i in range(10)]
    snapshot = written(tmp_path, machine(rows, ["0-7", "8-15", *[""] * 8], [64] * 10), [task(91, 0, {0: 500, 3: 500})])
    assert decided(snapshot, "interleave")[91][1] == 800 * MIB_PAGES  # a tenth stays on each of the two
    assert decided(snapshot, "interleave", "--nodes", "0-1")[91][1] == 500 * MIB_PAGES  # from node 3 to node 1
    refused = numaplace("plan", "--snapshot", snapshot, "-p", "interleave", "--nodes", "2-3")
    assert (refused.returncode, refused.stderr) == (1, "numaplace: --nodes 2-3: none of them has CPUs and memory; add one that has\n")


def test_a_thousand_cpus(tmp_path: Path) -> None:
    nodes = machine(distances(4, 20), [f"{256 * i}-{256 * i + 255}" for i in range(4)], [64] * 4)
    tasks = [task(100 + i, i, {(i + 1) % 4: 1000}, 200) for i in range(4)]
    assert decided(written(tmp_path, nodes, tasks)) == {100 + i: ((i + 1) % 4, 0) for i in range(4)}


def test_more_nodes_than_the_model_has_room_for(tmp_path: Path) -> None:
    done = numaplace("plan", "--snapshot", written(tmp_path, *large(65)), "-p", "measured")
    assert done.returncode == 3 and "room for 64 nodes; machine odd has 65" in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return written(tmp_path, machine(distances(2, 20), ["0-1", "2-3"], [1, 1]), [task(91, 0, {1: 100})])


def test_a_snapshot_is_planned_with_a_model(two: Path) -> None:
    assert decided(two, "measured") == {91: (1, 0)}


def test_a_predicted_loss_is_not_carried_out(tmp_path: Path) -> None:
    local = written(tmp_path, machine(distances(2, 20), ["0-1", "2-3"], [1, 1]), [task(92, 0, {0: 100})])
    assert decided(local, "weighted")[92][1] > 0
    done = numaplace("plan", "--json", "--snapshot", local, "-p", "weighted", "--least-gain", "1")
    one, = json.loads(done.stdout)["decisions"]
    assert one["pages_to_move"] == 0 and re.match(r"left alone: the plan is predicted to bring a throughput of 0\.\d+ times the present one, "
                                                  r"--least-gain is 1$", one["reason"]), one["reason"]


@pytest.mark.parametrize(("model", "status", "said"), [("demo-2s", 0, ""), ("/no/such.toml", 1, "/no/such.toml cannot be read: No such file or directory"),
                                                       ("cxl-3n", 1, "another number of nodes than machine odd")])
def test_the_model_that_is_named_is_used(two: Path, model: str, status: int, said: str) -> None:
    found = numaplace("plan", "--snapshot", two, "-p", "weighted", "--model", model)
    assert found.returncode == status and said in found.stderr

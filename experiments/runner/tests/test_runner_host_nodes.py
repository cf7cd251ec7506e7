# SPDX-License-Identifier: GPL-2.0-only
"""Nodes as sysfs lists them: ids may have gaps, a node may have no memory."""

from pathlib import Path

import pytest

from experiments.host import host_nodes
from experiments.runner.suite import designs
from experiments.runner.suite import suite as suites


def far_ids(found: list[host_nodes.Node]) -> dict[int, int]:
    """Where numa-stream has each node's remote memory, by ids."""
    made = designs.expand_suite(suites.load_suite("numa-stream"), found).workloads
    tasks = next(w for w in made if w.name == "copy-unstrided-remote-16t").tasks
    return {found[task.runs_on].id: found[task.memory_on[0]].id for task in tasks}


def test_a_node_without_memory_has_its_place_among_the_distances(tmp_path: Path) -> None:
    """Two packages of two nodes each, as the kernel writes them: 'distance' has a number for each node that is online, no other."""
    for number, row in {0: "10 99 16 22 22", 1: "99 10 99 99 99", 2: "16 99 10 22 22", 5: "22 99 22 10 16", 7: "22 99 22 16 10"}.items():
        folder, total = tmp_path / f"node{number}", 0 if number == 1 else 1 << 20
        folder.mkdir()
        for name, text in (("cpulist", f"{4 * number}-{4 * number + 3}"), ("distance", row),
                           ("meminfo", f"Node {number} MemTotal: {total} kB\nNode {number} MemFree: {total} kB")):
            (folder / name).write_text(text + "\n")
    found = host_nodes.list_nodes(tmp_path)
    assert found[3].distances == {0: 22, 1: 99, 2: 22, 5: 10, 7: 16}
    assert far_ids(host_nodes.select_usable(2, "numa-stream", among=found)) == {0: 5, 2: 7, 5: 0, 7: 2}


@pytest.mark.parametrize(("cmdline", "lab", "named"), [
    ("quiet numaplace_lab=demo-2s,timed x", "demo-2s", "demo-2s"),
    ("numaplace_lab=demo-2s,timed numaplace_lab_set=dram.latency_ns=90,core.mhz=2000 x", "demo-2s",
     "demo-2s+dram.latency_ns=90,core.mhz=2000"),
    ("quiet", None, "host"),
])
def test_results_are_of_a_machine_with_what_lab_run_changed(cmdline: str, lab: str | None, named: str, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_nodes, "CMDLINE", tmp_path / "cmdline")
    monkeypatch.setattr(host_nodes.platform, "node", lambda: "host")
    host_nodes.CMDLINE.write_text(cmdline + "\n")
    assert host_nodes.read_lab_name() == lab
    assert host_nodes.read_machine_name() == named


@pytest.mark.parametrize(("cmdline", "scale"), [
    ("quiet numaplace_lab=demo-2s/16,timed x", 16),
    ("numaplace_lab=demo-2s/16,timed numaplace_lab_set=core.mhz=2000", 16),
    ("numaplace_lab=demo-2s,timed", 1),
    ("quiet", 1),
    ("numaplace_lab=demo-2s/16,functional x", 1),
])
def test_a_machine_has_a_part_of_its_speed_only_where_times_mean_something(cmdline: str, scale: int, tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_nodes, "CMDLINE", tmp_path / "cmdline")
    host_nodes.CMDLINE.write_text(cmdline + "\n")
    assert host_nodes.read_lab_scale() == scale

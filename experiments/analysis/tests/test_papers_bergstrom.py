# SPDX-License-Identifier: GPL-2.0-only
"""Bergstrom: numbers like those of the figures and the text."""

import re
from pathlib import Path

import pytest

from experiments.analysis.papers import bergstrom
from experiments.analysis.runs.results import read_results
from experiments.analysis.tests import factorial

pytestmark = pytest.mark.full("a paper more; test_papers_luo has the same comparison")

THREADS = (1, 2, 4, 8, 16, 24, 32, 40, 48)
AWARE = dict(zip(THREADS, (1.7, 3.4, 6.9, 13.8, 27.2, 39.8, 49.4, 53.8, 55.4)))  # GB/s, AMD
UNAWARE = dict(zip(THREADS, (1.6, 3.3, 6.6, 13.2, 26.0, 35.5, 39.9, 41.3, 39.0)))


def stream(unaware: dict[int, float], strides: float = 8.0, bus: float = 1.5) -> list[factorial.Cell]:
    """Bytes on the bus: as many strided as not. Latencies grow faster than bandwidth stays behind."""
    cells = []
    for n in THREADS:
        for memory, table in (("local", AWARE), ("remote", unaware)):
            for access, scale in (("unstrided", 1.0), ("strided", strides)):
                bandwidth = 1000 * table[n] / scale
                metrics = {"bandwidth": (bandwidth, "MB/s"), "active_nodes": (min(n, 8), "nodes"),
                           "bandwidth_bus": (1000 * bus * table[n], "MB/s")}
                if access == "strided":
                    metrics["latency"] = ((150 if memory == "remote" else 90) * (table[1] * n / table[n]) ** 2, "ns")
                cells.append(({"operation": "copy", "access": access, "memory": memory, "threads": n}, metrics))
    return cells


def chapter(tmp_path: Path, cells: list[factorial.Cell], machine: str = "opteron-6172-4s"):
    found = factorial.make_records("numa-stream", cells)
    directory = factorial.write_run(tmp_path, found, ["bergstrom-stream"], machine, nodes=8)
    return bergstrom.make_stream(read_results(directory), "b")


@pytest.mark.parametrize(("machine", "name", "off"), [("opteron-6172-4s", bergstrom.AMD, 400), ("xeon-x7560-4s", bergstrom.INTEL, 15_400)])
def test_peak_and_strides_stand_beside_the_texts(tmp_path: Path, machine: str, name: str, off: float) -> None:
    """55 000 and 40 000 MB/s; a uniform machine has the same, as local memory alone is in them."""
    found = chapter(tmp_path, stream(UNAWARE), machine)
    peak, strides = found.compared
    assert (found.machine, peak.printed.cell, strides.printed.low) == (name, "peak", 8)
    assert peak.difference == pytest.approx(off, abs=200) and strides.difference == pytest.approx(0, abs=0.05)
    assert (peak.uniform, strides.uniform) == (peak.ours.value, strides.ours.value)
    assert "55\u202f383 MB/s" in found.found and "48 threads" in found.found


def test_bandwidth_of_a_node_is_divided_by_active_nodes(tmp_path: Path) -> None:
    found = chapter(tmp_path, stream(UNAWARE))
    assert [d.number for d in found.drawings] == ["Fig. 3", "Fig. 4", "Fig. 5"]
    told = re.search(r"<desc[^>]*>(.*?)</desc>", found.drawings[1].svg)[1]
    per_node = dict(re.findall(r"(\d+): ([\d\u202f.]+)", told.split(";")[0]))
    assert float(per_node["48"].replace("\u202f", "")) == pytest.approx(55400 / 8, rel=0.01)
    assert float(per_node["4"].replace("\u202f", "")) == pytest.approx(6900 / 4, rel=0.01)
    assert "local memory, theory" in told and "21\u202f300" in told


def test_each_order_of_taking_cpus_stands_apart(tmp_path: Path) -> None:
    found = [({**factors, "spread": spread}, metrics | {"bandwidth": (metrics["bandwidth"][0] / (1 + k), "MB/s")})
             for k, spread in enumerate(("l3", "compact")) for factors, metrics in stream(UNAWARE)]
    directory = factorial.write_run(tmp_path, factorial.make_records("numa-stream", found), ["bergstrom-stream"],
                                    machine="opteron-6172-4s")
    both = bergstrom.make_stream(read_results(directory), "b")
    own, apart = both.tables
    assert not both.missing and apart.number == "Spread compact"
    assert [row[1].value for row in apart.rows] == pytest.approx([row[1].value / 2 for row in own.rows], rel=0.02)
    assert own.rows[0][1].value == pytest.approx(1700, rel=0.02)

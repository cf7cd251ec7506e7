# SPDX-License-Identifier: GPL-2.0-only
"""Sections of latency-matrix, loaded-latency and core-to-core, from records whose numbers are known."""

import json
import re
from pathlib import Path
from typing import Any

from experiments.analysis.pages import memory_figures, report
from experiments.analysis.runs.results import read_results
from experiments.runner.suite.suite import FOLDER


def a_run(folder: Path, suite: str, cells: list[tuple[dict[str, Any], dict[str, float]]], repeats: int = 3) -> Path:
    """Values scatter by -1, 0, 1 around those that are given."""
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({
        "suite": suite, "machine": "made-up", "nodes": [], "suite_text": (FOLDER / f"{suite}.toml").read_text()}))
    lines = [{"suite": suite, "workload": f"w{k}", "policy": "none", "repeat": repeat, "order": k, "seed": 1,
              "platform": "lab-timed", "started": "", "seconds": 1, "tasks": [], "apply": None, "marks": [], "check": "ok",
              "factors": factors, "metrics": [{"name": name, "unit": "ns", "value": value + repeat - 1}
                                              for name, value in metrics.items()]}
             for repeat in range(repeats) for k, (factors, metrics) in enumerate(cells)]
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def tips(svg: str) -> list[str]:
    return re.findall(r'data-more="[^"]*"[^>]*><title>([^<]*)', svg)


def section_of(folder: Path) -> memory_figures.Section:
    section, = memory_figures.make_sections(read_results(folder))
    return section


def test_the_matrix_has_a_row_a_node_with_cpus_and_a_column_a_node_with_memory(tmp_path: Path) -> None:
    cells = [({"chains": n, "from": a, "to": b}, {"latency": 1000 * n + 100 * a + 10 * b})
             for n in (1, 4) for a in (0, 1) for b in (0, 1, 8)]
    folder = a_run(tmp_path / "run", "latency-matrix", cells)
    section = section_of(folder)
    assert [table.head for table in section.tables] == [("node", "0", "1", "8")] * 2
    assert [[cell.value for cell in row[1:]] for row in section.tables[0].rows] == [[1000, 1010, 1080], [1100, 1110, 1180]]
    assert section.tables[1].rows[1][3].value == 4180 and len(section.drawings) == 2
    text = memory_figures.format_section(section)
    assert "idle" in text and "4 loads in flight" in text and "1180.0 ± 2.5" in text
    page = report.write_report(folder)[0].read_text()
    assert 'id="latency-matrix"' in page and "does not know" not in page
    assert "core of node 1, memory of node 8\nlatency, ns: 1180\nn = 3: 1179, 1180, 1181\n0 more are marked" in tips(page)
    assert "core of node 1: 0 1" in page.replace(" ", " "), "the figure is told in words too"


def test_latency_under_load_is_drawn_over_bandwidth(tmp_path: Path) -> None:
    cells = [({"memory": memory, "mix": mix, "load": 3, "delay": delay},
              {"bandwidth": 9000 - delay, "latency": 90 + base + 1000 / (delay + 10)})
             for memory, base in (("local", 0), ("memory-only", 100)) for mix in ("1:0", "2:1") for delay in (0, 50, 500)]
    section = section_of(a_run(tmp_path / "run", "loaded-latency", cells))
    assert [drawing.number for drawing in section.drawings] == [
        "Latency over bandwidth, local memory", "Latency over bandwidth, memory-only memory"]
    assert "1:0\nbandwidth, MB/s 8\u202f500: 92.0 (89.5 to 94.4)\nn = 3: 90.96078431, 91.96078431, 92.96078431" in tips(
        section.drawings[0].svg)
    row = section.tables[1].rows[3]
    assert (row[0].text, row[1].value, row[2].value) == ("2:1, 0", 9000, 290)
    told = re.search(r"1:0: ([^;]*);", section.drawings[0].svg)[1]
    assert [float(part.split(": ")[1]) for part in told.split(", ")] == [92, 107, 190], "by bandwidth, the least first"


def test_core_to_core_has_a_line_for_each_pair(tmp_path: Path) -> None:
    cells = [({"apart": apart, "state": state, "home": home, "owner": a, "reader": b},
              {"latency": (20 if a == b else 150) + 30 * (state == "dirty") + 5 * (home == "owner")})
             for state in ("clean", "dirty")
             for apart, home, a, b in (("same L3", "reader", 0, 0), ("other node", "reader", 0, 1), ("other node", "owner", 0, 1))]
    section = section_of(a_run(tmp_path / "run", "core-to-core", cells))
    assert section.tables[0].head == ("cores", "clean", "dirty")
    assert "dirty\nsame L3: 50.0\nn = 3: 49, 50, 51" in tips(section.drawings[0].svg)
    assert {row[0].text: (row[1].value, row[2].value) for row in section.tables[0].rows} == {
        "same L3: node 0": (20, 50), "other node: 0 to 1, memory of the reader": (150, 180),
        "other node: 0 to 1, memory of the owner": (155, 185)}


def test_a_run_without_clean_observations_has_no_section(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", "latency-matrix", [({"chains": 1, "from": 0, "to": 0}, {"latency": 9})], repeats=1)
    path = folder / "results.jsonl"
    path.write_text(path.read_text().replace('"marks": []', '"marks": ["made up"]'))
    assert memory_figures.make_sections(read_results(folder)) == []


def test_levels_that_a_section_does_not_know_are_never_averaged(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", "latency-matrix", [({"chains": 1, "from": 0, "to": 0, "spread": spread}, {"latency": ns})
                                                        for spread, ns in (("cores", 90), ("compact", 190))])
    section = section_of(folder)
    assert not section.tables and section.missing == ["one level of spread (compact, cores: never averaged)"]
    assert "compact, cores: never averaged" in report.write_report(folder)[0].read_text()
    assert "compact, cores: never averaged" in memory_figures.format_section(section)


def test_policies_have_sections_of_their_own(tmp_path: Path) -> None:
    slow, fast = (a_run(tmp_path / str(ns), "latency-matrix", [({"chains": 1, "from": 0, "to": 0}, {"latency": ns})])
                  for ns in (190, 90))
    with (slow / "results.jsonl").open("a") as lines:
        lines.write((fast / "results.jsonl").read_text().replace('"policy": "none"', '"policy": "interleave"'))
    none, interleave = memory_figures.make_sections(read_results(slow))
    assert [s.tables[0].rows[0][1].value for s in (none, interleave)] == [190, 90]
    assert none.name != interleave.name and interleave.title.endswith(", policy interleave")


def with_topology(folder: Path, nodes: list[dict[str, Any]]) -> Path:
    a_run(folder, "latency-matrix", [({"chains": 1, "from": 0, "to": 0}, {"latency": 9})])
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"topology": nodes}))
    return folder


def test_the_machines_nodes_are_drawn_by_distance(tmp_path: Path) -> None:
    """Three nodes, the last without CPUs and the only one of which firmware tells a latency."""
    nodes = [{"id": k, "cpus": cpus, "mem_total": 512 << 20, "distances": row, "latency_ns": latency, "bandwidth": None}
             for k, cpus, row, latency in ((0, "0-1", [10, 21, 17], None), (1, "2-3", [21, 10, 28], None),
                                           (4, "", [17, 28, 10], 250.0))]
    folder = with_topology(tmp_path / "run", nodes)
    section = memory_figures.describe_topology(read_results(folder))
    assert section.tables[0].head == ("node", "CPUs", "memory, MiB", "read latency, ns")
    assert [[cell.text for cell in row] for row in section.tables[0].rows] == [
        ["0", "0-1", "512", "–"], ["1", "2-3", "512", "–"], ["4", "none", "512", "250"]]
    assert re.search(r"<desc[^>]*>(.*?)</desc>", section.drawings[0].svg)[1] == (
        "CPUs of node 0: 0 10.0, 1 21.0, 4 17.0; CPUs of node 1: 0 21.0, 1 10.0, 4 28.0")
    assert ">CPUs of node 1, memory of node 4\ndistance: 28</title>" in section.drawings[0].svg
    assert 'id="topology"' in report.write_report(folder)[0].read_text()


def test_one_node_has_no_distances(tmp_path: Path) -> None:
    folder = with_topology(tmp_path / "run", [{"id": 0, "cpus": "0", "mem_total": 1 << 30, "distances": [10]}])
    assert memory_figures.describe_topology(read_results(folder)) is None and 'id="topology"' not in report.write_report(folder)[0].read_text()

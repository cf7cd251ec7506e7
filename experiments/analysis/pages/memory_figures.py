# SPDX-License-Identifier: GPL-2.0-only
"""What latency-matrix, loaded-latency and core-to-core measured, in the form of Intel MLC's tables, and drawn; and the
machine's nodes, as its firmware describes them.

A section of measurements is a name that a suite may give in `presents`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from ..figures import charts, heatmap
from ..figures.charts import Curve, Point
from ..papers.cells import Cells
from ..papers.chapter import Cell, Drawing, Table, format_number
from ..runs import text_format
from ..runs.results import Results


@dataclass
class Section:
    name: str
    title: str
    says: str  # how to read it
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # why there are no tables


def make_sections(results: Results, prefix: str = "memory") -> list[Section]:
    """Makes a section for each presentation of the suite and each policy, in the suite's order; without those that have no data."""
    found = [_make_section(results, name, policy, prefix)
             for name in results.presents if name in SECTIONS for policy in results.policies]
    return [section for section in found if section.tables or section.missing]


def _make_section(results: Results, name: str, policy: str, prefix: str) -> Section:
    """Makes the section of one presentation under one policy, with what the run lacks for it in `missing`."""
    make, factors = SECTIONS[name]
    cells, place = Cells(results.select_policy(policy), factors), results.policies.index(policy)
    section = make(cells, f"{prefix}-{name}-{place}")
    section.missing = cells.refused
    if len(results.policies) > 1:
        section.name += f"-{place}"
        section.title += f", policy {policy}"
    return section


def make_matrix(cells: Cells, slug: str) -> Section:
    """Makes the section of latencies from node to node: for each number of chains a table in ns and a grid."""
    section = Section("latency-matrix", "Latencies from node to node",
                      "A row is a node whose core loads, a column a node whose memory it loads from; a node without CPUs "
                      "has a column only. ns from one load to the next of the same chain: with several chains in flight "
                      "a core that overlaps them takes no longer, until something is saturated.")
    for chains in cells.list_levels("chains", "latency"):
        rows, columns = (cells.list_levels(name, "latency", chains=chains) for name in ("from", "to"))
        grid = [[cells.interval("latency", chains=chains, **{"from": a, "to": b}) for b in columns] for a in rows]
        load = "idle: one load at a time" if chains == 1 else f"{chains} loads in flight"
        section.tables.append(Table(
            f"Latency in ns, {load}", "Mean with a 95 % interval.", ("node", *(str(b) for b in columns)),
            tuple((Cell(str(a)), *(format_number(cell, decimals=1) for cell in row)) for a, row in zip(rows, grid, strict=True))))
        means = [[cell.mean if cell else None for cell in row] for row in grid]
        raw = [[charts.list_raw(cells.select(chains=chains, **{"from": a, "to": b}), "latency") for b in columns] for a in rows]
        svg = heatmap.draw_grid(means, rows, columns, f"{slug}-{chains}", f"Latency, {load}", "memory of node",
                                "core of node", "latency, ns", raw=raw)
        section.drawings.append(Drawing(f"Latency, {load}", Markup(svg), "Darker is longer; the table has the digits."))
    return section


def draw_loaded(cells: Cells, slug: str) -> Section:
    """Makes the section of latency in ns over bandwidth in MB/s: for each memory a drawing of all loads, and a table."""
    section = Section("loaded-latency", "Latency under load",
                      "One core chases pointers while others of its node read and write the same memory at a pace. "
                      "Bandwidth: lines that memory gives and takes back, the chase's own included. R:W: lines read to "
                      "lines written back.")
    for memory in cells.list_levels("memory", "latency"):
        named = list(_make_load_curves(cells, memory))
        curves = [Curve(name, tuple(sorted(_make_points(cells, fixed), key=lambda p: p.x))) for name, fixed in named]
        svg = charts.draw_lines(curves, f"{slug}-{memory}", f"Latency under load, {memory} memory", "bandwidth, MB/s", "latency, ns")
        section.drawings.append(Drawing(f"Latency over bandwidth, {memory} memory", Markup(svg),
                                        "A point is a pace of the load; bars: 95 % intervals of the latency."))
        rows = [(Cell(f"{name}, {delay}"), format_number(cells.interval("bandwidth", delay=delay, **fixed), decimals=0),
                 format_number(cells.interval("latency", delay=delay, **fixed), decimals=1))
                for name, fixed in named for delay in cells.list_levels("delay", "latency", **fixed)]
        section.tables.append(Table(f"Latency and bandwidth, {memory} memory", "Mean with a 95 % interval.",
                                    ("R:W, steps after a line", "bandwidth, MB/s", "latency, ns"), tuple(rows)))
    return section


def _make_load_curves(cells: Cells, memory: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields name and levels, by factor, of each curve of one memory; number of threads and order of CPUs are named where they vary."""
    for mix in cells.list_levels("mix", "latency", memory=memory):
        loads = cells.list_levels("load", "latency", memory=memory, mix=mix)
        for load in loads:
            factors = {"memory": memory, "mix": mix, "load": load}
            name = mix + (f", {load} threads" if len(loads) > 1 else "")
            spreads = cells.list_levels("spread", "latency", **factors)
            for spread in spreads or [None]:
                order = {} if spread is None else {"spread": spread}
                yield name + (f", {spread}" if spread else ""), factors | order


def _make_points(cells: Cells, fixed: dict[str, Any]) -> Iterator[Point]:
    """Yields bandwidth in MB/s and latency in ns, with its interval, for each pace (`delay`) at the levels `fixed` that has both."""
    for delay in cells.list_levels("delay", "latency", **fixed):
        x, y = (cells.interval(name, delay=delay, **fixed) for name in ("bandwidth", "latency"))
        if x and y:
            yield Point(x.mean, y.mean, y.low, y.high, charts.list_raw(cells.select(delay=delay, **fixed), "latency"))


def draw_handover(cells: Cells, slug: str) -> Section:
    """Makes the section of latencies in ns from core to core: a table of all pairs of nodes, and bars by distance."""
    section = Section("core-to-core", "From core to core",
                      "A core loads lines that are in the caches of another core, which has read them (clean: MLC's HIT) or "
                      "written them (dirty: MLC's HITM). Their memory is on the node of the reader or of the owner.")
    states = cells.list_levels("state", "latency")
    rows, curves = [], {state: [] for state in states}
    for apart in cells.list_levels("apart", "latency"):
        for owner in cells.list_levels("owner", "latency", apart=apart):
            for reader in cells.list_levels("reader", "latency", apart=apart, owner=owner):
                for home in cells.list_levels("home", "latency", apart=apart, owner=owner, reader=reader):
                    fixed = {"apart": apart, "owner": owner, "reader": reader, "home": home}
                    found = [cells.interval("latency", state=state, **fixed) for state in states]
                    where = f"node {owner}" if owner == reader else f"{owner} to {reader}, memory of the {home}"
                    rows.append((Cell(f"{apart}: {where}"), *(format_number(cell, decimals=1) for cell in found)))
    distances = [level for level in ("same L3", "same node", "other node") if level in cells.list_levels("apart", "latency")]
    for state in states:
        for k, level in enumerate(distances):
            found = cells.interval("latency", apart=level, state=state)
            if found:
                raw = charts.list_raw(cells.select(apart=level, state=state), "latency")
                curves[state].append(Point(float(k), found.mean, raw=raw))
    if not rows:
        return section
    section.tables.append(Table("Latency in ns, owner to reader", "Mean with a 95 % interval.",
                                ("cores", *states), tuple(rows)))
    svg = charts.draw_bars(distances, [Curve(s, tuple(points)) for s, points in curves.items()], f"{slug}-bars",
                           "From core to core", "latency, ns")
    section.drawings.append(Drawing("Latency by distance", Markup(svg), "Means over all pairs of nodes; the table has each."))
    return section


SECTIONS: dict[str, tuple[Callable[[Cells, str], Section], tuple[str, ...]]] = {  # with the factors that they know
    "latency-matrix": (make_matrix, ("chains", "from", "to")),
    "loaded-latency": (draw_loaded, ("memory", "mix", "load", "delay", "spread")),
    "core-to-core": (draw_handover, ("apart", "state", "home", "owner", "reader"))}


FIRMWARE = (("read latency, ns", "latency_ns", 1.0), ("read bandwidth, GB/s", "bandwidth", 1e9))  # title, key of a node, divisor


def describe_topology(results: Results) -> Section | None:
    """Makes the section of the machine's nodes, their distances and what firmware says of their memory.

    Returns None for one node, or where the manifest lacks nodes or distances."""
    nodes = [node for node in results.manifest.get("topology") or [] if isinstance(node, dict)]
    if len(nodes) < 2 or any(len(node.get("distances") or []) != len(nodes) for node in nodes):
        return None
    section = Section("topology", "The machine's nodes", "Distances are those of the firmware's table (SLIT): 10 is the node "
                      "itself. Latency and bandwidth are the firmware's too (HMAT), from the nearest CPUs; most machines give none.")
    firmware = [(title, key, divisor) for title, key, divisor in FIRMWARE if any(node.get(key) for node in nodes)]
    section.tables.append(Table("Nodes", "At the beginning of the run.",
                                ("node", "CPUs", "memory, MiB", *(name for name, *_ in firmware)),
                                tuple(_describe_node(node, firmware) for node in nodes)))
    rows, columns = [n for n in nodes if n.get("cpus")], [k for k, n in enumerate(nodes) if n.get("mem_total")]
    grid = [[float(row["distances"][k]) for k in columns] for row in rows]
    svg = heatmap.draw_grid(grid, [n["id"] for n in rows], [nodes[k]["id"] for k in columns], "topology", "Distances",
                            "memory of node", "CPUs of node", "distance")
    section.drawings.append(Drawing("Distances", Markup(svg), "Darker is farther."))
    return section


def _describe_node(node: dict[str, Any], firmware: list[tuple[str, str, float]]) -> tuple[Cell, ...]:
    """Makes the row of a node of the manifest: id, CPUs, memory in MiB, and its value of each of `firmware` (title, key, divisor)."""
    values = [node.get(key) for _, key, _ in firmware]
    scaled = [value / divisor if value else None for value, (*_, divisor) in zip(values, firmware, strict=True)]
    memory_mib = (node.get("mem_total") or 0) / (1 << 20)
    return (Cell(str(node.get("id"))), Cell(str(node.get("cpus") or "none")),
            Cell(text_format.format_count(memory_mib) if memory_mib else "none", memory_mib),
            *(Cell(text_format.format_number(value), value) for value in scaled))


def format_section(section: Section) -> str:
    """Formats the tables of a section as text for a terminal."""
    parts = [f"{section.title}: not in this run: {', '.join(section.missing)}"] if section.missing else []
    for table in section.tables:
        lines = [table.head, *([cell.text for cell in row] for row in table.rows)]
        name_width, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
        parts.append("\n".join([f"{section.title}: {table.number}", *(
            "  ".join([name.ljust(name_width), *map(str.rjust, numbers, widths)]) for name, *numbers in lines)]))
    return "\n\n".join(parts)

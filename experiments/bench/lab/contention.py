# SPDX-License-Identifier: GPL-2.0-only
"""Luo et al. 2013 with running triads: Table 1 cell by cell, the cross and the split pattern, in one boot."""

from dataclasses import dataclass

import numpy as np

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.model_fit import luo

TRIAD = ["build/np-mem", "triad", "--kernel", "plain"]  # the paper's compiler made no non-temporal stores
Threads = list[tuple[int, int]]  # CPU, memory node of each
Cell = tuple[str, int, int]      # kind ("table", "cross", "split"), numbers of threads x and y: build_KIND_cells() says which
OPPOSITE = (0, 1, 4)             # threads in the cross pattern
LEAST_FALL = 0.02                # of the change, by each further thread of the split pattern


@dataclass(frozen=True)
class Setup:
    """Says how a table of the paper is measured."""
    table: luo.Table
    size: str        # of an array: what one thread uses is several times the last level
    seconds: float   # simulated, of each cell
    warm: float      # simulated, before: until what filled the arrays has left the caches
    mean: float      # bounds of the absolute error, relative to 4L0R
    worst: float | None  # None: not checked


E5620 = Setup(luo.E5620, "8M", 0.03, 0.012, 0.06, 0.20)
LS3A = Setup(luo.LS3A, "4M", 0.15, 0.1, 0.08, None)


def place_threads(node: int, memory_node: int, count: int, first: int = 0) -> Threads:
    """Returns `count` threads, one a CPU, on a node's CPUs from its `first` on; may be none."""
    return [(luo.CORES * node + first + index, memory_node) for index in range(count)]


def build_table_cells() -> dict[Cell, Threads]:
    """Builds the cells of Table 1: x local and y remote threads use the memory of node 0."""
    return {("table", x, y): place_threads(0, 0, x) + place_threads(1, 0, y)
            for x in luo.THREADS for y in luo.THREADS if x + y}


def build_cross_cells() -> dict[Cell, Threads]:
    """Builds the cells of the cross pattern: x threads on node 0 and y on node 1, each with memory of the other node."""
    return {("cross", x, y): place_threads(0, 1, x) + place_threads(1, 0, y) for x in luo.SOME for y in OPPOSITE}


def build_split_cells() -> dict[Cell, Threads]:
    """Builds the cells of the split pattern: of the threads on node 0, one a core, x have local and y remote memory."""
    return {("split", x, y): place_threads(0, 0, x) + place_threads(0, 1, y, x)
            for x in luo.SOME for y in luo.SOME if x + y <= luo.CORES}


class Measured:
    """Measures all cells of a setup when it is made, and holds MB/s of each thread by cell."""
    def __init__(self, setup: Setup):
        """Boots the setup's machine and measures. ExperimentError: the measurement failed."""
        cells = build_table_cells() | build_cross_cells() | build_split_cells()
        plans = [{"size": setup.size, "threads": [list(thread) for thread in cell], "warm": setup.warm}
                 for cell in cells.values()]
        results = inside.measure_cells(setup.table.machine, TRIAD, plans, setup.seconds, keep=True, timeout=1800)
        self.mb_s = dict(zip(cells, results, strict=True))

    def sum_first(self, kind: str, x: int, y: int) -> float:
        """Returns the MB/s of the x threads of a cell together, which are the first that it names."""
        return sum(self.mb_s[kind, x, y][:x])

    def build_table(self) -> np.ndarray:
        """Returns the totals of the table's cells in MB/s, as an array by numbers of local and of remote threads."""
        total = np.zeros((luo.CORES + 1, luo.CORES + 1))
        for (kind, x, y), result in self.mb_s.items():
            if kind == "table":
                total[x, y] = sum(result)
        return total

    def compute_change(self, kind: str, x: int, y: int) -> float:
        """Returns the relative change of the bandwidth of x threads by the y others of the cell."""
        alone = self.sum_first("table", x, 0) if kind == "split" else self.sum_first(kind, x, 0)
        return self.sum_first(kind, x, y) / alone - 1


def show_table(out: Outcome, setup: Setup, total: np.ndarray):
    """Shows the cells of the table beside the paper's, in parts of 4L0R, and checks their mean and worst error; `total` is in MB/s."""
    paper, ours = setup.table.read_cells(), total / total[luo.CORES, 0]
    out.say("cell   paper    lab  residual")
    for x in luo.THREADS:
        for y in luo.THREADS:
            if x + y:
                note = "  outlier of the paper" if (x, y) in setup.table.outliers else ""
                out.say(f"{x}L{y}R  {paper[x, y]:6.3f} {ours[x, y]:6.3f}  {ours[x, y] - paper[x, y]:+7.3f}{note}")
    residual = np.abs(ours - paper)
    mean = residual.sum() / (residual.size - 1)
    out.say(f"mean absolute error {mean:.3f} of 4L0R over 24 cells, worst {residual.max():.3f}; "
            f"4L0R is {total[luo.CORES, 0]:.0f} MB/s")
    if setup.table.outliers:
        fitted = setup.table.select_fitted()
        out.say(f"without the outliers {residual[fitted].mean():.3f} over {fitted.sum()} cells, "
                f"worst {residual[fitted].max():.3f}")
    name = setup.table.machine
    out.at_most(f"{name}: 24 cells, mean error", mean, setup.mean)
    if setup.worst:
        out.at_most(f"{name}: 24 cells, worst error", residual.max(), setup.worst)


def show_pattern(out: Outcome, measured: Measured, kind: str, title: str):
    """Shows the changes of a kind of cell: a row for each number of x threads, of changes by y others."""
    out.say(title)
    keys = sorted((x, y) for k, x, y in measured.mb_s if k == kind and y)
    for x in sorted({x for x, _ in keys}):
        row = [f"{y}: {measured.compute_change(kind, x, y):+6.1%}" for first, y in keys if first == x]
        out.say(f"  {x}   " + "   ".join(row))


def measure_setup(setup: Setup) -> tuple[Outcome, Measured]:
    """Measures a setup, shows its table and both patterns, and returns outcome and bandwidths."""
    out, measured = Outcome(), Measured(setup)
    total = measured.build_table()
    show_table(out, setup, total)
    show_pattern(out, measured, "cross", "cross: change of 1-4 threads (rows) by so many opposite ones")
    show_pattern(out, measured, "split", "split: change of 1-3 local threads (rows) by so many beside them")
    out.data = {"table": (total / total[luo.CORES, 0]).tolist(), "paper": setup.table.read_cells().tolist(),
                "mb_per_s": {" ".join(map(str, key)): value for key, value in measured.mb_s.items()}}
    return out, measured


def compare_remote_alone(measured: Measured) -> float:
    """Returns the relative difference of the bandwidth of four remote threads to that of four local ones."""
    return sum(measured.mb_s["table", 0, 4]) / sum(measured.mb_s["table", 4, 0]) - 1


def list_splits(measured: Measured) -> list[tuple[int, int, float]]:
    """Lists x, y and the change of each cell of the split pattern."""
    return [(x, y, measured.compute_change("split", x, y)) for kind, x, y in measured.mb_s if kind == "split"]


def measure_e5620() -> Outcome:
    """Measures the Xeon E5620 and checks table, cross and split beside the paper; returns the outcome."""
    out, measured = measure_setup(E5620)
    out.between("E5620: four remote threads against four local", compare_remote_alone(measured), -0.32, -0.18)
    share = measured.sum_first("table", 4, 4) / sum(measured.mb_s["table", 4, 4])
    out.between("E5620: local threads' part at 4L4R", share, 0.50, 0.60, "{:.1%}")
    for x in (2, 3, 4):
        out.between(f"E5620: cross, {x} threads by one opposite", measured.compute_change("cross", x, 1), -0.35, -0.25)
    out.at_least("E5620: cross, one thread by four opposite", measured.compute_change("cross", 1, 4), -0.05)
    flat = max(abs(measured.compute_change("cross", x, 4) - measured.compute_change("cross", x, 1)) for x in (2, 3, 4))
    out.at_most("E5620: cross, four opposite against one, points", flat, 0.05)
    changes = {(x, y): change for x, y, change in list_splits(measured)}
    falls = all(changes[x, y + 1] < changes[x, y] - LEAST_FALL for x, y in changes if (x, y + 1) in changes)
    out.at_least("E5620: split, each further thread takes more", float(falls), 1, "{:.0f}")
    return out


def measure_ls3a() -> Outcome:
    """Measures the Loongson 3A and checks it against the paper."""
    out, measured = measure_setup(LS3A)
    out.between("LS 3A: four remote threads against four local", compare_remote_alone(measured), -0.25, -0.15)
    worst = min(measured.compute_change("cross", x, y) for x in luo.SOME for y in OPPOSITE if y)
    out.between("LS 3A: cross, the largest loss", worst, -0.11, 0.0, "{:+.1%}")
    out.at_most("LS 3A: split, the largest change", max(abs(change) for _, _, change in list_splits(measured)), 0.05)
    return out

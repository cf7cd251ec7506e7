# SPDX-License-Identifier: GPL-2.0-only
"""Luo et al. 2013 with running triads: Table 1 cell by cell, the cross and the split pattern, in one boot."""

from dataclasses import dataclass

import numpy as np

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.model_fit import luo

TRIAD = ["build/np-mem", "triad", "--kernel", "plain"]  # the paper's compiler made no non-temporal stores
Threads = list[tuple[int, int]]  # CPU, memory node of each
OPPOSITE = (0, 1, 4)             # threads in the cross pattern


@dataclass(frozen=True)
class Setup:
    table: luo.Table
    size: str        # of an array: what one thread uses is several times the last level
    seconds: float   # simulated, of each cell
    warm: float      # simulated, before: until what filled the arrays has left the caches
    mean: float      # bounds of the absolute error, relative to 4L0R
    worst: float | None


E5620 = Setup(luo.E5620, "8M", 0.03, 0.012, 0.06, 0.20)
LS3A = Setup(luo.LS3A, "4M", 0.15, 0.1, 0.08, None)


def threads(node: int, memory: int, count: int, first: int = 0) -> Threads:
    return [(luo.CORES * node + first + index, memory) for index in range(count)]


def cells_of_table() -> dict[tuple, Threads]:
    return {("table", x, y): threads(0, 0, x) + threads(1, 0, y)
            for x in luo.THREADS for y in luo.THREADS if x + y}


def cells_of_cross() -> dict[tuple, Threads]:
    return {("cross", x, y): threads(0, 1, x) + threads(1, 0, y) for x in luo.SOME for y in OPPOSITE}


def cells_of_split() -> dict[tuple, Threads]:
    """No more threads than the node has cores."""
    return {("split", x, y): threads(0, 0, x) + threads(0, 1, y, x)
            for x in luo.SOME for y in luo.SOME if x + y <= luo.CORES}


class Measured:
    def __init__(self, setup: Setup):
        cells = cells_of_table() | cells_of_cross() | cells_of_split()
        asked = [{"size": setup.size, "threads": [list(one) for one in cell], "warm": setup.warm}
                 for cell in cells.values()]
        results = inside.measure_cells(setup.table.machine, TRIAD, asked, setup.seconds, keep=True, timeout=1800)
        self.of = dict(zip(cells, results, strict=True))

    def first(self, kind: str, x: int, y: int) -> float:
        """The sum over the x threads of a cell."""
        return sum(self.of[kind, x, y][:x])

    def table(self) -> np.ndarray:
        total = np.zeros((luo.CORES + 1, luo.CORES + 1))
        for (kind, x, y), result in self.of.items():
            if kind == "table":
                total[x, y] = sum(result)
        return total

    def change(self, kind: str, x: int, y: int) -> float:
        alone = self.first("table", x, 0) if kind == "split" else self.first(kind, x, 0)
        return self.first(kind, x, y) / alone - 1


def show_table(out: Outcome, setup: Setup, total: np.ndarray):
    paper, ours = setup.table.cells(), total / total[luo.CORES, 0]
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
        fitted = setup.table.fitted()
        out.say(f"without the outliers {residual[fitted].mean():.3f} over {fitted.sum()} cells, "
                f"worst {residual[fitted].max():.3f}")
    name = setup.table.machine
    out.at_most(f"{name}: 24 cells, mean error", mean, setup.mean)
    if setup.worst:
        out.at_most(f"{name}: 24 cells, worst error", residual.max(), setup.worst)


def show_pattern(out: Outcome, measured: Measured, kind: str, title: str):
    out.say(title)
    keys = sorted((x, y) for k, x, y in measured.of if k == kind and y)
    for x in sorted({x for x, _ in keys}):
        row = [f"{y}: {measured.change(kind, x, y):+6.1%}" for first, y in keys if first == x]
        out.say(f"  {x}   " + "   ".join(row))


def common(setup: Setup) -> tuple[Outcome, Measured]:
    out, measured = Outcome(), Measured(setup)
    total = measured.table()
    show_table(out, setup, total)
    show_pattern(out, measured, "cross", "cross: change of 1-4 threads (rows) by so many opposite ones")
    show_pattern(out, measured, "split", "split: change of 1-3 local threads (rows) by so many beside them")
    out.data = {"table": (total / total[luo.CORES, 0]).tolist(), "paper": setup.table.cells().tolist(),
                "mb_per_s": {" ".join(map(str, key)): value for key, value in measured.of.items()}}
    return out, measured


def remote_alone(measured: Measured) -> float:
    return sum(measured.of["table", 0, 4]) / sum(measured.of["table", 4, 0]) - 1


def splits(measured: Measured) -> list[tuple[int, int, float]]:
    return [(x, y, measured.change("split", x, y)) for kind, x, y in measured.of if kind == "split"]


def e5620() -> Outcome:
    out, measured = common(E5620)
    out.between("E5620: four remote threads against four local", remote_alone(measured), -0.32, -0.18)
    share = measured.first("table", 4, 4) / sum(measured.of["table", 4, 4])
    out.between("E5620: local threads' part at 4L4R", share, 0.50, 0.60, "{:.1%}")
    for x in (2, 3, 4):
        out.between(f"E5620: cross, {x} threads by one opposite", measured.change("cross", x, 1), -0.35, -0.25)
    out.at_least("E5620: cross, one thread by four opposite", measured.change("cross", 1, 4), -0.05)
    flat = max(abs(measured.change("cross", x, 4) - measured.change("cross", x, 1)) for x in (2, 3, 4))
    out.at_most("E5620: cross, four opposite against one, points", flat, 0.05)
    changes = {(x, y): change for x, y, change in splits(measured)}
    falls = all(changes[x, y + 1] < changes[x, y] - 0.02 for x, y in changes if (x, y + 1) in changes)
    out.at_least("E5620: split, each further thread takes more", float(falls), 1, "{:.0f}")
    return out


def ls3a() -> Outcome:
    out, measured = common(LS3A)
    out.between("LS 3A: four remote threads against four local", remote_alone(measured), -0.25, -0.15)
    worst = min(measured.change("cross", x, y) for x in luo.SOME for y in OPPOSITE if y)
    out.between("LS 3A: cross, the largest loss", worst, -0.11, 0.0, "{:+.1%}")
    out.at_most("LS 3A: split, the largest change", max(abs(change) for _, _, change in splits(measured)), 0.05)
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""Luo et al. 2013: Table 1 cell by cell, and the cross and split patterns of its text."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.model_fit.native import TRIAD, Model, Traffic

REFERENCE = Path(__file__).parents[1] / "reference"
CORES = 4
THREADS = range(CORES + 1)


@dataclass(frozen=True)
class Table:
    """Names a table of the paper, and the machine that it is of."""
    machine: str
    file: str
    title: str
    outliers: frozenset[tuple[int, int]]  # (local, remote): reported, not fitted
    bound: float  # of the mean absolute error, relative to 4L0R

    def read_cells(self) -> np.ndarray:
        """Reads the total bandwidth with x local and y remote threads, relative to 4L0R; shape [x][y]."""
        text = (REFERENCE / self.file).read_text(encoding="utf-8")
        rows = [row for row in csv.reader(text.splitlines()) if row and row[0].isdigit()]
        return np.array([[float(cell) for cell in cells] for _local, *cells in rows])

    def select_fitted(self) -> np.ndarray:
        """Returns, by cell, whether the model is fitted to it."""
        left_out = self.outliers | {(0, 0)}
        return np.array([[(x, y) not in left_out for y in THREADS] for x in THREADS])


E5620 = Table("xeon-e5620-2s", "luo-table1-e5620.csv", "Table 1(b), Xeon E5620", frozenset(), 0.04)
LS3A = Table("ls3a-2s", "luo-table1-ls3a.csv", "Table 1(a), LS 3A", frozenset({(2, 3), (3, 4)}),
             0.06)


SOME = THREADS[1:]


def predict_contention(model: Model) -> np.ndarray:
    """Predicts x local threads on node 0, y remote ones on node 1, all data on node 0; bytes a second, shape [x][y]."""
    return np.array([[sum(model.compute_bandwidths([(0, 0, x), (1, 0, y)], TRIAD)) for y in THREADS]
                     for x in THREADS])


def predict_relative(model: Model) -> np.ndarray:
    """Predicts the table, relative to 4L0R."""
    totals = predict_contention(model)
    return totals / totals[CORES, 0]


def predict_local_share(model: Model) -> np.ndarray:
    """Returns the part of the total that the local threads get, from one thread on either side."""
    both = [[model.compute_bandwidths([(0, 0, x), (1, 0, y)], TRIAD) for y in SOME] for x in SOME]
    return np.array([[local / (local + remote) for local, remote in row] for row in both])


def predict_change(model: Model, first: tuple[int, int], second: tuple[int, int], traffic: Traffic = TRIAD) -> np.ndarray:
    """Predicts the relative change of x threads that use memory as `first` (from, to), when y more use it as `second`."""
    rows = []
    for x in SOME:
        alone = model.compute_bandwidths([(*first, x)], traffic)[0]
        both = [model.compute_bandwidths([(*first, x), (*second, y)], traffic)[0] for y in SOME]
        rows.append(np.array(both) / alone - 1)
    return np.array(rows)


def predict_cross(model: Model, traffic: Traffic = TRIAD) -> np.ndarray:
    """Predicts the change where threads on node 0 use node 1, and the opposite ones on node 1 use node 0."""
    return predict_change(model, (0, 1), (1, 0), traffic)


def compute_packet_cross(line: float, header: float, traffic: Traffic) -> float:
    """Returns the relative change of either side's bandwidth by the other, where either alone fills the link: a matter of the sizes of line
    and header only, in bytes.

    A read sends a header out and a header with a line back, a write the reverse; opposite threads fill each
    direction with what both send through it.
    """
    back = (1 - traffic.write_fraction) * (header + line) + traffic.write_fraction * header
    out = (1 - traffic.write_fraction) * header + traffic.write_fraction * (header + line)
    return max(back, out) / (back + out) - 1


def predict_split(model: Model) -> np.ndarray:
    """Predicts the change where threads on node 0 use node 0, and the others there use node 1."""
    return predict_change(model, (0, 0), (0, 1))


@dataclass(frozen=True)
class Errors:
    """Holds the model's absolute errors, relative to 4L0R."""
    mean: float          # over the table's 24 cells
    mean_fitted: float   # without the outliers
    worst: float
    worst_fitted: float


def compute_errors(table: Table, model: Model) -> Errors:
    """Computes the errors of a model against its table; 0L0R, which is 0 in both, is none of the cells."""
    residual = np.abs(predict_relative(model) - table.read_cells())
    fitted = residual[table.select_fitted()]
    return Errors(residual.sum() / (residual.size - 1), fitted.mean(), residual.max(), fitted.max())

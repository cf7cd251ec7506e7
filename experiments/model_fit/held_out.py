# SPDX-License-Identifier: GPL-2.0-only
"""What the contention model says of cells of Table 1 that it was not fitted to.

`errors.csv` has the error of a ratio of two cells, each predicted without its row. It is the model's error wherever
a verdict in the lab needs one.
"""

import csv
from dataclasses import dataclass
from itertools import combinations
from math import log, sqrt
from pathlib import Path

import numpy as np

from experiments.model_fit import fit, luo
from experiments.model_fit.native import Model

FILE = Path(__file__).with_name("errors.csv")
Cell = tuple[int, int]  # local, remote


@dataclass(frozen=True)
class Prediction:
    """4L0R is the unit of the table: it is fitted always and never predicted."""
    model: Model
    fitted: int                                # cells
    cells: dict[Cell, tuple[float, float]]     # held out: the paper's, the model's

    @property
    def mean(self) -> float:
        """Absolute error, relative to 4L0R."""
        return float(np.mean([abs(ours - paper) for paper, ours in self.cells.values()]))

    @property
    def worst(self) -> float:
        return max(abs(ours - paper) for paper, ours in self.cells.values())


def predict(name: str, held: set[Cell]) -> Prediction:
    """Fits the other cells and predicts these."""
    table = fit.FITS[name].table
    fitted = table.fitted()
    held = {cell for cell in held if fitted[cell] and cell != (luo.CORES, 0)}
    for cell in held:
        fitted[cell] = False
    _, model = fit.fit(name, fitted)
    paper, ours = table.cells(), luo.relative(model)
    return Prediction(model, int(fitted.sum()), {cell: (paper[cell], ours[cell]) for cell in sorted(held)})


def both_sides() -> set[Cell]:
    """The cells where local and remote threads run: predicted from those where one side is alone."""
    return {(x, y) for x in luo.SOME for y in luo.SOME}


def odd_cells() -> set[Cell]:
    """Half of the table, as the fields of one colour of a chessboard."""
    return {(x, y) for x in luo.THREADS for y in luo.THREADS if (x + y) % 2}


def rows(name: str) -> list[Prediction]:
    """Each row predicted from the four others."""
    return [predict(name, {(x, y) for y in luo.THREADS}) for x in luo.THREADS]


def ratio_error(predictions: list[Prediction]) -> float:
    """Root mean square, over all pairs of cells, of the logarithm of model over paper of their ratio."""
    off = [log(ours / paper) for one in predictions for paper, ours in one.cells.values()]
    return sqrt(np.mean([(a - b) ** 2 for a, b in combinations(off, 2)]))


def known() -> dict[str, float]:
    """The errors of a ratio by machine, from errors.csv."""
    lines = (line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {row["machine"]: float(row["ratio_error"]) for row in csv.DictReader(lines)}

# SPDX-License-Identifier: GPL-2.0-only
"""What the contention model says of cells of Table 1 that it was not fitted to."""

from dataclasses import dataclass

import numpy as np

from experiments.model_fit import fit, luo
from experiments.model_fit.native import Model

Cell = tuple[int, int]  # local, remote


@dataclass(frozen=True)
class Prediction:
    """Holds what a fit says of cells that it left out. 4L0R is the unit of the table: it is fitted always and never predicted."""
    model: Model
    fitted: int                                # number of cells
    cells: dict[Cell, tuple[float, float]]     # held out: the paper's, the model's

    @property
    def mean(self) -> float:
        """Returns the mean absolute error, relative to 4L0R."""
        return float(np.mean([abs(ours - paper) for paper, ours in self.cells.values()]))

    @property
    def worst(self) -> float:
        """Returns the largest absolute error, relative to 4L0R."""
        return max(abs(ours - paper) for paper, ours in self.cells.values())


def predict_cells(name: str, held: set[Cell]) -> Prediction:
    """Fits the model to the table of a machine of FITS without the cells `held`, and predicts these, but neither outliers, 0L0R nor 4L0R."""
    table = fit.FITS[name].table
    fitted = table.select_fitted()
    held = {cell for cell in held if fitted[cell] and cell != (luo.CORES, 0)}
    for cell in held:
        fitted[cell] = False
    _, model = fit.fit_machine(name, fitted)
    paper, ours = table.read_cells(), luo.predict_relative(model)
    return Prediction(model, int(fitted.sum()), {cell: (paper[cell], ours[cell]) for cell in sorted(held)})


def predict_rows(name: str) -> list[Prediction]:
    """Predicts each row of the table of a machine of FITS from the four others, in the order of luo.THREADS."""
    return [predict_cells(name, {(x, y) for y in luo.THREADS}) for x in luo.THREADS]


# A part of each table, in words and as cells.
PARTS: dict[str, tuple[str, set[Cell]]] = {
    luo.E5620.machine: ("where local and remote threads run", {(x, y) for x in luo.SOME for y in luo.SOME}),
    luo.LS3A.machine: ("with an odd number of threads", {(x, y) for x in luo.THREADS for y in luo.THREADS if (x + y) % 2})}

# SPDX-License-Identifier: GPL-2.0-only
"""Finds the numbers that the machine files call calibrated. Prints them; the files are edited by hand.

Bounded least squares from the middle of each range, with numerical derivatives: no random number, so
the same file gives the same answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from experiments.lab import machine
from experiments.model_fit import luo
from experiments.model_fit.native import Model

STEP = 1e-3          # relative, of the numerical derivatives: well above the solver's precision
BOUND_WEIGHT = 10  # of a breach of a bound in the text against a cell of the table
LS3A_CROSS = -0.10  # the text's bound on the LS 3A's cross pattern, relative


@dataclass(frozen=True)
class Free:
    """Names a number that is calibrated, and the range in which it is physically sensible."""
    section: str
    field: str
    low: float
    high: float

    @property
    def name(self) -> str:
        return f"{self.section}.{self.field}"


E5620 = [Free("port", "bandwidth_mb_s", 14000, 20000),
         Free("dram", "bandwidth_mb_s", 16000, 25600),
         Free("dram", "latency_ns", 60, 78),
         Free("dram", "local_overflow_loss", 0, 3),
         Free("dram", "remote_overflow_loss", 0, 3),
         Free("link", "bandwidth_mb_s", 6000, 11720),
         Free("link", "latency_ns", 28, 60)]

LS3A = [Free("port", "bandwidth_mb_s", 200, 800),
        Free("port", "variability", 0.01, 4),
        Free("dram", "bandwidth_mb_s", 300, 6400),
        Free("dram", "latency_ns", 60, 500),
        Free("dram", "stream_loss", 0, 0.05),
        Free("link", "latency_ns", 20, 500)]


def compute_ls3a_patterns(model: Model) -> np.ndarray:
    """Returns by how much each cell of the cross pattern is below the text's bound, weighted; 0 where it is not."""
    return BOUND_WEIGHT * np.minimum(0, luo.predict_cross(model) - LS3A_CROSS).ravel()


@dataclass(frozen=True)
class Fit:
    table: luo.Table
    free: list[Free]
    patterns: Callable[[Model], np.ndarray] | None  # more residuals
    bytes_per_s: float | None  # of a triad at 4L0R, where nothing else sets the table's scale


FITS = {luo.E5620.machine: Fit(luo.E5620, E5620, None, 12e9),
        luo.LS3A.machine: Fit(luo.LS3A, LS3A, compute_ls3a_patterns, None)}


def build_model(described: machine.Machine, free: list[Free], values: Iterable[float]) -> Model:
    return Model(described.model_text, {(number.section, number.field): value for number, value in zip(free, values, strict=True)})


def fit_machine(name: str, fitted: np.ndarray | None = None) -> tuple[dict[str, float], Model]:
    """Fits the calibrated numbers of a machine of FITS to its table. Returns them by name, and the machine's model with them.

    fitted: which cells count, shape [local][remote]; None: all but the outliers."""
    task, described = FITS[name], machine.find(name)
    cells = task.table.read_cells()
    if fitted is None:
        fitted = task.table.select_fitted()

    def compute_residuals(values: np.ndarray) -> np.ndarray:
        """Computes what least squares makes small: cells in parts of 4L0R, breaches of a bound, and the total, where it is known."""
        model = build_model(described, task.free, values)
        total = luo.predict_contention(model)
        relative = total / total[luo.CORES, 0]
        scale = [total[luo.CORES, 0] / task.bytes_per_s - 1] if task.bytes_per_s else []
        patterns = task.patterns(model) if task.patterns else []
        return np.concatenate([(relative - cells)[fitted], patterns, scale])

    low, high = [number.low for number in task.free], [number.high for number in task.free]
    start = np.add(low, high) / 2
    solution = least_squares(compute_residuals, start, bounds=(low, high), diff_step=STEP,
                             x_scale=np.subtract(high, low))
    model = build_model(described, task.free, solution.x)
    return {number.name: float(value) for number, value in zip(task.free, solution.x, strict=True)}, model

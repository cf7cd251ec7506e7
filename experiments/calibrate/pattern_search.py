# SPDX-License-Identifier: GPL-2.0-only
"""The contention model's numbers that come closest to what was measured: a search that needs no library.

Starts from what each number means by itself, and then tries steps up and down in each, ever smaller ones.
"""

from dataclasses import dataclass

from experiments.model_fit.native import TRIAD, Model

STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)  # relative
ROUNDS = 12                            # of each step at most
LEAST_GAIN = 1e-6                      # relative, of the error: less is no improvement


@dataclass
class Numbers:
    """Holds the numbers of the contention model that are searched."""
    outstanding: float  # lines that a core keeps in flight
    dram_mb_s: float
    dram_variability: float
    link_mb_s: float
    link_variability: float
    port_mb_s: float  # 0: none


@dataclass(frozen=True)
class Cell:
    flows: list[tuple[int, int, int]]  # from, to, threads
    measured: list[float]              # MB/s of all threads of each flow


@dataclass(frozen=True)
class Known:
    """Holds the numbers of the contention model that were measured by themselves; line and header in bytes."""
    nodes: int
    line: int
    header: int
    local_ns: float
    link_ns: float


def build_model(known: Known, numbers: Numbers) -> Model:
    """Builds the model of the two nodes of the contention table, which are equal, and of the link between them."""
    node = (f"core_outstanding={numbers.outstanding:.6g} port_bytes_per_s={numbers.port_mb_s * 1e6:.6g} port_remote_weight=1 "
            f"port_variability=0.1 dram_bytes_per_s={numbers.dram_mb_s * 1e6:.6g} "
            f"dram_latency_ns={known.local_ns:.6g} dram_variability={numbers.dram_variability:.6g}")
    link = (f"link 0 1 bytes_per_s={numbers.link_mb_s * 1e6:.6g} latency_ns={known.link_ns:.6g} "
            f"header_bytes={known.header} variability={numbers.link_variability:.6g}")
    return Model(f"machine name=fit line_bytes={known.line}\nnode 0 {node}\nnode 1 {node}\n{link}\n")


def compute_residuals(known: Known, numbers: Numbers, cells: list[Cell], scale: float) -> list[float]:
    """Computes the residual of each flow of each cell, the model's bandwidth less the measured one, in parts of `scale` (MB/s)."""
    model = build_model(known, numbers)
    return [(granted / 1e6 - wanted) / scale for cell in cells
            for granted, wanted in zip(model.compute_bandwidths(cell.flows, TRIAD), cell.measured, strict=True)]


def compute_error(known: Known, numbers: Numbers, cells: list[Cell], scale: float) -> float:
    """Returns the sum of the squared residuals, in parts of `scale` (MB/s)."""
    return sum(value * value for value in compute_residuals(known, numbers, cells, scale))


def improve_numbers(known: Known, numbers: Numbers, cells: list[Cell], scale: float, step: float) -> Numbers:
    """Tries a step up and down in each number, `step` being relative. Returns the numbers with the least error, or `numbers` itself."""
    best, least_error = numbers, compute_error(known, numbers, cells, scale)
    for name in vars(numbers):
        for factor in (1 + step, 1 / (1 + step)):
            candidate = Numbers(**vars(best))
            setattr(candidate, name, getattr(best, name) * factor)
            error = compute_error(known, candidate, cells, scale)
            if error < least_error * (1 - LEAST_GAIN):
                best, least_error = candidate, error
    return best


def search_numbers(known: Known, start: Numbers, cells: list[Cell]) -> tuple[Numbers, float]:
    """Searches the numbers, from `start` on, with which the model comes closest to the cells. Returns them, and the mean absolute residual
    in parts of the largest total."""
    scale = max(sum(cell.measured) for cell in cells)
    for step in STEPS:
        for _ in range(ROUNDS):
            better = improve_numbers(known, start, cells, scale, step)
            if better == start:
                break
            start = better
    residuals = compute_residuals(known, start, cells, scale)
    return start, sum(map(abs, residuals)) / len(residuals)

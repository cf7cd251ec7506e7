# SPDX-License-Identifier: GPL-2.0-only
"""The contention model's numbers that come closest to what was measured: a search that needs no library.

Starts from what each number means by itself, and then tries steps up and down in each, ever smaller ones.
"""

from dataclasses import dataclass

from experiments.model_fit.native import TRIAD, Model

STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)  # relative
ROUNDS = 12                            # of each step at most


@dataclass
class Numbers:
    outstanding: float
    dram_mb_s: float
    dram_variability: float
    link_mb_s: float
    link_variability: float
    port_mb_s: float  # 0: none


@dataclass(frozen=True)
class Cell:
    flows: list[tuple[int, int, int]]  # from, to, threads
    measured: list[float]              # MB/s of each flow


@dataclass(frozen=True)
class Known:
    nodes: int
    line: int
    header: int
    local_ns: float
    link_ns: float


def model_of(known: Known, n: Numbers) -> Model:
    """Two nodes and a link: those of the contention table."""
    node = (f"core_outstanding={n.outstanding:.6g} port_bytes_per_s={n.port_mb_s * 1e6:.6g} port_remote_weight=1 "
            f"port_variability=0.1 dram_bytes_per_s={n.dram_mb_s * 1e6:.6g} "
            f"dram_latency_ns={known.local_ns:.6g} dram_variability={n.dram_variability:.6g}")
    link = (f"link 0 1 bytes_per_s={n.link_mb_s * 1e6:.6g} latency_ns={known.link_ns:.6g} "
            f"header_bytes={known.header} variability={n.link_variability:.6g}")
    return Model(f"machine name=fit line_bytes={known.line}\nnode 0 {node}\nnode 1 {node}\n{link}\n")


def residuals(known: Known, n: Numbers, cells: list[Cell], scale: float) -> list[float]:
    model = model_of(known, n)
    return [(granted / 1e6 - wanted) / scale for cell in cells
            for granted, wanted in zip(model.bandwidths(cell.flows, TRIAD), cell.measured, strict=True)]


def error(known: Known, n: Numbers, cells: list[Cell], scale: float) -> float:
    return sum(value * value for value in residuals(known, n, cells, scale))


def improved(known: Known, n: Numbers, cells: list[Cell], scale: float, step: float) -> Numbers:
    best, least = n, error(known, n, cells, scale)
    for name in vars(n):
        for factor in (1 + step, 1 / (1 + step)):
            tried = Numbers(**vars(best))
            setattr(tried, name, getattr(best, name) * factor)
            found = error(known, tried, cells, scale)
            if found < least * (1 - 1e-6):
                best, least = tried, found
    return best


def search(known: Known, start: Numbers, cells: list[Cell]) -> tuple[Numbers, float]:
    """The numbers, and the mean absolute residual in parts of the largest total."""
    scale = max(sum(cell.measured) for cell in cells)
    for step in STEPS:
        for _ in range(ROUNDS):
            better = improved(known, start, cells, scale, step)
            if better == start:
                break
            start = better
    left = residuals(known, start, cells, scale)
    return start, sum(map(abs, left)) / len(left)

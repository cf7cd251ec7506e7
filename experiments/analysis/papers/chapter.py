# SPDX-License-Identifier: GPL-2.0-only
"""A presentation in the report: a paper's tables and figures, and ours beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup

from experiments.lab.machine import Machine, split_speed

from ..machines.uniform import find_machine
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import Interval
from . import comparison
from .comparison import Compared, Make

NO_POLICY = "none"  # as the papers measured


@dataclass(frozen=True)
class Cell:
    text: str
    value: float | None = None  # to sort by
    small: tuple[str, ...] = ()  # lines below the text


@dataclass(frozen=True)
class Table:
    number: str  # the paper's, as in "Table 1"
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Drawing:
    number: str
    svg: Markup
    caption: str


@dataclass
class Chapter:
    name: str
    title: str
    paper: str
    measured_on: str  # the paper's machines
    says: str         # what the paper found, in our words
    machine: str = ""  # the paper's machine that ours is or is modelled after
    policy: str = NO_POLICY
    differs: tuple[str, ...] = ()  # from what the paper did
    caution: str = ""  # what of the lab's machine was fitted
    found: str = ""   # what we found, from the numbers
    missing: list[str] = field(default_factory=list)  # data that the run lacks, in words
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)

    def draw(self, number: str, svg: str, caption: str) -> None:
        self.drawings.append(Drawing(number, Markup(svg), caption))

    def compare(self, results: Results, make: Make) -> None:
        """Adds the numbers that `make` finds in the run to `compared`. Times of a functional run mean nothing."""
        if "lab-functional" in results.platforms:
            self.caution = "So no number is compared."
            return
        self.compared += comparison.compare_printed(results, make)
        machine = find_machine(results) if "lab-timed" in results.platforms else None
        self.caution = _describe_calibration(machine) if machine else ""

    @property
    def summary(self) -> list[str]:
        """Returns how far our numbers are from the paper's, a line for each unit."""
        return comparison.summarise(self.compared) or ["no number of the paper is in this run"]

    @property
    def comparison(self) -> Table:
        """Returns the table of the paper's numbers beside ours."""
        rows = [c.cells for c in self.compared]
        values = [(None, c.ours.value, None, c.printed.low, c.difference, c.uniform) for c in self.compared]
        return Table("The paper's numbers beside ours",
                     "The difference is ours less the paper's, of a range less its nearer end. The interval is of our repeats; the "
                     "papers print none. Where a uniform machine, whose memory is all as near, has the same number, it says nothing of NUMA.",
                     comparison.HEAD, tuple(tuple(map(Cell, *both)) for both in zip(rows, values)))


def _describe_calibration(machine: Machine) -> str:
    """Returns sentences on which numbers of the machine's file are calibrated, and against what."""
    if not machine.calibrated:
        return "No number of this machine's file is calibrated."
    what = "; ".join(f"{number} ({against})" for number, against in machine.calibrated.items())
    return (f"Calibrated numbers of this machine's file: {what}. A small difference to what they were calibrated against says "
            "that model and measurement fit together, not that the paper is confirmed.")


def find_like(results: Results, names: dict[str, str]) -> str:
    """Finds the paper's machine that our machine's or processor's name contains; '' for none, and for a machine with changed numbers or
    at a part of its speed."""
    if "+" in results.machine or split_speed(results.machine)[1] > 1:
        return ""
    cpu = results.manifest.get("cpu")
    ours = f"{results.machine} {cpu.get('model') if isinstance(cpu, dict) else ''}".lower()
    return next((paper for part, paper in names.items() if part in ours), "")


def format_number(found: Interval | None, scale: float = 1.0, decimals: int | None = None) -> Cell:
    """Formats a mean with its interval, both times `scale`; with `decimals`, where all of a table's cells are to have as many."""
    if found is None:
        return Cell(text_format.DASH)
    ends = (None if end is None else end * scale for end in (found.low, found.high))
    scaled = Interval(found.mean * scale, *ends, found.n)
    text = text_format.format_spread(scaled)
    if decimals is not None:
        text = f"{scaled.mean:.{decimals}f}" + ("" if scaled.half_width is None else f" ± {scaled.half_width:.{decimals}f}")
    return Cell(text, scaled.mean)

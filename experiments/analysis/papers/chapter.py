# SPDX-License-Identifier: GPL-2.0-only
"""A presentation in the report: a paper's tables and figures, and ours beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from ..machines.model_error import UNKNOWN, caution
from ..runs import text_format
from ..runs.results import Results
from ..stats.intervals import Interval
from .checks import CONSTRUCTION, MODEL, PREDICTED, SELF, Check, Statement, by_kind, separation, tally
from .judge import Judge, Make

NO_POLICY = "none"  # as the papers measured


@dataclass(frozen=True)
class Cell:
    text: str
    value: float | None = None
    small: tuple[str, ...] = ()


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
    caution: str = ""  # what of the lab's machine was fitted, and how far its model is off
    found: str = ""   # what we found, from the numbers
    missing: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # statements that were others when the run was made

    def draw(self, number: str, svg: str, caption: str) -> None:
        self.drawings.append(Drawing(number, Markup(svg), caption))

    def judge(self, results: Results, make: Make, printed: Results | None = None) -> None:
        """Times of a functional run mean nothing, and the error of a machine whose file is not here is not known:
        nothing is judged by them."""
        if "lab-functional" in results.platforms:
            self.caution = "So no statement is judged."
            return
        judge = Judge.of(results)
        timed = "lab-timed" in results.platforms
        if timed and not judge.predictor:
            self.caution = UNKNOWN
            return
        self.checks += judge.judge(make, printed, lambda s: self._kind(s, results, timed))
        if judge.predictor:
            self.caution = caution(judge.predictor.machine)

    def _kind(self, s: Statement, results: Results, timed: bool) -> str:
        """In the lab a statement about the machine that is simulated may be fitted; on any other platform or machine
        nothing was fitted to it. What a program cannot but do, it does everywhere."""
        if results.platforms == ["paper"]:
            return SELF
        if s.kind == MODEL:
            return CONSTRUCTION if timed else PREDICTED
        own = timed and self.machine and s.machine in ("", self.machine)
        return s.kind if own or s.kind == CONSTRUCTION else PREDICTED

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Statements by the machine of which they are made, this one's first."""
        names = list(dict.fromkeys(c.machine for c in self.checks))
        names.sort(key=lambda name: name not in ("", self.machine))
        groups = []
        for name in names:
            checks = [c for c in self.checks if c.machine == name]
            own = name in ("", self.machine)
            groups.append({"machine": name, "own": own, "checks": checks, "tally": tally(checks)})
        return groups

    @property
    def own_checks(self) -> list[Check]:
        """Those that the paper makes of this machine, or of any."""
        return [c for c in self.checks if c.machine in ("", self.machine)]

    @property
    def by_kind(self) -> list[tuple[str, str]]:
        return by_kind(self.own_checks)

    @property
    def tally(self) -> str:
        return tally(self.own_checks)

    @property
    def separation(self) -> str:
        return separation(self.own_checks)


def like(results: Results, names: dict[str, str]) -> str:
    """The paper's machine, by a part of our machine's name or of its processor's. One of the lab with other numbers is none."""
    if "+" in results.machine:
        return ""
    cpu = results.manifest.get("cpu")
    ours = f"{results.machine} {cpu.get('model') if isinstance(cpu, dict) else ''}".lower()
    return next((paper for part, paper in names.items() if part in ours), "")


def number(found: Interval | None, scale: float = 1.0, decimals: int | None = None) -> Cell:
    """A mean with its interval; `decimals` where all of a table's cells are to have as many."""
    if found is None:
        return Cell(text_format.DASH)
    ends = (None if e is None else e * scale for e in (found.low, found.high))
    scaled = Interval(found.mean * scale, *ends, found.n)
    text = text_format.spread(scaled)
    if decimals is not None:
        half = "" if scaled.half is None else f" ± {scaled.half:.{decimals}f}"
        text = f"{scaled.mean:.{decimals}f}{half}"
    return Cell(text, scaled.mean)

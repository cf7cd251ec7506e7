# SPDX-License-Identifier: GPL-2.0-only
"""Judges a paper's statements by a run, and the judge itself by runs of which it must say something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from ..machines import other_machines
from ..machines.predicted import Predictor
from ..runs.results import Results
from .checks import ABSENT, NARROW, OPPOSITE, PAPERS, UNDECIDABLE, UNIFORM, Check, Statement

Make = Callable[[Results], list[Statement]]
NOT_EXPECTED = ("work-stealing",)  # its analysis needs noise
Key = tuple[str, str, str]
Kind = Callable[[Statement], str]


def key(s: Statement | Check) -> Key:
    return s.machine, s.where, s.says


def kind_of(s: Statement) -> str:
    return s.kind


@dataclass(frozen=True)
class Judge:
    """Of one run. Without a model of the machine the intervals are those of the repeats alone."""

    results: Results
    predictor: Predictor | None = None

    @classmethod
    def of(cls, results: Results) -> Judge:
        machine = other_machines.machine_of(results) if "lab-timed" in results.platforms else None
        return cls(results, Predictor(results.design, machine) if machine and results.design else None)

    @cached_property
    def variants(self) -> list[Results]:
        return self._variants_of(self.results)

    def _variants_of(self, results: Results) -> list[Results]:
        return [r for _, r in other_machines.variants(results, self.predictor)] if self.predictor else []

    def judge(self, make: Make, printed: Results | None = None, kind: Kind = kind_of) -> list[Check]:
        """make: the statements of a run; printed: the paper's own numbers, of the cells that it prints."""
        controls = {name: self._verdicts(make, numbers) for name, numbers in self._controls(printed)}
        impossible, checks = self._impossible(make), []
        for s, *others in zip(make(self.results), *map(make, self.variants), strict=True):
            check = s.judge(kind(s), others)
            if key(s) in impossible and check.verdict != ABSENT:
                check = replace(check, verdict=UNDECIDABLE, evidence=NARROW)
            checks.append(replace(check, controls={name: found[key(s)] for name, found in controls.items() if key(s) in found}))
        return checks

    def _impossible(self, make: Make) -> set[Key]:
        """Statements that cannot hold whatever is measured."""
        if not self.predictor or self.predictor.design in NOT_EXPECTED:
            return set()
        expected = other_machines.expected(self.results, self.predictor)
        found = zip(make(expected), *map(make, self._variants_of(expected)), strict=True)
        return {key(s) for s, *others in found if not s.can_hold(others)}

    def _controls(self, printed: Results | None) -> list[tuple[str, Results]]:
        found = {PAPERS: printed, UNIFORM: other_machines.uniform(self.results, self.predictor),
                 OPPOSITE: other_machines.opposite(self.results, self.predictor)}
        return [(name, numbers) for name, numbers in found.items() if numbers]

    def _verdicts(self, make: Make, numbers: Results) -> dict[Key, str]:
        found = zip(make(numbers), *map(make, self._variants_of(numbers)), strict=True)
        return {key(s): s.judge(s.kind, others).verdict for s, *others in found}

# SPDX-License-Identifier: GPL-2.0-only
"""The search for one mechanism's parameters: which levels are tried next, and what came of those before.

The same seed and the same scores give the same levels: that is how a search goes on from the rounds that are there.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass

from ...errors import CannotError, UsageError
from ...mechanisms import registry
from ...mechanisms.mechanism import Parameter
from ...paths import HERE

PACKAGE = "optuna==5.0.0"
WIDE = 100  # times the low end: from there on orders of magnitude are drawn alike


@dataclass(frozen=True)
class Tried:
    level: str
    score: float | None  # None: not measured cleanly


def check_package() -> None:
    if importlib.util.find_spec("optuna") is None:
        raise CannotError(f"{sys.executable} has no package optuna, which searches: "
                          + HERE.remedy("run 'make setup-check'", f"{sys.executable} -m pip install {PACKAGE}"))


def list_parameters(name: str) -> dict[str, Parameter]:
    """Returns the parameters of the mechanism that is to be tuned, by name. UsageError: it is no mechanism, or has none."""
    mechanism = registry.make_mechanism(name)
    if mechanism is None:
        raise UsageError(f"--placements {name}: is no mechanism: 'numaplace experiment mechanisms' lists them")
    if ":" in name or "#" in name:
        raise UsageError(f"--placements {name}: give the mechanism's name alone: the search sets its parameters")
    if not mechanism.parameters:
        raise UsageError(f"--placements {name}: has no parameters, so that there is nothing to tune: leave it out")
    return mechanism.parameters


class Search:
    """Searches; trial 0 is the mechanism at its defaults, the others are the optimiser's."""

    def __init__(self, name: str, seed: int) -> None:
        """Prepares a mechanism's search. UsageError: it has no parameters, or is none. seed: of the optimiser."""
        import optuna  # takes a second to load
        self.name, self.parameters, self.tried = name, list_parameters(name), []
        self._optuna = optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        self._waiting: list[tuple[str, object]] = []  # levels without a score, each with the optimiser's trial

    def ask_levels(self, count: int) -> list[str]:
        """Asks the optimiser for so many levels, of which the first of all is the defaults; it may ask for one twice."""
        first = [(self.name, self._make_default_trial())] if not self.tried else []
        trials = [self._study.ask(fixed_distributions=self._list_ranges()) for _ in range(count - len(first))]
        self._waiting = first + [(self._format_level(trial.params), trial) for trial in trials]
        return [level for level, _ in self._waiting]

    def tell_scores(self, scores: dict[str, float]) -> None:
        """Tells the optimiser the scores of the levels that it asked for; a level without clean observations has none."""
        failed = self._optuna.trial.TrialState.FAIL
        for level, trial in self._waiting:
            score = scores.get(level)
            self.tried.append(Tried(level, score))
            if trial is not None:
                self._study.tell(trial, score, state=None if score is not None else failed)
        self._waiting = []

    @property
    def default(self) -> float | None:
        return self.tried[0].score

    @property
    def best(self) -> Tried:
        """Returns the best level; the defaults where nothing is better."""
        return max(self.tried, key=lambda one: -1 if one.score is None else one.score)

    def _make_default_trial(self) -> object | None:
        """Makes the optimiser's trial of the defaults; None where the kernel chooses one of them, so that it cannot learn from them."""
        values = {name: parameter.default for name, parameter in self.parameters.items()}
        if None in values.values():
            return None
        self._study.enqueue_trial(values)
        return self._study.ask(fixed_distributions=self._list_ranges())

    def _list_ranges(self) -> dict[str, object]:
        return {name: self._optuna.distributions.IntDistribution(p.low, p.high, log=0 < p.low <= p.high / WIDE)
                for name, p in self.parameters.items()}

    def _format_level(self, values: dict[str, int]) -> str:
        return f"{self.name}:{','.join(f'{name}={values[name]}' for name in self.parameters)}"

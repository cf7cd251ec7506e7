# SPDX-License-Identifier: GPL-2.0-only
"""Which policies are faster or slower than the baseline on every machine and kernel, by runs of one suite on several."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..runs.results import Results, make_natural_key, rank_policy
from .decision import FASTER, OPEN, SLOWER, Decision
from .speedup import decide_cells, has_speedups

HOLDS, DIFFERS, NOT_ALL, NONE = "holds on all", "differs", "not shown on all", "not shown on any"


@dataclass(frozen=True)
class Place:
    """Describes where a run was made."""

    machine: str
    kernel: str
    results: Results


@dataclass(frozen=True)
class Conclusion:
    """Holds what each run decides of a workload under a policy; None where a run has not both it and the baseline."""

    workload: str
    policy: str
    found: tuple[Decision | None, ...]  # in the order of Suite.places

    @property
    def verdicts(self) -> list[str]:
        return [give_verdict(decision) for decision in self.found if decision]

    @property
    def agreement(self) -> str:
        """Returns whether the verdicts hold on all, differ, or are not shown: each has its own share of errors and is not tested again."""
        verdicts = {*self.verdicts}
        if {FASTER, SLOWER} <= verdicts:
            return DIFFERS
        if OPEN not in verdicts:
            return HOLDS
        return NONE if verdicts == {OPEN} else NOT_ALL


@dataclass(frozen=True)
class Suite:
    """Runs of one suite on more than one machine or kernel."""

    name: str
    places: tuple[Place, ...]
    conclusions: tuple[Conclusion, ...]

    def select(self, agreement: str) -> list[Conclusion]:
        """Returns the conclusions with this agreement, in their order."""
        return [conclusion for conclusion in self.conclusions if conclusion.agreement == agreement]


def give_verdict(found: Decision) -> str:
    if not found.significant:
        return OPEN
    return FASTER if found.value > 1 else SLOWER


def group_suites(runs: Sequence[Results]) -> list[Suite]:
    """Groups runs by suite; returns the suites of two or more machines or kernels whose runs share a workload and a policy.

    Runs whose times mean nothing are left out."""
    by_name: dict[str, list[Place]] = {}
    for results in runs:
        if len(results.platforms) == 1 and has_speedups(results):
            place = Place(results.machine or "an unnamed machine", name_kernel(results), results)
            by_name.setdefault(results.suite, []).append(place)
    suites = [_make_suite(name, sorted(places, key=lambda p: (make_natural_key(p.machine), make_natural_key(p.kernel))))
             for name, places in sorted(by_name.items()) if len({(p.machine, p.kernel) for p in places}) > 1]
    return [suite for suite in suites if suite.conclusions]


def name_kernel(results: Results) -> str:
    return results.manifest.get("release") or (results.manifest.get("kernel") or {}).get("release") or "an unnamed kernel"


def _rank_cell(cell: tuple[str, str]) -> tuple[object, ...]:
    workload, policy = cell
    return make_natural_key(workload), rank_policy(policy)


def _make_suite(name: str, places: Sequence[Place]) -> Suite:
    """Makes a suite, with a conclusion of each workload and policy that two places or more decide."""
    decisions = [decide_cells(place.results) for place in places]
    keys = sorted({key for by_cell in decisions for key in by_cell}, key=_rank_cell)
    conclusions = [Conclusion(*key, tuple(by_cell.get(key) for by_cell in decisions)) for key in keys]
    return Suite(name, tuple(places), tuple(conclusion for conclusion in conclusions if len(conclusion.verdicts) > 1))


def describe_difference(suite: Suite, conclusion: Conclusion) -> str:
    """Names what a difference goes with: kernels of one machine, or machines."""
    verdicts = [(place, give_verdict(decision)) for place, decision in zip(suite.places, conclusion.found, strict=True) if decision]
    kernels = []
    for machine in dict.fromkeys(place.machine for place, _ in verdicts):
        here = [(place.kernel, verdict) for place, verdict in verdicts if place.machine == machine]
        if {FASTER, SLOWER} <= {verdict for _, verdict in here}:
            kernels.append(f"kernels of {machine}: {_format_names(here)}")
    return "; ".join(kernels) or f"machines: {_format_names([(place.machine, verdict) for place, verdict in verdicts])}"


def _format_names(verdicts: Sequence[tuple[str, str]]) -> str:
    by_verdict = {verdict: list(dict.fromkeys(name for name, given in verdicts if given == verdict)) for verdict in (FASTER, SLOWER)}
    return ", ".join(f"{verdict} on {' and '.join(names)}" for verdict, names in by_verdict.items())

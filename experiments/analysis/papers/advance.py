# SPDX-License-Identifier: GPL-2.0-only
"""What a suite's run on a machine of the lab can decide, before it is run.

The suite's cells have the model's values, so the statements, the error and the judge are those of a run's report.
"""

from __future__ import annotations

from pathlib import Path

from experiments.errors import UsageError
from experiments.host import host_nodes
from experiments.runner.suite import designs
from experiments.runner.suite import suite as suites

from ..machines.other_machines import MODELLED, expected, machine_of
from ..machines.predicted import Predictor
from ..runs.results import Metric, Observation, Results
from . import PRESENTATIONS
from .checks import ABSENT, AGAINST, FOR, UNDECIDABLE, Check, separates
from .judge import NOT_EXPECTED

UNITS = {"bandwidth": "MB/s", "latency": "ns", "iterations": "1/s", "seconds": "s", "active_nodes": "nodes"}
REPEATS = 2


def on(name: str, machine: str) -> suites.Suite:
    """A suite with the workloads that it has on a machine of the lab."""
    suite = suites.load(name)
    suite = suites.with_levels(suite, suite.on.get(machine, {}))
    return designs.expand(suite, host_nodes.usable(suite.nodes, name, among=host_nodes.of_lab(machine)))


def run(suite: suites.Suite, machine: str) -> Results:
    """The cells of a suite with its workloads, with the model's values."""
    responses = [*suite.responses, *(["bandwidth_bus", "active_nodes"] if suite.design == "numa-stream" else [])]
    cells = Results(Path(), {"machine": machine, "suite_text": suite.text, "suite": suite.name}, tuple(
        _observation(w, repeat, responses) for w in suite.workloads for repeat in range(REPEATS)), ())
    found = machine_of(cells)
    if not found:
        raise UsageError(f"machine {machine}: its file is not here, or has no contention model")
    return expected(cells, Predictor(cells.design, found))


def _observation(w: suites.Workload, repeat: int, responses: list[str]) -> Observation:
    active = float(len(w.tasks))
    metrics = tuple(Metric(name, UNITS.get(name.split("_")[0], UNITS.get(name, "1")), active) for name in responses)
    return Observation(w.name, "none", "lab-timed", repeat, 0, False, (), metrics, (), None, w.factors, {})


def decides(suite: suites.Suite, machine: str) -> list[Check]:
    """Statements about this machine; one that is measured in no cell is left out. What an analysis needs noise for is
    not known in advance."""
    if suite.design in NOT_EXPECTED or not set(suite.presents) & {*PRESENTATIONS}:
        return []
    results = run(suite, machine)
    found = [PRESENTATIONS[p](results, "advance") for p in results.presents if p in PRESENTATIONS]
    return [c for chapter in found if chapter.machine for c in chapter.own_checks if c.verdict != ABSENT]


def state(check: Check, modelled: bool) -> str:
    """What a run can find: of programs that the model does not describe, no verdict is forecast."""
    if check.verdict == UNDECIDABLE:
        return UNDECIDABLE
    if not modelled or check.verdict not in (*FOR, *AGAINST):
        return "open"
    return f"{check.verdict} by the model" + ("" if separates(check) else ", and of a uniform machine too")


def head(suite: suites.Suite, machine: str, checks: list[Check]) -> str:
    return (f"{suite.name} on {machine}: {len(checks)} statements, "
            f"{sum(c.verdict == UNDECIDABLE for c in checks)} of them {UNDECIDABLE}")


def table(suite: suites.Suite, machine: str) -> list[str]:
    """One line a statement; none of a suite that presents no paper's machine."""
    checks, modelled = decides(suite, machine), suite.design in MODELLED
    rows = [f"  {c.kind:12} {state(c, modelled):46} {c.says}" for c in checks]
    return [head(suite, machine, checks), *rows] if rows else []


def every() -> list[str]:
    """Of each suite on each of its machines."""
    return [line for name in suites.names() for machine in suites.load(name).machines for line in table(on(name, machine), machine)]

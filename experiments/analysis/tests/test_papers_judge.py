# SPDX-License-Identifier: GPL-2.0-only
"""The judge says of a uniform machine, and of one with the opposite effect, something else than of the paper's."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.analysis.machines import other_machines, predicted
from experiments.analysis.papers import advance
from experiments.analysis.papers.checks import (
    ABSENT,
    FAILS,
    HOLDS,
    OPPOSITE,
    PAPERS,
    UNDECIDABLE,
    UNIFORM,
    Check,
    separates,
)
from experiments.analysis.papers.judge import Judge
from experiments.analysis.runs.results import Results, read
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_bergstrom_heard as access
from experiments.analysis.tests import test_papers_luo as luo
from experiments.commands.experiment.cli import decided
from experiments.lab import machine

E5620 = "xeon-e5620-2s"


def run(folder: Path, name: str, cells: list[factorial.Cell], presents: str, on: str = E5620, platform: str = "lab-timed") -> Results:
    return read(factorial.write(folder / name, factorial.records(name, cells, noise=1e-3, platform=platform), [presents], on))


def checks(found: list[Check]) -> dict[str, Check]:
    return {c.says: c for c in found}


def test_the_papers_table_a_uniform_machine_and_the_opposite_are_told_apart(tmp_path: Path) -> None:
    results = run(tmp_path, "contention", luo.contention("e5620"), "luo-contention")
    found = checks(luo.luo.contention(results, "luo").own_checks)
    alone = found["remote threads alone get less than as many local ones"]
    assert alone.verdict == HOLDS and alone.controls[PAPERS] == HOLDS
    assert alone.controls[UNIFORM] != HOLDS and alone.controls[OPPOSITE] == FAILS
    most = found["two local threads nearly reach the most (read as 90 % or more)"]
    assert most.controls[UNIFORM] == HOLDS  # says nothing of NUMA


def test_what_cannot_be_decided_is_known_before_the_run(tmp_path: Path) -> None:
    """The same statements, whatever the numbers are."""
    runs = [run(tmp_path, name, luo.contention(name), "luo-contention") for name in ("e5620", "ls3a")]
    sets = [{c.says for c in luo.luo.contention(r, "luo").own_checks if c.verdict == UNDECIDABLE} for r in runs]
    before = {c.says for c in advance.decides(advance.on("contention", E5620), E5620) if c.verdict == UNDECIDABLE}
    assert sets[0] == sets[1] == before and len(before) == 2


def test_without_other_machines_the_interval_is_that_of_the_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = run(tmp_path, "contention", luo.contention("e5620"), "luo-contention")
    monkeypatch.setattr(other_machines, "variants", lambda *_: [])
    found = checks(luo.luo.contention(results, "luo").own_checks)
    best = found["the largest total stands at 3L2R"]
    assert best.verdict == HOLDS  # with them it is undecided


def test_a_machine_whose_file_is_not_here_is_not_judged(tmp_path: Path) -> None:
    results = run(tmp_path, "contention", luo.contention("e5620"), "luo-contention", on="elsewhere")
    found = luo.luo.contention(results, "luo")
    assert found.checks == [] and "no statement is judged" in found.caution


def test_of_a_run_with_two_placements_the_labels_are_changed(tmp_path: Path) -> None:
    results = run(tmp_path, "stream", access.stream(access.UNAWARE), "bergstrom-stream", "opteron-6172-4s", "real")
    before, same, other = results, other_machines.uniform(results, None), other_machines.opposite(results, None)

    def mean(r: Results, memory: str) -> float:
        found = [o.value("bandwidth") for o in r.clean if o.factors["memory"] == memory]
        return sum(found) / len(found)

    assert mean(same, "remote") == pytest.approx(mean(before, "local"), rel=1e-9)
    assert mean(other, "remote") == pytest.approx(mean(before, "local")) and mean(other, "local") == pytest.approx(mean(before, "remote"))


def test_a_cell_is_the_flows_that_the_design_makes() -> None:
    """3L2R on the E5620 is what model_fit has of the table; the far node's two threads use node 0."""
    found = predicted.Predictor("contention", machine.find(E5620))
    workload = found.workload({"local": 3, "remote": 2})
    assert sorted((t.runs_on, t.memory_on, t.group) for t in workload.tasks) == [(0, (0,), "local")] * 3 + [(1, (0,), "remote")] * 2
    model = other_machines.family.variants(found.machine)[0].model
    table = {metric: found.value(model, {"local": 3, "remote": 2}, metric, "MB/s") for metric in
             ("bandwidth", "bandwidth_local", "bandwidth_remote")}
    parts = model.bandwidths([(0, 0, 3), (1, 0, 2)], predicted.TRIAD)
    assert list(table.values()) == pytest.approx([sum(parts), *parts], rel=1e-3)


def test_every_presentation_in_the_lab_has_its_cells_predicted() -> None:
    for name, on in (("cross", E5620), ("split", "ls3a-2s"), ("numa-stream", "xeon-x7560-4s"), ("cachetest", "opteron-sixcore-4s"),
                     ("random-update", "xeon-e5-2620v4-2s"), ("work-stealing", "xeon-e5-4620-4s"), ("redis-keys", "xeon-e5-2620v4-2s")):
        cells = advance.run(advance.on(name, on), on)
        value = Judge.of(cells).predictor
        assert all(value.workload(o.factors) for o in cells.clean), name


def test_a_judge_that_does_not_separate_is_seen(tmp_path: Path) -> None:
    """Of the statements on the E5620 whose verdict depends on NUMA by the model, all get another one of a uniform machine."""
    found = [c for name in ("contention", "cross", "split") for c in advance.decides(advance.on(name, E5620), E5620) if c.verdict in (HOLDS, FAILS)]
    assert [c.verdict for c in found if separates(c)] and not all(separates(c) for c in found)
    assert ABSENT not in {c.controls[UNIFORM] for c in found}


def test_before_a_run_the_lab_says_what_it_cannot_decide() -> None:
    assert decided(advance.on("split", E5620), E5620) == [
        "split on xeon-e5620-2s: 2 statements, 1 of them not decidable here; numaplace experiment list --decides names them\n"]
    assert decided(advance.on("policy-matrix", "demo-2s"), "demo-2s") == []

# SPDX-License-Identifier: GPL-2.0-only
"""Regret, worked out by hand."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from experiments.analysis.pages import text_table
from experiments.analysis.policies import regret, regret_table
from experiments.analysis.runs import results as reader
from experiments.analysis.tests import synthetic

TIMED = synthetic.MANIFEST | {"platform": "real", "responses": ["bandwidth"]}
VALUES = {("cross", "none"): [5.0, 5.2], ("cross", "start-interleave"): [8.0, 8.4], ("cross", "tiering"): [6.0, 6.3],
          ("cross", "clairvoyant"): [10.0, 10.5], ("contention-1L1R", "none"): [4.0, 4.4], ("contention-1L1R", "start-interleave"): [2.0, 2.2],
          ("contention-1L1R", "tiering"): [5.0, 5.5]}


def read(folder: Path, values: dict[tuple[str, str], list[float]]) -> reader.Results:
    lines = [synthetic.observation(workload, policy, i, platform="real", value=value)
             for (workload, policy), found in values.items() for i, value in enumerate(found, 1)]
    return reader.read(synthetic.write(folder, lines, TIMED))


def test_regret_is_to_the_best_static_level_of_each_workload(tmp_path: Path) -> None:
    found = regret.regrets(read(tmp_path, VALUES))
    assert {w: r.reference for (w, _), r in found.static.items()} == {"cross": "start-interleave", "contention-1L1R": "none"}
    assert found.static["cross", "tiering"].value == pytest.approx(1 - 0.75)
    assert found.static["contention-1L1R", "tiering"].value == pytest.approx(-0.25), "better than each static one"
    assert found.clairvoyant["cross", "tiering"].value == pytest.approx(0.4)
    assert not [w for w, _ in found.clairvoyant if w == "contention-1L1R"], "it has no clairvoyant"
    assert found.mean["tiering"].value == pytest.approx(1 - (0.75 * 1.25) ** 0.5)
    assert "clairvoyant" not in found.mean, "it lacks a workload"


def test_a_run_without_a_whole_block_has_no_mean(tmp_path: Path) -> None:
    lines = [synthetic.observation(workload, policy, i, platform="real", value=5.0)
             for workload, i in (("cross", 1), ("contention-1L1R", 2)) for policy in ("none", "tiering")]
    assert regret.regrets(reader.read(synthetic.write(tmp_path, lines, TIMED))).mean == {}


def test_limits_are_by_blocks(tmp_path: Path) -> None:
    """A block in which everything is faster says nothing about the ratio."""
    values = VALUES | {("cross", "start-interleave"): [8.0, 9.0, 10.0], ("cross", "tiering"): [6.0, 6.75, 7.51]}
    found = regret.regrets(read(tmp_path, values)).static["cross", "tiering"]
    assert 0.24 < found.low < 0.25 < found.high < 0.26


def test_a_run_of_static_placements_has_no_table(tmp_path: Path) -> None:
    static = {key: value for key, value in VALUES.items() if key[1] not in ("tiering", "clairvoyant")}
    assert regret_table.table(read(tmp_path, static)) is None
    assert regret.is_static("maximum-local:pages=follow") and regret.is_static("start-bind:node=1")
    assert not regret.is_static("tiering:hot_threshold_ms=5#2") and not regret.is_static("./own.py")


def test_the_terminal_shows_each_cell(tmp_path: Path) -> None:
    out = io.StringIO()
    text_table.show_regret(read(tmp_path, VALUES), out)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert any("tiering" in line and "25" in line and "40" in line for line in lines), out.getvalue()


def test_the_terminal_ranks_the_placements_first(tmp_path: Path) -> None:
    out = io.StringIO()
    text_table.show_regret(read(tmp_path, VALUES), out)
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines() if line.strip()]
    assert lines[0] == "all workloads speed-up 95 % interval rank regret, static", out.getvalue()
    first = next(line for line in lines if "tiering" in line)
    assert re.fullmatch(r"tiering 1\.23× \S+ to \S+ 1 3 % \[\S+ \S+\]", first), first


def test_no_limit_is_above_everything(tmp_path: Path) -> None:
    """Two blocks that differ much, by which the speed might be negative."""
    values = VALUES | {("cross", "start-interleave"): [8.0, 9.0], ("cross", "tiering"): [1.0, 6.0]}
    assert regret.regrets(read(tmp_path, values)).static["cross", "tiering"].high == 1


def test_pages_that_the_module_moved_are_counted(tmp_path: Path) -> None:
    line = synthetic.observation("cross", "none", 1, platform="real", value=5.0)
    line["kernel"] = {"counters": {"pgmigrate_success": 1, "numaplace_moved": 20}, "system_s": 0.1, "threads_s": 0}
    row, = regret_table.activity(reader.read(synthetic.write(tmp_path, [line], TIMED)))
    assert row["moved"].startswith("21")


def test_accesses_to_other_nodes_stand_beside_what_the_kernel_did(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", "none", i, platform="real", value=5.0) for i in (1, 2)]
    for line, share in zip(lines, (0.25, 0.75), strict=True):
        line["metrics"].append({"name": "remote_share", "unit": "fraction", "value": share})
        line["kernel"] = {"counters": {"pgmigrate_success": 1}, "system_s": 0.1, "threads_s": 0}
    row, = regret_table.activity(reader.read(synthetic.write(tmp_path, lines, TIMED)))
    assert row["remote"].startswith("0.5")
    lines[0]["metrics"].pop()
    row, = regret_table.activity(reader.read(synthetic.write(tmp_path / "some", lines, TIMED)))
    assert row["remote"] == "–", "of one of two observations"

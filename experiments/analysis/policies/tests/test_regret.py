# SPDX-License-Identifier: GPL-2.0-only
"""Regret, worked out by hand."""

import math
import re
from pathlib import Path

import pytest

from experiments.analysis.pages import text_table
from experiments.analysis.policies import regret, regret_table, speedup
from experiments.analysis.runs import results as reader
from experiments.analysis.tests import synthetic
from experiments.bench.drawn import reports, tally

TIMED = synthetic.MANIFEST | {"platform": "real", "responses": ["bandwidth"]}
VALUES = {("cross", "none"): [5.0, 5.2, 5.1], ("cross", "start-interleave"): [8.0, 8.4, 8.16], ("cross", "tiering"): [6.0, 6.3, 6.12],
          ("cross", "oracle"): [10.0, 10.5, 10.2], ("contention-1L1R", "none"): [4.0, 4.4, 4.2],
          ("contention-1L1R", "start-interleave"): [2.0, 2.2, 2.1], ("contention-1L1R", "tiering"): [5.0, 5.5, 5.25]}


def read(folder: Path, values: dict[tuple[str, str], list[float]]) -> reader.Results:
    lines = [synthetic.observation(workload, policy, i, platform="real", value=value)
             for (workload, policy), found in values.items() for i, value in enumerate(found, 1)]
    return reader.read_results(synthetic.write(folder, lines, TIMED))


def test_regret_is_to_the_best_static_level_of_each_workload(tmp_path: Path) -> None:
    found = regret.compute_regrets(read(tmp_path, VALUES))
    assert found.references == {"cross": {"start-interleave": 3}, "contention-1L1R": {"none": 3}}
    assert ("cross", "start-interleave") not in found.static, "it is the reference"
    assert found.static["cross", "tiering"].value == pytest.approx(1 - 0.75)
    assert found.static["contention-1L1R", "tiering"].value == pytest.approx(-0.25), "better than each static one"
    assert found.oracle["cross", "tiering"].value == pytest.approx(0.4)
    assert not [w for w, _ in found.oracle if w == "contention-1L1R"], "it has no oracle"
    assert found.mean["tiering"].value == pytest.approx(1 - (0.75 * 1.25) ** 0.5)
    assert "oracle" not in found.mean, "it lacks a workload"


def test_the_reference_of_a_block_is_chosen_by_the_others(tmp_path: Path) -> None:
    """In each block another one is the best than in the others."""
    values = {("cross", "none"): [1.0, 2.0, 2.0], ("cross", "start-interleave"): [2.0, 1.0, 1.9], ("cross", "tiering"): [1.0, 1.0, 1.0]}
    found = regret.compute_regrets(read(tmp_path, values))
    assert found.references["cross"] == {"none": 2, "start-interleave": 1} and found.best["cross"] is None
    assert found.static["cross", "tiering"].value == pytest.approx(1 - 0.5 ** (1 / 3))
    assert ("cross", "none") in found.static and ("cross", "start-interleave") in found.static


def test_equal_placements_have_no_regret(tmp_path: Path) -> None:
    """By the best mean of the same blocks it was 1.3 points."""
    case = next(case for case in reports.build_cases() if case.drawn.startswith("eight equal placements, eight workloads, 3 %, 3 blocks"
                                                                                ) and case.name == "regret")
    lines = {line.what: line for line in tally.build_lines(case, 1)}
    assert {line.verdict for line in lines.values()} == {tally.OK}
    assert lines[reports.BIAS.what].high < 0.003 and lines[tally.HOLDS.what].value > 0.93


def test_the_interval_is_wider_where_blocks_do_not_tell_the_best(tmp_path: Path) -> None:
    logs = {1: 0.1, 2: 0.2, 3: 0.4}
    plain, wide = speedup.compute_mean_of_logs(logs), regret.compute_dependent_mean(logs)
    assert wide.value == plain.value
    assert math.log(wide.high / wide.value) == pytest.approx(math.sqrt(2.5) * math.log(plain.high / plain.value))


def test_two_blocks_have_no_regret_and_say_why(tmp_path: Path) -> None:
    results = read(tmp_path, {key: found[:2] for key, found in VALUES.items()})
    found = regret.compute_regrets(results)
    assert found.static == {} and found.mean == {} and found.oracle
    told, = regret_table.make_table(results)["notes"]
    assert "no regret to a static placement: contention-1L1R, cross" in told and "3 blocks are needed" in told


def test_workloads_without_a_best_one_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = VALUES | {("contention-1L1R", "start-interleave"): [4.1, 4.3, 4.2]}
    text_table.show_regret(read(tmp_path, values))
    out = capsys.readouterr().out
    told = " ".join(out.split())
    assert "no static placement is distinguishable from the others as the best: contention-1L1R regret:" in told, told
    assert "not a bound" in told


def test_a_run_without_a_whole_block_has_no_mean(tmp_path: Path) -> None:
    lines = [synthetic.observation(workload, policy, i, platform="real", value=5.0)
             for workload, i in (("cross", 1), ("contention-1L1R", 2)) for policy in ("none", "tiering")]
    assert regret.compute_regrets(reader.read_results(synthetic.write(tmp_path, lines, TIMED))).mean == {}


def test_limits_are_by_blocks(tmp_path: Path) -> None:
    """A block in which everything is faster says nothing about the ratio."""
    values = VALUES | {("cross", "start-interleave"): [8.0, 9.0, 10.0], ("cross", "tiering"): [6.0, 6.75, 7.51]}
    found = regret.compute_regrets(read(tmp_path, values)).static["cross", "tiering"]
    assert 0.24 < found.low < 0.25 < found.high < 0.26


def test_a_run_of_static_placements_has_no_table(tmp_path: Path) -> None:
    static = {key: value for key, value in VALUES.items() if key[1] not in ("tiering", "oracle")}
    assert regret_table.make_table(read(tmp_path, static)) is None
    assert regret.is_static("maximum-local:pages=follow") and regret.is_static("start-bind:node=1")
    assert not regret.is_static("tiering:hot_threshold_ms=5#2") and not regret.is_static("./own.py")


def test_the_terminal_ranks_the_placements_and_shows_each_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text_table.show_regret(read(tmp_path, VALUES))
    out = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in out.splitlines() if line.strip()]
    assert lines[0] == "all workloads speed-up 95 % interval rank regret, static", out
    first = next(line for line in lines if "tiering" in line)
    assert re.fullmatch(r"tiering 1\.23× \S+ to \S+ 1 3 % \[\S+ \S+\]", first), first
    assert any({"tiering", "25", "40"} <= {*line.split()} for line in lines), out


def test_no_limit_is_above_everything(tmp_path: Path) -> None:
    """Two blocks that differ much, by which the speed might be negative."""
    values = VALUES | {("cross", "start-interleave"): [8.0, 9.0, 8.5], ("cross", "tiering"): [0.1, 6.0, 3.0],
                       ("cross", "oracle"): [10.0, 10.5, 12.0]}
    found = regret.compute_regrets(read(tmp_path, values))
    assert found.oracle["cross", "tiering"].high == 1 and found.static["cross", "tiering"].high < 1


def test_pages_that_the_module_moved_are_counted(tmp_path: Path) -> None:
    line = synthetic.observation("cross", "none", 1, platform="real", value=5.0)
    line["kernel"] = {"counters": {"pgmigrate_success": 1, "numaplace_moved": 20}, "system_s": 0.1, "threads_s": 0}
    row, = regret_table.list_activity(reader.read_results(synthetic.write(tmp_path, [line], TIMED)))
    assert row["moved"].startswith("21")


def test_what_the_kernel_did_is_of_all_observations_of_a_boot(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", "none", i, platform="real", value=5.0) | {"boot_id": boot} for i, boot in enumerate("aabb")]
    for line, moved in zip(lines, (0, 100, 0, 100), strict=True):
        line["kernel"] = {"counters": {"pgmigrate_success": moved}, "system_s": moved / 100, "threads_s": 0}
    row, = regret_table.list_activity(reader.read_results(synthetic.write(tmp_path, lines, TIMED)))
    assert row["moved"].startswith("50") and row["system"].startswith("0.5")


def test_accesses_to_other_nodes_stand_beside_what_the_kernel_did(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", "none", i, platform="real", value=5.0) for i in (1, 2)]
    for line, share in zip(lines, (0.25, 0.75), strict=True):
        line["metrics"].append({"name": "remote_share", "unit": "fraction", "value": share})
        line["kernel"] = {"counters": {"pgmigrate_success": 1}, "system_s": 0.1, "threads_s": 0}
    row, = regret_table.list_activity(reader.read_results(synthetic.write(tmp_path, lines, TIMED)))
    assert row["remote"].startswith("0.5")
    lines[0]["metrics"].pop()
    row, = regret_table.list_activity(reader.read_results(synthetic.write(tmp_path / "some", lines, TIMED)))
    assert row["remote"] == "–", "of one of two observations"


def test_what_is_not_decided_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """tiering is between the blocks' scatter beside none, and beside the best one: a difference, but none that is told apart."""
    values = VALUES | {("cross", "tiering"): [4.0, 9.0, 6.0]}
    text_table.show_regret(read(tmp_path, values))
    out = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(re.match(r"tiering 1\.\d+× \? ", line) for line in lines), out
    assert any(re.search(r"tiering −?\d+ % \[\S+ \d+\] \?", line) for line in lines), out
    assert any(line.startswith("tiering * −25 %") for line in lines), out


def test_where_no_workload_has_a_speed_there_is_no_regret(tmp_path: Path) -> None:
    lines = [synthetic.observation("cross", p, k, platform="real") for k in range(3) for p in ("none", "tiering")]
    for line in lines:
        line["metrics"][0]["unit"] = "points"
    assert regret_table.make_table(reader.read_results(synthetic.write(tmp_path, lines, TIMED)))["rows"] == []

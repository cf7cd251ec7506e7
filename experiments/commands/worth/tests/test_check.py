# SPDX-License-Identifier: GPL-2.0-only
"""make check-worth: its programs, and what it says of runs that are not there."""

import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments import pieces
from experiments.analysis.tests import synthetic
from experiments.commands.worth import check
from experiments.commands.worth.check_programs import MACHINES, draw_programs
from experiments.host import host_nodes

ROOT = Path(__file__).resolve().parents[4]
CPUS = {m: [n.cpus for n in host_nodes.list_lab_nodes(m) if n.cpus] for m in MACHINES}


def test_programs_come_from_the_seed() -> None:
    found = draw_programs(1, CPUS)
    assert found == draw_programs(1, CPUS) != draw_programs(2, CPUS)
    assert Counter(one.drawn for one in found) == {True: 40, False: 5} and {one.machine for one in found} == set(MACHINES)
    assert len({one.words for one in found}) > 35 and len({one.name for one in found}) == 45


def test_a_program_of_other_words_has_runs_of_its_own() -> None:
    first, second, *_ = draw_programs(1, CPUS)
    assert check.compute_digest(first) == check.compute_digest(draw_programs(1, CPUS)[0]) != check.compute_digest(second)


def test_what_is_missing_is_counted_and_not_a_result(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "experiments.commands.worth.check", "--out", tmp_path, "--kept", tmp_path / "kept", "--time", "0s"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "45 of 45 programs are missing" in done.stderr


def make_row(name: str, **more: Any) -> check.Row:
    return check.Row(**({"piece": name, "inputs": "", "command": "x", "machine": "demo-2s", "sentence": "?", "named": "none", "right": True,
                         "matters": True, "best": "none", "loss": 0.0, "held": None, "rates": {}} | more))


def test_an_answer_counts_while_its_inputs_are_the_same(tmp_path: Path) -> None:
    first, second, *_ = programs = draw_programs(1, CPUS)
    rows = [make_row(one.name, inputs=inputs) for one, inputs in ((first, check.compute_inputs(first)), (second, "of older code"))]
    for one in rows:
        pieces.Kept(tmp_path / "kept.jsonl").write(asdict(one))
    assert check.read_kept_rows(tmp_path / "kept.jsonl", programs) == {first.name: rows[0]}


def write_runs(out: Path, program: Any, told: dict[str, float], true: dict[str, float]) -> check.Row:
    """Writes worth's run and the longer one, with rates by placement. Returns the row of both."""
    for half, rates in (("worth", told), ("truth", true)):
        lines = [synthetic.observation("cross", policy, k, value=rate * (1 + k * len(policy) % 7 / 1e3), platform="real") for k in range(12) for policy, rate in rates.items()]
        synthetic.write(check.locate_folder(out, program) / half / "run", lines)
    return check.make_row(out, program)


def test_an_answer_is_judged_by_the_longer_run(tmp_path: Path) -> None:
    program, *_ = draw_programs(1, CPUS)
    good = write_runs(tmp_path, program, {"none": 500, "daemon": 600}, {"none": 500, "daemon": 600.1})
    assert (good.named, good.right, good.matters, good.held, good.best) == ("daemon", True, True, True, "daemon")
    other = write_runs(tmp_path, program, {"none": 500, "daemon": 600}, {"none": 500, "daemon": 640})
    assert (other.right, other.held) == (True, False), "it is the best, and gains more than was told"
    missed = write_runs(tmp_path, program, {"none": 500, "daemon": 500}, {"none": 500, "daemon": 600})
    assert (missed.right, missed.matters, missed.held) == (False, True, None) and abs(missed.loss - 1 / 6) < 0.001
    still = write_runs(tmp_path, program, {"none": 500, "daemon": 500}, {"none": 500, "daemon": 501})
    assert (still.right, still.matters) == (True, False)
    false = write_runs(tmp_path, program, {"none": 500, "daemon": 520}, {"none": 500, "daemon": 500})
    assert (false.right, false.matters, false.held) == (False, False, False)


def test_what_matters_is_counted_apart() -> None:
    said = check.format_table([make_row("random-1", matters=False), make_row("random-2", held=True),
                               make_row("random-3", right=False, held=False, named="daemon")])
    assert "1 of the 2 that matter right, and 1 of 1 where nothing differs; 1 of 2 intervals of named options hold" in said
    assert "interval DOES NOT HOLD" in said and "nothing differs" in said.splitlines()[6]
    assert not check.has_enough([make_row("a")] * 9 + [make_row("b", matters=False)]) and check.has_enough([make_row("a")] * 10)

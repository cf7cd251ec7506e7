# SPDX-License-Identifier: GPL-2.0-only
"""make check-worth: its programs, and what it says of runs that are not there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from experiments.runner.host import host_nodes
from experiments.worth import check
from experiments.worth.check_programs import MACHINES, drawn

ROOT = Path(__file__).resolve().parents[3]
CPUS = {m: [n.cpus for n in host_nodes.of_lab(m) if n.cpus] for m in MACHINES}


def test_programs_come_from_the_seed() -> None:
    found = drawn(1, CPUS)
    assert found == drawn(1, CPUS) != drawn(2, CPUS)
    assert Counter(one.reacts for one in found) == {True: 20, False: 5} and {one.machine for one in found} == set(MACHINES)
    assert len({one.words for one in found}) > 20 and len({one.name for one in found}) == 25


def test_a_program_of_other_words_has_runs_of_its_own() -> None:
    first, second, *_ = drawn(1, CPUS)
    assert check.digest(first) == check.digest(drawn(1, CPUS)[0]) != check.digest(second)


def test_what_is_missing_is_counted_and_not_a_result(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "experiments.worth.check", "--out", tmp_path, "--kept", tmp_path / "kept", "--time", "0s"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "25 of 25 programs are missing" in done.stderr


def test_an_answer_counts_while_its_inputs_are_the_same(tmp_path: Path) -> None:
    first, second, *_ = programs = drawn(1, CPUS)
    rows = [check.Row(inputs, one.name, "words", one.machine, "nothing is worth it", "none", True)
            for one, inputs in ((first, check.inputs(first)), (second, "of older code"))]
    file = tmp_path / "kept.jsonl"
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    assert check.kept(file, programs) == {first.name: rows[0]}

# SPDX-License-Identifier: GPL-2.0-only
"""Statements are kept with a run, and a later change of a range shows."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from pathlib import Path

import pytest

from experiments.analysis import papers, report
from experiments.analysis.papers import PRESENTATIONS, frozen
from experiments.analysis.results import read
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_luo as luo
from experiments.places import HERE
from experiments.runner import statements

CRITERIA = ("experiments/analysis/", "experiments/reference/", "Documentation/", "tests/")
FILE = "experiments/reference/statements.json"


def test_the_file_has_the_statements_that_reports_judge_by() -> None:
    lines = frozen.lines()
    if os.environ.get("NUMAPLACE_GOLDEN") == "write":
        statements.FILE.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(statements.FILE.read_text(encoding="utf-8")) == lines
    assert set(lines) == set(PRESENTATIONS)
    assert all(line.endswith("]") and "[every ]" not in line for found in lines.values() for line in found)


def run(tmp_path: Path, kept: dict) -> Path:
    folder = factorial.write(tmp_path, factorial.records("contention", luo.contention("e5620")), ["luo-contention"])
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {statements.KEY: kept}))
    return folder


def test_a_range_that_was_changed_after_the_run_shows(tmp_path: Path) -> None:
    then = copy.deepcopy(statements.of(["luo-contention"]))
    same = run(tmp_path / "same", then)
    assert papers.chapters(read(same))[0][0].changed == []
    assert "Statements were changed" not in report.write(same).read_text()
    kept = then["luo-contention"]
    old = kept["lines"][1].replace("0.65 to 0.85", "0.69 to 0.81")
    assert old != kept["lines"][1]
    kept["lines"] = [kept["lines"][0], old, *kept["lines"][2:]]
    kept["sha256"] = "0" * 64
    page = report.write(run(tmp_path / "other", then)).read_text()
    assert "Statements were changed after this run was made" in page
    assert "[every 1 × 0.69 to 0.81]" in page


def mixed(files: list[str]) -> list[str]:
    """Files of programs in a commit that changes a paper's statement."""
    return [name for name in files if name and not name.startswith(CRITERIA)] if FILE in files else []


def test_a_commit_that_changes_statement_and_program_is_found() -> None:
    assert mixed([FILE, "experiments/lab/machines/ls3a-2s.toml"]) == ["experiments/lab/machines/ls3a-2s.toml"]
    assert mixed([FILE, "experiments/analysis/papers/checks.py"]) == []
    assert mixed(["experiments/lab/machines/ls3a-2s.toml"]) == []


def test_no_commit_changes_a_statement_and_a_program() -> None:
    git = ["git", "-C", str(HERE.code)]
    commits = subprocess.run([*git, "log", "--format=%H", "--diff-filter=M", "--", FILE], capture_output=True, text=True)
    if commits.returncode:
        pytest.skip("the tree is no clone: its commits are not here")
    for commit in commits.stdout.split():
        files = subprocess.run([*git, "show", "--name-only", "--format=", commit], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        assert mixed(files) == [], f"{commit} changes a paper's statement and a program: make two commits"

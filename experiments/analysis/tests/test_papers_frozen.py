# SPDX-License-Identifier: GPL-2.0-only
"""Statements are kept with a run, and a later change of a range shows."""

from __future__ import annotations

import copy
import importlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from experiments.analysis import papers
from experiments.analysis.pages import report, summary
from experiments.analysis.papers import PRESENTATIONS, bergstrom, deters, frozen, luo_checks
from experiments.analysis.runs.results import read
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_luo as luo
from experiments.paths import HERE
from experiments.runner.records import statements

ACROSS = importlib.import_module("experiments.analysis.papers.across")  # the package has a function of that name
CRITERIA = ("experiments/analysis/", "experiments/reference/", "Documentation/", "tests/")
FILE = "experiments/reference/statements.json"


def test_the_file_has_the_statements_that_reports_judge_by() -> None:
    lines = frozen.lines()
    if os.environ.get("NUMAPLACE_GOLDEN") == "write":
        statements.FILE.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(statements.FILE.read_text(encoding="utf-8")) == lines
    assert set(lines) == set(PRESENTATIONS)
    assert all(re.search(r" × [^;]+; compared: [0-9a-f]{8}\]$", line) for found in lines.values() for line in found)


def mutated(module: ModuleType, old: str, new: str) -> ModuleType:
    """The module with another text at one place."""
    text = Path(module.__file__).read_text(encoding="utf-8")
    assert old in text
    made = ModuleType(module.__name__)
    made.__file__, made.__package__ = module.__file__, module.__package__
    exec(compile(text.replace(old, new, 1), module.__file__, "exec"), made.__dict__)
    return made


def others(monkeypatch: pytest.MonkeyPatch, module: ModuleType, old: str, new: str) -> int:
    """How many lines the mutation changes."""
    before, made = frozen.lines(), mutated(module, old, new)
    for name, value in list(vars(frozen).items()):
        if value is module:
            monkeypatch.setattr(frozen, name, made)
        elif getattr(value, "__module__", "") == module.__name__:
            monkeypatch.setattr(frozen, name, getattr(made, name))
    after = frozen.lines()
    return sum(a != b for name in before for a, b in zip(before[name], after[name], strict=True))


@pytest.mark.parametrize(("module", "old", "new"), [
    pytest.param(luo_checks, '"most remote / most local", t(0, most), t(most, 0)), 0.65',
                 '"most remote / most local", t(most, 0), t(0, most)), 0.65', id="ratio-swapped"),
    pytest.param(luo_checks, "t.ratio((3, 3), (4, 2))", "t.ratio((3, 3), (4, 3))", id="another-cell"),
    pytest.param(luo_checks, 'remote = _Totals(cells, "bandwidth_local"), _Totals(cells, "bandwidth_remote")',
                 'remote = _Totals(cells, "bandwidth_local"), _Totals(cells, "bandwidth")', id="another-metric"),
    pytest.param(bergstrom, 'cells, shown, "bandwidth_bus"', "cells, shown", id="bytes-not-of-the-bus"),
    pytest.param(deters, 'relative(model, "runtime", "locality", "vanilla", LEVEL)',
                 'relative(model, "runtime", "vanilla", "locality", LEVEL)', id="runtimes-swapped"),
    pytest.param(deters, "LEVEL = 0.90", "LEVEL = 0.95", id="another-level"),
    pytest.param(ACROSS, "copy(amd, \"local\"), copy(intel, \"local\"))]", "copy(intel, \"local\"), copy(amd, \"local\"))]",
                 id="machines-swapped")])
def test_what_is_compared_is_in_the_line(monkeypatch: pytest.MonkeyPatch, module: ModuleType, old: str, new: str) -> None:
    assert others(monkeypatch, module, old, new) > 0


def test_the_name_of_a_comparison_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert others(monkeypatch, luo_checks, '"most remote / most local", t(0', '"remote / local", t(0') == 0
    assert others(monkeypatch, luo_checks, "_first_is_worst(f\"{x}L\", ", "_first_is_worst(str(x), ") == 0


@pytest.mark.parametrize(("file", "old", "new"), [
    ("model_fit/family.py", "OFF = 0.2", "OFF = 0.02"),
    ("analysis/papers/checks.py", "high <= part.low", "high < part.low"),
    ("analysis/stats/intervals.py", "LEVEL = 0.95", "LEVEL = 0.9"),
    ("reference/luo-table1-e5620.csv", "0.", "1.")])
def test_a_change_of_what_judges_changes_the_hash(tmp_path: Path, file: str, old: str, new: str) -> None:
    top = tmp_path / "experiments"
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    for name in ("analysis", "model_fit", "reference"):
        shutil.copytree(statements.TOP / name, top / name, ignore=ignored)
    assert statements.code(top) == statements.code()
    text = (top / file).read_text()
    assert old in text
    (top / file).write_text(text.replace(old, new))
    assert statements.code(top) != statements.code()


def notes(folder: Path, **changed: object) -> list[str]:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | changed))
    return [note for note in summary.notes(read(folder)) if "judged" in note]


def test_a_report_says_when_other_code_judges(tmp_path: Path) -> None:
    folder = run(tmp_path, statements.of(["luo-contention"]))
    unknown, = notes(folder)
    assert unknown.endswith("the run does not say by which statements and code it was to be judged")
    assert notes(folder, judging_code=statements.code()) == []
    assert notes(folder, judging_code="0" * 64) == ["the papers' statements: judged by other code than when it ran"]
    assert "judged by other code than when it ran" in report.write(folder).read_text()
    assert notes(folder, suite_text="") == []


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
    assert "[every 1 × 0.69 to 0.81; compared: " in page


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

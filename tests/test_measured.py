# SPDX-License-Identifier: GPL-2.0-only
"""Measured files: each has a command that writes it, and one that is older than the code that it measures is found."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
FOLDER = TOP / "Documentation" / "measured"


@pytest.fixture
def measure():
    spec = importlib.util.spec_from_file_location("measure", FOLDER / "measure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_file_has_a_target_with_inputs_that_are_there(measure):
    files = {path.name for path in FOLDER.glob("*.txt")}
    assert files <= set(measure.read_targets())
    for target in measure.read_targets().values():
        assert [name for name in target["inputs"] if not (TOP / name).exists()] == []


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, capture_output=True,
                          text=True, check=True).stdout.strip()


@pytest.fixture
def repository(measure, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "TOP", tmp_path)
    monkeypatch.setattr(measure, "HERE", tmp_path)
    git(tmp_path, "init", "-q")
    (tmp_path / "code").write_text("1")
    git(tmp_path, "add", "code")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def test_a_file_ages_by_changes_of_its_inputs_alone(measure, repository):
    assert measure.explain_old("x.txt", ["code"]) == "no target has written it"
    assert measure.write_file("x.txt", "echo measured", ["code"])
    assert (repository / "x.txt").read_text().endswith("\n\nmeasured\n")
    assert measure.explain_old("x.txt", ["code"]) is None
    git(repository, "commit", "-q", "--amend", "-m", "another history")
    for name, content, old in (("other", "2", None), ("code", "2", "later changes to code"), ("code", "1", None)):
        (repository / name).write_text(content)
        git(repository, "add", name)
        git(repository, "commit", "-qm", name)
        assert measure.explain_old("x.txt", ["code"]) == old


def test_what_was_measured_with_changes_is_old(measure, repository):
    (repository / "code").write_text("2")
    assert measure.write_file("x.txt", "echo measured", ["code"])
    assert measure.explain_old("x.txt", ["code"]) == "written with changes that were not committed"


def test_what_changes_while_it_is_measured_is_not_what_was_measured(measure, repository):
    assert measure.write_file("x.txt", "echo 2 >code; git -c user.name=t -c user.email=t@t commit -qam two", ["code"])
    assert measure.explain_old("x.txt", ["code"]) == "later changes to code"


@pytest.mark.parametrize(("command", "written"), [("exit 4", True), ("exit 2", False), ("exit 1", False)])
def test_a_command_that_could_not_measure_writes_nothing(measure, repository, command, written):
    assert measure.write_file("x.txt", command, ["code"]) == written
    assert (repository / "x.txt").exists() == written


def quotations(page: str) -> list[tuple[str, list[str]]]:
    """Files of measured/ that a page links to, each with the lines of the block that follows in the same section."""
    found = []
    for section in re.split(r"^#+ ", page, flags=re.MULTILINE):
        for link in re.finditer(r"\(\.\./measured/([\w.-]+)\)", section):
            after = section[link.end():]
            block = re.search(r"^```\n(.*?)^```|((?:^    [^\n]*\n)+)", after, flags=re.MULTILINE | re.DOTALL)
            if block and "\n|" not in after[:block.start()]:
                found.append((link[1], (block[1] or block[2]).splitlines()))
    return found


def test_what_a_page_quotes_is_in_the_measured_file():
    quoted = {(path, name): lines for path in sorted((TOP / "Documentation").glob("*/*.md"))
              for name, lines in quotations(path.read_text(encoding="utf-8"))}
    assert len(quoted) >= 4
    for (path, name), lines in quoted.items():
        measured = {line.strip() for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()}
        assert [line for line in lines if line.strip() not in measured] == [], f"{path} quotes {name}"

# SPDX-License-Identifier: GPL-2.0-only
"""Tiers of the tests: what a budget refuses, what needs a reason, and which pieces of make check-full are run again."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import pieces
from tests import check, full
from tests.durations import Cost
from tests.full import Piece

TOP = Path(__file__).resolve().parents[1]
COSTS = [Cost("a/tests/test_x.py::one", "passed", 12, 3, 1), Cost("a/tests/test_y.py::two", "passed", 1, 4),
         Cost("tests/guest.toml::6.12-module::k/test_z.py::three", "failed", 20, 50)]


def test_a_part_fails_above_its_budget_of_boots():
    """How long a test takes is the machine's; how many boot one is the test's."""
    assert [len(check.list_over_budget(COSTS, budget)) for budget in ({"a": 1}, {"a": 0}, {})] == [0, 1, 1]


def test_a_long_test_needs_a_reason(tmp_path):
    """By the table of the last run, at collection."""
    (tmp_path / "test_x.py").write_text("import pytest\ndef test_one(): pass\n@pytest.mark.long('it waits')\ndef test_two(): pass\n")
    (tmp_path / "conftest.py").write_text(
        "import pytest\nfrom tests import durations\ndef pytest_collection_modifyitems(items):\n"
        "    costs = [durations.Cost(item.nodeid, 'passed', 11, 1) for item in items]\n"
        "    print(durations.list_without_reason(items, durations.make_table(costs)))\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", tmp_path], capture_output=True, text=True,
                          check=False, cwd=TOP)
    assert done.stdout.count("took 11 s: mark it long or full") == 1 and "test_one took" in done.stdout, done.stdout


@pytest.fixture
def kept(tmp_path, monkeypatch) -> pieces.Kept:
    monkeypatch.setattr(full, "KEPT", pieces.Kept(tmp_path / "kept.jsonl"))
    return full.KEPT


def piece(outcome: str, times: int = 1) -> Piece:
    """Whose one test has this outcome."""
    line = f'{{"test": "t", "outcome": "{outcome}"}}'
    return Piece("p", ("KERNELS",), ("sh", "-c", f"echo '{line}' >$NUMAPLACE_COSTS; test {outcome} = passed"), times=times)


def test_a_piece_that_passed_is_not_run_again_until_its_inputs_change(kept):
    assert full.run_pieces([piece("passed")], float("inf")) == 0
    (record,) = kept.read().values()
    assert (record["passed"], record["failed"]) == (1, [])
    assert full.run_pieces([piece("failed")], float("inf")) == 0, "by its name and inputs it is done"
    kept.write(record | {"inputs": "others"})
    assert full.run_pieces([piece("failed")], float("inf")) == 1
    assert kept.read()["p"]["failed"] == ["t"]
    assert full.run_pieces([piece("passed")], float("inf")) == 0, "what failed is run again"


def test_a_piece_is_run_as_often_as_it_says_and_goes_on(kept):
    assert full.run_pieces([piece("passed", 3)], 0) == 0 and not kept.read(), "no time"
    kept.write(full.run_once(piece("passed")) | {"times": 2})
    assert piece("passed", 3).state(kept.read()["p"]) == "passed 2 of 3 times"
    assert full.run_pieces([piece("failed", 3)], float("inf")) == 1
    assert (kept.read()["p"]["times"], kept.read()["p"]["failed"]) == (3, ["t"]), "what failed once is named"


@pytest.mark.parametrize("file", ["", "t.py"])
def test_what_changes_while_a_piece_runs_is_not_what_passed(kept, tmp_path, monkeypatch, file):
    monkeypatch.setattr(full, "TOP", tmp_path)
    (tmp_path / "code").write_text("1")
    for words in (["init", "-q"], ["add", "code"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    edits = """echo 2 >code; echo '{"test": "t.py::t", "outcome": "passed"}' >$NUMAPLACE_COSTS"""
    assert full.run_pieces([Piece("p", ("code",), ("sh", "-c", edits), file=file)], float("inf")) == 0
    assert Piece("p", ("code",), (), file=file).state(kept.read()["p"]) == "older than its inputs"


def test_a_piece_of_which_nothing_passed_proves_nothing(kept):
    none = Piece("p", ("KERNELS",), (*full.PYTEST, "--version"))
    assert full.run_pieces([none], float("inf")) == 1 and none.state(kept.read()["p"]) == "failed"


def sharing(name: str, outcomes: dict[str, str], status: int = 0) -> Piece:
    """Of tests in name.py, in a boot where the tests of these files, "" for the log, have these outcomes."""
    tests = [json.dumps({"test": f"boot::{file}.py::t" if file else "boot::log", "outcome": outcome}) for file, outcome in outcomes.items()]
    costs = shlex.quote("".join(f"{test}\n" for test in tests))
    return Piece(name, ("KERNELS",), ("sh", "-c", f"printf %s {costs} >$NUMAPLACE_COSTS; exit {status}"), file=f"{name}.py")


@pytest.mark.parametrize(("outcomes", "status", "failed"), [
    ({"": "passed", "a": "passed", "b": "passed"}, 0, ""),
    ({"": "passed", "a": "passed", "b": "failed"}, 1, "b"),
    ({"": "failed", "a": "passed", "b": "passed"}, 1, "ab"),
    ({"": "passed", "a": "passed", "b": "skipped"}, 0, "b"),
    ({"a": "failed"}, 1, "ab"),
    ({}, 1, "ab"),
])
def test_files_that_share_a_boot_have_a_record_each(outcomes, status, failed, kept):
    """The log's fault is each one's; what another file's test failed for is not; a boot that ended early proves no further file."""
    both = [sharing(name, outcomes, status) for name in "ab"]
    assert [len(group) for group in full.share_boots(both)] == [2]
    assert full.run_pieces(both, float("inf")) == int(failed != "")
    assert "".join(piece.name for piece in both if piece.state(kept.read()[piece.name]) == "failed") == failed
    assert [piece.name for group in full.share_boots(both) for piece in group] == list(failed), "what has passed is not run again"


def test_what_has_passed_for_these_inputs_is_left_out(kept, monkeypatch):
    monkeypatch.delenv("SERIES", raising=False)
    assert check.list_proved() == []
    for one in full.list_proving():
        kept.write({"piece": one.name, "inputs": one.digest, "failed": [], "status": 0, "times": 1, "commit": "c"})
    assert "--deselect=tests/guest.toml::6.1-kernel" in check.list_proved() and len(check.list_proved()) == 4
    kept.write(kept.read()["kernel 6.1"] | {"inputs": "others"})
    assert len(check.list_proved()) == 3
    monkeypatch.setenv("SERIES", "all")
    assert check.list_proved() == []


def test_a_record_ages_no_piece():
    kept = str(full.KEPT.path.relative_to(TOP))
    every = (*full.list_proving(), *full.list_on_host(), *full.list_in_lab(), *full.list_other_targets(), *full.list_on_debug_kernels())
    known = pieces.git(TOP, "ls-files", "--", *{path for one in every for path in one.inputs}).splitlines()
    assert "Documentation/testing.md" in known and kept not in known

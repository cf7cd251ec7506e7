# SPDX-License-Identifier: GPL-2.0-only
"""The records of runs on kernels with checkers: what is run again, and what counts as a hole."""

from xml.etree import ElementTree

import pytest

from kmod.tests import checked

FILES = ["kmod/tests/guest/pages/test_a.py", "kmod/tests/guest/tasks/test_b.py"]


@pytest.fixture
def ran(tmp_path, monkeypatch) -> list[tuple[str, str]]:
    """Which files ran. The module is "one" until the variable says another."""
    files = []

    def measure(series: str, file: str) -> dict:
        files.append((series, file))
        return {"series": series, "file": file, "passed": 3, "skipped": 0, "failed": 0, "log": "passed", "failures": [],
                "seconds": 5, "commit": "abc", "inputs": checked.inputs(file, series)}

    monkeypatch.setattr(checked, "RECORDS", tmp_path / "records.jsonl")
    monkeypatch.setattr(checked, "files", lambda: FILES)
    monkeypatch.setattr(checked, "inputs", lambda file, series: "one")
    monkeypatch.setattr(checked, "measure", measure)
    monkeypatch.setattr(checked.kernels, "known_series", lambda: ["6.1", "7"])
    return files


def test_a_file_runs_once_until_what_it_tests_changes(ran, monkeypatch):
    for _ in range(2):
        assert checked.main(["run", "7"]) == 0
    assert ran == [("debug-7", file) for file in FILES]
    monkeypatch.setattr(checked, "inputs", lambda file, series: "two" if file == FILES[1] else "one")
    checked.main(["run", "7"])
    assert ran[2:] == [("debug-7", FILES[1])]


def test_the_next_call_goes_on(ran, capsys):
    checked.main(["run", "7", "-1"])
    assert ran == []
    assert f"before {FILES[0]}: call again" in capsys.readouterr().out


def test_what_failed_runs_again(ran, monkeypatch):
    good = checked.measure
    monkeypatch.setattr(checked, "measure", lambda series, file: good(series, file) | {"failures": ["test_x"], "failed": 1})
    checked.main(["run", "7"])
    checked.main(["run", "7"])
    assert len(ran) == 4


def test_each_hole_is_in_the_table(ran, monkeypatch, capsys):
    checked.main(["run", "7"])
    assert checked.main(["show"]) == 1
    assert capsys.readouterr().out.count("not run") == 2
    checked.main(["run", "6.1"])
    assert checked.main(["show"]) == 0
    monkeypatch.setattr(checked, "inputs", lambda file, series: "two")
    assert checked.main(["show"]) == 1
    assert capsys.readouterr().out.count("of an older module or test") == 4


@pytest.mark.parametrize(("child", "outcome"), [("", "passed"), ("<skipped/>", "skipped"), ("<failure/>", "failed"),
                                                ("<error/>", "failed")])
def test_outcome_of_a_test_in_a_report(child, outcome):
    assert checked.outcome(ElementTree.fromstring(f"<testcase name='x'>{child}</testcase>")) == outcome


def test_files_and_their_inputs_are_there():
    assert "kmod/tests/guest/module/test_faults.py" in checked.files()
    assert len({checked.inputs(file, "debug-7") for file in checked.files()}) == len(checked.files())

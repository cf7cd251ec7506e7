# SPDX-License-Identifier: GPL-2.0-only
"""Which conclusions hold on all machines: by runs whose speed-ups are known."""

from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.pages import report_all
from experiments.analysis.policies import agreement
from experiments.analysis.runs import results as reader
from experiments.analysis.tests import synthetic
from experiments.analysis.tests.test_policies import TIMED, records
from experiments.commands.experiment.cli import main

BASE = [99.0, 100.0, 101.0, 100.5]
TIMES = {"faster": 1.5, "slower": 0.5, "not decided": 1.0}
NOISE = [1.0, -2.0, 3.0, -1.5]  # added to what is under a policy, so that 1 is in the interval of no change


def run(folder: Path, machine: str, kernel: str, said: dict[tuple[str, str], str], **changes: Any) -> Path:
    """Of workloads under policies with these verdicts."""
    values = {(workload, "none"): BASE for workload, _ in said}
    values |= {key: [TIMES[verdict] * base + noise for base, noise in zip(BASE, NOISE)] for key, verdict in said.items()}
    about = TIMED | {"machine": machine, "kernel": {"release": kernel, "cmdline": ""}} | changes
    return synthetic.write(folder, records(values), about)


def agreed(*folders: Path) -> list[agreement.Suite]:
    return agreement.group_suites([reader.read_results(folder) for folder in folders])


CROSS, SECOND = ("cross", "n-mass"), ("contention-1L1R", "n-mass")


@pytest.mark.parametrize(("verdicts", "expected"), [
    (("faster", "faster"), agreement.HOLDS), (("slower", "slower"), agreement.HOLDS), (("faster", "slower"), agreement.DIFFERS),
    (("faster", "not decided"), agreement.NOT_ALL), (("not decided", "not decided"), agreement.NONE),
    (("slower", "not decided", "faster"), agreement.DIFFERS)])
def test_a_conclusion_of_several_machines(verdicts: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    suite, = agreed(*(run(tmp_path / f"{i}", f"m{i}", "6.12", {CROSS: said}) for i, said in enumerate(verdicts)))
    one, = suite.conclusions
    assert tuple(one.verdicts) == verdicts and one.agreement == expected and suite.select(expected) == [one]


def test_a_difference_is_named_by_machine_or_by_kernel(tmp_path: Path) -> None:
    suite, = agreed(run(tmp_path / "a", "here", "6.1", {CROSS: "faster", SECOND: "faster"}),
                    run(tmp_path / "b", "here", "7.0", {CROSS: "faster", SECOND: "slower"}),
                    run(tmp_path / "c", "there", "7.0", {CROSS: "slower", SECOND: "slower"}))
    assert [(place.machine, place.kernel) for place in suite.places] == [("here", "6.1"), ("here", "7.0"), ("there", "7.0")]
    assert {one.workload: agreement.describe_difference(suite, one) for one in suite.select(agreement.DIFFERS)} == {
        "cross": "machines: faster on here, slower on there",
        "contention-1L1R": "kernels of here: faster on 6.1, slower on 7.0"}


def test_what_one_run_has_alone_is_no_conclusion_of_all(tmp_path: Path) -> None:
    suite, = agreed(run(tmp_path / "a", "here", "6.12", {CROSS: "faster", SECOND: "faster"}),
                    run(tmp_path / "b", "there", "6.12", {CROSS: "faster"}))
    assert [one.workload for one in suite.conclusions] == ["cross"]
    assert not agreed(tmp_path / "a", run(tmp_path / "c", "there", "6.12", {SECOND: "faster"}, suite="another"))
    assert not agreed(tmp_path / "a", run(tmp_path / "d", "here", "6.12", {CROSS: "slower"}))


def test_times_without_a_meaning_are_left_out(tmp_path: Path) -> None:
    lab = synthetic.write(tmp_path / "b", synthetic.make_full(), synthetic.MANIFEST)
    assert not agreed(run(tmp_path / "a", "here", "6.12", {CROSS: "faster"}), lab)


def test_the_page_of_several_runs_names_what_differs(tmp_path: Path) -> None:
    run(tmp_path / "a", "here", "6.12", {CROSS: "faster", SECOND: "faster"})
    run(tmp_path / "b", "there", "6.12", {CROSS: "faster", SECOND: "slower"})
    text = report_all.write_reports(tmp_path, report_all.list_runs(tmp_path))[0].read_text()
    assert "Which conclusions hold on all machines" in text and "differs: 1; holds on all: 1; " in text
    assert ("<li><strong>contention-1L1R under n-mass</strong> differs between machines: faster on here, slower on there</li>"
            in text)
    assert text.index('<th scope="row">contention-1L1R</th><td>n-mass</td><td>differs</td><td>faster (1.50×') < text.index(
        '<th scope="row">cross</th><td>n-mass</td><td>holds on all</td><td>faster (1.50×')
    (tmp_path / "b/results.jsonl").unlink()
    alone = report_all.write_reports(tmp_path, report_all.list_runs(tmp_path))[0].read_text()
    assert "Which conclusions hold" not in alone


def test_unpacked_runs_of_the_same_name_are_in_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all").mkdir()
    for machine, said in (("here", "faster"), ("there", "slower")):
        folder = run(tmp_path / machine / "matrix", machine, "6.12", {CROSS: said})
        assert main(["pack", str(folder), str(tmp_path / f"{machine}.tar.gz")]) == 0
        assert main(["unpack", str(tmp_path / f"{machine}.tar.gz"), str(tmp_path / "all" / machine)]) == 0
    assert main(["report", str(tmp_path / "all")]) == 0
    text = (tmp_path / "all/report.html").read_text()
    assert "differs between machines: faster on here, slower on there" in text
    assert all(f'href="{machine}/runs/matrix/report.html"' in text for machine in ("here", "there"))
    assert report_all.list_runs(tmp_path / "all/here") == [tmp_path / "all/here/runs/matrix"]
    capsys.readouterr()
    assert main(["pack", str(tmp_path / "all"), str(tmp_path / "both.tar.gz")]) == 1
    said = capsys.readouterr().err
    assert "a bundle has one run of a name" in said and not (tmp_path / "both.tar.gz").exists()

# SPDX-License-Identifier: GPL-2.0-only
"""Conclusions about two machines, judged over two runs; and the counts by kind over all runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.analysis import papers
from experiments.analysis.pages import report_all
from experiments.analysis.papers.checks import HOLDS, UNDECIDED
from experiments.analysis.runs.results import Results, read
from experiments.analysis.tests import factorial
from experiments.analysis.tests import test_papers_bergstrom_heard as access
from experiments.analysis.tests import test_papers_luo as luo

pytestmark = pytest.mark.full("a paper more; test_papers_luo has the same judge")


def run(folder: Path, cells: list[factorial.Cell], machine: str, presents: str, platform: str = "real") -> Results:
    found = factorial.records(folder.name, cells, noise=1e-4, platform=platform)
    return read(factorial.write(folder, found, [presents], machine, nodes=8))


def luos(tmp_path: Path, platform: str = "real") -> list[Results]:
    return [run(tmp_path / name, luo.contention(name), machine, "luo-contention", platform)
            for name, machine in (("e5620", "xeon-e5620-2s"), ("ls3a", "ls3a-2s"))]


def test_luos_table_has_the_ls3a_less_sensitive_to_remote_access(tmp_path: Path) -> None:
    sensitive = papers.across(luos(tmp_path))[0]
    assert sensitive.verdict == HOLDS and " 1.11 " in sensitive.evidence  # 0.796 / 0.718
    assert papers.across(luos(tmp_path / "lab", "lab-timed"))[0].verdict == UNDECIDED


def test_one_machine_concludes_nothing_of_two(tmp_path: Path) -> None:
    one = luos(tmp_path)[0]
    assert papers.across([one]) == [] and papers.across([one, one]) == []


def test_a_functional_run_concludes_nothing_of_two(tmp_path: Path) -> None:
    real, functional = luos(tmp_path / "real"), luos(tmp_path / "functional", "lab-functional")
    assert papers.across([real[0], functional[1]]) == papers.across(functional) == []
    assert papers.across([functional[0], *real])[0].verdict == HOLDS


def test_threads_and_processes_are_not_averaged_across_machines(tmp_path: Path) -> None:
    """Processes whose remote bandwidth would turn the statement round: the paper's text speaks of threads."""
    found = []
    for name, machine in (("e5620", "xeon-e5620-2s"), ("ls3a", "ls3a-2s")):
        cells = [({**f, "workers": workers}, {k: (v / (10 if workers == "processes" and name == "ls3a" and f["remote"] else 1), u)
                                              for k, (v, u) in m.items()})
                 for workers in ("processes", "threads") for f, m in luo.contention(name)]
        found.append(run(tmp_path / name, cells, machine, "luo-contention"))
    assert papers.across(found)[0].verdict == HOLDS


@pytest.mark.parametrize("penalty", [True, False])
def test_the_numa_penalty_of_two_machines(tmp_path: Path, penalty: bool) -> None:
    amd = run(tmp_path / "amd", access.stream(access.UNAWARE), "opteron-6172-4s", "bergstrom-stream")
    flat = {n: 0.7 * value for n, value in access.AWARE.items()}
    cells = [(f, m | {"bandwidth": (0.7 * m["bandwidth"][0], "MB/s")})
             for f, m in access.stream(access.AWARE if penalty else {n: v / 3 for n, v in flat.items()})]
    intel = run(tmp_path / "intel", cells, "xeon-x7560-4s", "bergstrom-stream")
    lower, higher = papers.across([amd, intel])
    assert (lower.verdict == HOLDS) == penalty and higher.verdict == HOLDS


def test_the_page_of_all_runs_counts_by_kind_with_the_predictions_first(tmp_path: Path) -> None:
    results = luos(tmp_path, "lab-timed")
    page, parts = report_all.write(tmp_path, report_all.runs(tmp_path))
    shown = re.findall(r"<dt>(\w+)</dt><dd>([^<]*)</dd>", re.search(r'class="facts kinds">(.*?)</dl>', page.read_text(), re.S)[1])
    own = [c for _, chapters in parts for chapter in chapters for c in chapter.own_checks]
    assert shown == papers.by_kind([*own, *papers.across(results)])
    assert [kind for kind, _ in shown] == ["predicted", "fitted", "input"]
    assert "fairer to local and remote threads" in page.read_text()


def test_the_page_of_all_runs_counts_a_statement_once_whatever_the_policies(tmp_path: Path) -> None:
    """Runs of none alone, of none and interleave, and of interleave alone: two chapters without a policy."""
    for name, policies in (("plain", ["none"]), ("two", ["none", "interleave"]), ("other", ["interleave"])):
        found = [record for policy in policies
                 for record in factorial.records("contention", luo.contention("e5620"), policy=policy)]
        factorial.write(tmp_path / name, found, ["luo-contention"])
    page, parts = report_all.write(tmp_path, report_all.runs(tmp_path))
    chapters = [chapter for _, found in parts for chapter in found]
    assert len(chapters) == 4
    once = [check for chapter in chapters if chapter.policy == "none" for check in chapter.own_checks]
    assert len(once) == len(chapters[0].own_checks) * 2
    assert re.findall("<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", page.read_text()[:page.read_text().index("</dl>")]) == (
        papers.by_kind(once))
    assert page.read_text().count(", policy interleave</a>") == 2

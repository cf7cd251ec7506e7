# SPDX-License-Identifier: GPL-2.0-only
"""Luo et al.: their own Table 1 must satisfy their own text, and only that of its machine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.analysis import papers
from experiments.analysis.papers import luo, reference
from experiments.analysis.papers.chapter import like
from experiments.analysis.papers.checks import ABSENT, FAILS, HOLDS, UNDECIDED, WITHIN
from experiments.analysis.runs.results import read
from experiments.analysis.tests import factorial
from experiments.commands.experiment.cli import main

TITLE = "Local and remote threads on one memory controller"


def local_share(machine: str, x: int, y: int) -> float:
    """Made up, as Table 1 does not say who gets what: statements about either side are tests of the code alone.
    E5620: within section 4's 50 to 60 %. LS 3A: in proportion to the threads."""
    if machine == "ls3a" or not (x and y):
        return x / (x + y)
    return {3: 0.505, 4: 0.595}.get(x, 0.55)


def contention(machine: str) -> list[factorial.Cell]:
    """Table 1's totals in MB/s, and a part for either side."""
    table = reference.luo(machine)
    cells = []
    for (x, y), total in table.items():
        if x + y == 0:
            continue
        share = local_share(machine, x, y)
        cells.append(({"local": x, "remote": y}, {
            "bandwidth": (12000 * total, "MB/s"),
            **({"bandwidth_local": (12000 * total * share, "MB/s")} if x else {}),
            **({"bandwidth_remote": (12000 * total * (1 - share), "MB/s")} if y else {}),
        }))
    return cells


def chapter(tmp_path: Path, found: list[dict], name: str = "contention", **manifest):
    directory = factorial.write(tmp_path / name, found, [f"luo-{name}"], **manifest)
    return getattr(luo, name)(read(directory), "luo")


def verdicts(found) -> dict[tuple[str, str], str]:
    return {(c.machine, c.says): c.verdict for c in found.checks}


def of_totals(found) -> list:
    """Table 1 has totals only: what the text says of either side cannot be read off it."""
    return [c for c in found.own_checks if "Table 1" in c.where or "Fig. 5" in c.where]


def test_the_e5620s_table_holds_what_its_text_says_of_totals(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.records("contention", contention("e5620"), noise=1e-4, platform="paper"))
    assert found.machine == "E5620" and found.missing == []
    assert {(c.says, c.verdict) for c in of_totals(found) if c.verdict != HOLDS} == set()
    assert len(of_totals(found)) == 8 and {c.kind for c in found.own_checks} == {"self"}
    others = {c.says: c.verdict for c in found.checks if c.machine == "LS 3A"}
    assert others["the largest total stands at 4L3R"] == FAILS
    assert others["local bandwidth grows with every thread of the node"] == HOLDS  # by 1 % at last
    assert "3L2R: 1.26 of 4L0R" in found.found


def test_the_ls3as_table_holds_what_its_text_says_but_for_two_cells(tmp_path: Path) -> None:
    """2L3R and 3L4R lie far below their neighbours in the paper: see Documentation/explanation/lab-model.md."""
    table = [c for c in contention("ls3a") if (c[0]["local"], c[0]["remote"]) not in {(2, 3), (3, 4)}]
    found = chapter(tmp_path, factorial.records("contention", table, noise=1e-4), machine="ls3a-2s")
    assert found.machine == "LS 3A"
    assert {c.says: c.verdict for c in of_totals(found) if c.verdict == FAILS} == {}
    others = {c.says: c.verdict for c in found.checks if c.machine == "E5620"}
    assert others["the largest total stands at 3L2R"] == FAILS
    assert others["two local threads nearly reach the most (read as 90 % or more)"] == FAILS


def test_noise_makes_close_calls_undecided(tmp_path: Path) -> None:
    """2L2R and 3L2R differ by 0.6 %: three noisy observations cannot tell which is larger."""
    found = chapter(tmp_path, factorial.records("contention", contention("e5620"), noise=0.02))
    assert verdicts(found)["E5620", "the largest total stands at 3L2R"] in (UNDECIDED, FAILS)
    assert verdicts(found)["E5620", "two local threads nearly reach the most (read as 90 % or more)"] == HOLDS


def test_table_1_is_normalised_and_stands_beside_both_papers_machines(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.records("contention", contention("e5620")))
    (table,) = found.tables
    assert table.head == ("threads", "0R", "1R", "2R", "3R", "4R")
    cell = {row[0].text: row for row in table.rows}["3L"][3]
    assert cell.value == pytest.approx(1.2604, abs=0.01)
    assert cell.small == ("E5620 1.26", "LS 3A 1.29")
    alone = {row[0].text: row for row in table.rows}["4L"][1]
    assert alone.value == pytest.approx(1)
    assert [d.number for d in found.drawings] == ["Fig. 5", "Table 1 against ours", "Fig. 6", "Fig. 7"]


def test_a_small_machine_is_normalised_to_what_it_has(tmp_path: Path) -> None:
    small = [c for c in contention("e5620") if max(c[0].values()) <= 2]
    found = chapter(tmp_path, factorial.records("contention", small))
    assert "normalised to 2L0R" in found.tables[0].caption
    assert verdicts(found)["", "with six threads, 3L3R has more than 4L2R"] == ABSENT
    assert verdicts(found)["E5620", "the largest total stands at 3L2R"] == ABSENT


def test_a_missing_metric_is_named(tmp_path: Path) -> None:
    cells = [(f, {"bandwidth": m["bandwidth"]}) for f, m in contention("e5620")]
    found = chapter(tmp_path, factorial.records("contention", cells))
    assert found.missing == ["metric bandwidth_local", "metric bandwidth_remote"]
    assert [d.number for d in found.drawings] == ["Fig. 5", "Table 1 against ours"]


def test_a_share_is_taken_from_each_observation(tmp_path: Path) -> None:
    """Totals that vary by a quarter with a share that does not: the share has no spread."""
    found = factorial.records("contention", contention("e5620"), noise=1e-4)
    for record in found:
        for metric in record["metrics"]:
            metric["value"] *= 1 + 0.25 * record["repeat"]
    share = next(c for c in chapter(tmp_path, found).checks if "50 to 60 %" in c.says)
    assert share.verdict == HOLDS and "local part of 2L2R 0.550" in share.evidence


def cross(loss: dict[int, float]) -> list[factorial.Cell]:
    """A referenced thread's bandwidth by the number of opposite ones: a part lost by each."""
    return [({"reference": n, "opposite": k}, {"bandwidth_reference": (
        min(n, 2) * 4000 * (1 - loss[n] * min(k, 1)), "MB/s")})
        for n in range(1, 5) for k in range(5)]


def test_cross_pattern(tmp_path: Path) -> None:
    table = cross({1: 0.04, 2: 0.3, 3: 0.3, 4: 0.3})
    found = chapter(tmp_path, factorial.records("cross", table), "cross")
    assert {c.verdict for c in found.own_checks} == {HOLDS}
    assert [c.verdict for c in found.checks if c.machine == "LS 3A"] == [FAILS]
    gentle = factorial.records("cross", cross({n: 0.05 for n in range(1, 5)}))
    found = chapter(tmp_path, gentle, "cross", machine="ls3a-2s")
    assert [c.verdict for c in found.own_checks] == [HOLDS]


def split(loss: float) -> list[factorial.Cell]:
    cells = []
    for x in range(5):
        for y in range(5 - x):
            found = {f"bandwidth_{side}": (n * 1000 * (1 - loss * m), "MB/s")
                     for side, n, m in (("local", x, y), ("remote", y, x)) if n}
            cells += [({"local": x, "remote": y}, found)] if found else []
    return cells


@pytest.mark.parametrize(("loss", "machine"), [(0.15, "xeon-e5620-2s"), (0.0, "ls3a-2s")])
def test_split_pattern(tmp_path: Path, loss: float, machine: str) -> None:
    found = chapter(tmp_path, factorial.records("split", split(loss)), "split", machine=machine)
    assert {c.verdict for c in found.own_checks} == {HOLDS}
    assert FAILS in {c.verdict for c in found.checks if c not in found.own_checks} or loss == 0
    assert [d.number for d in found.drawings] == ["Fig. 9", "Fig. 9"]


def test_policies_are_never_averaged(tmp_path: Path) -> None:
    """The same threads, with memory that a policy has made three times as fast."""
    slow = factorial.records("contention", contention("e5620"), noise=1e-4)
    fast = [record | {"policy": "interleave",
                      "metrics": [m | {"value": 3 * m["value"]} for m in record["metrics"]]} for record in slow]
    results = read(factorial.write(tmp_path, [*slow, *fast], ["luo-contention"]))
    with pytest.raises(ValueError, match="several policies"):
        luo.contention(results, "luo")
    none, interleave = papers.chapters(results)[0]
    assert (none.title, interleave.title) == (f"{TITLE}, policy none", f"{TITLE}, policy interleave")
    best = [float(re.search(r"which is ([\d\u202f]+) MB/s", c.found)[1].replace("\u202f", "")) for c in (none, interleave)]
    assert best == [pytest.approx(12000, rel=1e-3), pytest.approx(36000, rel=1e-3)]
    assert none.name != interleave.name


@pytest.mark.parametrize("policy", ["interleave", "none#2"])
def test_two_policies_over_a_design_have_a_report(tmp_path: Path, policy: str) -> None:
    found = [record for under in ("none", policy)
             for record in factorial.records("contention", contention("e5620"), policy=under)]
    factorial.write(tmp_path, found, ["luo-contention"])
    assert main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert f"{TITLE}, policy none<" in page and f"{TITLE}, policy {policy}<" in page


def test_one_policy_names_its_chapter_and_its_verdicts(tmp_path: Path) -> None:
    found = factorial.records("contention", contention("e5620"), policy="interleave")
    results = read(factorial.write(tmp_path, found, ["luo-contention"]))
    (made,), _ = papers.chapters(results)
    assert (made.title, made.policy) == (f"{TITLE}, policy interleave", "interleave") and made.checks
    assert main(["report", str(tmp_path)]) == 0
    assert f"{TITLE}, policy interleave<" in (tmp_path / "report.html").read_text()
    told = json.loads((tmp_path / "summary.json").read_text())["checks"]
    assert len(told) == len(made.checks) and {check["policy"] for check in told} == {"interleave"}


def test_a_run_without_a_policy_has_the_plain_title(tmp_path: Path) -> None:
    results = read(factorial.write(tmp_path, factorial.records("contention", contention("e5620")), ["luo-contention"]))
    assert [(c.title, c.policy) for c in papers.chapters(results)[0]] == [(TITLE, "none")]


def halved(name: str, *levels: str) -> list[factorial.Cell]:
    """Half the bandwidth at the second level of a factor."""
    return [({**factors, name: level}, {metric: (value / (1 + k), unit) for metric, (value, unit) in metrics.items()})
            for k, level in enumerate(levels) for factors, metrics in contention("e5620")]


def test_levels_that_a_chapter_does_not_know_are_never_averaged(tmp_path: Path) -> None:
    """Neither is the run's. The rest of the report is written."""
    found = halved("governor", "performance", "powersave")
    directory = factorial.write(tmp_path, factorial.records("contention", found), ["luo-contention"])
    luos = luo.contention(read(directory), "luo")
    assert luos.missing == ["one level of governor (performance, powersave: never averaged)"]
    assert not luos.tables and not luos.drawings and not luos.checks
    assert main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "performance, powersave: never averaged" in page and "All numbers" in page
    one = [r for r in factorial.records("contention", found) if r["factors"]["governor"] == "powersave"]
    assert luo.contention(read(factorial.write(tmp_path / "one", one, ["luo-contention"])), "luo").missing == []


@pytest.mark.parametrize("factor, own, other", [("spread", "l3", "compact"), ("workers", "threads", "processes"),
                                                ("memory", "local", "memory-only")])
def test_what_was_varied_beside_the_paper_stands_apart(tmp_path: Path, factor: str, own: str, other: str) -> None:
    """The paper's experiment is judged by its own level; the other one has half the bandwidth, in a table of its own."""
    alone, both = (chapter(tmp_path / name, factorial.records("contention", cells, noise=0.0002))
                   for name, cells in (("alone", contention("e5620")), ("both", halved(factor, own, other))))
    assert not both.missing and verdicts(both) == verdicts(alone)
    table, apart = both.tables
    assert apart.number == f"{factor.capitalize()} {other}" and len(alone.tables) == 1
    four = next(row for row in apart.rows if row[0].text == "4")
    assert four[1].value == pytest.approx(6000, rel=0.01), "half of Table 1's 4L0R"
    assert [cell.value for cell in table.rows[-1]][1] == pytest.approx(1.0)


def test_a_functional_run_is_not_judged(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.records("contention", contention("e5620"), platform="lab-functional"))
    assert found.tables and not found.checks and found.tally == "not in this run"
    assert "no statement is judged" in found.caution


def test_a_run_of_one_level_fails_nothing_that_others_may_show(tmp_path: Path) -> None:
    few = [c for c in contention("e5620") if c[0] in ({"local": 4, "remote": 0}, {"local": 4, "remote": 4},
                                                      {"local": 3, "remote": 0})]
    found = chapter(tmp_path, factorial.records("contention", few))
    assert FAILS not in {c.verdict for c in found.own_checks}


def test_in_the_lab_the_best_cell_differs_among_the_machines_of_the_model(tmp_path: Path) -> None:
    """3L2R is 0.6 % above 2L2R: the paper's own table on the machine that is fitted to it."""
    lab = chapter(tmp_path, factorial.records("contention", contention("e5620"), noise=1e-4, platform="lab-timed"))
    best = next(c for c in lab.checks if c.says == "the largest total stands at 3L2R")
    assert (best.kind, best.verdict) == ("fitted", UNDECIDED) and WITHIN in best.evidence
    shares = next(c for c in lab.checks if "50 to 60 %" in c.says)
    assert (shares.kind, shares.verdict) == ("input", UNDECIDED)  # of fits without a row, some have 61 %


def test_what_was_fitted_is_said_of_the_machine_that_was(tmp_path: Path) -> None:
    """On another machine of the lab, and on hardware, nothing was fitted to Luo's text."""
    kinds = {}
    for machine, platform in (("xeon-e5620-2s", "lab-timed"), ("demo-2s", "lab-timed"), ("xeon-e5620-2s", "real")):
        records = factorial.records("cross", cross({n: 0.3 for n in range(1, 5)}), platform=platform)
        found = chapter(tmp_path / f"{machine}-{platform}", records, "cross", machine=machine)
        kinds[machine, platform] = [c.kind for c in found.checks if c.machine in ("", "E5620")]
    assert kinds.pop(("xeon-e5620-2s", "lab-timed")) == ["fitted", "fitted", "fitted"]  # by hand, link.variability
    assert {kind for found in kinds.values() for kind in found} == {"predicted"}


@pytest.mark.parametrize(("machine", "whose"), [("xeon-e5620-2s", "E5620"), ("xeon-e5620-2s+dram.latency_ns=90", "")])
def test_a_machine_of_the_lab_with_other_numbers_is_not_the_papers(machine: str, whose: str) -> None:
    assert like(SimpleNamespace(machine=machine, manifest={}), {"e5620": "E5620"}) == whose


def test_table_1_is_set_against_ours_with_the_line_where_both_are_the_same(tmp_path: Path) -> None:
    """Ours are the paper's own here, so that every point lies on the line."""
    found = chapter(tmp_path, factorial.records("contention", contention("e5620"), noise=0.0))
    (drawing,) = [d for d in found.drawings if d.number == "Table 1 against ours"]
    told = re.search(r"<desc[^>]*>(.*?)</desc>", drawing.svg)[1]
    pairs = re.findall(r"paper ([\d.]+) ours ([\d.]+)", told)
    assert told.startswith("E5620: ") and "LS 3A" not in told
    assert len(pairs) == 24 and all(paper == ours for paper, ours in pairs)
    places = re.findall(r'class="tip" cx="([\d.]+)" cy="([\d.]+)"', drawing.svg)
    assert len({round(float(x) + float(y)) for x, y in places}) <= 2  # x right, y down: a line of slope -1


def test_a_machine_that_is_none_of_the_papers_is_set_against_both(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.records("contention", contention("e5620")), machine="another-2s")
    (drawing,) = [d for d in found.drawings if d.number == "Table 1 against ours"]
    assert "E5620: paper" in drawing.svg and "LS 3A: paper" in drawing.svg


def test_what_the_model_cannot_but_do_is_a_prediction_of_hardware(tmp_path: Path) -> None:
    """Two controllers without a link that fills do not disturb each other in the model; a machine's might."""
    kinds = {}
    for platform in ("lab-timed", "real"):
        cells = [({"local": x, "remote": y}, {f"bandwidth_{side}": (100.0 * n, "MB/s") for side, n in (("local", x), ("remote", y)) if n})
                 for x in range(5) for y in range(5) if 0 < x + y <= 4]
        found = chapter(tmp_path / platform, factorial.records("split", cells, platform=platform), "split", machine="ls3a-2s")
        kinds[platform] = next(c.kind for c in found.checks if "hardly disturb" in c.says)
    assert kinds == {"lab-timed": "construction", "real": "predicted"}

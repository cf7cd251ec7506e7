# SPDX-License-Identifier: GPL-2.0-only
"""Luo et al.: their own Table 1 as a run differs from the paper by nothing but noise."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.analysis import papers
from experiments.analysis.papers import luo, reference
from experiments.analysis.papers.chapter import find_like
from experiments.analysis.runs.results import read_results
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
    table = reference.read_luo(machine)
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
    directory = factorial.write_run(tmp_path / name, found, [f"luo-{name}"], **manifest)
    return getattr(luo, f"make_{name}")(read_results(directory), "luo")


def by_cell(found) -> dict:
    return {c.printed.cell: c for c in found.compared}


@pytest.mark.parametrize(("machine", "name"), [("xeon-e5620-2s", "e5620"), ("ls3a-2s", "ls3a")])
def test_the_papers_own_table_differs_from_itself_by_noise(tmp_path: Path, machine: str, name: str) -> None:
    found = chapter(tmp_path, factorial.make_records("contention", contention(name), noise=1e-3), machine=machine)
    totals = {cell: c for cell, c in by_cell(found).items() if c.printed.unit == "parts of 4L0R"}
    assert len(totals) == 23 and found.missing == []
    assert all(abs(c.difference) < 0.01 and c.ours.low < c.ours.value < c.ours.high for c in totals.values())
    assert found.summary[0].startswith("parts of 4L0R: 23 cells, mean difference 0.00")


def test_the_e5620s_best_cell_and_its_local_part(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.make_records("contention", contention("e5620"), noise=1e-4))
    best, part = by_cell(found)["3L2R"], [c for c in found.compared if c.printed.unit == "parts"]
    assert best.printed.low == pytest.approx(1.2604, abs=1e-4) and best.ours.value == pytest.approx(1.26, abs=0.01)
    assert "3L2R: 1.26 of 4L0R" in found.found
    assert len(part) == 9 and {c.printed.text for c in part} == {"0.500 to 0.600"} and {c.difference for c in part} == {0}


def test_on_a_uniform_machine_as_many_remote_threads_get_what_local_ones_get(tmp_path: Path) -> None:
    found = by_cell(chapter(tmp_path, factorial.make_records("contention", contention("e5620"), noise=1e-4, platform="lab-timed")))
    assert found["0L4R"].uniform == pytest.approx(1) and found["0L4R"].ours.value == pytest.approx(0.718, abs=0.01)
    assert found["3L1R"].uniform == pytest.approx(1)
    real = chapter(tmp_path / "real", factorial.make_records("contention", contention("e5620")))
    assert {c.uniform for c in real.compared} == {None}, "hardware has no model"


def test_a_machine_that_is_none_of_the_papers_is_compared_with_both(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.make_records("contention", contention("e5620")), machine="another-2s")
    assert {cell.split(",")[0] for cell in by_cell(found)} == {"E5620", "LS 3A"}


def test_table_1_is_normalised_and_stands_beside_both_papers_machines(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.make_records("contention", contention("e5620")))
    (table,) = found.tables
    assert table.head == ("threads", "0R", "1R", "2R", "3R", "4R")
    cell = {row[0].text: row for row in table.rows}["3L"][3]
    assert cell.value == pytest.approx(1.2604, abs=0.01)
    assert cell.small == ("E5620 1.26", "LS 3A 1.29")
    alone = {row[0].text: row for row in table.rows}["4L"][1]
    assert alone.value == pytest.approx(1)
    assert [d.number for d in found.drawings] == ["Fig. 5", "Fig. 6", "Fig. 7"]


def test_a_small_machine_is_normalised_to_what_it_has(tmp_path: Path) -> None:
    small = [c for c in contention("e5620") if max(c[0].values()) <= 2]
    found = chapter(tmp_path, factorial.make_records("contention", small))
    assert "normalised to 2L0R" in found.tables[0].caption
    table = reference.read_luo("e5620")
    assert by_cell(found)["0L2R"].printed.low == pytest.approx(table[0, 2] / table[2, 0])
    assert {c.printed.unit for c in found.compared} == {"parts of 2L0R", "parts"}


def test_a_missing_metric_is_named(tmp_path: Path) -> None:
    cells = [(f, {"bandwidth": m["bandwidth"]}) for f, m in contention("e5620")]
    found = chapter(tmp_path, factorial.make_records("contention", cells))
    assert found.missing == ["metric bandwidth_local", "metric bandwidth_remote"]
    assert [d.number for d in found.drawings] == ["Fig. 5"]


def cross(loss: dict[int, float]) -> list[factorial.Cell]:
    """A referenced thread's bandwidth by the number of opposite ones: a part lost by each."""
    return [({"reference": n, "opposite": k}, {"bandwidth_reference": (
        min(n, 2) * 4000 * (1 - loss[n] * min(k, 1)), "MB/s")})
        for n in range(1, 5) for k in range(5)]


@pytest.mark.parametrize(("machine", "loss"), [("xeon-e5620-2s", {1: 0.04, 2: 0.3, 3: 0.3, 4: 0.3}),
                                              ("ls3a-2s", dict.fromkeys(range(1, 5), 0.05))])
def test_cross_pattern(tmp_path: Path, machine: str, loss: dict[int, float]) -> None:
    """As the text has it: 30 % on the E5620 but of one thread, at most 10 % on the LS 3A."""
    found = chapter(tmp_path, factorial.make_records("cross", cross(loss)), "cross", machine=machine)
    assert len(found.compared) == 16 and all(abs(c.difference) < 0.01 for c in found.compared)
    worse = chapter(tmp_path / "worse", factorial.make_records("cross", cross(dict.fromkeys(range(1, 5), 0.5))), "cross", machine=machine)
    assert all(c.difference < -0.15 for c in worse.compared)


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
    found = chapter(tmp_path, factorial.make_records("split", split(loss)), "split", machine=machine)
    assert [d.number for d in found.drawings] == ["Fig. 9", "Fig. 9"]
    assert not found.compared and found.summary == ["no number of the paper is in this run"]


def test_policies_are_never_averaged(tmp_path: Path) -> None:
    """The same threads, with memory that a policy has made three times as fast."""
    slow = factorial.make_records("contention", contention("e5620"), noise=1e-4)
    fast = [record | {"policy": "interleave",
                      "metrics": [m | {"value": 3 * m["value"]} for m in record["metrics"]]} for record in slow]
    results = read_results(factorial.write_run(tmp_path, [*slow, *fast], ["luo-contention"]))
    with pytest.raises(ValueError, match="several policies"):
        luo.make_contention(results, "luo")
    none, interleave = papers.make_chapters(results)[0]
    assert (none.title, interleave.title) == (f"{TITLE}, policy none", f"{TITLE}, policy interleave")
    best = [float(re.search(r"which is ([\d\u202f]+) MB/s", c.found)[1].replace("\u202f", "")) for c in (none, interleave)]
    assert best == [pytest.approx(12000, rel=1e-3), pytest.approx(36000, rel=1e-3)]
    assert none.name != interleave.name


def test_one_policy_names_its_chapter_and_its_numbers(tmp_path: Path) -> None:
    found = factorial.make_records("contention", contention("e5620"), policy="interleave")
    results = read_results(factorial.write_run(tmp_path, found, ["luo-contention"]))
    (made,), _ = papers.make_chapters(results)
    assert (made.title, made.policy) == (f"{TITLE}, policy interleave", "interleave") and made.compared
    assert main(["report", str(tmp_path)]) == 0
    assert f"{TITLE}, policy interleave<" in (tmp_path / "report.html").read_text()
    told = json.loads((tmp_path / "summary.json").read_text())["papers"]
    assert len(told) == len(made.compared) and {one["policy"] for one in told} == {"interleave"}


def test_a_run_without_a_policy_has_the_plain_title(tmp_path: Path) -> None:
    results = read_results(factorial.write_run(tmp_path, factorial.make_records("contention", contention("e5620")), ["luo-contention"]))
    assert [(c.title, c.policy) for c in papers.make_chapters(results)[0]] == [(TITLE, "none")]


def halved(name: str, *levels: str) -> list[factorial.Cell]:
    """Half the bandwidth at the second level of a factor."""
    return [({**factors, name: level}, {metric: (value / (1 + k), unit) for metric, (value, unit) in metrics.items()})
            for k, level in enumerate(levels) for factors, metrics in contention("e5620")]


def test_levels_that_a_chapter_does_not_know_are_never_averaged(tmp_path: Path) -> None:
    """Neither is the run's. The rest of the report is written."""
    found = halved("governor", "performance", "powersave")
    directory = factorial.write_run(tmp_path, factorial.make_records("contention", found), ["luo-contention"])
    luos = luo.make_contention(read_results(directory), "luo")
    assert luos.missing == ["one level of governor (performance, powersave: never averaged)"]
    assert not luos.tables and not luos.drawings and not luos.compared
    assert main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "performance, powersave: never averaged" in page and "All numbers" in page
    one = [r for r in factorial.make_records("contention", found) if r["factors"]["governor"] == "powersave"]
    assert luo.make_contention(read_results(factorial.write_run(tmp_path / "one", one, ["luo-contention"])), "luo").missing == []


@pytest.mark.parametrize("factor, own, other", [("spread", "l3", "compact"), ("workers", "threads", "processes"),
                                                ("memory", "local", "memory-only")])
def test_what_was_varied_beside_the_paper_stands_apart(tmp_path: Path, factor: str, own: str, other: str) -> None:
    """The paper's numbers are compared with its own level; the other one has half the bandwidth, in a table of its own."""
    alone, both = (chapter(tmp_path / name, factorial.make_records("contention", cells, noise=0.0002))
                   for name, cells in (("alone", contention("e5620")), ("both", halved(factor, own, other))))
    assert not both.missing and [c.printed.cell for c in both.compared] == [c.printed.cell for c in alone.compared]
    assert all(abs(c.difference) < 0.01 for c in both.compared)
    table, apart = both.tables
    assert apart.number == f"{factor.capitalize()} {other}" and len(alone.tables) == 1
    four = next(row for row in apart.rows if row[0].text == "4")
    assert four[1].value == pytest.approx(6000, rel=0.01), "half of Table 1's 4L0R"
    assert [cell.value for cell in table.rows[-1]][1] == pytest.approx(1.0)


def test_a_functional_run_is_not_compared(tmp_path: Path) -> None:
    found = chapter(tmp_path, factorial.make_records("contention", contention("e5620"), platform="lab-functional"))
    assert found.tables and not found.compared and "no number is compared" in found.caution


@pytest.mark.parametrize(("machine", "whose"), [("xeon-e5620-2s", "E5620"), ("xeon-e5620-2s+dram.latency_ns=90", ""),
                                                ("xeon-e5620-2s/16", "")])
def test_a_machine_of_the_lab_with_other_numbers_is_not_the_papers(machine: str, whose: str) -> None:
    assert find_like(SimpleNamespace(machine=machine, manifest={}), {"e5620": "E5620"}) == whose

# SPDX-License-Identifier: GPL-2.0-only
"""Prabhanjan et al., whose own tables must satisfy their text, and Deters' factorial."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from experiments.analysis.papers import deters, prabhanjan, reference
from experiments.analysis.papers.checks import ABSENT, FAILS, HOLDS, PREDICTED, UNDECIDED
from experiments.analysis.runs.results import read
from experiments.analysis.tests import factorial

pytestmark = pytest.mark.full("a paper more; test_papers_luo has the same judge")

NAMES = {key: name for name, (_, key) in prabhanjan.TABLES.items()}


def printed(keep: str = "") -> list[factorial.Cell]:
    """The paper's own times. Its 10^10 updates of 10^10 ints stand there with two counts."""
    cells = []
    for row in reference.rows("redis-tables-7.1-7.5.csv"):
        factors = {"experiment": NAMES[row["table"]], "size": 0.0} | prabhanjan.ran(row)
        if keep in NAMES[row["table"]]:
            cells += [({**factors, "memory": m}, {"seconds": (float(row[f"{m}_s"]), "s")})
                      for m in ("local", "remote")]
    return cells


def times(tmp_path: Path, cells: list[factorial.Cell]):
    found = factorial.records("redis", cells)
    directory = factorial.write(tmp_path, found, ["prabhanjan-times"], "xeon-e5-2620v4-2s")
    return prabhanjan.times(read(directory), "p")


def test_the_papers_tables_hold_what_its_text_says(tmp_path: Path) -> None:
    found = times(tmp_path, printed())
    assert found.machine == "Xeon E5-2620 v4" and len(found.own_checks) == 10
    assert {c.says: c.evidence for c in found.own_checks if c.verdict != HOLDS} == {}
    assert [t.number for t in found.tables] == ["Table 7.1", "Table 7.2", "Table 7.3",
                                               "Experiment 4", "Table 7.4", "Table 7.5"]
    assert "zsets 0.90 to 1.89" in found.found


def test_tables_set_the_papers_rows_and_ratio_beside_ours(tmp_path: Path) -> None:
    found = times(tmp_path, printed("random-update"))
    (table,) = found.tables
    ours, paper = ({r[0].text: r for r in table.rows if r[1].text == kind}
                   for kind in ("ours", "paper"))
    printed_name = "10\u202f000\u202f000\u202f000, 100\u202f000\u202f000\u202f000 accesses"
    assert len(ours) == len(paper) == 5
    assert paper[printed_name][4].text == "1.576"  # 104 / 66, the 1.58 of the text
    assert ours["1\u202f410\u202f065\u202f408, 1\u202f215\u202f752\u202f192 accesses"][4].value == pytest.approx(104 / 66, rel=0.01)
    assert [r[1].text for r in table.rows] == ["ours", "paper"] * 5  # by size, one above the other
    for above, below in zip(table.rows[::2], table.rows[1::2]):  # and the same case, whose sizes overflowed
        assert above[2].value == pytest.approx(below[2].value, rel=0.01)
    assert "ours are of the updates alone" in table.caption


def pairs(drawing) -> list[tuple[str, str]]:
    return re.findall(r"paper ([\d.\u202f]+) ours ([\d.\u202f]+)", re.search(r"<desc[^>]*>(.*?)</desc>", drawing.svg)[1])


def test_the_printed_times_are_set_against_ours(tmp_path: Path) -> None:
    """All rows but the one without a size; no seconds of random updates, whose fill ours lack."""
    cells = [(f, m) for f, m in printed() if f["size"] != 1000]
    drawn = {d.number: pairs(d) for d in times(tmp_path, cells).drawings if "against" in d.number}
    assert {name: len(found) for name, found in drawn.items()} == {"TR/TL against ours": 19, "Seconds against ours": 2 * 14}
    assert all(float(ours) == pytest.approx(float(paper), rel=0.02) for paper, ours in drawn["Seconds against ours"])


def test_sizes_that_only_one_of_them_has_are_not_set_against_each_other(tmp_path: Path) -> None:
    cells = [({"experiment": "sort", "size": 1000, "memory": m}, {"seconds": (1.0, "s")}) for m in ("local", "remote")]
    assert not [d for d in times(tmp_path, cells).drawings if "against" in d.number]


def test_a_size_beside_the_papers_is_shown_and_not_judged(tmp_path: Path) -> None:
    """Of the machine, as 4 L3: three times as long, where the paper speaks of 10^8 ints and more."""
    beside = [({"experiment": "sort", "size": 20_000_000, "memory": memory}, {"seconds": (seconds, "s")})
              for memory, seconds in (("local", 1.0), ("remote", 3.0))]
    found = times(tmp_path, [*printed("sort"), *beside])
    assert [c.verdict for c in found.own_checks] == [HOLDS]
    assert any(row[0].text == "20\u202f000\u202f000" and row[1].text == "ours" for row in found.tables[0].rows)
    alone = times(tmp_path / "alone", beside)
    assert [c.verdict for c in alone.own_checks] == [FAILS], "where no size of the paper's was run, by those that were"


def test_a_penalty_where_the_paper_saw_none_fails(tmp_path: Path) -> None:
    cells = [(f, {"seconds": (20.0 if f["memory"] == "remote" else 15.0, "s")})
             for f, _ in printed("sort")]
    verdict = {c.says: c.verdict for c in times(tmp_path, cells).checks}
    assert verdict["sorting takes as long with remote memory (read as within 10 %)"] == FAILS


def test_pipelined_and_not_are_not_mixed(tmp_path: Path) -> None:
    """The paper's client waits for each answer: its statements are about pipeline 1."""
    cells = [({"experiment": "zsets", "size": 1_000_000, "pipeline": p, "memory": m},
              {"seconds": (s, "s")}) for p, m, s in (
        (1, "local", 10.0), (1, "remote", 12.0), (64, "local", 1.0), (64, "remote", 1.0))]
    found = times(tmp_path, cells)
    ours = {r[0].text: r[4].value for r in found.tables[0].rows if r[1].text == "ours"}
    assert ours == {"1\u202f000\u202f000, not pipelined": pytest.approx(1.2, abs=0.02),
                    "1\u202f000\u202f000, pipeline 64": pytest.approx(1.0, abs=0.02)}
    large = next(c for c in found.checks if "large sorted sets" in c.says)
    assert large.verdict == HOLDS and large.evidence.startswith("zsets 1000000: TR/TL 1.2")


@pytest.mark.parametrize("experiment, says, small, large", [("keys", "many random keys", 1000, 10_000),
                                                           ("zsets", "large sorted sets", 100_000, 1_000_000)])
def test_what_is_said_of_large_sets_is_not_judged_by_small_ones(
        tmp_path: Path, experiment: str, says: str, small: int, large: int) -> None:
    def verdict(*sizes: int) -> str:
        cells = [({"experiment": experiment, "size": n, "pipeline": 1, "memory": m}, {"seconds": (s, "s")})
                 for n in sizes for m, s in (("local", 10.0), ("remote", 12.0))]
        return next(c.verdict for c in times(tmp_path / str(len(sizes)), cells).checks if says in c.says)
    assert (verdict(small), verdict(small, large)) == (ABSENT, HOLDS)


def counters(tmp_path: Path, ipc: tuple[float, float]):
    cells = [({"experiment": "keys", "memory": m}, {"seconds": (9.0, "s")})
             for m in ("local", "remote")]
    found = factorial.records("redis", cells)
    for record in found:
        far = record["factors"]["memory"] == "remote"
        record["series"] = {"interval_s": 0.5, "ipc": [ipc[far], None, ipc[far] + 0.01],
                            "remote_dram": [9e6 if far else 1e5] * 3,
                            "local_dram": [1e5 if far else 9e6] * 3}
    directory = factorial.write(tmp_path, found, ["prabhanjan-counters"])
    return prabhanjan.counters(read(directory), "c")


def test_counters_over_time(tmp_path: Path) -> None:
    found = counters(tmp_path, (1.0, 0.8))
    assert {c.verdict for c in found.checks} == {HOLDS} and len(found.checks) == 3
    told = {d.number: re.search(r"<desc[^>]*>(.*?)</desc>", d.svg)[1] for d in found.drawings}
    assert told["Figs 8.7 and 8.8"] == ("local memory: 0.5: 1.00, 1.5: 1.01; "
                                        "remote memory: 0.5: 0.800, 1.5: 0.810")  # a gap is a gap
    assert "remote memory: 0.5: 1.25" in told["Figs 8.5 and 8.6"]  # CPI = 1 / IPC
    assert counters(tmp_path / "x", (0.8, 1.0)).checks[0].verdict == FAILS


@pytest.mark.parametrize("remote, expected", [(1e5, HOLDS), (9e5, FAILS)])
def test_hardly_a_remote_access_is_a_part_of_the_local_ones(tmp_path: Path, remote: float, expected: str) -> None:
    """10 % of the local ones is not hardly one, though it is a tenth of those with remote memory."""
    found = factorial.records("redis", [({"experiment": "keys", "memory": m}, {"seconds": (9.0, "s")})
                                        for m in ("local", "remote")])
    for i, record in enumerate(found):
        far = record["factors"]["memory"] == "remote"
        record["series"] = {"interval_s": 0.5, "remote_dram": [9e6 if far else remote + i] * 3,
                            "local_dram": [1e5 if far else 9e6 + i] * 3}
    chapter = prabhanjan.counters(read(factorial.write(tmp_path, found, [])), "c")
    assert next(c.verdict for c in chapter.checks if "hardly" in c.says) == expected


def test_counters_are_of_one_case(tmp_path: Path) -> None:
    """Every size with both memories, not pipelined, the largest first: 2000 was run with local memory only."""
    cells = [({"experiment": "keys", "size": n, "pipeline": p, "memory": m}, {"seconds": (9.0, "s")})
             for m in ("local", "remote") for n, p in ((100, 1), (1000, 16), (1000, 1), (2000, 1))
             if (n, m) != (2000, "remote")]
    found = factorial.records("redis", cells)
    for record in found:
        size, pipeline = record["factors"]["size"], record["factors"]["pipeline"]
        record["series"] = {"interval_s": 1.0, "ipc": [size * pipeline]}
    directory = factorial.write(tmp_path, found, [])
    drawings = [d for d in prabhanjan.counters(read(directory), "c").drawings if d.number == "Figs 8.7 and 8.8"]
    assert [re.search(r"<desc[^>]*>(.*?)</desc>", d.svg)[1] for d in drawings] == [
        f"local memory: 1: {ipc}; remote memory: 1: {ipc}" for ipc in ("1\u202f000", "100")]
    assert [d.caption.split(": ")[0] for d in drawings] == ["keys, 1\u202f000, not pipelined", "keys, 100, not pipelined"]


def test_a_run_without_counters_says_so(tmp_path: Path) -> None:
    directory = factorial.write(tmp_path, factorial.records("redis", printed("lists")), [])
    found = prabhanjan.counters(read(directory), "c")
    assert "counts none" in found.missing[0] and not found.drawings and not found.checks


def benchmark(tmp_path: Path, *loads: dict[str, int]):
    """The larger the values, the slower with remote memory."""
    cells = [({**load, "pipeline": 1, "memory": m},
              {"set": (100e3, "ops/s"), "lrange_600": (v - load.get("value_bytes", 3) * (m == "remote"), "ops/s"),
               "set_latency_p50": (80.0, "us"), "set_latency_p99": (200.0, "us")})
             for load in loads or ({},) for m, v in (("local", 13400.0), ("remote", 12003.0))]
    directory = factorial.write(tmp_path, factorial.records("redis-benchmark", cells), [])
    return prabhanjan.benchmark(read(directory), "b")


def test_redis_benchmark(tmp_path: Path) -> None:
    found = benchmark(tmp_path)
    rows = {(r[0].text, r[1].text): r for r in found.tables[0].rows}
    assert rows["lrange_600", "ours"][4].value == pytest.approx(13400 / 12000, rel=0.01)
    assert [c.text for c in rows["lrange_600, 3 bytes", "paper"][2:]] == ["13444.08", "–", "–"] and len(rows) == 3
    assert [[r[0].text, *(round(c.value, -1) for c in r[1:])] for r in found.tables[1].rows] == [["set", 80, 80, 200, 200]]
    (drawing,) = found.drawings
    assert [paper for paper, _ in pairs(drawing)] == ["13\u202f444"]
    assert [c.verdict for c in found.checks] == [HOLDS]


def test_values_of_several_sizes_are_not_mixed(tmp_path: Path) -> None:
    """The paper's row stands at its 3 bytes, and its statement is judged by them."""
    found = benchmark(tmp_path, {"value_bytes": 1024}, {"value_bytes": 3})
    assert not found.missing
    kinds = [(r[0].text, r[1].text) for r in found.tables[0].rows if "lrange" in r[0].text]
    assert kinds == [("lrange_600, 3 bytes", "ours"), ("lrange_600, 3 bytes", "paper"), ("lrange_600, 1024 bytes", "ours")]
    values = [r[4].value for r in found.tables[0].rows if r[0].text.startswith("lrange") and r[1].text == "ours"]
    assert values == [pytest.approx(13400 / 12000, rel=0.01), pytest.approx(13400 / 10979, rel=0.01)]
    (check,) = found.checks
    assert "1.1" in check.evidence and "comparisons" not in check.evidence


def stealing(effect: float) -> list[factorial.Cell]:
    """Misses that differ by powers between benchmarks and a little between runtimes."""
    cells = []
    for i, benchmark in enumerate(("cilksort", "heat", "transpose", "matmul")):
        for runtime in ("vanilla", "locality"):
            less = 1 - effect * (runtime == "locality")
            cells.append(({"runtime": runtime, "benchmark": benchmark}, {
                "remote_cache": (1e5 * 6**i * less, "misses"),
                "remote_dram": (2e5 * 6**i * less, "misses"),
                "local_dram": (5e5 * 6**i, "misses"),
                "speedup": ((20 + i) / less**0.05, "1")}))
    return cells


def steal(tmp_path: Path, effect: float, noise: float = 0.01):
    found = factorial.records("work-stealing", stealing(effect), repeats=6, noise=noise)
    directory = factorial.write(tmp_path, found, ["deters-stealing"], "xeon-e5-4620-4s", nodes=4)
    return deters.stealing(read(directory), "d")


def test_deters_analysis(tmp_path: Path) -> None:
    found = steal(tmp_path, 0.2)
    assert found.machine == "Xeon E5-4620" and len(found.checks) == 13
    others = {c.says: c.verdict for c in found.checks if c.verdict not in (HOLDS, ABSENT)}  # no interaction was made up
    assert set(others.values()) == {FAILS} and all("F test" in says for says in others)
    terms = [row[1].text for row in analyses(found) if row[0].text == "Remote cache, log"]
    assert terms == ["runtime", "benchmark", "repeat", "runtime × benchmark", "error"]


def analyses(chapter):
    return next(table.rows for table in chapter.tables if table.number == "Analysis of variance")


@pytest.mark.parametrize("effect, expected", [(0.2, HOLDS), (0.0, UNDECIDED), (-0.2, FAILS)])
def test_an_effect_that_is_not_found_is_not_refuted(tmp_path: Path, effect: float, expected: str) -> None:
    verdict = {c.says: c.verdict for c in steal(tmp_path, effect).checks}
    assert verdict["remote DRAM: with the locality runtime lower at the 90 % level"] == expected


def test_both_models_are_shown(tmp_path: Path) -> None:
    """Plain and of logarithms of each response, and what both explain beside the numbers of the paper's text."""
    found = steal(tmp_path, 0.2)
    assert list(dict.fromkeys(row[0].text for row in analyses(found))) == [
        f"{metric}, {name}" for metric in ("Remote cache", "Remote DRAM", "Local DRAM", "Speedup") for name in ("plain", "log")]
    (table,) = [t for t in found.tables if t.number == "Variation explained"]
    rows = {(r[0].text, r[1].text): [c.text for c in r[2:]] for r in table.rows}
    assert rows["Remote cache, plain", "paper"] == ["9 %", "13 %"] and rows["Remote DRAM, log", "paper"] == ["8 %", "–"]
    assert ("Speedup, log", "ours") in rows and len(rows) == 4 * 2 + 4
    plain, log = (float(rows[f"Remote cache, {m}", "ours"][0].split()[0]) for m in ("plain", "log"))
    assert plain > 1.5 * log > 0  # the largest benchmark decides the plain one


def f_tests(tmp_path: Path, interaction: float, repeats: int) -> str:
    cells = [(f, {"remote_dram": (value * (1 + interaction * (f["benchmark"] == "heat" and f["runtime"] == "locality")), unit)})
             for f, m in stealing(0.2) for value, unit in [m["remote_dram"]]]
    found = factorial.records("work-stealing", cells, repeats=repeats, noise=0.01)
    chapter = deters.stealing(read(factorial.write(tmp_path, found, ["deters-stealing"], "xeon-e5-4620-4s", nodes=4)), "d")
    return next(c.verdict for c in chapter.checks if "F test" in c.says)


@pytest.mark.parametrize("interaction, repeats, expected", [(0.3, 6, HOLDS), (0.0, 6, FAILS), (0.0, 2, UNDECIDED)])
def test_f_tests_fail_by_as_many_repeats_as_the_paper_has(tmp_path: Path, interaction: float, repeats: int, expected: str) -> None:
    assert f_tests(tmp_path, interaction, repeats) == expected


def test_the_paper_has_no_f_test_of_speedup() -> None:
    assert not [s for s in deters.statements(pd.DataFrame(), "speedup") if "F test" in s.says]


def test_the_chapter_says_what_the_speedup_is_over(tmp_path: Path) -> None:
    found = factorial.records("work-stealing", stealing(0.2))
    chapter = deters.stealing(read(factorial.write(tmp_path, found, ["deters-stealing"])), "d")
    told = next(line for line in chapter.differs if "Speedup" in line)
    assert "of both runtimes is over the same run" in told and "serial_ratio" in told and "larger" not in told


def with_data(tmp_path: Path, runtime: float, data: float):
    """Each lowers the misses by its part; all of the benchmarks."""
    cells = []
    for factors, metrics in stealing(0.0):
        for place in ("first", "spread"):
            less = (1 - runtime * (factors["runtime"] == "locality")) * (1 - data * (place == "spread"))
            cells.append(({**factors, "data": place}, {n: (v * (less if "remote" in n else 1), u) for n, (v, u) in metrics.items()}))
    found = factorial.records("work-stealing", cells, repeats=6, noise=0.01)
    return deters.stealing(read(factorial.write(tmp_path, found, ["deters-stealing"], "xeon-e5-4620-4s", nodes=4)), "d")


def test_where_the_data_is_is_never_averaged(tmp_path: Path) -> None:
    """The paper's runtimes have their own data: 0.7 x 0.6. The means of all four stand beside each other."""
    chapter = with_data(tmp_path, 0.3, 0.4)
    assert not chapter.missing
    table = next(t for t in chapter.tables if "Tables 8" in t.number)
    assert [h.split(", misses")[0] for h in table.head[1:]] == [
        "vanilla, data first", "vanilla, data spread", "locality, data first", "locality, data spread"]
    first = table.rows[0][1].value
    assert [c.value / first for c in table.rows[0][1:]] == [pytest.approx(v, rel=0.03) for v in (1, 0.6, 0.7, 0.42)]
    lower = next(c for c in chapter.checks if c.says.startswith("remote DRAM: with the locality runtime lower"))
    assert lower.verdict == HOLDS and lower.evidence.startswith("locality / vanilla of geometric means 0.42")
    terms = [row[1].text for row in analyses(chapter) if row[0].text == "Remote DRAM, plain, with the data"]
    assert terms[:3] == ["runtime", "data", "benchmark"]


@pytest.mark.parametrize("runtime, data, expected", [(0.1, 0.4, HOLDS), (0.4, 0.1, FAILS), (0.2, 0.2, UNDECIDED)])
def test_whether_the_data_or_the_runtime_lowers_misses(tmp_path: Path, runtime: float, data: float, expected: str) -> None:
    (check,) = [c for c in with_data(tmp_path, runtime, data).checks if "spreading the data alone" in c.says]
    assert check.verdict == expected


@pytest.mark.parametrize("longer, expected", [(1.05, HOLDS), (1.4, FAILS)])
def test_one_worker_has_to_take_as_long_with_either_runtime(tmp_path: Path, longer: float, expected: str) -> None:
    """Each with its own data; the runtime's time with the other's data is not looked at."""
    cells = []
    for factors, metrics in stealing(0.2):
        for place in ("first", "spread"):
            own = place == deters.OWN_DATA[factors["runtime"]]
            slow = longer if factors["benchmark"] == "heat" and place == "spread" and own else 1 if own else 3
            cells.append(({**factors, "data": place}, metrics | {"seconds_one_worker": (10.0 * slow, "s")}))
    found = factorial.records("work-stealing", cells)
    chapter = deters.stealing(read(factorial.write(tmp_path, found, ["deters-stealing"], "xeon-e5-4620-4s", nodes=4)), "d")
    (check,) = [c for c in chapter.checks if "one worker" in c.says]
    assert check.verdict == expected and (expected == HOLDS or "heat: one worker" in check.evidence)


def test_a_run_of_one_place_of_the_data_is_shown(tmp_path: Path) -> None:
    cells = [({**factors, "data": "first"}, metrics) for factors, metrics in stealing(0.2)]
    found = factorial.records("work-stealing", cells)
    chapter = deters.stealing(read(factorial.write(tmp_path, found, ["deters-stealing"])), "d")
    assert chapter.tables[0].head[1:] == ("vanilla, misses", "locality, misses")


def test_only_one_runtime_is_said(tmp_path: Path) -> None:
    cells = [c for c in stealing(0.2) if c[0]["runtime"] == "locality"]
    directory = factorial.write(tmp_path, factorial.records("work-stealing", cells, 6, 0.01), [])
    checks = deters.stealing(read(directory), "d").checks
    assert {c.verdict for c in checks if "F test" not in c.says} == {ABSENT}
    asked = {c.evidence for c in checks if c.verdict == ABSENT and ("locality runtime" in c.says or "explains" in c.says)}
    assert asked == {"only one runtime: not measured"}


def simulated(metric: str, effect: float, noise: float, runs: int = 40) -> list[Counter[str]]:
    """Verdicts of a metric's two statements, of runs with two repeats."""
    spread, counts = random.Random(3), [Counter[str](), Counter[str]()]
    for _ in range(runs):
        data = pd.DataFrame([
            {"runtime": r, "benchmark": b, "repeat": k,
             metric: mean * (1 + effect * (r == "locality")) + spread.gauss(0, noise)}
            for b, mean in (("cilksort", 100), ("heat", 120), ("transpose", 140), ("matmul", 90))
            for r in ("vanilla", "locality") for k in range(2)])
        for count, check in zip(counts, deters.statements(data, metric)[:2], strict=True):
            count[check.judge(PREDICTED).verdict] += 1
    return counts


def test_noise_is_no_sign_that_runtimes_are_the_same() -> None:
    """Of a true difference of 30 %; without one and with little noise they are shown to be the same."""
    assert simulated("local_dram", 0.3, 60)[0][HOLDS] == 0
    assert simulated("local_dram", 0.3, 2)[0] == {FAILS: 40}
    assert simulated("local_dram", 0.0, 2)[0] == {HOLDS: 40}


def test_no_effect_is_found_and_refuted_as_rarely_as_the_level_says() -> None:
    direction, _ = simulated("speedup", 0.0, 20)
    assert direction[UNDECIDED] >= 0.8 * direction.total()


def test_nothing_of_local_dram_is_less_than_what_is_unimportant() -> None:
    """5 % of the variation would be unimportant for the others; the paper has 0 % there."""
    assert simulated("local_dram", 0.08, 1)[1] == {FAILS: 40}
    assert simulated("remote_dram", 0.08, 1)[1] == {HOLDS: 40}


def test_a_share_near_the_limit_is_undecided() -> None:
    """10 % of the variation: an effect of 0.1175 of 112.5, beside benchmarks' variance of 369."""
    _, share = simulated("speedup", 0.1175, 5)
    assert share[UNDECIDED] > 30
    assert simulated("speedup", 0.0, 1)[1] == {HOLDS: 40}


def seconds(size: float, updates: float, fill_ns: float, update_ns: float) -> float:
    """Of a program that counts in 32 bits."""
    return (size % 2**32 * fill_ns + updates % 2**32 * update_ns) / 1e9


CONSTANTS = {"local_s": (9.9, 44.3), "remote_s": (11.2, 68.8)}  # ns: to fill an element, to update one


@pytest.mark.parametrize("side", CONSTANTS)
def test_table_7_2_is_of_sizes_that_overflowed(side: str) -> None:
    """Two constants give all times of its large rows modulo 2^32, and none of them as printed."""
    fill, update = CONSTANTS[side]
    rows = [(float(r["size"]), float(r["accesses"]), float(r[side]))
            for r in reference.rows("redis-tables-7.1-7.5.csv") if r["table"] == "7.2"]
    large = [row for row in rows if row[0] > 3e8]
    assert [seconds(n, k, fill, update) for n, k, _ in large] == [pytest.approx(s, rel=0.12) for _, _, s in large]
    literal = [(n * fill + k * update) / 1e9 / s for n, k, s in rows if n > 1e9]
    assert len(literal) == 3 and min(literal) > 5


@pytest.mark.parametrize("side", CONSTANTS)
def test_the_first_row_of_table_7_2_is_of_the_updates_of_the_second(side: str) -> None:
    """3 x 10^8 updates of as many ints would take over four times what is printed; 10^7 fit."""
    row = next(r for r in reference.rows("redis-tables-7.1-7.5.csv") if r["table"] == "7.2")
    n, printed_s = float(row["size"]), float(row[side])
    assert (n, float(row["accesses"])) == (3e8, 3e8)
    assert seconds(n, n, *CONSTANTS[side]) > 4 * printed_s
    assert seconds(n, 1e7, *CONSTANTS[side]) == pytest.approx(printed_s, rel=0.12)


def test_an_access_alone_takes_1_55_times_as_long() -> None:
    assert CONSTANTS["remote_s"][1] / CONSTANTS["local_s"][1] == pytest.approx(1.55, abs=0.005)

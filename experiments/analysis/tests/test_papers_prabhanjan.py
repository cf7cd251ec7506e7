# SPDX-License-Identifier: GPL-2.0-only
"""Prabhanjan et al.: their own tables as a run, and what their times are of."""

import re
from pathlib import Path

import pytest

from experiments.analysis.papers import prabhanjan, reference
from experiments.analysis.runs.results import read_results
from experiments.analysis.tests import factorial

pytestmark = pytest.mark.full("a paper more; test_papers_luo has the same comparison")

NAMES = {key: name for name, (_, key) in prabhanjan.TABLES.items()}


def printed(keep: str = "") -> list[factorial.Cell]:
    """The paper's own times. Its 10^10 updates of 10^10 ints stand there with two counts."""
    cells = []
    for row in reference.read_rows("redis-tables-7.1-7.5.csv"):
        factors = {"experiment": NAMES[row["table"]], "size": 0.0} | prabhanjan.find_measured_case(row)
        if keep in NAMES[row["table"]]:
            cells += [({**factors, "memory": m}, {"seconds": (float(row[f"{m}_s"]), "s")}) for m in ("local", "remote")]
    return cells


def times(tmp_path: Path, cells: list[factorial.Cell]):
    found = factorial.make_records("redis", cells)
    directory = factorial.write_run(tmp_path, found, ["prabhanjan-times"], "xeon-e5-2620v4-2s")
    return prabhanjan.make_times(read_results(directory), "p")


def test_the_papers_own_tables_differ_from_themselves_by_noise(tmp_path: Path) -> None:
    """19 of 20 rows have a case of their own; no seconds of random updates, whose fill ours lack."""
    found = times(tmp_path, [(f, m) for f, m in printed() if f["size"] != 1000])
    assert found.machine == "Xeon E5-2620 v4" and "zsets 0.90 to 1.9" in found.found
    assert [t.number for t in found.tables] == ["Table 7.1", "Table 7.2", "Table 7.3", "Experiment 4", "Table 7.4", "Table 7.5"]
    ratios, seconds = ([c for c in found.compared if c.printed.unit == unit] for unit in ("TR/TL", "s"))
    assert (len(ratios), len(seconds)) == (19, 2 * 14)
    assert all(abs(c.difference) < 0.02 * c.printed.low for c in found.compared)
    assert all(c.uniform == pytest.approx(1, abs=0.02) for c in ratios), "remote memory is as fast there"


def test_where_no_size_is_the_papers_the_ends_stand_beside_each_other(tmp_path: Path) -> None:
    cells = [({"experiment": "sort", "size": n, "memory": m}, {"seconds": (1.0, "s")}) for n in (1000, 2000, 3000) for m in ("local", "remote")]
    assert [c.printed.cell for c in times(tmp_path, cells).compared] == [
        "sort, ours 1\u202f000, paper 100\u202f000\u202f000", "sort, ours 3\u202f000, paper 300\u202f000\u202f000"]


def test_tables_set_the_papers_rows_and_ratio_beside_ours(tmp_path: Path) -> None:
    found = times(tmp_path, printed("random-update"))
    (table,) = found.tables
    ours, paper = ({r[0].text: r for r in table.rows if r[1].text == kind} for kind in ("ours", "paper"))
    printed_name = "10\u202f000\u202f000\u202f000, 100\u202f000\u202f000\u202f000 accesses"
    assert len(ours) == len(paper) == 5
    assert paper[printed_name][4].text == "1.576"  # 104 / 66, the 1.58 of the text
    assert ours["1\u202f410\u202f065\u202f408, 1\u202f215\u202f752\u202f192 accesses"][4].value == pytest.approx(104 / 66, rel=0.01)
    assert [r[1].text for r in table.rows] == ["ours", "paper"] * 5  # by size, one above the other
    for above, below in zip(table.rows[::2], table.rows[1::2]):  # and the same case, whose sizes overflowed
        assert above[2].value == pytest.approx(below[2].value, rel=0.01)
    assert "ours are of the updates alone" in table.caption


def test_pipelined_and_not_are_not_mixed(tmp_path: Path) -> None:
    """The paper's client waits for each answer: its numbers are compared with pipeline 1."""
    cells = [({"experiment": "zsets", "size": 1_000_000, "pipeline": p, "memory": m},
              {"seconds": (s, "s")}) for p, m, s in (
        (1, "local", 10.0), (1, "remote", 12.0), (64, "local", 1.0), (64, "remote", 1.0))]
    found = times(tmp_path, cells)
    ours = {r[0].text: r[4].value for r in found.tables[0].rows if r[1].text == "ours"}
    assert ours == {"1\u202f000\u202f000, not pipelined": pytest.approx(1.2, abs=0.02),
                    "1\u202f000\u202f000, pipeline 64": pytest.approx(1.0, abs=0.02)}
    ratio, *_ = found.compared
    assert ratio.ours.value == pytest.approx(1.2, abs=0.02)


def counters(tmp_path: Path, ipc: tuple[float, float]):
    cells = [({"experiment": "keys", "memory": m}, {"seconds": (9.0, "s")}) for m in ("local", "remote")]
    found = factorial.make_records("redis", cells)
    for record in found:
        far = record["factors"]["memory"] == "remote"
        record["series"] = {"interval_s": 0.5, "ipc": [ipc[far], None, ipc[far] + 0.01],
                            "remote_dram": [9e6 if far else 1e5] * 3,
                            "local_dram": [1e5 if far else 9e6] * 3}
    directory = factorial.write_run(tmp_path, found, ["prabhanjan-counters"])
    return prabhanjan.make_counters(read_results(directory), "c")


def test_counters_over_time(tmp_path: Path) -> None:
    found = counters(tmp_path, (1.0, 0.8))
    (one,) = found.compared
    assert one.ours.value == pytest.approx(100 / 90) and (one.printed.text, one.difference) == ("0.0500 to 2.20", 0)
    told = {d.number: re.search(r"<desc[^>]*>(.*?)</desc>", d.svg)[1] for d in found.drawings}
    assert told["Figs 8.7 and 8.8"] == ("local memory: 0.5: 1.00, 1.5: 1.01; "
                                        "remote memory: 0.5: 0.800, 1.5: 0.810")  # a gap is a gap
    assert "remote memory: 0.5: 1.25" in told["Figs 8.5 and 8.6"]  # CPI = 1 / IPC


def test_counters_are_of_one_case(tmp_path: Path) -> None:
    """Every size with both memories, not pipelined, the largest first: 2000 was run with local memory only."""
    cells = [({"experiment": "keys", "size": n, "pipeline": p, "memory": m}, {"seconds": (9.0, "s")})
             for m in ("local", "remote") for n, p in ((100, 1), (1000, 16), (1000, 1), (2000, 1))
             if (n, m) != (2000, "remote")]
    found = factorial.make_records("redis", cells)
    for record in found:
        size, pipeline = record["factors"]["size"], record["factors"]["pipeline"]
        record["series"] = {"interval_s": 1.0, "ipc": [size * pipeline]}
    directory = factorial.write_run(tmp_path, found, [])
    drawings = [d for d in prabhanjan.make_counters(read_results(directory), "c").drawings if d.number == "Figs 8.7 and 8.8"]
    assert [re.search(r"<desc[^>]*>(.*?)</desc>", d.svg)[1] for d in drawings] == [
        f"local memory: 1: {ipc}; remote memory: 1: {ipc}" for ipc in ("1\u202f000", "100")]
    assert [d.caption.split(": ")[0] for d in drawings] == ["keys, 1\u202f000, not pipelined", "keys, 100, not pipelined"]


def test_a_run_without_counters_says_so(tmp_path: Path) -> None:
    directory = factorial.write_run(tmp_path, factorial.make_records("redis", printed("lists")), [])
    found = prabhanjan.make_counters(read_results(directory), "c")
    assert "counts none" in found.missing[0] and not found.drawings and not found.compared


def benchmark(tmp_path: Path, *loads: dict[str, int]):
    """The larger the values, the slower with remote memory."""
    cells = [({**load, "pipeline": 1, "memory": m},
              {"set": (100e3, "ops/s"), "lrange_600": (v - load.get("value_bytes", 3) * (m == "remote"), "ops/s"),
               "set_latency_p50": (80.0, "us"), "set_latency_p99": (200.0, "us")})
             for load in loads or ({},) for m, v in (("local", 13400.0), ("remote", 12003.0))]
    directory = factorial.write_run(tmp_path, factorial.make_records("redis-benchmark", cells), [])
    return prabhanjan.make_benchmark(read_results(directory), "b")


def test_redis_benchmark(tmp_path: Path) -> None:
    found = benchmark(tmp_path)
    rows = {(r[0].text, r[1].text): r for r in found.tables[0].rows}
    assert rows["lrange_600", "ours"][4].value == pytest.approx(13400 / 12000, rel=0.01)
    assert [c.text for c in rows["lrange_600, 3 bytes", "paper"][2:]] == ["13444.08", "–", "–"] and len(rows) == 3
    assert [[r[0].text, *(round(c.value, -1) for c in r[1:])] for r in found.tables[1].rows] == [["set", 80, 80, 200, 200]]
    (one,) = found.compared
    assert (one.printed.cell, one.printed.low) == ("lrange_600, local memory", 13444.08) and one.difference == pytest.approx(-44, abs=100)


def test_values_of_several_sizes_are_not_mixed(tmp_path: Path) -> None:
    """The paper's row stands at its 3 bytes, and is compared with them."""
    found = benchmark(tmp_path, {"value_bytes": 1024}, {"value_bytes": 3})
    assert not found.missing
    kinds = [(r[0].text, r[1].text) for r in found.tables[0].rows if "lrange" in r[0].text]
    assert kinds == [("lrange_600, 3 bytes", "ours"), ("lrange_600, 3 bytes", "paper"), ("lrange_600, 1024 bytes", "ours")]
    values = [r[4].value for r in found.tables[0].rows if r[0].text.startswith("lrange") and r[1].text == "ours"]
    assert values == [pytest.approx(13400 / 12000, rel=0.01), pytest.approx(13400 / 10979, rel=0.01)]


def seconds(size: float, updates: float, fill_ns: float, update_ns: float) -> float:
    """Of a program that counts in 32 bits."""
    return (size % 2**32 * fill_ns + updates % 2**32 * update_ns) / 1e9


CONSTANTS = {"local_s": (9.9, 44.3), "remote_s": (11.2, 68.8)}  # ns: to fill an element, to update one


@pytest.mark.parametrize("side", CONSTANTS)
def test_table_7_2_is_of_sizes_that_overflowed(side: str) -> None:
    """Two constants give all times of its large rows modulo 2^32, and none of them as printed."""
    fill, update = CONSTANTS[side]
    rows = [(float(r["size"]), float(r["accesses"]), float(r[side]))
            for r in reference.read_rows("redis-tables-7.1-7.5.csv") if r["table"] == "7.2"]
    large = [row for row in rows if row[0] > 3e8]
    assert [seconds(n, k, fill, update) for n, k, _ in large] == [pytest.approx(s, rel=0.12) for _, _, s in large]
    literal = [(n * fill + k * update) / 1e9 / s for n, k, s in rows if n > 1e9]
    assert len(literal) == 3 and min(literal) > 5


@pytest.mark.parametrize("side", CONSTANTS)
def test_the_first_row_of_table_7_2_is_of_the_updates_of_the_second(side: str) -> None:
    """3 x 10^8 updates of as many ints would take over four times what is printed; 10^7 fit."""
    row = next(r for r in reference.read_rows("redis-tables-7.1-7.5.csv") if r["table"] == "7.2")
    n, printed_s = float(row["size"]), float(row[side])
    assert (n, float(row["accesses"])) == (3e8, 3e8)
    assert seconds(n, n, *CONSTANTS[side]) > 4 * printed_s
    assert seconds(n, 1e7, *CONSTANTS[side]) == pytest.approx(printed_s, rel=0.12)


def test_an_access_alone_takes_1_55_times_as_long() -> None:
    assert CONSTANTS["remote_s"][1] / CONSTANTS["local_s"][1] == pytest.approx(1.55, abs=0.005)

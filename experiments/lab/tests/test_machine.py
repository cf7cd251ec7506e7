# SPDX-License-Identifier: GPL-2.0-only
"""Machine files: what is accepted, and that every fault is reported with its line, field and reason."""

import re

import pytest

from experiments.lab import machine
from experiments.lab.errors import USAGE, LabError

DEMO = (machine.MACHINES / "demo-2s.toml").read_text(encoding="utf-8")


def find_fault(tmp_path, text: str) -> str:
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LabError) as caught:
        machine.find(str(path))
    assert caught.value.status == USAGE
    message = str(caught.value)
    assert message.startswith(f"{path}:") and "\n" not in message
    return message.removeprefix(f"{path}:")


def edit_demo(old: str, new: str, count: int = -1) -> str:
    assert old in DEMO
    return DEMO.replace(old, new, count)


def find_line(text: str, needle: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if needle in line)


def test_every_machine_is_found_by_its_own_name():
    for described in machine.list_machines():
        assert machine.find(described.name) == described


def list_numbers(described: machine.Machine) -> dict[str, float]:
    """Lists the numbers of the model by table and field; of a link or a node with its position."""
    found = {}

    def visit(name: str, entry: object) -> None:
        if isinstance(entry, dict) and "value" in entry:
            found[name] = entry["value"]
        elif isinstance(entry, dict):
            for key, below in entry.items():
                visit(f"{name}.{key}", below)
        elif isinstance(entry, list) and name.rpartition(".")[2] in ("link", "node"):
            for at, below in enumerate(entry):
                visit(f"{name}[{at}]", below)
    visit("", described.model)
    return found


@pytest.mark.parametrize("name", ["demo-2s", "cxl-3n", "2x2+1:1G"])
def test_a_scaled_machine_is_slower_in_all_that_is_a_time_or_a_rate(name: str):
    plain, scaled = machine.find(name), machine.find(f"{name}/16")
    assert (scaled.name, scaled.scale, plain.scale) == (f"{name}/16", 16, 1)
    assert (scaled.nodes, scaled.distances) == (plain.nodes, plain.distances)
    numbers = list_numbers(plain)
    assert list_numbers(scaled) == pytest.approx({key: value * 16 if key.endswith("_ns") else value / 16 if key.endswith(("_mb_s", "mhz"))
                                                  else value for key, value in numbers.items()})
    assert [one.get("latency_ns") for one in scaled.cache] == [one.get("latency_ns") and 16 * one["latency_ns"] for one in plain.cache]
    assert [one["size"] for one in scaled.cache] == [one["size"] for one in plain.cache]
    assert "scale=16\n" in scaled.plugin and "scale=" not in plain.plugin
    assert machine.is_known(scaled.name)


@pytest.mark.parametrize("name", ["demo-2s/0", "demo-2s/65", "demo-2s/1.5"])
def test_a_speed_has_bounds(name: str):
    with pytest.raises(LabError, match=r"none of 1/1, 1/2, \.\. 1/64"):
        machine.find(name)


def test_a_file_whose_name_is_a_number_is_no_speed(tmp_path):
    (tmp_path / "16").write_text(DEMO, encoding="utf-8")
    (tmp_path / "own.toml").write_text(DEMO, encoding="utf-8")
    assert machine.find(str(tmp_path / "16")).scale == 1
    assert machine.find(str(tmp_path / "own.toml/16")).scale == 16


def test_numbers_are_set_before_a_machine_is_scaled():
    assert machine.find("demo-2s/4", ["dram.latency_ns=100"]).model["dram"]["latency_ns"]["value"] == 400


@pytest.mark.parametrize(("old", "new", "where", "why"), [
    ('cpus = "2-3"', 'cpus = "1-2"', "node[1].cpus", "CPU 1 is also on node 0"),
    ('cpus = "2-3"', 'cpus = "2"', "cpus", "its nodes describe 0-2"),
    ('cpus = "2-3"', 'cpus = "3-2"', "node[1].cpus", "not a list of CPUs"),
    ('cpus = "2-3"', 'cpus = 2', "node[1].cpus", "2 is not a text"),
    ('cpus = "2-3"\n', '', "node[1]", "the field 'cpus' is missing"),
    ('cpus = "2-3"\n', 'cpus = "2-3"\nspeed = 3\n', "node[1].speed", "unknown field"),
    ('size = "4 MiB"', 'size = "4 MB"', "cache[2].size", "'4 MB' is not a size"),
    ('size = "4 MiB"', 'size = "4000 GiB"', "cache[2].size", "a cache has 4096 to"),
    ('size = "32 KiB"', 'size = "33 KiB"', "cache[0].size", "whole pages"),
    ("level = 3", "level = 2", "cache[2].level", "there is a level 2 already"),
    ("level = 3", "level = 5", "cache[2].level", "5 is outside 1 to 4"),
    ("ways = 16", "ways = 0", "cache[2].ways", "0 is outside 1 to 64"),
    ("ways = 16\nline_bytes = 64", "ways = 16\nline_bytes = 48", "cache[2].line_bytes", "48 is not one of 16, 32"),
    ("ways = 16\nline_bytes = 64", "ways = 16\nline_bytes = 32", "cache[2].line_bytes", "of the same length"),
    ("mhz = { value = 2400", "mhz = { value = 0", "model.core.mhz", "0 is outside 1 to 100000"),
    ("outstanding = { value = 10", "outstanding = { value = 0", "model.core.outstanding", "0 is outside 0.01"),
    ("bytes = { value = 64", "bytes = { value = 0", "model.line.bytes", "0 is outside 16 to 256"),
    ("cpus = 4", "cpus = 0", "cpus", "0 is outside 1 to 8192"),
    ("cpus = 4", "cpus = 6", "cpus", "has CPUs 0 to 5, but its nodes describe 0-3"),
    ('cpus = "2-3"', 'cpus = "3,5"', "cpus", "has CPUs 0 to 3, but its nodes describe 0-1,3,5"),
    ("cpus = 4", "cpus = true", "cpus", "true is not a whole number"),
    ('memory = "2 GiB"', 'memory = "3 GiB"', "memory", "has 3072 MiB, but its nodes sum up to 2048 MiB"),
    ('memory = "2 GiB"', 'memory = "2 GB"', "memory", "'2 GB' is not a size"),
    ('memory = "2 GiB"', 'memory = "2 GiB"\ncolour = "red"', "colour", "unknown field"),
    ("[21, 10],\n]", "[21, 10, 10],\n]", "distances", "square matrix"),
    ("    [21, 10],\n", "", "distances", "square matrix of 2 rows"),
    ("[10, 21]", "[10, 9]", "distances", "9 (node 0 to 1) must be 11 to 254"),
    ("[10, 21]", "[20, 21]", "distances", "20 (node 0 to itself) must be 10"),
    ("[10, 21]", '[10, "far"]', "distances", '"far" (node 0 to 1) is not a whole number'),
    ('name = "demo-2s"', 'name = "Demo 2"', "name", "must be lower-case letters"),
    ('name = "demo-2s"', f'name = "{"m" * 64}"', "name", "'mmmmmmmmmmmmmmmmmmmm..' has 64 characters, at most 63 may be"),
])
def test_fault_is_reported_with_line_field_and_reason(tmp_path, old, new, where, why):
    text = edit_demo(old, new)
    message = find_fault(tmp_path, text)
    line, field, reason = message.split(":", 2)
    assert field.strip() == where
    assert why in reason
    assert 1 <= int(line) <= len(text.splitlines())


def test_node_without_cpus_or_memory_is_a_node_but_one_must_have_both(tmp_path):
    text = edit_demo('cpus = "2-3"', 'cpus = ""').replace("cpus = 4", "cpus = 2")
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    assert machine.find(str(path)).nodes[1].cpus == []
    text = text.replace('cpus = "0-1"\nmemory = "1 GiB"', 'cpus = "0-1"\nmemory = "0"')
    assert "no node has both" in find_fault(tmp_path, text.replace('"2 GiB"', '"1 GiB"'))


def test_optional_values_need_their_source(tmp_path):
    cache = '[[cache]]\nlevel = 4\nsize = "12 MiB"\nways = 16\nline_bytes = 64\nshared_by_cpus = 2\n'
    assert "the field 'source' is missing" in find_fault(tmp_path, DEMO + cache)
    path = tmp_path / "m.toml"
    path.write_text(DEMO + cache + 'source = "data sheet"\n', encoding="utf-8")
    assert machine.find(str(path)).cache[-1]["ways"] == 16


PENALTY = """
[penalty]
remote_per_mpki = { value = 0.011, source = "calibrated: least squares over 3 tasks, off by at most 2.0 %" }
local_per_mpki = { value = 0.004, source = "calibrated: as remote_per_mpki" }

[[penalty.task]]
name = "chase"
method = "flip"
mpki = { value = 48.439, source = "calibrated: two runs on node 1" }
penalty = { value = 1.42, source = "calibrated: two runs on node 1" }
"""


def test_what_calibrate_saves_is_no_fault(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(DEMO + PENALTY, encoding="utf-8")
    assert machine.find(str(path)) == machine.find("demo-2s")


@pytest.mark.parametrize(("old", "new", "needle", "where", "why"), [
    ("local_per_mpki", "near_per_mpki", "near", "penalty.near_per_mpki", "known are remote_per_mpki, local_per"),
    ("local_per_mpki", "# local", "[penalty]", "penalty", "has both remote_per_mpki and local_per_mpki"),
    ('value = 0.011', 'value = "x"', '"x"', "penalty.remote_per_mpki", '"x" is not a number from 0'),
    ('"flip"', '"guess"', "guess", "penalty.task[0].method", "'guess' is neither two-runs nor flip"),
    ('"chase"', '""', 'name = ""', "penalty.task[0].name", "'' is not a program's name"),
    ('name = "chase"', 'nice = 3\nname = "chase"', "nice", "penalty.task[0].nice", "unknown field"),
    ("mpki = { value = 48.439", "mpki = { value = -1", "= -1", "penalty.task[0].mpki", "-1 is not a number"),
    ("value = 1.42", "value = 0.005", "0.005", "penalty.task[0].penalty", "0.005 is outside 0.01"),
    ('1.42, source = "calibrated: ', '1.42, source = "', "1.42", "penalty.task[0].penalty", "must begin with"),
    ("penalty = {", "# {", "[[penalty.task]]", "penalty.task[0]", "the field 'penalty' is missing"),
    ("[[penalty.task]]", "[penalty.task]", "[penalty.task]", "penalty.task", "[[penalty.task]]"),
])
def test_fault_in_the_penalty(tmp_path, old, new, needle, where, why):
    assert old in PENALTY
    text = DEMO + PENALTY.replace(old, new, 1)
    line, field, reason = find_fault(tmp_path, text).split(":", 2)
    assert (int(line), field.strip()) == (find_line(text, needle), where)
    assert why in reason


def test_machine_knows_its_changes_as_one_word_each():
    changed = machine.find("demo-2s", ["dram.latency_ns= 90", "link[0].latency_ns=9"])
    assert changed.changes == ["dram.latency_ns=90", "link[0].latency_ns=9"]
    assert "dram_latency_ns=90 " in changed.plugin


def test_shape_is_a_machine_without_a_file():
    shape, demo = machine.find("2x2"), machine.find("demo-2s")
    assert (shape.name, shape.nodes, shape.distances) == ("2x2", demo.nodes, demo.distances)
    assert (shape.cache, shape.access) == (demo.cache, demo.access)
    assert shape.plugin.splitlines()[1:] == [line.replace("demo-2s", "2x2") for line in demo.plugin.splitlines()[1:]]
    assert not {"2x2", "3x1:128M+1:1G"} & {*machine.names()}
    assert machine.is_known("2x2") and machine.is_known("demo-2s") and not machine.is_known("nope")


def test_shape_has_nodes_without_cpus_and_memory_of_its_own():
    found = machine.find("3x4:128M+1:1G", ["dram.latency_ns=90"])
    assert [(len(node.cpus), node.memory >> 20) for node in found.nodes] == [(4, 128)] * 3 + [(0, 1024)]
    assert {cache["level"]: cache["shared_by_cpus"] for cache in found.cache} == {1: 1, 2: 1, 3: 4}
    assert found.access["latency_ns"][0] == [90, 140, 140, 140]
    assert "3 nodes with 4 CPUs and 128 MiB each, 1 without CPUs and with 1024 MiB" == found.summary


@pytest.mark.parametrize("shape", ["0x2", "2x0", "2x", "99x9", "2x2:1", "2x2+0", "2x2:1M+1:3K"])
def test_wrong_shape_is_one_line(shape):
    with pytest.raises(LabError, match=f"'{re.escape(shape)}'") as caught:
        machine.find(shape)
    assert caught.value.status == USAGE and "\n" not in str(caught.value)


@pytest.mark.parametrize(("title", "name", "changes"), [
    ("demo-2s", "demo-2s", []), ("2x2:1G+1:2G", "2x2:1G+1:2G", []),
    ("2x2+1+dram.latency_ns=90,link[0].latency_ns=9", "2x2+1", ["dram.latency_ns=90", "link[0].latency_ns=9"]),
])
def test_title_of_results_names_machine_and_changes(title, name, changes):
    assert machine.split_title(title) == (name, changes)

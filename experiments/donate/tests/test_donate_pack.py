# SPDX-License-Identifier: GPL-2.0-only
"""What gets into the file, and that nothing personal does: a planted word in each input in turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.donate import allowed, pack, steps
from experiments.donate.tests import donated
from experiments.errors import ExperimentError
from experiments.zoo import record

SECRETS = ("vault-17.example.org", "alice", "SN12345678", "52:54:00:ab:cd:ef", "/home/alice/secret", "/root/x")
PLANTED = " ".join(SECRETS)


def strings(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """Where a string stands in JSON."""
    if isinstance(value, str):
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from strings(one, (*path, key))


def changed(value: Any, path: tuple, change: Callable[[str], str]) -> Any:
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], change)
    return copy


def with_more_keys(value: Any) -> Any:
    """Each table of it has a key that nobody knows."""
    if isinstance(value, dict):
        return {key: with_more_keys(one) for key, one in value.items()} | {"alice": PLANTED}
    return [with_more_keys(one) for one in value] if isinstance(value, list) else value


def inputs(folder: Path) -> list[Path]:
    return [folder / steps.TOPOLOGY, *sorted(folder.glob("*/results.jsonl")), *sorted(folder.glob("*/step.json"))]


def told(folder: Path) -> list[str]:
    text = record.text(pack.pack(folder))
    return [secret for secret in SECRETS if secret in text]


CHANGES = {"behind it": lambda text: f"{text} {PLANTED}", "before it": lambda text: f"{PLANTED} {text}",
           "in its place": lambda _: PLANTED, "one word": lambda _: SECRETS[2]}


@pytest.mark.parametrize("how", CHANGES)
def test_a_planted_word_in_any_string_stays_behind(tmp_path: Path, how: str) -> None:
    folder, places = donated.write(tmp_path / "run"), 0
    for file in inputs(folder):
        before = file.read_text()
        first, *rest = before.splitlines()
        found = json.loads(first) | ({"why": "ended with status 1"} if file.name == steps.MARK else {})
        for path in strings(found):
            file.write_text("\n".join([json.dumps(changed(found, path, CHANGES[how])), *rest]) + "\n")
            assert told(folder) == [], (file, path)
            places += 1
        file.write_text(before)
    assert places > 60


def test_a_planted_key_in_any_table_stays_behind(tmp_path: Path) -> None:
    folder = donated.write(tmp_path / "run")
    for file in inputs(folder):
        file.write_text("".join(json.dumps(with_more_keys(json.loads(line))) + "\n" for line in file.read_text().splitlines()))
    assert told(folder) == [] and pack.pack(folder)["measured"].keys() >= {"latency", "numa_stream"}


def test_a_planted_word_in_a_machine_file_or_a_log_stays_behind(tmp_path: Path) -> None:
    folder = donated.write(tmp_path / "run")
    file = folder / steps.CALIBRATION / steps.MACHINE
    for words in ('name = "donated"', 'source = "calibrated: donated (real)"', 'summary = "'):
        text = donated.machine_file()
        assert words in text
        for planted in ("alice", PLANTED):
            file.write_text(text.replace(words, words.replace('"', f'"{planted} ', 1)))
            assert told(folder) == []
    for step in steps.STEPS:
        (folder / step.name / steps.LOG).write_text(PLANTED)
    assert told(folder) == []


def test_the_search_for_planted_words_finds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = donated.write(tmp_path / "run")
    monkeypatch.setattr(allowed, "cpu_model", lambda name: f"{name} alice")
    assert told(folder) == ["alice"]


@pytest.mark.parametrize(("name", "kept"), [
    ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763 64-Core Processor"), ("Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz",) * 2,
    ("Intel(R) Xeon(R) Platinum 8480+",) * 2, ("AMD Opteron(tm) Processor 6172",) * 2, ("Neoverse-N1",) * 2,
    ("AMD EPYC of alice", "AMD EPYC"), ("vault-17", "unknown")])
def test_of_a_processors_name_known_words_are_kept(name: str, kept: str) -> None:
    assert allowed.cpu_model(name) == kept


def test_the_figures_are_those_of_the_results(tmp_path: Path) -> None:
    found = pack.pack(donated.write(tmp_path / "run"))
    measured = found["measured"]
    assert measured["latency"]["mean"] == [[90, 140], [140, 90]] and measured["latency"]["n"] == [[3, 3], [3, 3]]
    assert measured["latency"]["half"][0][0] == pytest.approx(2.483), "Student's t of -1, 0, 1"
    assert measured["bandwidth"]["mean"] == [[9600, 4800], [4800, 9600]]
    assert {"delay": 500, "latency_ns": 600.0, "bandwidth_mb_s": 9000.0, "n": 3}.items() <= measured["loaded_latency"][1].items()
    assert {(row["access"], row["threads"]): row["bandwidth_mb_s"] for row in measured["numa_stream"]}["unstrided", 8] == 24000
    assert measured["contention"][2] == {"node": 0, "other": 1, "local": 1, "remote": 1, "local_mb_s": 4800, "local_mb_s_half": 20,
                                         "remote_mb_s": 2500, "remote_mb_s_half": 20}
    assert found["model"][0] == "machine name=donated line_bytes=64" and "dram_bytes_per_s=12800000000" in found["model"][1]
    machine = found["machine"]
    assert (machine["cpu_model"], machine["kernel"]) == ("Intel(R) Xeon(R) Gold 6430", "6.12")
    assert machine["distances"] == [[10, 21], [21, 10]]
    assert machine["nodes"][1] == {"id": 1, "cpus": 4, "memory_mib": 1024}
    assert machine["caches"] == [{"level": 3, "type": "Unified", "bytes": 4 << 20, "shared_by_cpus": 4, "number": 2}]
    assert found["missing"]["module"] == pack.NO_MODULE


def test_an_observation_with_a_mark_is_left_out(tmp_path: Path) -> None:
    folder = donated.write(tmp_path / "run")
    file = folder / steps.LATENCY / "results.jsonl"
    first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(json.loads(first) | {"marks": ["somebody else ran"]}), *rest]) + "\n")
    assert pack.pack(folder)["measured"]["latency"]["n"] == [[2, 3], [3, 3]]


def test_what_is_missing_is_told_with_its_reason(tmp_path: Path) -> None:
    folder = donated.write(tmp_path / "run")
    for name, why in ((steps.STREAM, steps.NODES), (steps.CORES, "ended with status 3")):
        (folder / name / "results.jsonl").unlink()
        (folder / name / steps.MARK).write_text(json.dumps({"status": 3, "why": why}))
    (folder / steps.LOADED / steps.MARK).unlink()
    found = pack.pack(folder)
    assert {name: found["missing"].get(name) for name in (steps.STREAM, steps.CORES, steps.LOADED, steps.LATENCY)} == {
        steps.STREAM: steps.NODES, steps.CORES: "ended with status 3", steps.LOADED: steps.TIME, steps.LATENCY: None}
    assert "numa_stream" not in found["measured"]


def test_the_text_is_small_sorted_and_read_back(tmp_path: Path) -> None:
    found = pack.pack(donated.write(tmp_path / "run"))
    text = record.text(found)
    file = tmp_path / "box.json"
    file.write_text(text)
    assert record.read(file) == json.loads(text) == found
    assert '   "mean": [\n    [90.0, 140.0],\n    [140.0, 90.0]\n   ],\n' in text
    keys = [line for line in text.splitlines() if line.startswith(' "')]
    assert keys == sorted(keys) and len(keys) == len(found)
    pack.check_size(text)
    with pytest.raises(ExperimentError, match="64 are the most"):
        pack.check_size("x" * record.MOST_BYTES)

# SPDX-License-Identifier: GPL-2.0-only
"""Steps that are processes: one that fails or takes too long does not lose the others, and finished ones are kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.donate import steps
from experiments.donate.steps import Step, mark
from experiments.donate.tests import donated
from experiments.errors import UsageError

RECORDS = "".join(json.dumps(one) + "\n" for one in donated.observations(steps.LATENCY))
MARKED = "".join(json.dumps(one | {"marks": ["pages fell back"]}) + "\n" for one in donated.observations(steps.LATENCY))


def shell(script: str, name: str = "step", weight: int = 1) -> Step:
    return Step(name, weight, lambda folder, seconds: ["sh", "-c", f"cd {folder}; echo x >>runs; seconds={seconds}; {script}"])


def writes(text: str) -> str:
    return f"cat >results.jsonl <<'END'\n{text}END\n"


@pytest.mark.parametrize(("script", "status", "why"), [
    (writes(RECORDS), 0, None),
    (writes(RECORDS) + "exit 1", 0, None),
    (writes(MARKED) + "exit 1", 1, steps.MARKED),
    ("echo 'suite x needs 2 nodes with CPUs and memory, this machine has 1 (node 0): run it'; exit 3", 3, steps.NODES),
    ("echo 'this machine has fewer than two nodes with CPUs and memory'; exit 3", 3, steps.NODES),
    ("echo '--budget: one repeat of suite x takes 9 s'; exit 2", 2, steps.BUDGET),
    ("echo '/home/alice/build/np-mem is missing, and it measures'; exit 3", 3, steps.PROGRAM),
    ("echo 'alice: no such thing' >&2; exit 7", 7, "ended with status 7"),
    ("kill -9 $$", -9, "ended with status -9")])
def test_how_a_step_ends(tmp_path: Path, script: str, status: int, why: str | None) -> None:
    steps.run(tmp_path, 60, lambda _: None, (shell(script),))
    assert mark(tmp_path, "step") == {"status": status, "why": why}


def test_a_step_that_fails_does_not_lose_the_others(tmp_path: Path) -> None:
    said: list[str] = []
    steps.run(tmp_path, 60, said.append, (shell("exit 9", "a"), shell(writes(RECORDS), "b")))
    assert said == ["a: ended with status 9", "b: measured"]


@pytest.mark.parametrize(("before", "why"), [("", steps.TIME), (writes(RECORDS), steps.PART)])
def test_a_step_is_stopped_when_its_time_is_over(tmp_path: Path, before: str, why: str) -> None:
    begin = time.monotonic()
    steps.run(tmp_path, 6, lambda _: None, (shell(f"{before}exec tail -f /dev/null", "a"), shell("exit 9", "b", weight=2)))
    assert time.monotonic() - begin < 30
    assert mark(tmp_path, "a") == {"status": None, "why": why}
    assert mark(tmp_path, "b")["why"] == "ended with status 9"


def test_the_time_is_shared_by_weight(tmp_path: Path) -> None:
    given = [shell("echo $seconds >seconds", name, weight) for name, weight in (("a", 1), ("b", 3))]
    steps.run(tmp_path, 400, lambda _: None, tuple(given))
    a, b = (float((tmp_path / name / "seconds").read_text()) for name in ("a", "b"))
    assert 99 < a <= 100 and 360 < b <= 400, "what the first leaves is the second's"


def test_finished_steps_are_kept_and_others_made_again(tmp_path: Path) -> None:
    given = (shell(writes(RECORDS), "a"), shell("[ $(wc -l <runs) = 2 ] || exit 9\n" + writes(RECORDS), "b"))
    for _ in range(2):
        steps.run(tmp_path, 60, lambda _: None, given)
    assert {name: (tmp_path / name / "runs").read_text().count("x") for name in "ab"} == {"a": 1, "b": 2}
    assert mark(tmp_path, "b")["status"] == 0


@pytest.mark.parametrize("nodes", [1, 2, 8])
@pytest.mark.parametrize("seconds", [60.0, 480.0, 3600.0])
def test_a_calibration_is_as_long_as_its_time(tmp_path: Path, nodes: int, seconds: float) -> None:
    (tmp_path / steps.TOPOLOGY).write_text(json.dumps({"nodes": [{"cpus": "0-3", "has_memory": True}] * nodes}))
    words = steps.STEPS[0].command(tmp_path / steps.CALIBRATION, seconds)
    threads, repeats, each = (str(words[words.index(option) + 1]) for option in ("--threads", "--repeats", "--seconds"))
    of_a_cell, of_a_chase = 2 * int(repeats), int(repeats) + 1
    takes = float(each.removesuffix("ms")) / 1000 * ((int(threads) + 1) ** 2 * of_a_cell + nodes ** 2 * (of_a_cell + of_a_chase))
    assert takes < 0.75 * seconds and 20 <= float(each.removesuffix("ms")) <= 1000
    assert each == "1000ms" or takes > 0.6 * seconds


def test_without_time_nothing_is_started(tmp_path: Path) -> None:
    steps.run(tmp_path, 0.5, lambda _: None, (shell(""),))
    assert mark(tmp_path, "step")["why"] == steps.TIME and not (tmp_path / "step" / "runs").exists()


@pytest.mark.parametrize("change", [lambda t: t | {"cpu_model": "another"}, lambda t: t | {"nodes": t["nodes"] * 2}])
def test_results_of_another_machine_are_not_gone_on_with(tmp_path: Path, change: Callable[[dict], dict]) -> None:
    here = steps.topology(tmp_path, False)
    assert steps.topology(tmp_path, True)["nodes"][0]["id"] == here["nodes"][0]["id"]
    (tmp_path / steps.TOPOLOGY).write_text(json.dumps(change(here)))
    with pytest.raises(UsageError, match="holds results of another machine"):
        steps.topology(tmp_path, True)


def test_results_are_not_mixed_unasked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds results already: go on with --resume"):
        steps.topology(donated.write(tmp_path / "run"), False)

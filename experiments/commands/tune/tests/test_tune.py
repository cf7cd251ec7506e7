# SPDX-License-Identifier: GPL-2.0-only
"""Searches with a made-up objective: as many trials for each mechanism, within the ranges, and gone on with; and one in the lab."""

import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.analysis.tests import synthetic
from experiments.commands.experiment import cli
from experiments.commands.run_request import read_options
from experiments.commands.tune import command, rounds, search, tuned
from experiments.errors import UsageError
from experiments.mechanisms import registry
from experiments.paths import HERE
from experiments.runner.records import results
from experiments.runner.suite import suite as suites

NAMES = ["tiering", "numa-balancing"]
SUITE = suites.choose_cells(suites.replace_repeats(suites.load_suite("policy-matrix"), 1, 7), ["cross"], None)
TRIALS = 6  # a whole round and half of one


def speed(level: str) -> float:
    """The best is a scan size of 64 MB; the defaults' is 1."""
    size = registry.make_mechanism(level).values["scan_size_mb"]
    return 1 if size is None else 1.5 - abs(math.log(size / 64)) / 4


class Made:
    """Runs that are made up; `speeds`: by level."""

    def __init__(self, out: Path, speeds: Callable[[str], float] = speed, seed: int = 7) -> None:
        self.speeds, self.ran, self.seed = speeds, [], seed
        self.rounds = rounds.Rounds(replace(SUITE, seed=seed), out, self.measure)

    def measure(self, folder: Path, levels: list[str], begun: bool) -> None:
        self.ran.append(f"{folder.name} again" if begun else folder.name)
        manifest = synthetic.TIMED | {"seed": self.seed, "suite_text": SUITE.text, "workloads": {"cross": ""}, "policies": levels}
        synthetic.write(folder, [
            synthetic.observation("cross", level, 0, factor=self.speeds(level) if level != "none" else 1, platform="real",
                                  check="ok" if level == "none" or self.speeds(level) else "wrong")
            for level in levels for _ in range(1 if level == "none" or self.speeds(level) else 2)], manifest)

    def all(self, trials: int = TRIALS, until: float | None = None) -> list[search.Search]:
        searches = [search.Search(name, self.seed) for name in NAMES]
        self.rounds.make_all(searches, trials, until, lambda: None)
        return searches


def test_what_was_found_is_not_told_as_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its score is the largest of many single observations: it is to be ranked."""
    made = Made(tmp_path)
    monkeypatch.setattr(command, "Rounds", lambda _suite, out, _measure: rounds.Rounds(made.rounds.suite, out, made.measure))
    args = cli.make_parser().parse_args(["tune", "policy-matrix", "--placements", NAMES[0], "--trials", str(TRIALS),
                                         "--out", str(tmp_path)])
    assert command.carry_out_search(args, made.rounds.suite, 7, "demo-2s", lambda _: 0) == 0
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"{NAMES[0]}: on the training input defaults 1\.000, found 1\.\d+: {NAMES[0]}:.*", said[-2]), said
    assert said[-1].endswith(f"; rank what was found with numaplace experiment run policy-matrix --tuned {tmp_path / tuned.NAME}")


def test_each_has_as_many_trials_within_its_ranges(tmp_path: Path) -> None:
    found = Made(tmp_path).all()
    assert [len(one.tried) for one in found] == [TRIALS, TRIALS]
    assert [(one.tried[0].level, one.default) for one in found] == [(name, 1) for name in NAMES]
    for one in found:
        levels = [tried.level for tried in one.tried[1:]]
        values = [registry.make_mechanism(level).values for level in levels]  # refuses what is out of range
        assert len({*levels}) == TRIALS - 1 and all(None not in v.values() for v in values)
        assert [tried.score for tried in one.tried[1:]] == pytest.approx([speed(level) for level in levels])
        assert one.best.score == max(tried.score for tried in one.tried)


def test_it_learns_from_the_scores(tmp_path: Path) -> None:
    def learned(sign: int) -> float:
        """The mean logarithm of what was tried last."""
        found = Made(tmp_path / str(sign), lambda level: math.exp(sign * (speed(level) - 1))).all(trials=40)
        return sum(speed(one.level) for s in found for one in s.tried[-12:]) / 24

    assert learned(1) > learned(-1) + 0.1


def test_rounds_that_are_there_are_told_and_not_run_again(tmp_path: Path) -> None:
    first = Made(tmp_path)
    whole = [one.tried for one in first.all()]
    assert first.ran == ["round-0", "round-1"]
    (tmp_path / "round-1" / results.NAME).write_text("", encoding="ascii")  # stopped before its first observation
    again = Made(tmp_path)
    assert [one.tried for one in again.all()] == whole and again.ran == ["round-1 again"]
    longer = Made(tmp_path)
    with pytest.raises(UsageError, match="round-1 is of another search: its policies differs"):
        longer.all(TRIALS + 1)
    assert longer.ran == []


def test_a_round_of_another_seed_is_refused(tmp_path: Path) -> None:
    Made(tmp_path).all()
    with pytest.raises(UsageError, match="its seed differs"):
        Made(tmp_path, seed=8).all()


def test_no_round_begins_after_the_budget(tmp_path: Path) -> None:
    made = Made(tmp_path)
    assert [len(one.tried) for one in made.all(until=0)] == [rounds.AT_ONCE] * 2 and made.ran == ["round-0"]


def test_a_candidate_that_fails_its_check_is_a_trial_without_a_score(tmp_path: Path) -> None:
    found = Made(tmp_path, lambda level: 0 if ":" in level else 1.0).all()
    assert [[tried.score for tried in one.tried] for one in found] == [[1, *[None] * (TRIALS - 1)]] * 2
    assert [one.best.level for one in found] == NAMES


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = Made(tmp_path).all()
    tuned.write_tuned(tmp_path, {"machine": "demo-2s", "suite": "policy-matrix", "seed": 7}, found)
    return tmp_path / tuned.NAME


def test_the_levels_of_the_file_stand_beside_the_defaults(file: Path) -> None:
    said = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (said["machine"], said["seed"], said["trials"]) == ("demo-2s", 7, TRIALS)
    levels = [one["level"] for one in said["mechanism"]]
    assert all(level.startswith(f"{name}:") and "," in level for name, level in zip(NAMES, levels)), levels
    assert all(one["best"] >= one["default"] == 1 for one in said["mechanism"])
    args = read_options(["run", "policy-matrix", "--lab", "demo-2s", "--placements", "none,tiering", "--tuned", str(file)])
    request = cli.make_request(args)
    assert list(request.suite.policies) == ["none", "tiering", levels[0], "numa-balancing", levels[1]]
    words = cli.adapt_to_guest(args, request).list_words()  # commas stand in levels and between them
    assert cli.split_policies(words[words.index("--placements") + 1]) == list(request.suite.policies)


@pytest.mark.parametrize("words, why", [
    (["--lab", "demo-2s", "--seed", "7"], r"with seed 7, which is one of this run's \(7 to 9\)"),
    (["--lab", "demo-2s", "--seed", "5"], r"\(5 to 7\): give another --seed"),
    (["--lab", "demo-2s", "--seed", "1", "--repeat-until-ci", "5%"], r"\(1 to 30\)"),
    (["--lab", "cxl-3n"], "was tuned on demo-2s and this run is on cxl-3n"),
])
def test_a_run_on_the_training_input_or_elsewhere_is_refused(file: Path, words: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        cli.make_request(read_options(["run", "policy-matrix", "--tuned", str(file), *words]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text, why", [("seed = 1\n", "has no 'machine'"), ("seed", "Expected"), ("mechanism = 1\nseed=1\nmachine='a'", "iterable")])
def test_another_file_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=why) as caught:
        tuned.add_tuned(["none"], tmp_path / "a.toml", "demo-2s", range(1))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words, why", [
    (["--placements", "maximum-local"], "is no mechanism"),
    (["--placements", "cpuset"], "has no parameters"),
    (["--placements", "tiering:scan_size_mb=4"], "name alone"),
    (["--placements", "tiering", "--trials", "1"], "at least 2"),
    (["--placements", "tiering", "--seed", "20110605"], "is scored with seeds 20110604 to 20110606"),
])
def test_wrong_usage_is_one_line(words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["tune", "policy-matrix", "--lab", "--out", "out", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and why in said, said
    assert not (tmp_path / "out").exists()


def test_the_package_that_is_named_is_the_pinned_one() -> None:
    pinned = (HERE.sources / "setup/requirements-check.txt").read_text(encoding="utf-8")
    assert f"\n{search.PACKAGE}\n" in pinned and f'"{search.PACKAGE}"' in (HERE.sources / "pyproject.toml").read_text(encoding="utf-8")


TINY = """name = "tiny"
question = "?"
paper = "none"
machines = ["2x2"]
takes = "seconds"
repeats = 1
warmups = 0
seed = 1
nodes = 2
responses = ["operations"]

[factors]
placement = ["none"]

[[workload]]
kind = "command"
name = "hot"
about = "a hot quarter that stays"
command = ["np-hot", "static", "--hot", "25", "--seconds", "0.2", "--size", "16M", "--seed", "{seed}"]
ready = { pattern = "^ready" }
metric = { name = "operations", unit = "operations/s", direction = "higher", json = "ops_per_second" }
check = { pattern = '"right":true' }
"""


@pytest.mark.lab
@pytest.mark.full("a run for each trial")
def test_a_search_in_the_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    words = ["tune", "tiny.toml", "--lab", "--placements", "numa-balancing", "--trials", "2", "--out", "out"]
    assert cli.main(words) == 0
    records = results.read_records(tmp_path / "out/round-0")
    said = (tmp_path / "out" / tuned.NAME).read_text(encoding="utf-8")
    assert {record["seed"] for record in records} == {1001} and {record["platform"] for record in records} == {"lab-timed"}
    levels = {record["policy"] for record in records if record["check"] == "ok"}
    assert {"none", "numa-balancing"} < levels and len(levels) == 3
    share, = (m["value"] for record in records if record["policy"] == "none" for m in record["metrics"] if m["name"] == "remote_share")
    assert 0 <= share < 0.5, "its memory is where it runs"
    found, = tomllib.loads(said)["mechanism"]
    assert found["level"] in levels and found["best"] >= found["default"] > 0
    assert cli.main(words) == 0  # from what is there
    assert results.read_records(tmp_path / "out/round-0") == records and (tmp_path / "out" / tuned.NAME).read_text(encoding="utf-8") == said


def test_rounds_of_another_machine_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(tmp_path)
    monkeypatch.setattr(command, "Rounds", lambda _suite, out, _measure: rounds.Rounds(made.rounds.suite, out, made.measure))
    args = cli.make_parser().parse_args(["tune", "policy-matrix", "--placements", NAMES[0], "--trials", "4", "--out", str(tmp_path)])
    assert command.carry_out_search(args, made.rounds.suite, 7, "demo-2s", lambda _: 0) == 0
    with pytest.raises(UsageError, match="its machine is demo-2s, not cxl-3n"):
        command.carry_out_search(args, made.rounds.suite, 7, "cxl-3n", lambda _: 0)

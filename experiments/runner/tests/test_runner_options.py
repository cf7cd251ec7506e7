# SPDX-License-Identifier: GPL-2.0-only
"""The options of a run and their words are the same."""

import re
from pathlib import Path

import pytest

from experiments.commands.run_request import read_options
from experiments.errors import UsageError
from experiments.runner.options import RunOptions
from experiments.runner.suite import suite as suites

ALL = RunOptions("contention", out=Path("a b"), lab="demo-2s", functional=True, kernel="6.1", repeats=3, seed=7, repeat_until_ci=2.5,
                 max_repeats=9, workloads=["contention-0L2R", "*-1R"], policies=["none", "n-mass:pages=stay,penalty=1.3"], tuned=Path("t.toml"),
                 set=["triad.size=4 L3", "triad.seconds=0.5"], engine="syscall", quick=True, boots=3, jobs=2, share=[1, 3], budget=1500.0,
                 no_calibrate=True, resume=True, force=True)


@pytest.mark.parametrize("options", [RunOptions("sort"), RunOptions(all=True, lab="", out=Path("o"), timed=True), ALL])
def test_words_are_read_as_the_same_options(options: RunOptions) -> None:
    read = read_options(options.list_words())
    assert read.list_words() == options.list_words()
    assert all(getattr(read, name) == value for name, value in vars(options).items() if value not in (None, ()))


@pytest.mark.parametrize("words", [["run", "sort"], ["run", "--all", "--lab"]])
def test_defaults_have_no_words(words: list[str]) -> None:
    assert read_options(words).list_words() == words


@pytest.mark.parametrize("size", ["512MB", "64MiB", "1.5G", ""])
def test_a_size_that_is_none_is_one_line(size: str) -> None:
    with pytest.raises(UsageError, match="triad.size"):
        suites.change_parameters(suites.load_suite("policy-matrix"), [f"triad.size={size}"])


def test_a_suite_that_cannot_be_read_as_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes('name = "größe"'.encode("latin-1"))
    with pytest.raises(UsageError, match="correct the file"):
        suites.load_suite(str(tmp_path / "a.toml"))


@pytest.mark.parametrize(("name", "old", "new", "said"), [
    ("policy-matrix", 'kind = "triad"', 'kind = "triat"', "kind 'triat' is not one of triad, redis"),
    ("policy-matrix", "runs_on = 1, memory_on = 0", "runs_on = 2, memory_on = 0", "node 2 does not exist"),
    ("policy-matrix", "memory_on = [0, 1]", "memory_on = [1, 0]", "ascending list of nodes"),
    ("policy-matrix", "memory_on = [0, 1]", 'memory_on = "0"', "'memory_on' is missing or not a int"),
    ("policy-matrix", 'role = "local-1"', 'role = "local-0"', "different roles"),
    ("policy-matrix", 'role = "server"', 'role = "sever"', "its roles are server and client"),
    ("policy-matrix", "repeats = 3", 'repeats = "3"', "'repeats' is missing or not a int"),
    ("policy-matrix", "penalty = 1.5, ", "penalty = 'high', ", "'penalty' is missing or not a float"),
    ("policy-matrix", "load_pipeline = 256", "load_pipelin = 256", "redis.load_pipelin is not one of"),
    ("policy-matrix", "seconds = 0.02", "", "triad.seconds is missing"),
    ("policy-matrix", "redis = { elements = 500 }", "redis = { element = 500 }", "redis.element is not one of"),
    ("policy-matrix", "[quick]\nrepeats", "[on.demo-3s]\nrepeats = 1\n[quick]\nrepeats", "[on.demo-3s]: is not one of its machines demo-2s"),
    ("policy-matrix", "machines = [", "machines = [] # ", "'machines' is empty"),
    ("policy-matrix", "runs_on = 0", "runs_on = -1", "node -1 does not exist"),
    ("policy-matrix", "memory_on = 0", "memory_on = -1", "'memory_on' is a node"),
    ("policy-matrix", "memory_on = 0", "memory_on = [-1, 0]", "'memory_on' is a node"),
    ("policy-matrix", "memory_on = 0", 'memory_on = [0, "x"]', "'memory_on' is a node"),
    ("policy-matrix", "[quick]", "[quick]\nfactors = { nothing = [1] }", "the suite has no design"),
    ("sort", "[factors]", "[factors]\nplacement = 3", "factor 'placement' is not a list of levels"),
    ("sort", "[factors]", '[factors]\nplacement = "none"', "factor 'placement' is not a list of levels"),
    ("contention", "[quick]", "[quick]\nboots = 'many'", "'boots' is missing or not a int"),
    ("policy-matrix", "name =", "needs = 3\nname =", "'needs' is missing or not a list"),
    ("policy-matrix", "name =", 'presents = [3]\nname =', "'presents' is not a list of texts"),
    ("policy-matrix", "name =", "on = 3\nname =", "'on' is missing or not a dict"),
    ("policy-matrix", "name =", "on = { demo-2s = 3 }\nname =", "'demo-2s' is missing or not a dict"),
    ("policy-matrix", "name =", "handover = 3\nname =", "'handover' is missing or not a dict"),
    ("policy-matrix", "[quick]", "[quick]\nhandover = 3", "'handover' is missing or not a dict"),
    ("sort", "design =", "design = 3 #", "'design' is missing or not a str"),
])
def test_what_a_suite_may_not_say_is_one_line(tmp_path: Path, name: str, old: str, new: str, said: str) -> None:
    text = (suites.FOLDER / f"{name}.toml").read_text()
    assert old in text
    (tmp_path / "own.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        suites.load_suite(str(tmp_path / "own.toml"))
    assert "\n" not in str(caught.value)

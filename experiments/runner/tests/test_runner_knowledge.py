# SPDX-License-Identifier: GPL-2.0-only
"""What a policy is told is a level."""

import tomllib
from pathlib import Path

import pytest

from experiments.errors import CannotError, UsageError
from experiments.host.tool import Numaplace
from experiments.paths import HERE
from experiments.runner import calibration, run
from experiments.runner.suite import knowledge
from experiments.runner.suite import suite as suites
from experiments.runner.suite.knowledge import Knowledge

MACHINE = (HERE.code / "experiments/lab/machines/demo-2s.toml").read_text()


def links(text: str) -> list[float]:
    return [link["bandwidth_mb_s"]["value"] for link in tomllib.loads(text)["model"]["link"]]


@pytest.mark.parametrize("level, wanted", [
    ("measured", Knowledge()), ("none#2", Knowledge()), ("n-mass:pages=stay#knows=nothing", Knowledge("nothing")),
    ("measured#knows=declared#links=-20#2", Knowledge("declared", -20)), ("measured#links=+12.5", Knowledge("measured", 12.5))])
def test_a_level_says_what_its_policy_is_told(level: str, wanted: Knowledge) -> None:
    assert knowledge.read_knowledge(level) == wanted


@pytest.mark.parametrize("word", ["knows=all", "links=91", "links=nan", "links=", "model=2"])
def test_another_is_refused_in_one_line(word: str) -> None:
    with pytest.raises(UsageError, match=f"^placement measured#{word}: '#{word}' is to be #knows="):
        knowledge.read_knowledge(f"measured#{word}")


def test_a_mechanism_is_told_nothing() -> None:
    suite = suites.choose_cells(suites.load_suite("policy-matrix"), None, ["none", "tiering#links=20"])
    with pytest.raises(UsageError, match="placement tiering#links=20: a mechanism is told nothing"):
        run.check_policies(suite, Numaplace())


def test_only_links_are_wrong() -> None:
    wrong = Knowledge(links=-20).falsify_model(MACHINE)
    assert links(wrong) == [pytest.approx(0.8 * one) for one in links(MACHINE)]
    assert sum(a != b for a, b in zip(wrong.splitlines(), MACHINE.splitlines(), strict=True)) == len(links(MACHINE))
    with pytest.raises(UsageError, match="links whose bandwidth_mb_s is not as"):
        Knowledge(links=-20).falsify_model(MACHINE.replace("bandwidth_mb_s = { value = 6400", "bandwidth_mb_s = { note = '', value = 6400"))


def test_plans_are_made_with_wrong_links_meanwhile(tmp_path: Path, monkeypatch) -> None:
    right = tmp_path / "right.toml"
    monkeypatch.setenv("NUMAPLACE_MACHINE_FILE", str(right))
    numaplace = Numaplace()
    with pytest.raises(CannotError, match="right.toml: No such file"), calibration.falsify_links(numaplace, Knowledge(links=50), tmp_path):
        pass
    right.write_text(MACHINE)
    with calibration.falsify_links(numaplace, Knowledge(links=50), tmp_path):
        assert links(numaplace.model.read_text()) == [1.5 * one for one in links(MACHINE)]
    assert numaplace.model is None
    with calibration.falsify_links(numaplace, Knowledge(), tmp_path):
        assert numaplace.model is None

# SPDX-License-Identifier: GPL-2.0-only
"""A/A runs: few false positives where nothing differs, many findings where something does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.stats import binom

from experiments.analysis.runs.results import policy_rank
from experiments.analysis.stats import aa
from experiments.errors import UsageError
from experiments.runner.host.tool import Numaplace
from experiments.runner.suite import suite as suites

SEEDS = 25


@pytest.mark.parametrize("noise", aa.NOISES)
def test_equal_levels_differ_no_more_often_than_stated(noise: str, capsys) -> None:
    assert aa.table(noise, aa.drawn(aa.of(aa.NOISES[noise]), SEEDS)) == 0
    assert capsys.readouterr().out.count("within") == 5


def test_a_real_difference_is_too_many(tmp_path: Path, capsys) -> None:
    runs = (aa.tests(aa.synthetic(tmp_path, aa.normal, seed, effect=1.08)) for seed in range(SEEDS))
    assert aa.table("a real difference", runs) == 5
    assert capsys.readouterr().out.count("TOO MANY") == 5


def test_a_level_of_nine_percent_is_too_much(capsys) -> None:
    """Of 1000 tests 90 are too many and 50 are not; and such a level is nearly always found."""
    made = {"test": [k < 90 for k in range(aa.SEEDS)]}
    assert aa.table("9 %", iter([made])) == 1 and "TOO MANY" in capsys.readouterr().out
    assert aa.table("5 %", iter([{"test": [k < 50 for k in range(aa.SEEDS)]}])) == 0
    assert aa.found_wrong(aa.SEEDS) > 0.99
    assert binom.sf(aa.most(aa.SEEDS), aa.SEEDS, aa.LEVEL) < 0.01 <= binom.sf(aa.most(aa.SEEDS) - 1, aa.SEEDS, aa.LEVEL)


@pytest.mark.parametrize("make, within", [(aa.of_boots, 1), (aa.of_two_runs, 3)])
def test_boots_keep_the_level_and_naive_methods_do_not(make: Callable, within: int, capsys) -> None:
    assert aa.table("boots", aa.drawn(make, 4 * SEEDS)) == 0
    told = capsys.readouterr().out
    assert told.count("within\n") == within and told.count("as it must be") == 1


def test_a_naive_method_that_finds_nothing_is_told(monkeypatch, capsys) -> None:
    """Boots that do not differ show nothing of the methods."""
    monkeypatch.setattr(aa, "BETWEEN", 0.0)
    assert aa.table("no boots", aa.drawn(aa.of_boots, SEEDS)) == 1
    assert "NOT SEEN" in capsys.readouterr().out


def test_the_drawn_runs_have_the_plan_of_the_runner(tmp_path: Path) -> None:
    results = aa.synthetic(tmp_path, aa.drifting, 3)
    assert len(results.clean) == 4 * 2 * aa.REPEATS and results.policies == ["none", "none#2"]
    orders = [o.order for o in results.clean if o.repeat == 0]
    assert sorted(orders) == list(range(8))
    first = [o.policy for o in results.clean if o.repeat == 0]
    assert first != sorted(first)  # mixed within the block


def test_a_policy_twice_is_two_levels_and_one_policy() -> None:
    numaplace = Numaplace()
    numaplace.check_policies(["none", "none#2", "n-mass:pages=follow#2"])
    with pytest.raises(UsageError, match="nonesuch"):
        numaplace.check_policies(["nonesuch#2"])
    chosen = suites.choose(suites.load("policy-matrix"), None, ["none", "none#2"])
    assert chosen.policies == ("none", "none#2")
    assert sorted(["n-mass", "none#2", "maximum-local", "none"], key=policy_rank) == [
        "none", "none#2", "maximum-local", "n-mass"]

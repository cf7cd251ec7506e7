# SPDX-License-Identifier: GPL-2.0-only
"""make check-statistics: few false positives where nothing differs, and what is wrong is found."""

import json
from random import Random

import pytest
from scipy.stats import binomtest

from experiments.analysis.policies import speedup
from experiments.analysis.runs.results import rank_policy, read_results
from experiments.analysis.stats.intervals import compute_t_interval
from experiments.bench.drawn import __main__ as program
from experiments.bench.drawn import commands, draw, intervals, reports, tally
from experiments.bench.drawn.draw import Boots, Cells
from experiments.bench.drawn.tally import FAILS, HOLDS, NONE, OK, SAID, Bound, Case, Event, bound_false
from experiments.errors import UsageError
from experiments.host.tool import Numaplace
from experiments.runner.repeats import bootstrap
from experiments.runner.suite import suite as suites

RUNS = 60


def draw_verdicts(draw_one, runs: int = RUNS) -> set[str]:
    return {line.verdict for line in tally.build_lines(Case("case", "drawn", runs, draw_one), 1)}


def compute_verdict(bound: Bound, good: int, n: int, excused: bool = False) -> str:
    return tally.build_line(Case("", "", n, lambda _: []), bound, [[Event(bound, k < good, excused)] for k in range(n)]).verdict


@pytest.mark.parametrize("noise", intervals.LEVELS)
def test_equal_levels_differ_no_more_often_than_stated(noise: str) -> None:
    assert draw_verdicts(lambda d: intervals.compare_levels(draw.draw_planned(intervals.LEVELS[noise], d, 10))) == {OK}


def test_a_real_difference_is_too_many() -> None:
    assert draw_verdicts(lambda d: intervals.compare_levels(draw.draw_planned(draw.make_normal(0.03), d, 10, effect=1.08))) == {FAILS}


def test_what_takes_boots_for_repeats_fails() -> None:
    """The interval of all observations of five boots, which are not independent; and that of the boots' means."""
    def check_all_as_independent(source: Random):
        run = Cells({("w", "none"): 1.0}, draw.make_normal(0.01), Boots(5, 0.03)).draw_run(source, 20)
        found = compute_t_interval([o.get_value(draw.METRIC) for o in run.select("w")])
        yield Event(HOLDS, found.low <= draw.MEAN <= found.high)

    assert draw_verdicts(check_all_as_independent, 100) == {FAILS} and draw_verdicts(intervals.check_boot_means, 100) == {OK}


def test_a_bound_fails_only_where_the_share_is_surely_outside() -> None:
    assert [compute_verdict(HOLDS, good, 100) for good in (100, 93, 85, 70)] == [OK, OK, OK, FAILS]
    assert [compute_verdict(bound_false("word"), good, 100) for good in (0, 5, 10, 20)] == [OK, OK, OK, FAILS]
    assert compute_verdict(HOLDS, 70, 100, excused=True) == SAID and compute_verdict(Bound("shown"), 1, 100) == NONE


def test_a_share_has_wilson_s_interval() -> None:
    found = binomtest(13, 60).proportion_ci(0.95, "wilson")
    assert tally.compute_wilson(13 / 60, 60) == pytest.approx((found.low, found.high), abs=1e-4)


def test_answers_of_one_run_count_as_one_where_they_are_the_same() -> None:
    """Seven options beside one baseline: as wide as of 100 answers, not of 700."""
    case = Case("", "", 100, lambda _: [])
    same = tally.build_line(case, HOLDS, [[Event(HOLDS, k % 10 > 0)] * 7 for k in range(100)])
    alone = tally.build_line(case, HOLDS, [[Event(HOLDS, k % 10 > 0)] for k in range(100)])
    assert same.n == 700 and (same.low, same.high) == pytest.approx((alone.low, alone.high), abs=0.002)


def test_the_drawn_runs_have_the_plan_of_the_runner() -> None:
    results = draw.draw_planned(draw.draw_drift, Random(1), 10)
    assert len(results.clean) == 4 * 2 * 10 and results.policies == ["none", "none#2"]
    first = [o.policy for o in results.clean if o.repeat == 0]
    assert len(first) == 8 and first != sorted(first)  # mixed within the block


def test_a_run_is_read_as_it_was_drawn(tmp_path) -> None:
    run = Cells({("w", "none"): 1.0, ("w", "o"): 1.1}, boots=Boots(2, 0.01)).draw_run(Random(1), 4)
    again = read_results(draw.write_run(tmp_path, run))
    assert [o.metrics for o in again.independent] == [o.metrics for o in run.independent] and again.boots == ["0", "1"]
    assert speedup.decide_cells(again) == speedup.decide_cells(run)


def test_each_kind_of_case_gives_its_lines() -> None:
    """One run of each; the names of the cases are those that --only takes."""
    cases = {case.name: case for case in program.list_cases()}
    assert {"references", "worth named", "compare", "judge", "ranks", "regret"} <= cases.keys()
    assert len({(case.name, case.drawn) for case in program.list_cases()}) == len(program.list_cases())
    for module in (commands, reports):
        by_name = {case.name: case for case in module.build_cases()}
        assert all(list(case.draw(Random(1))) for name, case in by_name.items() if "stops" not in name)


def test_the_status_says_whether_a_line_fails(monkeypatch, capsys) -> None:
    monkeypatch.setattr(bootstrap, "RESAMPLES", 400)  # that the program changes
    for wrong, status in ((False, 0), (True, 1)):
        case = Case("one", "drawn", 50, lambda _, wrong=wrong: [Event(bound_false("word"), wrong)])
        monkeypatch.setattr(program, "list_cases", lambda case=case: [case])
        assert program.main([]) == status and f"{status} of 1 lines fail" in capsys.readouterr().out
        assert program.main(["--json"]) == status and json.loads(capsys.readouterr().out)[0]["verdict"] == (FAILS if wrong else OK)
    assert program.main(["--only", "none such"]) == 2 and "name one of one" in capsys.readouterr().err


def test_a_policy_twice_is_two_levels_and_one_policy() -> None:
    numaplace = Numaplace()
    numaplace.check_policies(["none", "none#2", "n-mass:pages=follow#2"])
    with pytest.raises(UsageError, match="nonesuch"):
        numaplace.check_policies(["nonesuch#2"])
    chosen = suites.choose_cells(suites.load_suite("policy-matrix"), None, ["none", "none#2"])
    assert chosen.policies == ("none", "none#2")
    assert sorted(["n-mass", "none#2", "maximum-local", "none"], key=rank_policy) == ["none", "none#2", "maximum-local", "n-mass"]

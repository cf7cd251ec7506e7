# SPDX-License-Identifier: GPL-2.0-only
"""When numaplace worth ends a run: by drawn runs whose gains are known."""

import random
from pathlib import Path

from experiments.analysis.tests import synthetic
from experiments.commands.worth import stop, trial_suite, verdict
from experiments.runner.repeats import looks
from experiments.runner.suite import suite as suites

LOOKED_AT = {"suite_text": "looks = true"}
WORKLOAD = trial_suite.format_processes([1], 1.0, 0.0, '', '')


def draw_run(draw: random.Random, folder: Path, gains: dict[str, float], noise: float,
             budget: int = 10 ** 6) -> tuple[stop.Stop, list[dict], verdict.Verdict]:
    """Draws a run of at most `budget` blocks, as the rule asks for them. gains: by option; noise: of a repeat, as a share."""
    suite = suites.parse_suite(trial_suite.format_suite("2x2", ["none", *gains], 1, "rate", WORKLOAD))
    rule, records = stop.Stop(folder), []
    while stop.count_blocks(records) < budget and (trials := rule.plan_block(suite, records)):
        records += [synthetic.observation("cross", t.policy, t.repeat, value=500 * draw.gauss(1, noise) * (1 + gains.get(t.policy, 0)), platform="real")
                    | {"order": t.order} for t in trials]
        if stop.count_blocks(records) in looks.LOOKS:
            synthetic.write(folder, records, LOOKED_AT)
    synthetic.write(folder, records, LOOKED_AT)
    return rule, records, verdict.read_verdict(folder)


def test_a_program_that_does_not_react_is_decided(tmp_path: Path) -> None:
    """Repeats that differ by 1 %: with the means within 0.5 %, the largest of seven gains was still open in a third of the runs."""
    draw, still = random.Random(1), {f"option-{k}": 0.0 for k in range(7)}
    found = [draw_run(draw, tmp_path, still, 0.01) for _ in range(10)]
    assert all(rule.ended.startswith("decided after") and answer.decided and not answer.best for rule, _, answer in found)


def test_further_blocks_have_what_is_undecided(tmp_path: Path) -> None:
    rule, records, found = draw_run(random.Random(1), tmp_path, {"better": 0.3, "worse": -0.3, "same": 0.003}, 0.01)
    made = {policy: sum(record["policy"] == policy for record in records) for policy in ("none", "better", "worse", "same")}
    assert rule.ended == "decided after 10 blocks" and set(made.values()) == {10} and found.best.policy == "better", "same is below the best"
    rule, records, found = draw_run(random.Random(1), tmp_path, {"worse": -0.3, "same": 0.006}, 0.01)
    made = {policy: sum(record["policy"] == policy for record in records) for policy in ("none", "worse", "same")}
    assert made["worse"] == 10 < made["same"] == made["none"] and rule.ended == f"decided after {made['none']} blocks"
    assert sorted(r["order"] for r in records) == list(range(len(records))) and found.decided
    assert next(one for one in found.options if one.policy == "worse").blocks == 10


def test_it_ends_at_the_most_blocks_and_with_the_budget(tmp_path: Path) -> None:
    rule, records, found = draw_run(random.Random(1), tmp_path, {"wild": 0.01}, 0.1)
    assert stop.count_blocks(records) == stop.MOST == 200 and rule.ended == "200 blocks are the most" and not found.decided
    rule, records, found = draw_run(random.Random(1), tmp_path, {"wild": 0.01}, 0.1, 12)
    assert rule.ended == "the budget is spent" and not found.decided


def test_an_option_that_is_always_marked_is_given_up() -> None:
    suite = suites.parse_suite(trial_suite.format_suite("2x2", ["none", "daemon"], 1, "rate", WORKLOAD))
    records = [synthetic.observation("cross", policy, k, marks=["late"] if policy == "daemon" else []) for k in range(6) for policy in suite.policies]
    assert {t.policy for t in stop.plan_levels(suite, records[:-2], suite.policies)} == {"none", "daemon"}
    assert {t.policy for t in stop.plan_levels(suite, records, suite.policies)} == {"none"}

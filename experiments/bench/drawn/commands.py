# SPDX-License-Identifier: GPL-2.0-only
"""numaplace worth, experiment compare and numaplace judge about programs whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from random import Random

from ...commands.judge.cli import BOOTS as JUDGE_BOOTS
from ...commands.judge.verdict import FASTER, NOT_EXCLUDED, SLOWER
from ...commands.worth import stop
from . import answers, draw
from .draw import Boots, Cells
from .tally import HOLDS, Bound, Case, Event, bound_false, holds_truth

ONE_BOOT = Boots()
OPTIONS = "abcdefg"
# Of the answers that name an option: at little power no interval holds as often, since the luck that named it is in it. What is
# bounded is the share of all answers: Benjamini, Yekutieli, Journal of the American Statistical Association 100, 2005.
NAMED = Bound("of those named, the interval holds")
WORTH_A_CHANGE = 0.01  # worth: a gain of so much or less is not worth it
SPREAD = {"fault": 0.008, "fork": 0.012, "huge-fault": 0.010, "map": 0.032, "move": 0.013}  # between boots, in parts of the mean, measured by check-judge
LOSS = 0.05  # the part of its speed that a slower workload loses


def build_cases() -> Iterator[Case]:
    yield from build_worth_cases()
    yield from build_compare_cases()
    yield from build_judge_cases()


def build_worth_cases() -> Iterator[Case]:
    """Builds the cases of `numaplace worth`: several boots, runs that stop by themselves, and answers that name an option."""
    for number, between in product(sorted({1, stop.BOOTS}), (0, 0.002, 0.005, 0.01, 0.02)):
        yield Case("worth boots", f"seven options, nothing reacts, 12 blocks of {number} boot{'s' * (number > 1)}, repeats 0.5 %, "
                   f"{100 * between:g} % between boots", 100,
                   partial(check_worth, gains={}, deviation=0.005, blocks=12, boots=Boots(number, between)))
    yield Case("worth stops", "seven options, nothing reacts, repeats 1 %, 200 blocks at most", 40,
               partial(check_worth, gains={}, deviation=0.01, blocks=200, stops=True))
    yield Case("worth stops", "one option +3 %, repeats 1 %, 200 blocks at most", 40,
               partial(check_worth, gains={"a": 0.03}, deviation=0.01, blocks=200, stops=True))
    for noise, name in ((draw.make_slow(0.05, 1 / 1.2), "1 in 20 is 20 % slower"),
                        (draw.make_slow(0.02, 1 / 1.5), "1 in 50 is 50 % slower")):
        yield Case("worth stops", f"seven options, nothing reacts, {name}, 200 blocks at most", 40,
                   partial(check_worth, gains={}, deviation=noise, blocks=200, stops=True))
    every = dict.fromkeys(OPTIONS, 0.03)
    for gains, deviation, blocks, runs, name in (
            ({"a": 0.03}, 0.03, 10, 300, "one option +3 %"), (every, 0.03, 10, 300, "all +3 %"), (every, 0.05, 10, 300, "all +3 %"),
            ({"a": 0.05}, 0.01, 3, 300, "one option +5 %"), ({"a": 0.05}, 0.03, 3, 300, "one option +5 %"),
            ({"a": 0.05}, 0.01, 2, 200, "one option +5 %"), ({}, 0.03, 10, 300, "nothing reacts"), ({}, 0.03, 3, 300, "nothing reacts"),
            ({"a": 0.02}, 0.01, 20, 100, "one option +2 %"), (dict.fromkeys(OPTIONS, 0.009), 0.003, 12, 60, "all +0.9 %")):
        yield Case("worth named", f"{name}, repeats {100 * deviation:g} %, {blocks} blocks", runs,
                   partial(check_worth, gains=gains, deviation=deviation, blocks=blocks))


def check_worth(source: Random, gains: Mapping[str, float], deviation: float | draw.Noise, blocks: int, boots: Boots = ONE_BOOT,
                stops: bool = False) -> Iterator[Event]:
    """Draws a program under options and yields an event for each part of the answer; gains: of options that react, as shares.

    deviation: of an observation, as a share, or how observations scatter. stops: the run stops by itself, as in answer_worth()."""
    noise = deviation if callable(deviation) else draw.make_normal(deviation)
    speeds = {("w", p): 1 + gains.get(p, 0) for p in ("none", *OPTIONS)}
    answer = answers.answer_worth(Cells(speeds, noise, boots), source, blocks, stops)
    excused = answer.said_one_boot and boots.deviation > 0  # "within this boot" excuses nothing where boots are alike
    yield from (Event(HOLDS, holds_truth(o, speeds["w", o.policy]), excused) for o in answer.options)
    wrong = bool(answer.named) and not holds_truth(answer.named, speeds["w", answer.named.policy])
    yield Event(bound_false("the named option's interval"), wrong, excused)
    if answer.named:
        yield Event(NAMED, not wrong)
    yield Event(bound_false("an option is named"), bool(answer.named) and gains.get(answer.named.policy, 0) <= 0, excused)
    yield Event(bound_false("an option loses"), bool(answer.loses), excused)
    if any(gain > WORTH_A_CHANGE for gain in gains.values()):
        yield Event(bound_false("nothing is worth it"), answer.nothing, excused)
    if stops:
        yield Event(Bound("ended by itself, and not decided", most=0.05), answer.ended and not answer.decided)


def build_compare_cases() -> Iterator[Case]:
    """Builds the cases of `experiment compare`: two equal runs, whose boots do and do not differ."""
    for n in (3, 10):
        yield Case("compare", f"24 cells, two equal runs of {n} repeats, 1 %, boots do not differ", 120,
                   partial(check_compare, repeats=n, boots=Boots()))
    for n, between in ((10, 0.002), (10, 0.005), (10, 0.01), (3, 0.01)):
        yield Case("compare", f"24 cells, two equal runs of {n} repeats, 1 %, one boot each, {100 * between:g} % between boots", 120,
                   partial(check_compare, repeats=n, boots=Boots(1, between)))
    for between in (0.01, 0.03):
        yield Case("compare", f"24 cells, two equal runs of five boots of two repeats, 1 %, {100 * between:g} % between boots", 120,
                   partial(check_compare, repeats=10, boots=Boots(5, between)))


def check_compare(source: Random, repeats: int, boots: Boots) -> Iterator[Event]:
    """Draws two equal runs and yields whether each limited interval of b / a holds 1, and whether any of 24 cells is said to differ."""
    cells = Cells({(f"w{k}", "none"): 1.0 for k in range(24)}, draw.make_normal(0.01), boots)
    rows, said_one_boot = answers.compare_runs(cells.draw_run(source, repeats), cells.draw_run(source, repeats))
    excused = said_one_boot and boots.deviation > 0  # "of one boot" excuses nothing where boots are alike
    yield from (Event(HOLDS, row["ratio_ci95_low"] <= 1 <= row["ratio_ci95_high"], excused) for row in rows
                if row["ratio_ci95_low"] is not None)
    yield Event(bound_false("any of 24 differs"), any(row["significant"] for row in rows), excused)


def build_judge_cases() -> Iterator[Case]:
    """Builds the cases of `numaplace judge`: no workload of kernel-mm is slower under the second kernel, all are, each one is."""
    for slow in ((), tuple(SPREAD), *((w,) for w in SPREAD)):
        what = "nothing" if not slow else "all five" if len(slow) > 1 else f"{slow[0]} alone"
        yield Case("judge", f"kernel-mm, {JUDGE_BOOTS} boots of each kernel, 5 % slower: {what}", 150,
                   partial(check_judge, slow=slow))


def _make_kernel(slow: tuple[str, ...]) -> Cells:
    """Makes a kernel that runs the workloads `slow` slower by LOSS; each boot has one observation, so its noise is SPREAD."""
    return Cells({(w, "none"): 1 - LOSS * (w in slow) for w in SPREAD}, boots=Boots(JUDGE_BOOTS),
                 noises={(w, "none"): draw.make_normal(deviation) for w, deviation in SPREAD.items()})


def check_judge(source: Random, slow: tuple[str, ...]) -> Iterator[Event]:
    """Draws the runs of two kernels, the second slower at the workloads `slow`, and yields whether each kind of verdict is false."""
    words = answers.judge_runs(*(_make_kernel(slower).draw_run(source, JUDGE_BOOTS) for slower in ((), slow)))
    yield Event(bound_false("slower or faster"), any(word == FASTER or word == SLOWER and w not in slow for w, word in words.items()))
    for workload in slow:
        yield Event(bound_false(f"no regression of {workload}"), words[workload] not in (SLOWER, NOT_EXCLUDED))

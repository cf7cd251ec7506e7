# SPDX-License-Identifier: GPL-2.0-only
"""What a placement loses to the best that was decided before the work, and to programs that know their next accesses.

Regret is 1 - speed / speed of the reference: 0 is as good, below 0 is better. The best static placement of a workload is chosen
for each block by the other blocks: by the same ones it would be too good by chance, and every regret too high. An interval is
Student's of the blocks' logarithms. Where blocks do not tell which static placement is the best, the blocks depend on each other
by the choice, and the interval is wider (see compute_dependent_mean).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass

from ...mechanisms.registry import KNOWN
from ...runner.suite.schedule import ORACLE
from ..runs.results import Results
from ..stats.intervals import Ratio, compute_t_interval
from .speedup import (
    BASELINE,
    Logs,
    Speeds,
    compare_placements,
    compute_mean_of_logs,
    is_surely_faster,
    join_intervals,
    list_speeds,
)

LEAST = 3  # blocks: the one that is judged, and two that choose


@dataclass(frozen=True)
class Regrets:
    """By workload and policy; a workload of fewer than LEAST blocks has none to a static placement, one without an
    oracle none to that."""

    static: dict[tuple[str, str], Ratio]
    oracle: dict[tuple[str, str], Ratio]
    mean: dict[str, Ratio]  # by policy, to the best static one: of the geometric mean over the workloads
    references: dict[str, Counter[str]]  # by workload: in how many blocks each level was the best static one
    best: dict[str, str | None]  # by workload: the static level that is surely faster than each other one


def is_comparable(results: Results) -> bool:
    """Checks whether the run has something that acts while programs work: else everything is static."""
    return "lab-functional" not in results.platforms and BASELINE in results.policies and any(
        not is_static(level) for level in results.policies)


def is_static(level: str) -> bool:
    """Checks whether a level is decided once: it has no mechanism, or one of those that act as a program starts."""
    name = level.partition("#")[0].partition(":")[0]
    return not name.endswith(".py") and (name not in KNOWN or KNOWN[name].starts)


def compute_regrets(results: Results) -> Regrets:
    """Computes the regrets of a run's policies to the best static placement and to the oracle."""
    speeds, *others = list_speeds(results)
    chosen = {w: find_best_static(compute_logs(speeds, w)) for w in speeds.workloads}
    chosen = {w: blocks for w, blocks in chosen.items() if len(blocks) >= LEAST}
    best = {w: find_surely_best(speeds, others, w) for w in speeds.workloads}
    return Regrets(_compute_static(speeds, others, chosen, best), _compute_oracle(speeds, others),
                   _compute_means(speeds, others, chosen, best),
                   {w: Counter(blocks.values()) for w, blocks in chosen.items()}, best)


def compute_logs(speeds: Speeds, workload: str) -> Logs:
    """Returns, of each level, by block, log(speed); the unit is that of the metric."""
    return {level: {block: speeds.get_sign(workload) * math.log(value) for block, value in speeds.get_blocks(workload, level).items()}
            for level in (BASELINE, *speeds.policies) if speeds.get_blocks(workload, level)}


def find_best_static(levels: Logs) -> dict[int, str]:
    """Finds, for each block, the static level of the best mean in the other blocks; without blocks that have no others."""
    static = {level: logs for level, logs in levels.items() if is_static(level)}
    best = {}
    for block in sorted(set().union(*static.values())):
        others = {level: [log for b, log in logs.items() if b != block] for level, logs in static.items() if block in logs}
        means = {level: statistics.fmean(logs) for level, logs in others.items() if logs}
        if means:
            best[block] = max(means, key=means.__getitem__)
    return best


def find_surely_best(speeds: Speeds, others: list[Speeds], workload: str) -> str | None:
    """Finds the static level that is faster than each other one by blocks, on every machine that the lab's may be; None where none is.

    The only static level is the best one."""
    first, *rest = ({level: logs for level, logs in compute_logs(variant, workload).items() if is_static(level)}
                    for variant in (speeds, *others))
    pairs = math.comb(len(first), 2)
    return next((p for p in first if all(is_surely_faster(first, rest, p, q, pairs) for q in first if q != p)), None)


Chosen = dict[str, dict[int, str]]  # by workload and block, the static level that is compared with
Best = dict[str, str | None]        # by workload, as Regrets.best


def compute_dependent_mean(logs: dict[int, float]) -> Ratio:
    """Computes the geometric mean of blocks whose references the other blocks chose, with limits of variance s^2 (1/n + 1/(n-1)).

    Nadeau, Bengio, Inference for the Generalization Error, Machine Learning 52, 2003, for leave-one-out."""
    found, n = compute_t_interval(list(logs.values())), len(logs)
    half_width = (found.half_width or 0.0) * math.sqrt(1 + n / (n - 1))
    return Ratio(math.exp(found.mean), math.exp(found.mean - half_width), math.exp(found.mean + half_width))


def _compute_static(speeds: Speeds, others: list[Speeds], chosen: Chosen, best: Best) -> dict[tuple[str, str], Ratio]:
    """Computes the regrets to the best static placement by workload and policy; none of a level that is the reference in every block."""
    regrets = {}
    for workload, policy in ((w, p) for w in chosen for p in (BASELINE, *speeds.policies)):
        first, *rest = (_compute_logs(variant, workload, policy, chosen) for variant in (speeds, *others))
        if len(first) >= LEAST and any(level != policy for level in chosen[workload].values()):
            mean = compute_mean_of_logs if best[workload] else compute_dependent_mean
            regrets[workload, policy] = _make_regret(join_intervals(mean(first), [mean(logs) for logs in rest]))
    return regrets


def _compute_oracle(speeds: Speeds, others: list[Speeds]) -> dict[tuple[str, str], Ratio]:
    """Computes the regrets to the oracle placement by workload and policy."""
    return {(w, p): _make_regret(join_intervals(compare_placements(speeds, w, p, ORACLE)[0],
                                                [compare_placements(other, w, p, ORACLE)[0] for other in others]))
            for w in speeds.workloads if speeds.get_blocks(w, ORACLE)
            for p in (BASELINE, *speeds.policies) if p != ORACLE and speeds.get_blocks(w, p)}


def _compute_means(speeds: Speeds, others: list[Speeds], chosen: Chosen, best: Best) -> dict[str, Ratio]:
    """Computes the regret of the geometric mean of each policy that has every workload in LEAST blocks or more."""
    regrets, mean = {}, compute_mean_of_logs if all(best.values()) else compute_dependent_mean
    for policy in (BASELINE, *speeds.policies):
        each = [[_compute_logs(variant, w, policy, chosen) for w in speeds.workloads] for variant in (speeds, *others)]
        blocks = set.intersection(*map(set, each[0])) if chosen and len(chosen) == len(speeds.workloads) else set()
        if len(blocks) >= LEAST:
            first, *rest = (mean({b: statistics.fmean(logs[b] for logs in by_workload) for b in sorted(blocks)}) for by_workload in each)
            regrets[policy] = _make_regret(join_intervals(first, rest))
    return regrets


def _compute_logs(speeds: Speeds, workload: str, policy: str, chosen: Chosen) -> dict[int, float]:
    """Returns, by block, log(speed / the best static one's)."""
    levels = compute_logs(speeds, workload)
    ours = levels.get(policy, {})
    return {block: ours[block] - levels[level][block] for block, level in chosen.get(workload, {}).items() if block in ours}


def _make_regret(times: Ratio) -> Ratio:
    """Makes a regret of a ratio of speeds, with its limits exchanged and at most 1, as no speed is below 0."""
    low, high = (None if end is None else min(1.0, 1 - end) for end in (times.high, times.low))
    return Ratio(1 - times.value, low, high)

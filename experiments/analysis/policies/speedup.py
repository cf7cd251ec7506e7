# SPDX-License-Identifier: GPL-2.0-only
"""Speed-ups of workloads under policies against the baseline, their geometric mean and the policies' ranks."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import TypeVar

from ...runner.repeats import looks
from ..runs.results import MetricName, Observation, Results, is_higher_better, list_values
from ..stats.intervals import (
    LEVEL,
    Ratio,
    adjust_p_values,
    compare_means,
    compare_pairs,
    compute_paired_ratio,
    compute_ratio,
    compute_t_interval,
)
from . import placed
from .decision import Decision, compute_smallest_found

BASELINE = "none"
SOLUTION = "time_to_solution"  # metric: seconds of a work that is the same under every policy, from before its placement


@dataclass(frozen=True)
class Total:
    """Holds a policy over all workloads; ratio and ranks are None where it lacks one of them."""

    policy: str
    workloads: int
    ratio: Ratio | None
    ranks: tuple[int, int] | None = None  # the best and the worst that its blocks leave open


def has_speedups(results: Results) -> bool:
    """Checks whether times mean anything here, and there is a baseline to compare with."""
    return "lab-functional" not in results.platforms and BASELINE in results.policies and len(results.policies) > 1


def find_response(results: Results, workload: str) -> MetricName | None:
    """Returns name and unit of what tells the workload's speed: the suite's first response of a known direction."""
    listed = [str(name) for name in results.manifest.get("responses") or []]
    found = [m for m in results.list_performance_metrics(workload) if is_higher_better(m.unit) is not None]
    return min(found, key=lambda m: listed.index(m.name) if m.name in listed else len(listed), default=None)


class Speeds:
    """A run's values by workload and policy, each by block: a repeat, whose inputs have the same seed under every
    policy, or a boot."""

    def __init__(self, results: Results, metric: dict[str, MetricName] | None = None) -> None:
        """Collects the values above 0 of counted observations. metric: by workload; None: what find_response() finds."""
        self.metric = metric or {w: found for w in results.workloads if (found := find_response(results, w))}
        self.policies = [p for p in results.policies if p != BASELINE]
        self._values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        for o in results.independent:
            value = o.get_value(self.metric[o.workload].name) if o.workload in self.metric else None
            if value is not None and value > 0:
                self._values[o.workload, o.policy][o.repeat] = value
        self.workloads = [w for w in self.metric if (w, BASELINE) in self._values]
        self.looked_at = results.looked_at
        self._clean: dict[tuple[str, str], list[Observation]] = defaultdict(list)
        for o in results.clean:
            self._clean[o.workload, o.policy].append(o)

    def get_blocks(self, workload: str, policy: str) -> dict[int, float]:
        """Returns the response of each counted block, in the unit of the metric; none where the cell has no counted observation."""
        return self._values.get((workload, policy), {})

    def count_starts(self, workload: str, policy: str) -> int:
        """Counts the nodes, or sets of them, on which its tasks have started."""
        return len({tuple(task.get("node_before") for task in o.tasks) for o in self._clean[workload, policy]})

    def count_observations(self, workload: str, policy: str) -> int:
        """Counts the clean observations of a cell, in all boots."""
        return len(self._clean[workload, policy])

    def get_sign(self, workload: str) -> int:
        """Returns 1 where more of the metric is faster, else -1."""
        return 1 if is_higher_better(self.metric[workload].unit) else -1


def list_speeds(results: Results, metric: dict[str, MetricName] | None = None) -> list[Speeds]:
    """Returns the speeds of the run, then of it as each other machine that the lab's may be would have given it."""
    first, *others = placed.list_runs(results)
    found = Speeds(first, metric)
    return [found, *(Speeds(r, found.metric) for r in others)]


def decide_cells(results: Results) -> dict[tuple[str, str], Decision]:
    """Returns the decisions by workload and policy, while it runs: the baseline itself is not among them."""
    return _decide_runs(list_speeds(results))


def decide_solutions(results: Results) -> dict[tuple[str, str], Decision]:
    """Returns the same of the work with its placement in it, of the workloads that have one."""
    metric = {w: MetricName(SOLUTION, "s") for w in results.workloads if list_values(results.select(w), SOLUTION)}
    return _decide_runs(list_speeds(results, metric)) if metric else {}


def _decide_runs(runs: Sequence[Speeds]) -> dict[tuple[str, str], Decision]:
    """Decides each cell of the first run; its interval holds on the machines of all runs, p_holm is adjusted over the cells."""
    found, *others = map(_decide_run, runs)
    ps = dict(zip(found, adjust_p_values([decision.p_holm for decision in found.values()]), strict=True))
    return {key: replace(join_intervals(decision, [other[key] for other in others]), p_holm=ps[key], runs=decision.by_runs)
            for key, decision in found.items()}


Limited = TypeVar("Limited", Ratio, Decision)


def join_intervals(found: Limited, others: Sequence[Limited]) -> Limited:
    """Returns `found` with the union of all intervals; without limits where one has none."""
    ends = [(o.low, o.high) for o in (found, *others)]
    if any(None in both for both in ends):
        return replace(found, low=None, high=None)
    return replace(found, low=min(low for low, _ in ends), high=max(high for _, high in ends))


def _decide_run(speeds: Speeds) -> dict[tuple[str, str], Decision]:
    """Returns the decisions of one run, by workload and policy; p_holm is not adjusted yet."""
    cells = [(w, p) for w, p in product(speeds.workloads, speeds.policies) if speeds.get_blocks(w, p)]
    found = {}
    for workload, policy in cells:
        ours, base = speeds.get_blocks(workload, policy), speeds.get_blocks(workload, BASELINE)
        blocks = min(len(ours), len(base))
        boots = blocks if min(ours) < 0 else 0  # the mean of a boot has a repeat below 0
        observations = min(speeds.count_observations(workload, p) for p in (policy, BASELINE))
        level = looks.compute_level(len(speeds.policies), observations, boots or 1) if speeds.looked_at else LEVEL
        times, p = compare_placements(speeds, workload, policy, BASELINE, level)
        both = sorted(ours.keys() & base.keys())
        least = compute_smallest_found([ours[k] for k in both], [base[k] for k in both], len(cells))
        found[workload, policy] = Decision(
            workload, policy, times.value, times.low, times.high, blocks, p, boots=boots, least=least, observations=observations,
            looked_at=speeds.looked_at, starts=max(speeds.count_starts(workload, p) for p in (policy, BASELINE)))
    return found


def compare_placements(speeds: Speeds, workload: str, policy: str, reference: str, level: float = LEVEL) -> tuple[Ratio, float | None]:
    """Returns speed under the policy / under the reference with its limits, and p; None as p where no test is possible."""
    a, b = speeds.get_blocks(workload, policy), speeds.get_blocks(workload, reference)
    return _compute_ratio(a, b, level) if speeds.get_sign(workload) > 0 else _compute_ratio(b, a, level)


def _compute_ratio(a: dict[int, float], b: dict[int, float], level: float = LEVEL) -> tuple[Ratio, float | None]:
    """Computes mean(a) / mean(b) with its limits, and p: by the blocks that both have, or of independent means where these are fewer
    than two. A block that one of them lacks says nothing: its other observations may be slower than those of all blocks."""
    both = [block for block in a if block in b]
    if len(both) > 1 or a.keys() == b.keys():
        x, y = [a[block] for block in both], [b[block] for block in both]
        return compute_paired_ratio(x, y, level), compare_pairs(x, y).p
    x, y = list(a.values()), list(b.values())
    return compute_ratio(x, y, level), compare_means(x, y).p


Logs = dict[str, dict[int, float]]


def compute_totals(results: Results) -> list[Total]:
    """Returns the totals in the order of the policies, the baseline left out."""
    speeds, *rest = list_speeds(results)
    found, others = _compute_logs(speeds), [_compute_logs(s) for s in rest]
    whole = {p: logs for p, logs in found.items() if logs}
    rated = {p: join_intervals(compute_mean_of_logs(logs), [compute_mean_of_logs(o[p]) for o in others]) for p, logs in whole.items()}
    # (p, q): p is surely faster. A rank is one after all that surely are faster, at worst before all that surely are slower.
    better = {(p, q) for p, q in permutations(whole, 2) if is_surely_faster(found, others, p, q, math.comb(len(whole), 2))}
    ranks = {p: (1 + sum((q, p) in better for q in whole), len(whole) - sum((p, q) in better for q in whole)) for p in whole}
    return [Total(p, sum(bool(speeds.get_blocks(w, p)) for w in speeds.workloads), rated.get(p), ranks.get(p)) for p in speeds.policies]


def _compute_logs(speeds: Speeds) -> Logs:
    """Returns, of each policy, by block, the mean over the workloads of log(speed-up); empty where it lacks a workload."""
    return {policy: _average_workloads([_compute_log(speeds, w, policy) for w in speeds.workloads]) for policy in speeds.policies}


def _compute_log(speeds: Speeds, workload: str, policy: str) -> dict[int, float]:
    """Computes log(speed-up) against the baseline of each block that both have."""
    base, ours = speeds.get_blocks(workload, BASELINE), speeds.get_blocks(workload, policy)
    return {block: speeds.get_sign(workload) * math.log(ours[block] / base[block]) for block in ours.keys() & base.keys()}


def _average_workloads(workloads: Sequence[dict[int, float]]) -> dict[int, float]:
    """Returns the values of the blocks that all workloads have."""
    blocks = set.intersection(*(set(w) for w in workloads)) if workloads else set()
    return {block: statistics.fmean(w[block] for w in workloads) for block in sorted(blocks)}


def compute_mean_of_logs(logs: dict[int, float], level: float = LEVEL) -> Ratio:
    """Computes the geometric mean over workloads and blocks, with Student's limits of the blocks' logarithms. The workloads are
    fixed: nothing is said about other ones."""
    found = compute_t_interval(list(logs.values()), level)
    ends = (None if end is None else math.exp(end) for end in (found.low, found.high))
    return Ratio(math.exp(found.mean), *ends)


def is_surely_faster(found: Logs, others: Sequence[Logs], p: str, q: str, pairs: int) -> bool:
    """Checks whether policy p is faster than q, by `found` and on each machine of `others`, at 5 % / pairs each (Bonferroni)."""
    both = [{b: logs[p][b] - logs[q][b] for b in logs[p].keys() & logs[q].keys()} for logs in (found, *others)]
    limits = [compute_mean_of_logs(logs, 1 - (1 - LEVEL) / pairs).low if logs else None for logs in both]
    return all(low is not None and low > 1 for low in limits)

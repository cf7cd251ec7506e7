# SPDX-License-Identifier: GPL-2.0-only
"""Runs side by side with the first: ratios and differences of means, a test of each, Holm's correction.

Fieller's interval of b / a and the interval of b - a are each of one row; only the p values are adjusted,
over all rows of all runs that are tests of their own.
"""

import math
import statistics
from collections.abc import Collection, Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

from ..runs.results import Results, ResultsError, make_natural_key, rank_policy, read_results
from .intervals import (
    Difference,
    adjust_p_values,
    compare_means,
    compare_pairs,
    compute_paired_ratio,
    compute_ratio,
)

ALPHA = 0.05
LONG_VALUE = 60     # characters: of longer values a note says only that they differ
SAME_METRIC = 1e-9  # a metric that is always the same multiple of another tells nothing more
Blocks = dict[int, float]  # values in the metric's unit, by block, that is by Observation.repeat


class Key(NamedTuple):
    workload: str
    policy: str
    metric: str
    unit: str


class Run(TypedDict):
    directory: str
    suite: str
    machine: str   # "" for an unnamed one
    platform: str
    values: str    # what a row's values are of: "boots" or "repeats within one boot"


class Row(TypedDict):
    """Holds a metric of a workload under a policy in both runs; means and difference in its unit, None where a number has no value."""
    workload: str
    policy: str
    metric: str
    unit: str
    mean_a: float
    n_a: int                        # values that the mean is of
    mean_b: float | None
    n_b: int
    blocks: int                     # that both runs have
    difference: float               # b - a, with 95 % limits and the test that it is 0
    ci95_low: float | None
    ci95_high: float | None
    relative: float | None          # difference / mean_a
    t: float | None
    df: float | None
    p: float | None
    ratio: float | None             # b / a, with Fieller's 95 % limits
    ratio_ci95_low: float | None
    ratio_ci95_high: float | None
    same_as: str | None             # the metric before it of which this one is a multiple, so that it is no test of its own
    too_small: bool                 # the limits of the ratio are within the change that matters
    p_holm: float | None            # p after Holm's correction over all rows; None without p, or with same_as
    significant: bool | None        # None without p_holm


class Pair(TypedDict):
    """Holds the comparison of run b with run a, which is the first one."""
    a: Run
    b: Run
    notes: list[str]
    rows: list[Row]
    only_in_a: list[str]            # "workload / policy / metric"
    only_in_b: list[str]


class Comparison(TypedDict):
    alpha: float
    in_blocks: bool
    smallest: float | None          # change of the ratio that matters, as 0.02; None: any
    tests: int                      # that Holm's correction counts
    pairs: list[Pair]
    crossed: NotRequired[list[str]]  # what gate.judge_rows() returns, for the JSON output


def list_values(results: Results, metrics: Collection[str] | None = None, whole_boot: bool = False) -> dict[Key, Blocks]:
    """Lists the values of each workload, policy, metric and unit, by block; of `metrics` alone where these are given.

    whole_boot: the repeats of one boot are one value, their mean, as they are beside another boot's."""
    if whole_boot:
        return {key: {0: statistics.fmean(blocks.values())} for key, blocks in list_values(results, metrics).items()}
    values: dict[Key, Blocks] = {}
    for o in results.independent:
        for m in o.metrics:
            if metrics is not None and m.name not in metrics:
                continue
            values.setdefault(Key(o.workload, o.policy, m.name, m.unit), {})[o.repeat] = m.value
    return values


def compare_runs(first: str | Path, *others: str | Path, in_blocks: bool = False, smallest: float = 0.0,
                 metrics: Collection[str] | None = None) -> Comparison:
    """Compares each other run with the first, with a row per workload, policy and metric that both have.

    `in_blocks` tests the differences within blocks; `smallest` is the ratio's change that matters, as 0.02; `metrics`
    are those that are compared, all where it is None. Raises ResultsError where a run is unreadable or has no row with the first.
    """
    base = _read_run(first)
    pairs = [_compare_pair(base, _read_run(other), in_blocks, smallest, metrics) for other in others]
    rows = [row for pair in pairs for row in pair["rows"]]
    for row, p in zip(rows, adjust_p_values([None if row["same_as"] else row["p"] for row in rows])):
        row["p_holm"] = p
        row["significant"] = None if p is None else p < ALPHA and not row["too_small"]
    return {"alpha": ALPHA, "in_blocks": in_blocks, "smallest": smallest or None,
            "tests": sum(row["p_holm"] is not None for row in rows), "pairs": pairs}


def _read_run(directory: str | Path) -> Results:
    """Reads a run; ResultsError where it is unreadable, or of more than one platform."""
    results = read_results(directory)
    if len(results.platforms) > 1:
        raise ResultsError(f"{results.directory}: holds numbers of more than one platform ({', '.join(results.platforms)}); "
                           "compare runs of one platform each")
    return results


def _compare_pair(first: Results, second: Results, in_blocks: bool, smallest: float,
                  metrics: Collection[str] | None) -> Pair:
    """Compares a second run with the first; its rows lack p_holm and significant, which are of all pairs together.

    Raises ResultsError where they have no workload, policy and metric in common."""
    in_other_boots = bool(first.boots and second.boots) and not {*first.boots} & {*second.boots}
    values_a, values_b = (list_values(run, metrics, whole_boot=in_other_boots and len(run.boots) == 1) for run in (first, second))
    # The first metric of a workload comes first of those that are multiples of each other.
    keys = [key for key in values_a if key in values_b]
    if not keys:
        raise ResultsError(f"{first.directory} and {second.directory}: no workload, policy and metric in common; "
                           "compare two runs of the same suite")
    rows = []
    for key in keys:
        row = _make_row(key, values_a[key], values_b[key], in_blocks)
        before = [other for other in takewhile(key.__ne__, keys) if (other.workload, other.policy) == (key.workload, key.policy)]
        row["same_as"] = next((other.metric for other in before if _is_multiple(values_a, values_b, other, key)), None)
        low, high = row["ratio_ci95_low"], row["ratio_ci95_high"]
        row["too_small"] = low is not None and 1 - smallest < low <= high < 1 + smallest
        rows.append(row)
    rows.sort(key=lambda row: (make_natural_key(row["workload"]), rank_policy(row["policy"]), row["metric"]))
    return {
        "a": _describe_run(first),
        "b": _describe_run(second),
        "notes": _list_notes(first, second, in_blocks),
        "rows": rows,
        "only_in_a": _format_names(values_a.keys() - values_b.keys()),
        "only_in_b": _format_names(values_b.keys() - values_a.keys()),
    }


def _is_multiple(values_a: dict[Key, Blocks], values_b: dict[Key, Blocks], base: Key, key: Key) -> bool:
    """Checks whether `key` is the same multiple of `base` in every observation of both runs, and not because nothing varies."""
    if any(values[base].keys() != values[key].keys() for values in (values_a, values_b)):
        return False
    pairs = [(values[base][block], values[key][block]) for values in (values_a, values_b) for block in values[base]]
    first_base, first = pairs[0]
    scale = first / first_base if first_base else 0.0
    return scale != 0 and len(set(pairs)) > 1 and all(math.isclose(b, scale * a, rel_tol=SAME_METRIC) for a, b in pairs)


def _list_notes(first: Results, second: Results, in_blocks: bool) -> list[str]:
    """Lists reservations about a difference of two runs, for its reader; in_blocks: also of their seeds."""
    notes = ["a difference has every cause that changed between the runs, not only the wanted one: "
             "compare a run with its own repetition first"]
    if first.platforms != second.platforms:
        notes.append("the two have different platforms: their times are not of one kind")
    for name in ("machine", "release", "suite_text", "parameters", "engine", "tool", "module", "cpu", "thp",
                 "repeat_until_ci", *["seed"] * in_blocks):
        ours, theirs = first.manifest.get(name), second.manifest.get(name)
        if ours != theirs and None not in (ours, theirs):
            values = f": {ours} and {theirs}" if isinstance(ours, str) and len(ours) < LONG_VALUE else ""
            notes.append(f"{name.replace('_', ' ')} differs{values}")
    for results in (first, second):
        if len(results.boots) == 1:
            notes.append(f"{results.directory}: of one boot: what another boot changes is in no interval, and beside a run of "
                         "another boot it is one value: give --boots 3 to both runs")
        marked = sum(bool(o.marks) for o in results.measured)
        if marked:
            notes.append(f"{results.directory}: {marked} marked, not counted")
        if results.nodes == 1:
            notes.append(f"{results.directory}: one node, so nothing in it is remote")
    return notes


def _make_row(key: Key, blocks_a: Blocks, blocks_b: Blocks, in_blocks: bool) -> dict[str, Any]:
    """Makes the keys of a Row up to ratio_ci95_high. in_blocks: of the blocks alone that both runs have, by paired tests."""
    a, b = list(blocks_a.values()), list(blocks_b.values())
    mean_a, test, times = statistics.fmean(a), compare_means(a, b), compute_ratio(b, a)
    blocks = sorted(blocks_a.keys() & blocks_b.keys())
    if in_blocks:
        a, b = [blocks_a[k] for k in blocks], [blocks_b[k] for k in blocks]
    if in_blocks and blocks:
        mean_a, test, times = statistics.fmean(a), compare_pairs(a, b), compute_paired_ratio(b, a)
    elif in_blocks:  # no block is in both runs: the difference is that of the means, without a test
        test, times = Difference(test.difference), None
    return {
        **key._asdict(),
        "mean_a": mean_a,
        "n_a": len(a),
        "mean_b": statistics.fmean(b) if b else None,
        "n_b": len(b),
        "blocks": len(blocks),
        "difference": test.difference,
        "ci95_low": test.low,
        "ci95_high": test.high,
        "relative": test.difference / mean_a if mean_a else None,
        "t": test.t,
        "df": test.df,
        "p": test.p,
        "ratio": times.value if times else None,
        "ratio_ci95_low": times.low if times else None,
        "ratio_ci95_high": times.high if times else None,
    }


def _describe_run(results: Results) -> Run:
    return {
        "directory": str(results.directory),
        "suite": results.suite,
        "machine": results.machine,
        "platform": ", ".join(results.platforms),
        "values": "boots" if len(results.boots) > 1 else "repeats within one boot",
    }


def _format_names(keys: Iterable[Key]) -> list[str]:
    return sorted(f"{key.workload} / {key.policy} / {key.metric}" for key in keys)

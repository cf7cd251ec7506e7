# SPDX-License-Identifier: GPL-2.0-only
"""A/A runs: one policy as two levels, so that every difference found is a false positive. `make aa`, `make aa-lab`.

Without a folder the values are drawn: a plan of the runner, and noise of several kinds on it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from scipy import stats

from ...runner.suite import schedule
from ...runner.suite import suite as suites
from ..runs.results import Results, read
from . import compare, coverage
from .frames import frame
from .intervals import holm, paired, ratio, t_interval, welch
from .linear_model import Model, contrasts, fit

LEVEL = 0.05
LEVELS = ("none", "none#2")
SEEDS, REPEATS, COVERAGE_RUNS = 1000, 10, 800
SURE = 0.99   # a count is too high where chance makes so many in 1 of 100 such lines
WRONG = 0.09  # a level that is to be found: the table tells in how many of 100 such lines it is
BOOTS, OF_A_BOOT, BETWEEN, WITHIN = 5, 4, 0.03, 0.01
NAIVE = "naive"  # a method that takes all observations of several boots for independent; it must have too many
TRUTH = 1000.0
Noise = Callable[[random.Random, int], Iterator[float]]


def normal(draw: random.Random, _n: int) -> Iterator[float]:
    while True:
        yield draw.gauss(1, 0.03)


def slow_now_and_then(draw: random.Random, _n: int) -> Iterator[float]:
    while True:
        yield draw.gauss(1, 0.01) * (1.1 if draw.random() < 0.1 else 1)


def skewed(draw: random.Random, _n: int) -> Iterator[float]:
    while True:
        yield draw.lognormvariate(0, 0.2)


def drifting(draw: random.Random, n: int) -> Iterator[float]:
    """10 % from the first observation to the last."""
    for k in range(n):
        yield draw.gauss(1, 0.01) * (1 + 0.1 * k / n)


def correlated(draw: random.Random, _n: int) -> Iterator[float]:
    """Each has half of the deviation of the one before it."""
    last = 0.0
    while True:
        last = 0.5 * last + draw.gauss(0, 0.03)
        yield 1 + last


NOISES: dict[str, Noise] = {"normal, 3 %": normal, "1 in 10 is 10 % more": slow_now_and_then, "lognormal, 20 %": skewed,
                            "drift of 10 %": drifting, "autocorrelated, 0.5": correlated}


def synthetic(folder: Path, noise: Noise, seed: int, effect: float = 1.0) -> Results:
    """A run of four workloads in the runner's order; `effect` is what the second level really is."""
    whole = suites.load("policy-matrix")
    plan = [trial for trial in schedule.make(replace(whole, policies=LEVELS, repeats=REPEATS, warmups=0, seed=seed,
                                                     workloads=whole.workloads[:4]))]
    values = noise(random.Random(f"{noise.__name__}/{seed}"), len(plan))
    lines = [json.dumps({
        "workload": trial.workload.name, "policy": trial.policy, "repeat": trial.repeat, "order": trial.order,
        "platform": "lab-timed", "marks": [], "check": "ok", "metrics": [{
            "name": "bandwidth", "unit": "MB/s",
            "value": 1000 * next(values) * (effect if trial.policy == LEVELS[1] else 1)}]}) for trial in plan]
    (folder / "results.jsonl").write_text("\n".join(lines) + "\n")
    return read(folder)


def tests(results: Results) -> dict[str, list[bool]]:
    """Of each method whether it found a difference: for each workload, and once for the run."""
    data = {w: results.performance_metrics(w)[0][0] for w in results.workloads if results.select(w)}
    cells = [[{o.repeat: o.value(metric) for o in results.select_independent(w, level) if o.value(metric) is not None}
              for level in LEVELS] for w, metric in data.items()]
    cells = [(a, b) for a, b in cells if len(a.keys() & b.keys()) > 1]
    both = [([a[k] for k in sorted(a.keys() & b.keys())], [b[k] for k in sorted(a.keys() & b.keys())]) for a, b in cells]
    ps = [welch(list(a.values()), list(b.values())).p for a, b in cells]
    ratios = [ratio(list(b.values()), list(a.values())) for a, b in cells]
    found = {
        "Welch's test": [p < LEVEL for p in ps if p is not None],
        "Student's, in blocks": [p < LEVEL for p in (paired(a, b).p for a, b in both) if p is not None],
        "Fieller's interval without 1": [not r.low <= 1 <= r.high for r in ratios if r and r.low is not None],
        "Holm over the run, any": [any(p < LEVEL for p in holm(ps) if p is not None)],
    }
    metric = next(iter(data.values()))
    model = fit(frame(results, [w for w, m in data.items() if m == metric], metric), metric, ["workload", "policy"],
                ["repeat"])
    return found | ({"contrast of the model": [contrasts(model, "policy")[0].p_holm < LEVEL]}
                    if isinstance(model, Model) else {})


def booted(folder: Path, seed: str) -> Results:
    """A run of four workloads in several boots, each of which has a mean of its own for each workload."""
    draw, lines = random.Random(seed), []
    for workload in ("a", "b", "c", "d"):
        for boot in range(BOOTS):
            mean = TRUTH * draw.gauss(1, BETWEEN)
            lines += [json.dumps({
                "workload": workload, "policy": LEVELS[0], "repeat": boot * OF_A_BOOT + k, "order": k, "platform": "lab-timed",
                "boot_id": str(boot), "marks": [], "check": "ok", "metrics": [
                    {"name": "bandwidth", "unit": "MB/s", "value": draw.gauss(mean, WITHIN * TRUTH)}]})
                for k in range(OF_A_BOOT)]
    folder.mkdir(exist_ok=True)
    (folder / "results.jsonl").write_text("\n".join(lines) + "\n")
    return read(folder)


def of_boots(folder: Path, seed: int) -> dict[str, list[bool]]:
    """Whether the interval of a mean leaves the truth out."""
    run = booted(folder, f"boots/{seed}")
    cells = {"interval of boot means": [run.select_independent(w) for w in run.workloads],
             f"{NAIVE}: of all observations": [run.select(w) for w in run.workloads]}
    found = {name: [t_interval([o.value("bandwidth") for o in cell]) for cell in of_all] for name, of_all in cells.items()}
    return {name: [not i.low <= TRUTH <= i.high for i in intervals] for name, intervals in found.items()}


def of_two_runs(folder: Path, seed: int) -> dict[str, list[bool]]:
    """What `compare` finds between two runs of one policy, in other boots."""
    runs = [booted(folder / side, f"runs/{side}/{seed}") for side in ("first", "second")]
    rows = compare.compare(*(run.directory for run in runs))["pairs"][0]["rows"]
    plain = [welch(*([o.value("bandwidth") for o in run.select(w)] for run in runs)).p for w in runs[0].workloads]
    return {"compare, Welch's test": [row["p"] < LEVEL for row in rows],
            "compare, Fieller without 1": [not row["ratio_ci95_low"] <= 1 <= row["ratio_ci95_high"] for row in rows],
            "compare, Holm over the run": [any(row["significant"] for row in rows)],
            f"{NAIVE}: of all observations": [p < LEVEL for p in plain]}


def most(n: int) -> int:
    """False positives among n tests, that chance explains."""
    return int(stats.binom.ppf(SURE, n, LEVEL))


def found_wrong(n: int) -> float:
    """How often n tests of the level WRONG are too many."""
    return float(stats.binom.sf(most(n), n, WRONG))


def table(name: str, runs: Iterator[dict[str, list[bool]]]) -> int:
    """Prints a line a method; returns how many have too many false positives, or as naive ones have not."""
    made, positive, bad = Counter(), Counter(), 0
    for findings in runs:
        for method, found in findings.items():
            made[method] += len(found)
            positive[method] += sum(found)
    print(f"\n{name}")
    for method, n in made.items():
        over, naive = positive[method] > most(n), method.startswith(NAIVE)
        bad += over != naive
        print(f"  {method:29} {positive[method]:4} of {n:4} {100 * positive[method] / n:5.1f} %   at most {most(n):3}"
              f"   {100 * found_wrong(n):5.1f} %   {VERDICTS[naive, over]}")
    return bad


VERDICTS = {(False, False): "within", (False, True): "TOO MANY", (True, True): "too many, as it must be",
            (True, False): "NOT SEEN"}


def drawn(make: Callable[[Path, int], dict[str, list[bool]]], seeds: int) -> Iterator[dict[str, list[bool]]]:
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            yield make(Path(folder), seed)


def of(noise: Noise) -> Callable[[Path, int], dict[str, list[bool]]]:
    return lambda folder, seed: tests(synthetic(folder, noise, seed))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make aa", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("directories", nargs="*", metavar="DIR", help="of runs with the policies none,none#2")
    args = parser.parse_args(arguments)
    print(f"False positives at {LEVEL:g}: 'at most' is what chance makes in {SURE:.0%} of such lines; after it, how often a "
          f"level of {WRONG:g} has more.")
    if args.directories:
        return min(1, table(f"{len(args.directories)} runs", (tests(read(folder)) for folder in args.directories)))
    bad = sum(table(f"{name}: {args.seeds} runs of 4 workloads, {REPEATS} repeats", drawn(of(noise), args.seeds))
              for name, noise in NOISES.items())
    boots = f"{args.seeds} of 4 workloads, {BOOTS} boots of {OF_A_BOOT} repeats; {BETWEEN:.0%} between boots, {WITHIN:.0%} within"
    bad += table(f"runs, means: {boots}", drawn(of_boots, args.seeds))
    bad += table(f"pairs of runs: {boots}", drawn(of_two_runs, args.seeds))
    print(f"\nMeans within the interval of --repeat-until-ci {coverage.PERCENT:g} % (10 to {coverage.MOST} values)")
    for name in coverage.MADE_BY:
        covered, values = coverage.of(name, math.ceil(COVERAGE_RUNS * min(1, args.seeds / SEEDS)))
        print(f"  {name:29} {100 * covered:5.1f} %   {values:.1f} values")
    return min(1, bad)


if __name__ == "__main__":
    sys.exit(main())

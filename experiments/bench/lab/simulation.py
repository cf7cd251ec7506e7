# SPDX-License-Identifier: GPL-2.0-only
"""Results of ordinary programs in the lab, beside the machine file, with a processor of the host kept busy."""

from collections import defaultdict
from collections.abc import Callable
from statistics import fmean

from experiments.bench.lab import inside
from experiments.bounds import Outcome

MACHINE = "demo-2s"
ROUNDS = 3
REPEATABLE = 0.015


def run_measures(*what: str) -> list[dict]:
    """Runs the named measures of measure.py in the lab with a busy processor of the host; returns the records that they print."""
    with inside.load_host(1):
        return inside.run_measures(MACHINE, *what, timeout=1500)


def compare_measures(out: Outcome, records: list[dict], what: str, unit: str, predict: Callable[[str, int, int], float], allowed: float):
    """Shows a measure's values by CPUs' and memory's node beside the machine file's, and checks their error and spread.

    records: of measure.py. unit: the key of the value. predict: takes machine, node, memory node. allowed: relative error."""
    values = defaultdict(list)
    for record in records:
        if record["measure"] == what:
            values[record["node"], record["memory"]].append(record[unit])
    worst = spread = 0.0
    out.say(f"{what}, {unit}    machine file    measured   residual   spread of {ROUNDS}")
    for (node, memory_node), found in sorted(values.items()):
        wanted, mean = predict(MACHINE, node, memory_node), fmean(found)
        residual, apart = mean / wanted - 1, max(found) / min(found) - 1
        worst, spread = max(worst, abs(residual)), max(spread, apart)
        out.say(f"node {node}, memory {memory_node}    {wanted:12.1f}{mean:12.1f}{residual:+11.1%}{apart:11.2%}")
    out.at_most(f"{what}, against the machine file", worst, allowed)
    out.at_most(f"{what}, {ROUNDS} runs with a busy host apart", spread, REPEATABLE, "{:.2%}")


def measure_machine_file() -> Outcome:
    """Measures latency and bandwidth ROUNDS times, and checks them against the machine file; returns the outcome."""
    out = Outcome()
    records = run_measures(*["latency", "bandwidth"] * ROUNDS)
    compare_measures(out, records, "latency", "ns", inside.predict_latency_ns, 0.05)
    compare_measures(out, records, "bandwidth", "mb_s", inside.predict_triad_mb_s, 0.10)
    return out


def measure_redis() -> Outcome:
    """Measures redis-benchmark with local and remote memory in pairs, and checks that remote is slower; returns the outcome."""
    out, pairs = Outcome(), defaultdict(dict)
    for record in run_measures("redis"):
        pairs[record["pair"]][record["memory"]] = record["per_second"]  # by node of the memory: 0 is local
    out.say("redis-benchmark, GETs a second: pair, local, remote, difference")
    for number, pair in sorted(pairs.items()):
        out.say(f"{number + 1:4}{pair[0]:12.0f}{pair[1]:12.0f}{pair[1] / pair[0] - 1:+9.1%}")
    least = min(1 - pair[1] / pair[0] for pair in pairs.values())
    out.at_least("redis-benchmark: remote slower, least of five pairs", least, 0.05)
    out.data = {"pairs": [dict(pair) for pair in pairs.values()]}
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""Results of ordinary programs in the lab, beside the machine file, with a processor of the host kept busy."""

from collections import defaultdict

from experiments.bench.lab import inside
from experiments.bounds import Outcome

MACHINE = "demo-2s"
ROUNDS = 3
REPEATABLE = 0.015


def run_measures(*what: str) -> list[dict]:
    """Runs the named measures in the lab with a busy processor of the host; returns their records."""
    with inside.load_host(1):
        return inside.run_measures(MACHINE, *what, timeout=1500)


def compare_measures(out: Outcome, measured: list[dict], what: str, unit: str, expected, allowed: float):
    """Shows a measure's values beside those that `expected` returns for (machine, node, memory), and checks their error and spread.

    allowed: relative error."""
    values = defaultdict(list)
    for line in measured:
        if line["measure"] == what:
            values[line["node"], line["memory"]].append(line[unit])
    worst = spread = 0.0
    out.say(f"{what}, {unit}    machine file    measured   residual   spread of {ROUNDS}")
    for (node, memory), found in sorted(values.items()):
        wanted, mean = expected(MACHINE, node, memory), sum(found) / len(found)
        residual, apart = mean / wanted - 1, max(found) / min(found) - 1
        worst, spread = max(worst, abs(residual)), max(spread, apart)
        out.say(f"node {node}, memory {memory}    {wanted:12.1f}{mean:12.1f}{residual:+11.1%}{apart:11.2%}")
    out.at_most(f"{what}, against the machine file", worst, allowed)
    out.at_most(f"{what}, {ROUNDS} runs with a busy host apart", spread, REPEATABLE, "{:.2%}")


def measure_machine_file() -> Outcome:
    out = Outcome()
    measured = run_measures(*["latency", "bandwidth"] * ROUNDS)
    compare_measures(out, measured, "latency", "ns", inside.predict_latency_ns, 0.05)
    compare_measures(out, measured, "bandwidth", "mb_s", inside.predict_triad_mb_s, 0.10)
    return out


def measure_redis() -> Outcome:
    """Measures redis-benchmark with local and remote memory in pairs, and checks that remote is slower; returns the outcome."""
    out, pairs = Outcome(), defaultdict(dict)
    for line in run_measures("redis"):
        pairs[line["pair"]][line["memory"]] = line["per_second"]
    out.say("redis-benchmark, GETs a second: pair, local, remote, difference")
    for number, pair in sorted(pairs.items()):
        out.say(f"{number + 1:4}{pair[0]:12.0f}{pair[1]:12.0f}{pair[1] / pair[0] - 1:+9.1%}")
    least = min(1 - pair[1] / pair[0] for pair in pairs.values())
    out.at_least("redis-benchmark: remote slower, least of five pairs", least, 0.05)
    out.data = {"pairs": [dict(pair) for pair in pairs.values()]}
    return out

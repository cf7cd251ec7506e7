# SPDX-License-Identifier: GPL-2.0-only
"""Results of ordinary programs in the lab, beside the machine file, with a processor of the host kept busy."""

from collections import defaultdict

from experiments.bench.lab import lab_run
from experiments.bounds import Outcome

MACHINE = "demo-2s"
ROUNDS = 3
REPEATABLE = 0.015


def measure(*what: str) -> list[dict]:
    with lab_run.host_load(1):
        return lab_run.measure(MACHINE, *what, timeout=1500)


def compare(out: Outcome, measured: list[dict], what: str, unit: str, expected, allowed: float):
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


def machine_file() -> Outcome:
    out = Outcome()
    measured = measure(*["latency", "bandwidth"] * ROUNDS)
    compare(out, measured, "latency", "ns", lab_run.latency_ns, 0.05)
    compare(out, measured, "bandwidth", "mb_s", lab_run.triad_mb_s, 0.10)
    return out


def redis() -> Outcome:
    out, pairs = Outcome(), defaultdict(dict)
    for line in measure("redis"):
        pairs[line["pair"]][line["memory"]] = line["per_second"]
    out.say("redis-benchmark, GETs a second: pair, local, remote, difference")
    for number, pair in sorted(pairs.items()):
        out.say(f"{number + 1:4}{pair[0]:12.0f}{pair[1]:12.0f}{pair[1] / pair[0] - 1:+9.1%}")
    least = min(1 - pair[1] / pair[0] for pair in pairs.values())
    out.at_least("redis-benchmark: remote slower, least of five pairs", least, 0.05)
    out.data = {"pairs": [dict(pair) for pair in pairs.values()]}
    return out

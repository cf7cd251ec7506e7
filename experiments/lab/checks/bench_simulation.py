# SPDX-License-Identifier: GPL-2.0-only
"""What a simulated machine shows to programs that know nothing of it, beside its machine file.

`make bench-lab` runs this and prints the tables. All of it happens in one boot, with one processor of the
host kept busy by something else.
"""

import subprocess
from collections import defaultdict

import pytest

from experiments.lab.checks import lab_run

MACHINE = "demo-2s"
ROUNDS = 3
REPEATABLE = 0.015
pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def measured() -> list[dict]:
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        return lab_run.measure(MACHINE, *["latency", "bandwidth"] * ROUNDS, "sleep", "redis", timeout=1500)
    finally:
        busy.kill()
        busy.wait()


def by_place(measured: list[dict], what: str, unit: str) -> dict[tuple[int, int], list[float]]:
    values = defaultdict(list)
    for line in measured:
        if line["measure"] == what:
            values[line["node"], line["memory"]].append(line[unit])
    assert values
    return values


def compare(measured, capsys, what: str, unit: str, expected, allowed: float):
    """Prints and checks each place's mean against the machine file, and its spread."""
    worst = spread = 0.0
    with capsys.disabled():
        print(f"\n{what}, {unit}    machine file    measured   residual   spread of {ROUNDS}")
        for (node, memory), values in sorted(by_place(measured, what, unit).items()):
            wanted, mean = expected(MACHINE, node, memory), sum(values) / len(values)
            residual, apart = mean / wanted - 1, max(values) / min(values) - 1
            worst, spread = max(worst, abs(residual)), max(spread, apart)
            print(f"node {node}, memory {memory}    {wanted:12.1f}{mean:12.1f}{residual:+11.1%}{apart:11.2%}")
    assert worst <= allowed
    assert spread <= REPEATABLE


def test_latency(measured, capsys):
    compare(measured, capsys, "latency", "ns", lab_run.latency_ns, 0.05)


def test_bandwidth(measured, capsys):
    compare(measured, capsys, "bandwidth", "mb_s", lab_run.triad_mb_s, 0.10)


def test_redis_is_slower_with_remote_memory(measured, capsys):
    pairs = defaultdict(dict)
    for line in measured:
        if line["measure"] == "redis":
            pairs[line["pair"]][line["memory"]] = line["per_second"]
    with capsys.disabled():
        print("\nredis-benchmark, GETs a second: pair, local, remote, difference")
        for number, pair in sorted(pairs.items()):
            print(f"{number:4}{pair[0]:12.0f}{pair[1]:12.0f}{pair[1] / pair[0] - 1:+9.1%}")
    assert len(pairs) == 5
    assert all(pair[1] < pair[0] for pair in pairs.values())

# SPDX-License-Identifier: GPL-2.0-only
"""What misses of one CPU cost that do and do not need each other, beside what a core of the machine file may have on its way."""

from statistics import median

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.lab import machine

MACHINE = "demo-2s"
PROGRAM = "build/lab/programs/misses"
CHASES = (1, 2, 4, 8, 12)
OBJECTS = (1, 2, 4, 8, 16)
ONE_BY_ONE = {"stored": "a load of a line that was stored to", "kept": "a load whose address was stored and loaded again",
              "calls": "a load, with a call that keeps its address in memory"}
SMALL_ROUNDS = 4
TRIES = 3


def measure_ns(home: int) -> dict[tuple[str, int], float]:
    """Measures each test on CPU 0 with memory of node `home`; returns the median ns of a load or an object, by test and its number."""
    tests = [("small", SMALL_ROUNDS), *(("chases", n) for n in CHASES), *(("objects", n) for n in OBJECTS), *((test, 1) for test in ONE_BY_ONE)]
    words = [word for test, n in tests for word in (test, str(n))]
    runs = [inside.run_program(MACHINE, "taskset", "-c", "0", PROGRAM, str(home), *words) for _ in range(TRIES)]
    return {key: median(run[i]["ns"] for run in runs) for i, key in enumerate(tests)}


def check_home(out: Outcome, described: machine.Machine, home: int, found_ns: dict[tuple[str, int], float]):
    """Checks measure_ns() of a node against the machine's latency and the misses that a core may have on their way at once."""
    latency_ns, most_at_once = inside.predict_latency_ns(MACHINE, 0, home), described.model["core"]["outstanding"]["value"]
    where = "the other node's memory" if home else "own memory"
    for n in CHASES:
        wanted_ns = latency_ns / min(n, most_at_once)
        out.between(f"misses: a load of {n} chases, {where}", found_ns["chases", n], 0.9 * wanted_ns, 1.1 * wanted_ns, "{:.1f} ns")
    for n in OBJECTS:
        most_ns = latency_ns * (1 + (n - 1) / most_at_once)
        out.at_most(f"misses: an object of {n} lines, {where}", found_ns["objects", n], 1.2 * most_ns, "{:.1f} ns")
    for test, name in ONE_BY_ONE.items():
        out.between(f"misses: {name}, {where}", found_ns[test, 1], 0.95 * found_ns["chases", 1],
                    1.1 * found_ns["chases", 1], "{:.1f} ns")


def measure_misses() -> Outcome:
    """Measures chases at once, objects, a chase in the first level and loads after stores, and compares them with the machine file."""
    out, described = Outcome(), machine.find(MACHINE)
    by_home = {home: measure_ns(home) for home in (0, 1)}
    out.say(f"{MACHINE}, ns of a load or an object; medians of {TRIES}: own memory, the other node's")
    for test, n in by_home[0]:
        out.say(f"  {test:8}{n:4}{by_home[0][test, n]:10.2f}{by_home[1][test, n]:10.2f}")
    first = described.cache[0]["latency_ns"]
    out.between("misses: a dependent load that the first level has", by_home[0]["small", SMALL_ROUNDS], 0.95 * first, 1.05 * first, "{:.2f} ns")
    for home, found_ns in by_home.items():
        check_home(out, described, home, found_ns)
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""np-mem beside likwid-bench and a plain STREAM triad, on this machine: `make bench-kernels`.

In every round all contenders run once, in random order, so that a busy host slows all of them
alike. Ratios are made within a round; what is printed is their median with the interval that holds
the true one in 95 of 100 runs. A bound that the median misses and the interval reaches is
undecided: not shown, as little as one that fails.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import median
from typing import Self

from experiments.bounds import Outcome, all_hold, verdicts

BUILD = Path(__file__).resolve().parents[3] / "build"
ROUNDS = 15
MIB = 128           # an array
SECONDS = 0.4
ITERATIONS = 16     # of likwid-bench: about as long
LIKWID = {"triad": "stream_mem", "copy": "copy_mem"}
NON_TEMPORAL = {"sse2-nt": "sse2", "avx2-nt": "avx2", "avx512-nt": "avx512f"}   # and the CPU's flag
LIKWID_AIM, PLAIN_AIM = 1.0, 1.2
CHASE_AIM, OVERHEAD_AIM = 0.02, 0.01
Contender = Callable[[], float]


def run(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"bench-kernels: {Path(words[0]).name}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def result(*words: str) -> dict:
    return json.loads(run(BUILD / "np-mem", *words).splitlines()[-1])


def ours(operation: str, cpus: list[int], kernel: str = "auto") -> float:
    return result(operation, "--kernel", kernel, "--size", f"{MIB}M", "--seconds", str(SECONDS), "--pin",
                  "--threads", str(len(cpus)), "--cpus", ",".join(map(str, cpus)))["mb_per_s"]


def likwid(kernel: str, arrays: int, cpus: list[int]) -> float:
    """MB/s by likwid-bench's own count, which is STREAM's for these kernels."""
    return likwid_says(run("likwid-bench", *likwid_words(kernel, arrays, ITERATIONS, len(cpus))))


def likwid_words(kernel: str, arrays: int, iterations: int, threads: int) -> list[str]:
    return ["-t", kernel, "-i", str(iterations), "-w", f"N:{arrays * MIB}MB:{threads}"]


def likwid_says(text: str) -> float:
    return float(re.search(r"MByte/s:\s+([\d.]+)", text)[1])


def plain(cpus: list[int]) -> float:
    return float(run("taskset", "-c", ",".join(map(str, cpus)), BUILD / "bench" / "plain-triad",
                     str(MIB // len(cpus)), str(len(cpus)), str(SECONDS)))


def likwid_kernels(operation: str) -> list[str]:
    """Those that this CPU has: the plain-stores and single-precision ones compare with nothing here."""
    flags = cpu_flags()
    names = re.findall(rf"^({LIKWID[operation]}(?:_\w+)?) - ", run("likwid-bench", "-a"), re.MULTILINE)
    needs = {"avx512": "avx512f", "avx": "avx", "fma": "fma"}
    return [n for n in names if all(flag in flags for part, flag in needs.items() if part in n)
            and runs(n, {"triad": 3, "copy": 2}[operation])]


def cpu_flags() -> list[str]:
    return Path("/proc/cpuinfo").read_text().split()


def runs(kernel: str, arrays: int) -> bool:
    """Some of Debian's likwid-bench kernels crash on some processors."""
    status = subprocess.run(["likwid-bench", *likwid_words(kernel, arrays, 1, 1)],
                            capture_output=True, stdin=subprocess.DEVNULL).returncode
    if status:
        print(f"  {kernel}: likwid-bench ends with status {status}, left out", flush=True)
    return not status


def contenders(operation: str, cpus: list[int]) -> dict[str, Contender]:
    """One of np-mem's widths is what auto takes: its ratio to that says how much the host adds."""
    arrays, flags = {"triad": 3, "copy": 2}[operation], cpu_flags()
    found: dict[str, Contender] = {"np-mem": lambda: ours(operation, cpus)}
    for width, flag in NON_TEMPORAL.items():
        if flag in flags:
            found[f"np-mem {width}"] = lambda width=width: ours(operation, cpus, width)
    for kernel in likwid_kernels(operation):
        found[kernel] = lambda kernel=kernel: likwid(kernel, arrays, cpus)
    if operation == "triad":
        found["plain -O3"] = lambda: plain(cpus)
    return found


def compare(operation: str, cpus: list[int], rounds: int, order: random.Random) -> bool:
    each = contenders(operation, cpus)
    values: dict[str, list[float]] = {name: [] for name in each}
    for _ in range(rounds):
        names = list(each)
        order.shuffle(names)
        for name in names:
            values[name].append(each[name]())
    print(f"\n{operation}, {len(cpus)} thread{'s' * (len(cpus) > 1)}, medians of {rounds} rounds\n"
          f"  {'':22} {'MB/s':>8}   np-mem / this")
    print(f"  {'np-mem':22} {median(values['np-mem']):8.0f}")
    others = sorted(set(each) - {"np-mem"}, key=lambda n: -median(values[n]))
    ratios = {name: Ratio.divide(values["np-mem"], values[name]) for name in others}
    for name in others:
        print(f"  {name:22} {median(values[name]):8.0f}   {ratios[name]}")
    return judged(asked(ratios))


@dataclass
class Ratio:
    middle: float
    low: float
    high: float

    @classmethod
    def divide(cls, ours: list[float], theirs: list[float]) -> Self:
        """Median of the pairs' ratios; its 95 % interval by order statistics, which asks for no distribution."""
        pairs = sorted(a / b for a, b in zip(ours, theirs))
        n, below, cut = len(pairs), 0.0, 0
        while (below := below + comb(n, cut) / 2 ** n) <= 0.025:
            cut += 1
        return cls(median(pairs), pairs[max(cut - 1, 0)], pairs[min(n - cut, n - 1)])

    def __str__(self) -> str:
        return f"{self.middle:.3f}  ({self.low:.3f} to {self.high:.3f})"


def asked(ratios: dict[str, Ratio]) -> Outcome:
    """`ratios` has the fastest first."""
    fastest, outcome = next(name for name in ratios if name.startswith(tuple(LIKWID.values()))), Outcome()
    bounds = {f"beside the fastest of likwid-bench ({fastest})": (ratios[fastest], LIKWID_AIM)}
    if "plain -O3" in ratios:
        bounds["beside plain -O3"] = ratios["plain -O3"], PLAIN_AIM
    for what, (ratio, least) in bounds.items():
        outcome.interval_at_least(what, ratio.middle, ratio.low, ratio.high, least, "{:.3f}")
    return outcome


def judged(outcome: Outcome) -> bool:
    print("\n".join(f"  {line}" for line in verdicts(outcome.checks)))
    return all_hold(outcome.checks)


def chase(rounds: int, cpu: int, order: random.Random) -> bool:
    """The same chase first, second or last among triad and copy: its place must not matter."""
    by_place: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for number in range(3 * rounds):
        others = ["triad", "copy"]
        order.shuffle(others)
        place = number % 3
        for name in others[:place]:
            ours(name, [cpu])
        by_place[place].append(result("chase", "--size", "64M", "--pages", "thp", "--seconds", str(SECONDS),
                                      "--pin", "--cpus", str(cpu))["ns_per_operation"])
        for name in others[place:]:
            ours(name, [cpu])
    middles = [median(values) for values in by_place.values()]
    print(f"\nchase over 64 MiB in huge pages, ns a hop, by its place among triad and copy, medians of {rounds}\n  "
          + "  ".join(f"{where} {value:.2f}" for where, value in zip(("first", "second", "last"), middles)))
    outcome = Outcome()
    outcome.at_most("spread of the three", max(middles) / min(middles) - 1, CHASE_AIM, "{:.2%}")
    return judged(outcome)


def overhead(cpu: int) -> bool:
    """Looks at the clock while a second is measured, of which all else is work."""
    look = float(run("taskset", "-c", str(cpu), BUILD / "bench" / "clock"))
    print(f"\na look at the clock takes {look:.1f} ns")
    outcome = Outcome()
    for kernel in ("triad", "copy", "chase"):
        r = result(kernel, "--size", "64M", "--seconds", "1", "--pin", "--cpus", str(cpu))
        outcome.at_most(f"{kernel}: part of a second spent on {r['passes']} looks",
                        r["passes"] * look / 1e9 / r["seconds"], OVERHEAD_AIM, "{:.3%}")
    return judged(outcome)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-kernels", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--one-thread", action="store_true", help="leave out the runs on all CPUs")
    args = parser.parse_args()
    if not shutil.which("likwid-bench"):
        print("bench-kernels: likwid-bench is not installed: apt-get install likwid", file=sys.stderr)
        return 3
    cpus, order = sorted(os.sched_getaffinity(0)), random.Random(1)
    print(f"platform: real, {len(cpus)} CPUs, load {os.getloadavg()[0]:.1f}")
    good = [compare(operation, used, args.rounds, order)
            for operation in LIKWID for used in ([cpus[0]], cpus)[:1 if args.one_thread else 2]]
    good += [chase(args.rounds, cpus[0], order), overhead(cpus[0])]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

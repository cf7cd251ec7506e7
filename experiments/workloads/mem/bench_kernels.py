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
from pathlib import Path
from statistics import median
from typing import Self

from scipy.stats import binom

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
ARRAYS = {"triad": 3, "copy": 2}
TAIL = 0.025  # that a 95 % interval leaves out on each side
Contender = Callable[[], float]


def run_program(*words: str | Path) -> str:
    """Runs a program and returns its output. SystemExit: it has failed, with its message."""
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"bench-kernels: {Path(words[0]).name}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def run_np_mem(*words: str) -> dict:
    """Runs np-mem. Returns its last result, a table as it prints it in JSON."""
    return json.loads(run_program(BUILD / "np-mem", *words).splitlines()[-1])


def measure_np_mem(operation: str, cpus: list[int], kernel: str = "auto") -> float:
    """Measures the MB/s of np-mem's operation, a pinned thread on each of the CPUs."""
    return run_np_mem(operation, "--kernel", kernel, "--size", f"{MIB}M", "--seconds", str(SECONDS), "--pin",
                      "--threads", str(len(cpus)), "--cpus", ",".join(map(str, cpus)))["mb_per_s"]


def measure_likwid(kernel: str, arrays: int, cpus: list[int]) -> float:
    """Measures MB/s by likwid-bench's own count, which is STREAM's for these kernels."""
    return parse_likwid(run_program("likwid-bench", *make_likwid_words(kernel, arrays, ITERATIONS, len(cpus))))


def make_likwid_words(kernel: str, arrays: int, iterations: int, threads: int) -> list[str]:
    """Makes likwid-bench's options; `arrays` of MIB MiB each are its working set."""
    return ["-t", kernel, "-i", str(iterations), "-w", f"N:{arrays * MIB}MB:{threads}"]


def parse_likwid(text: str) -> float:
    """Parses likwid-bench's output. Returns MB/s."""
    return float(re.search(r"MByte/s:\s+([\d.]+)", text)[1])


def measure_plain(cpus: list[int]) -> float:
    """Measures the MB/s of the plain triad, a thread for each of the CPUs."""
    return float(run_program("taskset", "-c", ",".join(map(str, cpus)), BUILD / "bench" / "plain-triad",
                             str(MIB // len(cpus)), str(len(cpus)), str(SECONDS)))


def list_likwid_kernels(operation: str) -> list[str]:
    """Lists the kernels of likwid-bench that this CPU has: those with plain stores or of single precision compare with nothing here."""
    flags = read_cpu_flags()
    names = re.findall(rf"^({LIKWID[operation]}(?:_\w+)?) - ", run_program("likwid-bench", "-a"), re.MULTILINE)
    needs = {"avx512": "avx512f", "avx": "avx", "fma": "fma"}
    return [n for n in names if all(flag in flags for part, flag in needs.items() if part in n) and can_run(n, ARRAYS[operation])]


def read_cpu_flags() -> list[str]:
    """Reads all words of /proc/cpuinfo, the flags among them."""
    return Path("/proc/cpuinfo").read_text().split()


def can_run(kernel: str, arrays: int) -> bool:
    """Checks whether a kernel of likwid-bench ends with status 0: some of Debian's crash on some processors."""
    status = subprocess.run(["likwid-bench", *make_likwid_words(kernel, arrays, 1, 1)],
                            capture_output=True, stdin=subprocess.DEVNULL).returncode
    if status:
        print(f"  {kernel}: likwid-bench ends with status {status}, left out", flush=True)
    return not status


def make_contenders(operation: str, cpus: list[int]) -> dict[str, Contender]:
    """Makes the functions that measure MB/s once, by their names. One of np-mem's widths is what auto takes: its ratio to that says how
    much the host adds."""
    arrays, flags = ARRAYS[operation], read_cpu_flags()
    contenders: dict[str, Contender] = {"np-mem": lambda: measure_np_mem(operation, cpus)}
    for width, flag in NON_TEMPORAL.items():
        if flag in flags:
            contenders[f"np-mem {width}"] = lambda width=width: measure_np_mem(operation, cpus, width)
    for kernel in list_likwid_kernels(operation):
        contenders[kernel] = lambda kernel=kernel: measure_likwid(kernel, arrays, cpus)
    if operation == "triad":
        contenders["plain -O3"] = lambda: measure_plain(cpus)
    return contenders


def compare_contenders(operation: str, cpus: list[int], rounds: int, generator: random.Random) -> bool:
    """Measures all contenders in rounds, ordered by the generator, and prints medians and ratios. Returns whether all bounds hold."""
    contenders = make_contenders(operation, cpus)
    values: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        names = list(contenders)
        generator.shuffle(names)
        for name in names:
            values[name].append(contenders[name]())
    print(f"\n{operation}, {len(cpus)} thread{'s' * (len(cpus) > 1)}, medians of {rounds} rounds\n"
          f"  {'':22} {'MB/s':>8}   np-mem / this")
    print(f"  {'np-mem':22} {median(values['np-mem']):8.0f}")
    others = sorted(set(contenders) - {"np-mem"}, key=lambda n: -median(values[n]))
    ratios = {name: Ratio.divide(values["np-mem"], values[name]) for name in others}
    for name in others:
        print(f"  {name:22} {median(values[name]):8.0f}   {ratios[name]}")
    return print_verdicts(check_bounds(ratios))


@dataclass
class Ratio:
    middle: float
    low: float
    high: float

    @classmethod
    def divide(cls, ours: list[float], theirs: list[float]) -> Self:
        """Computes the median of the pairs' ratios, with its 95 % interval by order statistics, which asks for no distribution."""
        pairs = sorted(a / b for a, b in zip(ours, theirs))
        n = len(pairs)
        cut = int(binom.ppf(TAIL, n, 0.5))  # the interval is from the pair of this rank to that of the same rank from the end
        return cls(median(pairs), pairs[max(cut - 1, 0)], pairs[min(n - cut, n - 1)])

    def __str__(self) -> str:
        return f"{self.middle:.3f}  ({self.low:.3f} to {self.high:.3f})"


def check_bounds(ratios: dict[str, Ratio]) -> Outcome:
    """Checks the ratios of np-mem to others against their bounds. ratios: by the other's name, the fastest first."""
    fastest, outcome = next(name for name in ratios if name.startswith(tuple(LIKWID.values()))), Outcome()
    bounds = {f"beside the fastest of likwid-bench ({fastest})": (ratios[fastest], LIKWID_AIM)}
    if "plain -O3" in ratios:
        bounds["beside plain -O3"] = ratios["plain -O3"], PLAIN_AIM
    for what, (ratio, least) in bounds.items():
        outcome.interval_at_least(what, ratio.middle, ratio.low, ratio.high, least, "{:.3f}")
    return outcome


def print_verdicts(outcome: Outcome) -> bool:
    """Prints the verdicts of an outcome. Returns whether all bounds hold."""
    print("\n".join(f"  {line}" for line in verdicts(outcome.checks)))
    return all_hold(outcome.checks)


def measure_chase(rounds: int, cpu: int, generator: random.Random) -> bool:
    """Measures the same chase first, second or last among triad and copy: its place must not matter. Returns whether that holds."""
    by_place: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for number in range(3 * rounds):
        others = ["triad", "copy"]
        generator.shuffle(others)
        place = number % 3
        for name in others[:place]:
            measure_np_mem(name, [cpu])
        by_place[place].append(run_np_mem("chase", "--size", "64M", "--pages", "thp", "--seconds", str(SECONDS),
                                          "--pin", "--cpus", str(cpu))["ns_per_operation"])
        for name in others[place:]:
            measure_np_mem(name, [cpu])
    middles = [median(values) for values in by_place.values()]
    print(f"\nchase over 64 MiB in huge pages, ns a hop, by its place among triad and copy, medians of {rounds}\n  "
          + "  ".join(f"{where} {value:.2f}" for where, value in zip(("first", "second", "last"), middles)))
    outcome = Outcome()
    outcome.at_most("spread of the three", max(middles) / min(middles) - 1, CHASE_AIM, "{:.2%}")
    return print_verdicts(outcome)


def measure_overhead(cpu: int) -> bool:
    """Measures what part of a second of each kernel is spent on looks at the clock. Returns whether it is within its bound."""
    look = float(run_program("taskset", "-c", str(cpu), BUILD / "bench" / "clock"))
    print(f"\na look at the clock takes {look:.1f} ns")
    outcome = Outcome()
    for kernel in ("triad", "copy", "chase"):
        r = run_np_mem(kernel, "--size", "64M", "--seconds", "1", "--pin", "--cpus", str(cpu))
        outcome.at_most(f"{kernel}: part of a second spent on {r['passes']} looks",
                        r["passes"] * look / 1e9 / r["seconds"], OVERHEAD_AIM, "{:.3%}")
    return print_verdicts(outcome)


def main() -> int:
    """Runs all comparisons. Returns 0, 1 where a bound does not hold, 3 without likwid-bench."""
    parser = argparse.ArgumentParser(prog="make bench-kernels", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    if not shutil.which("likwid-bench"):
        print("bench-kernels: likwid-bench is not installed: apt-get install likwid", file=sys.stderr)
        return 3
    cpus, order = sorted(os.sched_getaffinity(0)), random.Random(1)
    print(f"platform: real, {len(cpus)} CPUs, load {os.getloadavg()[0]:.1f}")
    good = [compare_contenders(operation, used, args.rounds, order)
            for operation in LIKWID for used in (cpus[:1], cpus)]
    good += [measure_chase(args.rounds, cpus[0], order), measure_overhead(cpus[0])]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""np-mem's chase beside the simple chase of a multichase that you have built, on this machine:
`make bench-multichase MULTICHASE=PATH`.

Both walk one random cycle through all lines of the same size, in the same kind of pages, on the same CPU and node, by
turns. Ratios are made within a round, as in bench_kernels.
"""

import argparse
import os
import random
import sys
from pathlib import Path
from statistics import median

from experiments.bounds import FAILS, HOLDS, UNDECIDED, Outcome
from experiments.host.topology import Cpu, of_host
from experiments.workloads.mem.bench_kernels import Ratio, judged, result, run

ROUNDS = 15
SIZES = {"1/2 L2": ("l2_bytes", 0.5), "1/2 L3": ("l3_bytes", 0.5), "4 L3": ("l3_bytes", 4)}  # in a cache, and in none
LINE, PAGE = 64, 4096
SAMPLES = 2     # of multichase, half a second each
BOUND = 0.05


def multichase(program: Path, size: int, cpu: int) -> float:
    """ns of a load, the mean; its unit of locality is the whole memory."""
    return float(run("taskset", "-c", str(cpu), program, "-c", "simple", "-a", "-n", str(SAMPLES), "-s", str(LINE),
                     "-m", str(size), "-T", str(size), "-H"))


def ours(size: int, cpu: int) -> float:
    return result("chase", "--size", str(size), "--pages", "thp", "--seconds", str(SAMPLES / 2), "--pin",
                  "--cpus", str(cpu))["ns_per_operation"]


def size_of(part: str, cpu: Cpu) -> int:
    field, times = SIZES[part]
    whole = getattr(cpu, field)
    if not whole:
        sys.exit("bench-multichase: this machine does not say how large its caches are")
    return int(whole * times) // PAGE * PAGE


def compare(program: Path, part: str, cpu: Cpu, rounds: int, order: random.Random) -> Outcome:
    size, values = size_of(part, cpu), {"np-mem": [], "multichase": []}
    for _ in range(rounds):
        for name in order.sample(list(values), 2):
            values[name].append(ours(size, cpu.id) if name == "np-mem" else multichase(program, size, cpu.id))
    print(f"\n{part}, {size >> 10} KiB, ns a load, medians of {rounds} rounds")
    for name, found in values.items():
        print(f"  {name:12} {median(found):8.2f}   {min(found):.2f} to {max(found):.2f}")
    return asked(part, Ratio.of(values["np-mem"], values["multichase"]))


def asked(part: str, ratio: Ratio) -> Outcome:
    """The same are two whose ratio's whole interval is within the bound; where only a part of it is, nothing is shown."""
    low, high = 1 - BOUND, 1 + BOUND
    within, reached = low <= ratio.low and ratio.high <= high, ratio.low <= high and ratio.high >= low
    verdict = HOLDS if within else UNDECIDED if reached else FAILS
    outcome = Outcome()
    outcome.check(f"np-mem / multichase, {part}", ratio.middle, str(ratio), f"{low:.2f} to {high:.2f}", verdict)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-multichase", description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    if not os.access(args.program, os.X_OK):
        print(f"bench-multichase: {args.program} is no program: build github.com/google/multichase and give "
              "MULTICHASE=PATH", file=sys.stderr)
        return 3
    first = min(os.sched_getaffinity(0))
    cpu, = of_host([first], Path("/sys/devices/system/cpu"))
    print(f"platform: real, CPU {first} of {len(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f}")
    order = random.Random(1)
    return 0 if all([judged(compare(args.program.resolve(), part, cpu, args.rounds, order)) for part in SIZES]) else 1


if __name__ == "__main__":
    sys.exit(main())

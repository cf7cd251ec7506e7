# SPDX-License-Identifier: GPL-2.0-only
"""Measures the simulated lab with running programs and prints each figure beside its reference.

    python -m experiments.bench.lab [CLAIM ..]      all of them, or some; --list names them
"""

import argparse
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from experiments.bench.lab import (
    calibrated,
    contention,
    endurance,
    exact,
    groups,
    lines,
    migration,
    misses,
    planted,
    present,
    remote_memory,
    simulation,
    speed,
    start,
    walks,
)
from experiments.bench.lab.inside import ROOT
from experiments.bounds import BOUND_FAILS, HOLDS, Claim, Outcome, all_hold, verdicts
from experiments.model_fit import predictions

CLAIMS = [
    Claim("start", "a start of the machine, booted and restored from its snapshot: demo-2s", start.measure_starts),
    *(Claim(f"lines-{name}", f"what CPUs cost each other that use one line, whatever the host does: {name}", partial(lines.measure_lines, name))
      for name in ("demo-2s", "xeon-e5620-2s")),
    Claim("misses", "misses that do and do not need each other: demo-2s", misses.measure_misses),
    Claim("groups", "a line between CPUs of one last level, of two of a node, of two nodes: cxl-3n with groups", groups.measure_groups),
    Claim("walks", "translations of 4 KiB and of huge pages, page tables local and remote: demo-2s with a TLB", walks.measure_walks),
    Claim("exact", "the same run to the bit, and the fast mode beside it: demo-2s", exact.measure_exact),
    Claim("planted", "a table on the wrong node, found by its accesses; what counting costs: 2x2", planted.measure_planted),
    Claim("file", "latency and bandwidth beside the machine file, three times: demo-2s", simulation.measure_machine_file),
    Claim("redis", "unmodified redis-benchmark, memory of its server local and remote: demo-2s", simulation.measure_redis),
    Claim("migration", "pages that move to their task's node in mid-run: demo-2s", migration.measure_migration),
    Claim("calibrate", "numaplace calibrate-machine beside the machine file: demo-2s", calibrated.measure_calibration),
    Claim("present", "what plans predict of tasks, placed as they are and otherwise, beside counters: two machines",
          present.measure_present),
    Claim("e5620", "Luo et al., Table 1(b), cross and split: xeon-e5620-2s", contention.measure_e5620),
    Claim("ls3a", "Luo et al., Table 1(a), cross and split: ls3a-2s", contention.measure_ls3a),
    Claim("cachetest", "Heard & Shafiee, sequential and random walks: opteron-sixcore-4s", remote_memory.measure_slowdown),
    Claim("x7560", "Bergstrom, COPY: xeon-x7560-4s", remote_memory.measure_xeon),
    Claim("opteron", "Bergstrom, COPY: opteron-6172-4s", remote_memory.measure_opteron),
    Claim("predictions", "machines of today by their idle figures, beside what was published of them under load: no boot",
          predictions.measure_predictions),
    Claim("speed", "what the simulation costs the host", speed.measure_speed),
    Claim("endurance", "ten boots, CPUs that go and come back, a host that stops QEMU: demo-2s", endurance.measure_boots),
]
KEPT = Path("results/bench-lab")


def measure_claim(claim: Claim) -> Outcome:
    """Measures a claim, prints its lines and keeps its figures in KEPT."""
    print(f"\n== {claim.name}: {claim.title}", flush=True)
    start = time.monotonic()
    outcome = claim.measure()
    print("\n".join(outcome.lines))
    print(f"({time.monotonic() - start:.0f} s)", flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{claim.name}.json").write_text(json.dumps(outcome.make_dict(), indent=1), encoding="utf-8")
    return outcome


def print_summary(outcomes: list[Outcome]) -> bool:
    """Prints the verdict of each check and how many hold; returns whether all do."""
    checks = [check for outcome in outcomes for check in outcome.checks]
    print("\n== what was asked")
    print("\n".join(verdicts(checks)))
    held = sum(check.verdict == HOLDS for check in checks)
    print(f"{held} of {len(checks)} hold; platform: lab-timed; figures in {KEPT}/")
    return all_hold(checks)


def main() -> int:
    """Measures the claims named, or all, and prints a summary; returns 0 where all hold, else BOUND_FAILS."""
    parser = argparse.ArgumentParser(prog="make bench-lab", description=__doc__.splitlines()[0])
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="those to measure; without any, all")
    parser.add_argument("--list", action="store_true", help="name them")
    arguments = parser.parse_args()
    by_name = {claim.name: claim for claim in CLAIMS}
    unknown = [name for name in arguments.claims if name not in by_name]
    if unknown:
        parser.error(f"there is no claim '{unknown[0]}': --list names them")
    if arguments.list:
        print("\n".join(f"{claim.name:20} {claim.title}" for claim in CLAIMS))
        return 0
    subprocess.run(["make", "-s", "lab-simulation", "tools"], cwd=ROOT, check=True)
    return 0 if print_summary([measure_claim(by_name[name]) for name in arguments.claims or by_name]) else BOUND_FAILS


if __name__ == "__main__":
    sys.exit(main())

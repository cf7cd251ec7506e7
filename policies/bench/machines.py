# SPDX-License-Identifier: GPL-2.0-only
"""Whether `measured` is at least as good as every other policy on every machine of the lab, by predict --random.

With hysteresis=0 and horizon=0 it looks for the best throughput, whatever moving pages costs: what predict compares.
Exit status 4: another policy has a higher mean, or a better worst case, on a machine.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
MACHINES = sorted(path.stem for path in (TOP / "experiments/lab/machines").glob("*.toml"))
SEARCH = "measured:horizon=0,hysteresis=0"  # as predict names it
BOUND_FAILS = 4  # as in experiments/bounds.py
SAME = 1e-6  # of a ratio: the predictor ends at this precision
ROW = "{:20} {:>5}  {:>5} {:>5}  {:>5} {:>5}  {:22} {:22}"


def policies() -> list[str]:
    known = json.loads(subprocess.run([TOP / "build/numaplace", "policies", "--json"], check=True, capture_output=True).stdout)
    return [policy["name"] for policy in known["policies"]]


def scores(machine: str, cases: int) -> dict[str, dict]:
    words = [word for name in [*policies(), SEARCH] for word in ("-p", name)]
    done = subprocess.run([TOP / "build/numaplace", "predict", "--json", "--machine", machine, "--node-memory", "8GiB",
                           "--random", str(cases), *words], check=True, capture_output=True)
    return {score["policy"]: score for score in json.loads(done.stdout)["random"]}


def compare(machine: str, cases: int) -> bool:
    """Prints the machine's row."""
    found = scores(machine, cases)
    search, default = found.pop(SEARCH), found.pop("measured")
    columns, good = [], True
    for kind in ("mean_of_best", "worst_of_best"):
        name, other = max(found.items(), key=lambda item: item[1][kind])
        columns.append(f"{name} {other[kind]:.3f}")
        good &= search[kind] >= other[kind] - SAME
    numbers = [f"{score[kind]:.3f}" for score in (search, default) for kind in ("mean_of_best", "worst_of_best")]
    print(ROW.format(machine, search["cases"], *numbers, *columns), flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=1000, metavar="N", help="task sets for each machine (default %(default)s)")
    parser.add_argument("machine", nargs="*", default=MACHINES)
    args = parser.parse_args()
    print(f"{args.random} task sets at random for each machine: throughput / the best known placement's")
    print(ROW.format("", "", "no cost", "", "default", "", "best other policy", ""))
    print(ROW.format("machine", "cases", "mean", "worst", "mean", "worst", "mean", "worst"))
    failed = [machine for machine in args.machine if not compare(machine, args.random)]
    if failed:
        print(f"measured is not the best on {', '.join(failed)}", file=sys.stderr)
    return BOUND_FAILS if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""make bench-batches: what a batch of move_pages(2) costs the first page of it, in one table.

    python -m experiments.bench.migration.batches [--kernel SERIES] [--repeats N]

The question is one of the tiering calls of 2026. What was predicted is in predicted(), written before the first run.
"""

import argparse
import sys
from collections import defaultdict
from statistics import median

from experiments.bench.lab import inside
from experiments.bounds import Outcome, verdicts
from experiments.errors import get_exit_status

OBSERVE = "experiments/bench/migration/observe_batches.py"
MACHINE = "demo-2s"
TIME_LIMIT = 1700  # s
MODULE = 0
PAGE = 4096  # bytes
PAGES_OF_HUGE = 512
NEAR = 1.05  # a batch is as good as the best that takes so many times its time
LIKE = {"ns": 1e-3, "first_call_ns": 1e-3, "first_page_gap_ns": 1e-3, "gap_ns": 1e-3}  # medians in us

Cells = dict[tuple[str, int], dict[str, float]]


def compute_cells(observations: list[dict]) -> Cells:
    """Computes medians by kind of page and batch: times in us, GB/s of all that moved, least share moved, and whether all were whole."""
    groups = defaultdict(list)
    for observation in observations:
        groups[observation["kind"], observation["batch"]].append(observation)
    found = {}
    for key, repeats in sorted(groups.items()):
        row = {name: median(observation[name] for observation in repeats) * scale for name, scale in LIKE.items()}
        row["us_page"] = row["ns"] / (repeats[0]["pages"] / (PAGES_OF_HUGE if key[0] == "huge" else 1))
        row["gb_s"] = repeats[0]["pages"] * PAGE / row["ns"] / 1e3  # "ns" is in us by now
        row["moved"] = min(observation["moved"] / observation["pages"] for observation in repeats)
        row["whole"] = all(observation["whole"] for observation in repeats)
        found[key] = row
    return found


def format_lines(found: Cells, kind: str) -> list[str]:
    """Formats the lines of one kind of pages, a head and a row for each batch, in ascending order and the module last."""
    head = f"{'pages a call':>12}  {'us/page':>8}  {'GB/s':>6}  {'first call us':>13}  {'first page us':>13}  {'any page us':>11}  moved  whole"
    rows = sorted(((batch, row) for (kind_of_row, batch), row in found.items() if kind_of_row == kind), key=lambda one: one[0] or 1 << 20)
    return [head, *(format_line(batch, row) for batch, row in rows)]


def format_line(batch: int, row: dict[str, float]) -> str:
    if not row["moved"]:
        return f"{batch or 'module':>12}  moves none of these by this kernel without splitting them"
    return (f"{batch or 'module':>12}  {row['us_page']:8.2f}  {row['gb_s']:6.2f}  {row['first_call_ns']:13.1f}  "
            f"{row['first_page_gap_ns']:13.1f}  {row['gap_ns']:11.1f}  {row['moved']:5.0%}  {'yes' if row['whole'] else 'NO'}")


def select_calls(found: Cells, kind: str, name: str) -> dict[int, float]:
    """Returns a number of each batch of move_pages(2), by its pages."""
    return {batch: row[name] for (kind_of_row, batch), row in found.items() if kind_of_row == kind and batch != MODULE}


def find_knee(found: Cells, kind: str) -> int:
    """Finds the smallest batch whose time is near the best one's."""
    times = select_calls(found, kind, "us_page")
    return min(batch for batch, us in times.items() if us <= NEAR * min(times.values()))


def check_predictions(found: Cells) -> Outcome:
    """Checks predictions, each from what the kernel does, against the medians; returns their outcome.

    A call has costs of its own (a system call, a look-up of the task, a flush of the CPUs' pagevecs); pages of a batch are
    unmapped together, and copied one after the other before the first is mapped again."""
    outcome, small, huge = Outcome(), select_calls(found, "small", "us_page"), select_calls(found, "huge", "us_page")
    waits = select_calls(found, "small", "first_page_gap_ns")
    outcome.between("small pages, the smallest batch within 5 % of the best time", find_knee(found, "small"), 16, 128, "{:.0f} pages")
    outcome.at_least("small pages, time of a page by 1 beside that by the best batch", small[1] / min(small.values()), 2, "{:.2f} times")
    outcome.at_least("small pages, the first page's wait in batches of 512 beside 32", waits[512] / waits[32], 4, "{:.2f} times")
    outcome.at_most("huge pages, time of a page by 1 beside that by the best batch", huge[1] / min(huge.values()), NEAR, "{:.2f} times")
    moving = [row for row in found.values() if row["moved"]]  # the module may be unable to move huge pages whole
    outcome.at_least("every page moved and whole", min(row["moved"] if row["whole"] else 0 for row in moving), 1, "{:.0%}")
    return outcome


def run_observe(kernel: str, repeats: int, seed: int) -> list[dict]:
    """Boots the lab, runs observe_batches.py in it, and returns its observations. ExperimentError: the machine has failed."""
    return inside.run_program(MACHINE, "python3", OBSERVE, str(repeats), str(seed), kernel=kernel, module=True, timeout=TIME_LIMIT)


def main():
    """Runs the batches, and prints the tables of both kinds of pages and the verdicts of the predictions."""
    parser = argparse.ArgumentParser(prog="experiments.bench.migration.batches", description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cells = compute_cells(run_observe(options.kernel, options.repeats, options.seed))
    print(f"lab-timed: times are those of the described machine\n{MACHINE}, kernel {options.kernel}, median of {options.repeats}, "
          f"order shuffled with seed {options.seed}\nA thread writes to the first page all the while, another to all pages: "
          "their longest waits.")
    for kind in ("small", "huge"):
        print(f"\n{'4 KiB' if kind == 'small' else '2 MiB'} pages\n" + "\n".join(format_lines(cells, kind)))
    print("\nPredicted before the first run:\n" + "\n".join(verdicts(check_predictions(cells).checks)))


if __name__ == "__main__":
    sys.exit(get_exit_status("bench-batches", main))

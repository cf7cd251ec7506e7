# SPDX-License-Identifier: GPL-2.0-only
"""make bench-batches: what a batch of move_pages(2) costs the first page of it, in one table.

    python -m experiments.bench.migration.batches [--kernel SERIES] [--repeats N]

The question is one of the tiering calls of 2026. What was predicted is in check_predictions(), written before the first run.
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
TIMES = ("ns", "first_call_ns", "first_page_gap_ns", "gap_ns")  # of np-batch

Cells = dict[tuple[str, int], dict[str, float]]  # by kind of page and batch: TIMES, us_page, gb_s, moved, whole


def compute_cells(observations: list[dict]) -> Cells:
    """Computes the cells from all repeats: medians of TIMES, the time of a page, GB/s of all that moved, the least share moved."""
    groups = defaultdict(list)
    for observation in observations:
        groups[observation["kind"], observation["batch"]].append(observation)
    cells: Cells = {}
    for (kind, batch), repeats in sorted(groups.items()):
        row = {name: median(observation[name] for observation in repeats) for name in TIMES}
        pages = repeats[0]["pages"]  # of PAGE bytes; the same in each repeat
        row["us_page"] = row["ns"] / 1000 / (pages / PAGES_OF_HUGE if kind == "huge" else pages)
        row["gb_s"] = pages * PAGE / row["ns"]
        row["moved"] = min(observation["moved"] / observation["pages"] for observation in repeats)
        row["whole"] = all(observation["whole"] for observation in repeats)
        cells[kind, batch] = row
    return cells


def format_lines(cells: Cells, kind: str) -> list[str]:
    """Formats the lines of one kind of pages, a head and a row for each batch, in ascending order and the module last."""
    head = f"{'pages a call':>12}  {'us/page':>8}  {'GB/s':>6}  {'first call us':>13}  {'first page us':>13}  {'any page us':>11}  moved  whole"
    rows = sorted(((batch, cell) for (kind_of_cell, batch), cell in cells.items() if kind_of_cell == kind),
                  key=lambda row: (row[0] == MODULE, row[0]))
    return [head, *(format_line(batch, cell) for batch, cell in rows)]


def format_line(batch: int, cell: dict[str, float]) -> str:
    """Formats the line of one of Cells, or says that nothing moved."""
    if not cell["moved"]:
        return f"{batch or 'module':>12}  moves none of these by this kernel without splitting them"
    return (f"{batch or 'module':>12}  {cell['us_page']:8.2f}  {cell['gb_s']:6.2f}  {cell['first_call_ns'] / 1000:13.1f}  "
            f"{cell['first_page_gap_ns'] / 1000:13.1f}  {cell['gap_ns'] / 1000:11.1f}  {cell['moved']:5.0%}  "
            f"{'yes' if cell['whole'] else 'NO'}")


def select_calls(cells: Cells, kind: str, key: str) -> dict[int, float]:
    """Selects a cell's value `key` of each batch of move_pages(2), by its pages."""
    return {batch: cell[key] for (kind_of_cell, batch), cell in cells.items() if kind_of_cell == kind and batch != MODULE}


def find_knee(cells: Cells, kind: str) -> int:
    """Finds the smallest batch, in pages, whose time of a page is at most NEAR times the best one's."""
    times = select_calls(cells, kind, "us_page")
    return min(batch for batch, us in times.items() if us <= NEAR * min(times.values()))


def check_predictions(cells: Cells) -> Outcome:
    """Checks predictions, each from what the kernel does, against the medians; returns their outcome.

    A call has costs of its own (a system call, a look-up of the task, a flush of the CPUs' pagevecs); pages of a batch are
    unmapped together, and copied one after the other before the first is mapped again."""
    outcome, small, huge = Outcome(), select_calls(cells, "small", "us_page"), select_calls(cells, "huge", "us_page")
    waits = select_calls(cells, "small", "first_page_gap_ns")
    outcome.between("small pages, the smallest batch within 5 % of the best time", find_knee(cells, "small"), 16, 128, "{:.0f} pages")
    outcome.at_least("small pages, time of a page by 1 beside that by the best batch", small[1] / min(small.values()), 2, "{:.2f} times")
    outcome.at_least("small pages, the first page's wait in batches of 512 beside 32", waits[512] / waits[32], 4, "{:.2f} times")
    outcome.at_most("huge pages, time of a page by 1 beside that by the best batch", huge[1] / min(huge.values()), NEAR, "{:.2f} times")
    moving = [cell for cell in cells.values() if cell["moved"]]  # the module may be unable to move huge pages whole
    outcome.at_least("every page moved and whole", min(cell["moved"] if cell["whole"] else 0 for cell in moving), 1, "{:.0%}")
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

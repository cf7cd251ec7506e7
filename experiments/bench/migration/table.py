# SPDX-License-Identifier: GPL-2.0-only
"""The observations as a table, and its claims. No I/O. An observation is an object that observe.py prints: np-move's, with its variant."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from experiments.bench.migration import observe
from experiments.bounds import Outcome

BUDGET_US = 1000  # max_stall_us where none is given
PAGE = 4096
KINDS = ("private", *observe.KINDS)
MODULE, CALLS, ENGINE, PROCESS = "module", "move_pages(2)", "syscall engine", "migrate_pages(2)"
COLUMNS = ("", "us/page", "spread", "x move_pages", "x migrate_pages", "TLB/page", "unmapped ms",
           "gap ms", "idle gap ms", "target runs", "lost ms/GiB", "moved", "whole")
# In plain QEMU these would be times of the host's.
TIMES = ("us/page", "unmapped ms", "gap ms", "idle gap ms", "target runs", "lost ms/GiB")


@dataclass
class Row:
    """Holds one method in one state of the target, over the repeats. Times are ns."""
    variant: str
    state: str
    page_ns: float      # median
    spread: float       # slowest / fastest - 1
    tlb: float          # interrupts a page, median
    unmapped_ns: float  # of a page, the longest, as the module says
    gap_ns: float       # the longest that a thread of the target saw
    idle_gap_ns: float  # the longest before anything moved
    progress: float     # writes a second while pages move, through those before, median; 0 if the target sleeps
    lost_ns: float      # of the target's work, for a GiB moved, median
    moved: float        # share of the pages
    whole: bool


Rows = dict[tuple[str, str], Row]  # by variant and state


def compute_page_ns(observation: dict) -> float:
    return observation["ns"] / max(observation["moved"], 1)


def compute_progress(observation: dict) -> float:
    """Computes the target's writes while its pages moved / its writes before in as long a time; 0 where the target sleeps."""
    if not observation["baseline_writes"]:
        return 0
    before = observation["baseline_writes"] / observation["baseline_writes_ns"]
    return observation["writes"] / observation["writes_ns"] / before


def compute_lost_ns(observation: dict) -> float:
    """Computes the time in ns, for a GiB moved, that the target would have needed undisturbed for the writes that it did not make."""
    lost = (1 - compute_progress(observation)) * observation["writes_ns"]
    return lost * (1 << 30) / (max(observation["moved"], 1) * PAGE)


def build_row(variant: str, state: str, repeats: list[dict]) -> Row:
    """Builds the row of a method in a state of the target from its repeats; times in ns."""
    times = [compute_page_ns(repeat) for repeat in repeats]
    return Row(variant, state, page_ns=median(times), spread=max(times) / min(times) - 1,
               tlb=median(repeat["shootdowns"] / max(repeat["moved"], 1) for repeat in repeats),
               unmapped_ns=max(repeat["longest_unmapped_us"] for repeat in repeats) * 1000,
               gap_ns=max(repeat["gap_ns"] for repeat in repeats), idle_gap_ns=max(repeat["baseline_gap_ns"] for repeat in repeats),
               progress=median(map(compute_progress, repeats)), lost_ns=median(map(compute_lost_ns, repeats)),
               moved=min(repeat["moved"] / repeat["pages"] for repeat in repeats), whole=all(repeat["whole"] for repeat in repeats))


def build_rows(observations: list[dict], kind: str = "private") -> Rows:
    """Builds a row of each variant and state from all its repeats with memory of a kind, in the order of these names."""
    groups = defaultdict(list)
    for observation in observations:
        if observation["kind"] == kind:
            groups[observation["variant"], observation["state"]].append(observation)
    return {key: build_row(*key, repeats) for key, repeats in sorted(groups.items())}


def compare_times(rows: Rows, state: str, variant: str, other: str) -> float:
    """Returns how many times as fast `variant` is as `other`."""
    return rows[other, state].page_ns / rows[variant, state].page_ns


def format_cells(rows: Rows, row: Row) -> dict[str, str]:
    """Formats a row's cells by column; times of the target are '-' where it sleeps."""
    running = row.state == "running"
    return {
        "": row.variant,
        "us/page": f"{row.page_ns / 1000:.2f}",
        "spread": f"{row.spread:.0%}",
        "x move_pages": f"{compare_times(rows, row.state, row.variant, CALLS):.2f}",
        "x migrate_pages": f"{compare_times(rows, row.state, row.variant, PROCESS):.2f}",
        "TLB/page": f"{row.tlb:.4f}",
        "unmapped ms": f"{row.unmapped_ns / 1e6:.1f}" if running and row.unmapped_ns else "-",
        "gap ms": f"{row.gap_ns / 1e6:.1f}" if running else "-",
        "idle gap ms": f"{row.idle_gap_ns / 1e6:.1f}" if running else "-",
        "target runs": f"{row.progress:.0%}" if running else "-",
        "lost ms/GiB": f"{row.lost_ns / 1e6:.0f}" if running else "-",
        "moved": f"{row.moved:.2%}",
        "whole": "yes" if row.whole else "NO",
    }


def format_lines(rows: Rows, state: str, with_times: bool) -> list[str]:
    """Formats the methods in one state, the fastest first, below a head; with_times: also the columns of TIMES."""
    columns = [name for name in COLUMNS if with_times or name not in TIMES]
    in_state = sorted((row for row in rows.values() if row.state == state), key=lambda row: row.page_ns)
    table = [dict(zip(columns, columns)), *(format_cells(rows, row) for row in in_state)]
    width = {name: max(len(line[name]) for line in table) for name in columns}
    return ["  ".join(line[name].ljust(width[name]) if not name else line[name].rjust(width[name])
                      for name in columns) for line in table]


def compare_calls(rows: Rows, state: str) -> float:
    """Returns how many times as fast the module is as the faster of the two ways to use move_pages(2)."""
    return min(compare_times(rows, state, MODULE, other) for other in (CALLS, ENGINE))


def check_claims(rows: Rows, with_times: bool) -> Outcome:
    """Checks the claims on the module's speed; with_times: also on the longest wait in ms. Returns the outcome."""
    module = rows[MODULE, "running"]
    best = min(compare_calls(rows, "running"), compare_times(rows, "running", MODULE, PROCESS))
    outcome, times = Outcome(), "{:.2f} times as fast"
    outcome.at_least("asleep, module beside move_pages(2)", compare_calls(rows, "asleep"), 2.5, times)
    outcome.at_least("asleep, module beside migrate_pages(2)", compare_times(rows, "asleep", MODULE, PROCESS), 1.8,
                     times)
    outcome.at_least("running, module beside the better of the two", best, 1.2, times)
    if with_times:
        allowed_ns = BUDGET_US * 1000 + module.page_ns + module.idle_gap_ns
        outcome.at_most("running, a thread's longest wait (budget, one page, what it waits without a move)",
                        module.gap_ns / 1e6, allowed_ns / 1e6, "{:.2f} ms")
    outcome.at_least("every page moved and whole", min(row.moved if row.whole else 0 for row in rows.values()), 1, "{:.2%}")
    return outcome


def format_kinds(observations: list[dict]) -> list[str]:
    """Formats GB/s by kind of memory and state of the target, of the module and of each call; in brackets the share that moved where it is not all."""
    kinds = sorted({observation["kind"] for observation in observations}, key=KINDS.index)
    lines = ["".join([f"{'kind, target':20}", *(f"{name:>20}" for name in (MODULE, CALLS, PROCESS))])]
    for kind in kinds:
        rows = build_rows(observations, kind)
        for state in ("asleep", "running"):
            cells = (format_speed(rows[name, state]) for name in (MODULE, CALLS, PROCESS))
            lines.append("".join([f"{f'{kind}, {state}':20}", *(f"{cell:>20}" for cell in cells)]))
    return lines


def format_speed(row: Row) -> str:
    """Formats GB/s of the pages that moved; '-' where none did."""
    if not row.moved:
        return "-"
    return f"{PAGE / row.page_ns:.2f}" + ("" if row.moved == 1 else f" ({row.moved:.0%})")


def check_kinds(observations: list[dict]) -> Outcome:
    """Checks that of memory that is shared every page moves by the module, whole, and how much faster than by move_pages(2)."""
    outcome = Outcome()
    for kind in KINDS[1:]:
        rows = build_rows(observations, kind)
        module = [rows[MODULE, state] for state in ("asleep", "running")]
        outcome.at_least(f"{kind}, asleep, module beside move_pages(2)", compare_times(rows, "asleep", MODULE, CALLS), 1.2, "{:.2f} times as fast")
        outcome.at_least(f"{kind}, every page moved and whole", min(row.moved if row.whole else 0 for row in module), 1, "{:.2%}")
    return outcome

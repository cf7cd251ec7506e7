# SPDX-License-Identifier: GPL-2.0-only
"""make check and make check-quick: what can run side by side, then what judges time alone; boots beside the budget; one count.

    check.py [quick] [PYTEST OPTION..]

SERIES=all also runs what has passed in make check-full for the same inputs.
"""

import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from tests import durations, full
from tests.durations import Cost

TOP = Path(__file__).resolve().parents[1]
BUDGET = TOP / "tests/budget.toml"
QUICK = ["-m", "quick or not (lab or full or long)", "--ignore=experiments/analysis"]


def list_phases(workers: str) -> dict[str, list[str]]:
    shared = ["-n", workers, "--no-loadscope-reorder"]
    return {"side-by-side": [*shared, "-m", "not full and not timed_boot", *list_proved()], "alone": ["-m", "timed_boot and not full"]}


def list_proved() -> list[str]:
    """What is left out, as options of pytest: it has passed for these inputs, by the records of make check-full."""
    if os.environ.get("SERIES") == "all":
        return []
    records, options = full.KEPT.read(), []
    for piece in full.list_proving():
        if piece.state(records.get(piece.name)) == "passed":
            print(f"not run again, it has passed with these inputs ({records[piece.name]['commit']}): {piece.name}", flush=True)
            options += [f"--deselect={test}" for test in piece.tests]
    return options


def run_tests(name: str, options: list[str]) -> tuple[int, list[Cost]]:
    """pytest's status, and its tests; none where it did not come to its end."""
    path = TOP / "build" / f"costs-{name}.jsonl"
    path.unlink(missing_ok=True)
    settings = {"NUMAPLACE_BUILT": "1", "NUMAPLACE_COSTS": str(path)}
    status = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=TOP, env=os.environ | settings, check=False).returncode
    return status, durations.read_costs(path)


def list_without_reason() -> list[str]:
    """Tests that took long in the last run of this tree and do not say why: what pytest refuses at collection."""
    if not durations.TABLE.exists():
        return []
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q"], cwd=TOP, capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if line.endswith("with its reason")]


def list_over_budget(costs: list[Cost], budget: dict[str, int]) -> list[str]:
    """Lists, in words, the parts of which more tests boot a machine than their budget has."""
    return [f"{part}: {boots} tests boot a machine, its budget is {most}: let them share one, mark some full, or raise it in "
            "tests/budget.toml" for part, (_, _, boots, _) in sorted(durations.group_by_part(costs).items())
            if boots > (most := budget.get(part, 0))]


def report_costs(costs: list[Cost]) -> list[str]:
    """Writes the durations; what the check fails for beside its tests."""
    durations.TABLE.write_text(durations.make_table(costs), encoding="utf-8")
    failed = list_over_budget(costs, tomllib.loads(BUDGET.read_text(encoding="utf-8"))["boots"])
    print("\n".join(["", f"durations are in {durations.TABLE.relative_to(TOP)}", *(f"failed: {line}" for line in failed)]))
    return failed


def main(arguments: list[str]) -> int:
    quick, more = arguments[:1] == ["quick"], arguments[arguments[:1] == ["quick"]:]
    workers = os.environ.get("TEST_WORKERS", "2")
    chosen = {"quick": ["-n", workers, "--no-loadscope-reorder", *QUICK]} if quick else list_phases(workers)
    if refused := list_without_reason():
        print("\n".join([*refused, f"0 passed, {len(refused)} failed, 0 skipped"]))
        return 1
    costs, statuses = [], []
    for name, options in chosen.items():
        status, found = run_tests(name, [*options, *more])
        statuses.append(status)
        costs += found
    beside = [] if quick else report_costs(costs)
    counts = Counter(cost.outcome for cost in costs)
    failed = counts["failed"] + len(beside)
    failed += any(statuses) and not failed  # pytest itself failed: not a test
    print(f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

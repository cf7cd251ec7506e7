# SPDX-License-Identifier: GPL-2.0-only
"""make check: what can run side by side, then what times itself alone; the slowest tests; one count of both."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parents[1]
SLOWEST = 10


def phases(workers: str) -> dict[str, list[str]]:
    return {"side-by-side": ["-n", workers, "--no-loadscope-reorder", "-m", "not timed_boot"],
            "alone": ["-m", "timed_boot"]}


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "skipped"


def run(name: str, options: list[str], more: list[str]) -> tuple[int, list[ElementTree.Element]]:
    """pytest's status, and its test cases; none where it did not come to its end."""
    report = TOP / "build" / f"check-{name}.xml"
    report.unlink(missing_ok=True)
    status = subprocess.run([sys.executable, "-m", "pytest", f"--junitxml={report}", *options, *more], cwd=TOP,
                            env=os.environ | {"NUMAPLACE_BUILT": "1"}, check=False).returncode
    return status, list(ElementTree.parse(report).iter("testcase")) if report.exists() else []


def main(arguments: list[str]) -> int:
    cases, statuses = [], []
    for name, options in phases(os.environ.get("TEST_WORKERS", "2")).items():
        status, found = run(name, options, arguments)
        statuses.append(status)
        cases += found
    print(f"\nthe {SLOWEST} slowest:")
    for case in sorted(cases, key=lambda case: -float(case.get("time")))[:SLOWEST]:
        print(f"{float(case.get('time')):8.1f} s  {case.get('classname')} {case.get('name')}")
    counts = Counter(map(outcome, cases))
    broken = any(statuses) and not counts["failed"]  # pytest itself failed: not a test
    print(f"{counts['passed']} passed, {counts['failed'] + broken} failed, {counts['skipped']} skipped")
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

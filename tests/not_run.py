# SPDX-License-Identifier: GPL-2.0-only
"""Counts as not run, in the runner's own last line, the tests that other targets than make check run."""

from collections import Counter

__all__ = ["pytest_report_teststatus", "pytest_terminal_summary"]
NOT_RUN = "not run"
ELSEWHERE = ("make check-debug", "make check-fleet", "make check-torture")  # in the reason of such a skip


def find_reason(report) -> str:
    return str(report.longrepr[2]).removeprefix("Skipped: ")


def pytest_report_teststatus(report):
    if report.skipped and isinstance(report.longrepr, tuple) and any(target in find_reason(report) for target in ELSEWHERE):
        return NOT_RUN, "n", "NOT RUN"
    return None


def pytest_terminal_summary(terminalreporter):
    counted = Counter(find_reason(report) for report in terminalreporter.getreports(NOT_RUN))
    for why, times in sorted(counted.items()):
        terminalreporter.write_line(f"not run: {times}, {why}")

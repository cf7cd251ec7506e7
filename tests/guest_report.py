# SPDX-License-Identifier: GPL-2.0-only
"""pytest plugin for the run inside the lab: one JSON line as each test starts and as it ends.

Written at once, so that after a crash of the machine the host knows which test was running.
"""

import json
import os
import signal
import time

TEST_LIMIT = int(os.environ.get("NUMAPLACE_TEST_LIMIT", 300))  # seconds
started = time.monotonic()


# Kept open: inside the lab, each file that is opened asks the host several times.
events = open(os.environ.get("NUMAPLACE_GUEST_REPORT", os.devnull), "a", buffering=1, encoding="utf-8")


def write_event(**record):
    events.write(json.dumps(record) + "\n")


def report_too_long(_number, _frame):
    raise TimeoutError(f"this test took longer than {TEST_LIMIT} s")


def pytest_collection_modifyitems(items):
    """Those that NUMAPLACE_TESTS lists: pytest looks up each that is named in its arguments on its own, for minutes."""
    if path := os.environ.get("NUMAPLACE_TESTS"):
        with open(path, encoding="utf-8") as listed:
            chosen = set(listed.read().splitlines())
        items[:] = [item for item in items if item.nodeid in chosen]


def pytest_configure():
    signal.signal(signal.SIGALRM, report_too_long)


def pytest_runtest_logstart(nodeid):
    global started
    started = time.monotonic()
    write_event(event="start", test=nodeid)
    signal.alarm(TEST_LIMIT)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        write_event(event=report.when, test=report.nodeid, outcome=report.outcome, seconds=report.duration,
                    text=str(report.longrepr[2] if report.skipped else report.longreprtext),
                    output=report.capstdout + report.capstderr)


def pytest_runtest_logfinish(nodeid):
    signal.alarm(0)
    write_event(event="finish", test=nodeid, seconds=time.monotonic() - started)

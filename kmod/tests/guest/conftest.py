# SPDX-License-Identifier: GPL-2.0-only
"""Around every test of the module: NUMA balancing off, the module loaded, nothing left, no fault logged."""

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import driver  # noqa: E402
import faulty  # noqa: E402
from stuck import Stuck  # noqa: E402

KHUGEPAGED = Path("/sys/kernel/mm/transparent_hugepage/khugepaged")
KMEMLEAK_AGE = 6  # s; younger objects are not reported


@pytest.fixture(scope="session", autouse=True)
def balancing_off():
    knob = Path("/proc/sys/kernel/numa_balancing")
    before = knob.read_text()
    knob.write_text("0")
    yield
    knob.write_text(before)


@pytest.fixture(scope="session", autouse=True)
def khugepaged_off():
    """It makes a huge page of what a job has split, on the node that most of it is on. Writing wakes it once."""
    with faulty.set_to({KHUGEPAGED / "scan_sleep_millisecs": "3600000"}):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_leaks():
    """On a kernel with kmemleak: no object that was made meanwhile has been lost at the end, whichever code made it:
    a task or a memory policy that the module holds for ever was made by the kernel."""
    if not driver.KMEMLEAK.exists():
        yield
        return
    for command in ("scan=off", "scan", "clear"):
        driver.KMEMLEAK.write_text(command)
    yield
    time.sleep(KMEMLEAK_AGE)
    for _ in range(2):  # an object that only a register refers to at the first scan is found at the second
        driver.KMEMLEAK.write_text("scan")
    found = driver.KMEMLEAK.read_text()
    assert not found, found


@pytest.fixture(autouse=True)
def clean_kernel():
    log = driver.KernelLog()
    if not driver.is_loaded():
        assert driver.load() == 0
    yield
    faults = log.faults()
    assert not faults, "\n".join(faults)


@pytest.fixture
def target():
    """Starts targets and ends them; none of them may stay under control."""
    started = []

    def start(*args, **kwargs) -> driver.Target:
        started.append(driver.Target(*args, **kwargs))
        return started[-1]

    yield start
    for one in started:
        one.stop()
    if driver.is_loaded():
        pids = {str(one.pid) for one in started} | {"0"}  # a task that is gone has no number
        assert driver.eventually(lambda: not any(p["pid"] in pids for p in driver.records("placements")))


@pytest.fixture
def stuck(tmp_path, request):
    one = Stuck(tmp_path, getattr(request, "param", 0))
    yield one
    one.end()


@pytest.fixture
def unprivileged():
    """Runs a function in a child of user nobody; returns its result, an int."""
    def run(act) -> int:
        child = os.fork()
        if child == 0:
            status = 255
            try:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                status = act()
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return run


@pytest.fixture
def fault_injection():
    if not Path("/proc/self/fail-nth").exists():
        pytest.skip("this kernel has no fault injection: make check-debug")
    with faulty.set_to(faulty.KNOBS):
        yield


@pytest.fixture
def faults():
    one = faulty.Faults()
    yield one
    one.process.kill()
    one.process.communicate()

# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests of memory, of the source of its series: each ends as it does without the module, while
the module is loaded, and while it moves the pages of another process and, but of a few, those of the test itself."""

import re
import subprocess
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import driver
import pytest
from faulty import set_to

PROGRAMS = driver.TOP / "build" / "tests" / "selftests"
LIMIT = 1200  # s
# One outcome is a line of the Test Anything Protocol.
OUTCOME = re.compile(r"^(not ok|ok) \d+(?:.*# (SKIP|XFAIL))?", re.MULTILINE)
HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")
TESTS = ["cow", "gup_longterm", "ksm_functional_tests", "madv_populate", "map_fixed_noreplace", "map_populate", "mdwe_test", "migration",
         "mkdirty", "mlock2-tests", "mrelease_test", "mremap_dontunmap", "mremap_test", "mseal_test", "pagemap_ioctl", "soft-dirty",
         "thuge-gen"]
SLOW = {"cow", "ksm_functional_tests"}  # on a kernel that checks itself
# They look at the state of a page twice: moved by migrate_pages(2) cow ends with "read and ioctl return unmatched results", too.
STAY = {"cow", "pagemap_ioctl"}


@contextmanager
def moved(pid: int):
    """Moves its pages there and back until it ends."""
    moving = driver.Moving(pid, "shared=1 split=1")
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # it ended with the process
            moving.process.send_signal(2)
        moving.process.communicate(timeout=LIMIT)


def programs() -> Path:
    """The folder of those of this kernel's source; a stock kernel's are those of the debug kernel of its series."""
    series = Path(driver.module()).parent.name
    return PROGRAMS / (series if "-" in series else f"debug-{series}")


@dataclass(frozen=True)
class End:
    """How a test ended: its status, and how often each outcome came. What it said is for who reads of a difference."""
    status: int
    outcomes: Counter[tuple[str, ...]]
    failures: list[str] = field(compare=False)


def run_test(name: str, is_moved: bool = False) -> End:
    with ExitStack() as stack:
        process = subprocess.Popen([f"./{name}"], cwd=programs(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace")
        if is_moved:
            stack.enter_context(moved(process.pid))
        said, _ = process.communicate(timeout=LIMIT)
    return End(process.returncode, Counter(OUTCOME.findall(said)), [line for line in said.splitlines() if line.startswith("not ok")])


@pytest.mark.full("the kernel's own tests take minutes")
@pytest.mark.parametrize("name", TESTS)
def test_ends_as_without_the_module(name, target):
    built = programs() / "built"
    if not built.exists():
        pytest.skip("this kernel's own tests are not built: make check-debug")
    if name not in built.read_text().split():
        pytest.skip("this kernel has no such test of its own")
    assert (programs() / name).exists(), f"{name} was not built, see {built}.log"
    if driver.KMEMLEAK.exists() and name in SLOW:
        pytest.skip("takes minutes on a kernel that checks itself, and runs on the others")
    with set_to({HUGE_PAGES: "64"}):
        assert driver.unload() == 0
        without = run_test(name)
        assert driver.load() == 0
        assert run_test(name) == without
        other = target("anon", 512)
        before = driver.stats()["moved"]
        with moved(other.pid):
            assert run_test(name, is_moved=name not in STAY) == without
        assert driver.stats()["moved"] > before
        assert other.is_whole()

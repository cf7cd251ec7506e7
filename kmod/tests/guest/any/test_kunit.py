# SPDX-License-Identifier: GPL-2.0-only
"""The suites of kmod/tests/kunit, run by the kernel's KUnit: each of their cases is a test here."""

import re
import subprocess
from pathlib import Path

import driver
import pytest

SOURCES = driver.TOP / "kmod" / "tests" / "kunit"
RESULTS = Path("/sys/kernel/debug/kunit")
SUITES = {path.stem.removesuffix("_test"): re.findall(r"\bKUNIT_CASE\((\w+)\)", path.read_text())
          for path in sorted(SOURCES.glob("*_test.c"))}


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """The output of each suite, in the Test Anything Protocol."""
    if not RESULTS.exists():
        pytest.skip("this kernel has no KUnit: make check-debug")
    module = Path(driver.module()).with_name("numaplace_kunit.ko")
    subprocess.run(["insmod", module], check=True)
    try:
        return {suite: (RESULTS / f"numaplace_{suite}" / "results").read_text() for suite in SUITES}
    finally:
        subprocess.run(["rmmod", "numaplace_kunit"], check=True)


@pytest.mark.parametrize("suite, case", [(suite, case) for suite, cases in SUITES.items() for case in cases])
def test_kunit(results, suite, case):
    assert re.search(rf"^ *ok \d+ -? ?{case}$", results[suite], re.MULTILINE), results[suite]


@pytest.mark.parametrize("suite", SUITES)
def test_kunit_suite_ran_every_case(results, suite):
    """None that is left out of the table, none that was skipped."""
    functions = re.findall(r"^static void (\w+)\(struct kunit \*test\)", (SOURCES / f"{suite}_test.c").read_text(),
                           re.MULTILINE)
    assert sorted(SUITES[suite]) == sorted(functions)
    assert len(re.findall(r"^ +ok \d", results[suite], re.MULTILINE)) == len(functions), results[suite]
    assert "not ok" not in results[suite] and "SKIP" not in results[suite], results[suite]

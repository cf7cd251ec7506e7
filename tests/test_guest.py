# SPDX-License-Identifier: GPL-2.0-only
"""How the tests inside the lab are chosen and their faults found."""

import pytest

from experiments.lab import console
from tests import guest

KNOWN = ["a/guest/test_x.py::one", "a/guest/test_x.py::two", "a/guest/test_y.py::one[1::2]",
         "ab/guest/test_x.py::one"]


@pytest.mark.parametrize("selected, expected", [
    (KNOWN, ["a/guest", "ab/guest"]),
    (KNOWN[:3], ["a/guest"]),
    (KNOWN[:2], ["a/guest/test_x.py"]),
    (KNOWN[1:], ["a/guest/test_x.py::two", "a/guest/test_y.py", "ab/guest"]),
    ([], []),
])
def test_guest_tests_go_by_the_largest_whole(selected, expected):
    assert guest.shortest(selected, KNOWN) == expected


def test_guest_reports_a_fault_with_what_follows():
    lines = ["quiet"] * 5 + ["WARNING: CPU: 1"] + [f"line {n}" for n in range(100)] + ["BUG: KASAN"]
    first, second = console.reports(lines)
    assert first == lines[5:5 + console.REPORT_LINES]
    assert second == ["BUG: KASAN"]

# SPDX-License-Identifier: GPL-2.0-only
"""The table of bench-batches, from made-up observations."""

import subprocess

import pytest

from experiments.bench.migration import batches
from experiments.bounds import FAILS, HOLDS
from experiments.paths import HERE

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def build_observation(kind: str, batch: int, call_us: float, page_us: float, pages: int = 4096, **more) -> dict:
    """Builds an observation where a call has a cost of its own, and the first page waits for its batch."""
    units = pages if kind == "small" else pages // 512
    calls = -(-units // (batch or units))
    ns = 1000 * (calls * call_us + units * page_us)
    return {"kind": kind, "batch": batch, "pages": pages, "moved": pages, "ns": ns, "first_call_ns": 1000 * (call_us + page_us),
            "first_page_gap_ns": 1000 * (call_us + (batch or units) * page_us), "gap_ns": ns, "whole": True} | more


def build_cells(call_us: float = 10, **more) -> batches.Cells:
    small = [build_observation("small", batch, call_us, 2, **more) for batch in (*SIZES, batches.MODULE)]
    return batches.compute_cells(small + [build_observation("huge", batch, 20, 500, 32768) for batch in SIZES[:6]])


def test_a_row_is_of_all_pages_and_of_huge_ones_as_one() -> None:
    found = build_cells()
    assert found["small", 1]["us_page"] == pytest.approx(12) and found["small", 512]["us_page"] == pytest.approx(2 + 10 / 512)
    assert found["huge", 1]["us_page"] == pytest.approx(520)
    assert found["small", 1]["gb_s"] == pytest.approx(4096 / 12e3)


def test_the_knee_is_the_smallest_batch_that_is_near_the_best() -> None:
    assert batches.find_knee(build_cells(), "small") == 128 and batches.find_knee(build_cells(call_us=2), "small") == 32


def test_what_was_predicted_can_fail() -> None:
    assert {check.verdict for check in batches.check_predictions(build_cells()).checks} == {HOLDS}
    assert [check.verdict for check in batches.check_predictions(build_cells(call_us=0)).checks][:2] == [FAILS, FAILS]
    assert batches.check_predictions(build_cells(moved=4095)).checks[-1].verdict == FAILS
    assert batches.check_predictions(build_cells(whole=False)).checks[-1].verdict == FAILS


def test_a_line_for_each_batch_and_the_module_last() -> None:
    lines = batches.format_lines(build_cells(), "small")
    assert [line.split()[0] for line in lines[1:]] == [*map(str, SIZES), "module"]
    assert batches.format_line(0, {"moved": 0}).endswith("module  moves none of these by this kernel without splitting them")


@pytest.mark.parametrize("words", ["", "1 0 0 513 small", "1 0 0 8 large", "1 0 0 8"])
def test_wrong_use_is_one_line(words: str) -> None:
    done = subprocess.run([HERE.programs / "np-batch", *words.split()], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_one_node_moves_nothing_and_is_whole() -> None:
    done = subprocess.run([HERE.programs / "np-batch", "1", "0", "0", "64", "small"], capture_output=True, text=True, check=True)
    assert '"pages": 256, "moved": 256' in done.stdout and '"whole": true' in done.stdout

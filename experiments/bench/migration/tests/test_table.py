# SPDX-License-Identifier: GPL-2.0-only
"""The table of bench-migrate, from made-up observations."""

import pytest

from experiments.bench.migration import table
from experiments.bounds import HOLDS


def build_observation(variant: str, state: str, page_us: float, **more) -> dict:
    one = {"variant": variant, "state": state, "kind": "private", "pages": 1000, "moved": 1000, "shootdowns": 0,
           "longest_unmapped_us": 0, "gap_ns": 0, "baseline_gap_ns": 0, "whole": True,
           "writes": 0, "writes_ns": 1000, "baseline_writes": 0, "baseline_writes_ns": 1000}
    one.update(more)
    return {**one, "ns": page_us * 1000 * (one["moved"] or one["pages"])}


def build_observations(module: float = 1, gap_ms: float = 2, **module_more) -> list[dict]:
    found = []
    for state in ("asleep", "running"):
        for repeat in (0.9, 1, 1.1):
            found += [build_observation("module", state, module * repeat, gap_ns=gap_ms * 1e6, baseline_gap_ns=1e6,
                                        longest_unmapped_us=9000, **module_more),
                      build_observation("move_pages(2)", state, 3.0), build_observation("syscall engine", state, 2.8),
                      build_observation("migrate_pages(2)", state, 2.0)]
    return found


def check_observations(*args, **kwargs) -> list[bool]:
    return [check.verdict == HOLDS for check in table.check_claims(table.build_rows(build_observations(*args, **kwargs)), True).checks]


def test_medians_and_spread():
    row = table.build_rows(build_observations())["module", "asleep"]
    assert row.page_ns == pytest.approx(1000)
    assert row.spread == pytest.approx(1.1 / 0.9 - 1)


def test_time_is_of_the_pages_that_moved():
    row = table.build_rows([build_observation("module", "asleep", 1, moved=500, pages=1000)])["module", "asleep"]
    assert row.page_ns == 1000 and row.moved == 0.5


def test_what_the_target_loses():
    """A GiB in a second, in which it writes a quarter of what it wrote in a second before: three quarters of one."""
    pages = 1 << 18
    row = table.build_rows([build_observation("module", "running", 1, moved=pages, pages=pages, writes=250, writes_ns=1e9,
                                              baseline_writes=100, baseline_writes_ns=1e8)])["module", "running"]
    assert row.progress == pytest.approx(0.25)
    assert row.lost_ns == pytest.approx(0.75e9)


def test_the_module_is_judged_against_the_faster_of_the_calls():
    found = table.build_rows(build_observations(module=1))
    assert [check.value for check in table.check_claims(found, True).checks][:3] == pytest.approx([2.8, 2.0, 2.0])
    assert check_observations(module=1) == [True] * 5
    assert check_observations(module=1.115)[:2] == [True, False]
    assert check_observations(module=1.15)[:3] == [False, False, True]
    assert check_observations(module=1.7)[2] is False


def test_a_wait_may_take_the_budget_a_page_and_what_it_takes_anyhow():
    assert check_observations(gap_ms=2)[3] is True
    assert check_observations(gap_ms=2.01)[3] is False


def test_a_page_lost_or_left_fails():
    assert check_observations(whole=False)[4] is False
    assert check_observations(moved=999)[4] is False


def test_lines_of_plain_qemu_have_no_times():
    found = table.build_rows(build_observations())
    head, *body = table.format_lines(found, "running", with_times=False)
    assert "us/page" not in head and "gap ms" not in head and "x move_pages" in head
    assert body[0].startswith("module")
    with_times = table.format_lines(found, "running", with_times=True)
    assert "1.00" in with_times[1] and "2.0" in with_times[1]
    assert len({len(line) for line in with_times}) == 1


def build_kinds(module_us: float = 2, **module_more) -> list[dict]:
    found = build_observations()
    for kind in table.KINDS[1:]:
        for state in ("asleep", "running"):
            found += [build_observation("module", state, module_us, kind=kind, **module_more), build_observation("move_pages(2)", state, 3, kind=kind),
                      build_observation("migrate_pages(2)", state, 3, kind=kind, moved=0)]
    return found


def test_kinds_have_a_line_for_each_state():
    head, *lines = table.format_kinds(build_kinds())
    assert head.split() == ["kind,", "target", "module", "move_pages(2)", "migrate_pages(2)"] and len(lines) == 2 * len(table.KINDS)
    assert lines[-1].split() == ["file,", "running", "2.05", "1.37", "-"]
    assert table.format_kinds(build_kinds(moved=500))[-1].split()[2:4] == ["2.05", "(50%)"]


def test_kinds_are_to_be_faster_and_whole():
    def check(**more):
        return [check.verdict == HOLDS for check in table.check_kinds(build_kinds(**more)).checks]

    assert check() == [True] * 4
    assert check(module_us=2.6) == [False, True] * 2
    assert check(whole=False) == check(moved=999) == [True, False] * 2

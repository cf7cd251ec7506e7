# SPDX-License-Identifier: GPL-2.0-only
"""The share of a CPU that ticks take, by clocks whose gaps are known."""

import itertools
import time

import pytest

from experiments.host import ticks


@pytest.mark.parametrize(("tick_ns", "share"), [(100, 0.0), (25_100, 0.2)])
def test_long_gaps_are_not_the_loop_s(monkeypatch: pytest.MonkeyPatch, tick_ns: int, share: float) -> None:
    """Of a thousand looks of 100 ns one is as long as a tick."""
    gaps = itertools.cycle([tick_ns, *[100] * 999])
    clock = itertools.accumulate(gaps, initial=0)
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(clock))
    assert ticks.measure_tick_share(0.1) == pytest.approx(share, abs=0.001)


def test_a_busy_host_leaves_a_share() -> None:
    assert 0 <= ticks.measure_tick_share(0.05) < 1

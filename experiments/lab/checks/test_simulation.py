# SPDX-License-Identifier: GPL-2.0-only
"""The cheap part of the simulation's checks, in one boot; bench_simulation.py has the rest."""

import pytest

from experiments.lab.checks import lab_run

MACHINE = "demo-2s"
pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def measured() -> list[dict]:
    return lab_run.measure(MACHINE, "latency", "sleep", "counters", "unload")


def of(measured: list[dict], what: str) -> list[dict]:
    found = [line for line in measured if line["measure"] == what]
    assert found, f"nothing was measured of '{what}'"
    return found


def test_a_pointer_chase_reads_the_machine_files_latency(measured):
    for line in of(measured, "latency"):
        expected = lab_run.latency_ns(MACHINE, line["node"], line["memory"])
        assert line["ns"] == pytest.approx(expected, rel=0.05), line


def test_sleeping_takes_its_time(measured):
    for line in of(measured, "sleep"):
        # A process starts and ends meanwhile, and ticks are 4 ms apart.
        assert line["asked"] <= line["took"] < line["asked"] * 1.05 + 0.05, line


def test_counters_tell_local_from_remote(measured):
    for line in of(measured, "counters"):
        delta = line["delta"]
        near, far = "local_dram", "remote_dram"
        if line["node"] != line["memory"]:
            near, far = far, near
        assert delta[near] > 500000 and delta[far] < 0.05 * delta[near], delta
        assert delta["llc_misses"] == delta["local_dram"] + delta["remote_dram"] + delta["remote_cache"]
        assert delta["llc_references"] >= delta["llc_misses"]
        assert delta[f"dram_node{line['memory']}"] == delta[near]
        assert delta["sim_ns"] > delta["stall_ns"] > 0.5 * delta["sim_ns"]
        assert delta["cycles"] == pytest.approx(delta["sim_ns"] * 2.4, rel=0.01)


def test_the_module_stays_while_its_clock_is_used_and_then_leaves_nothing(measured):
    line = of(measured, "unload")[0]
    assert line["clock"] == "numaplace_lab" and line["refused"]
    assert line["clock_after"] == "tsc" and not line["counters_left"]
    assert line["went_on"] >= 0.1 and line["clock_again"] == "numaplace_lab"

# SPDX-License-Identifier: GPL-2.0-only
"""The cheap part of the simulation's checks, in one boot; `make bench-lab` has the rest."""

import tomllib
from statistics import median

import pytest

from experiments.bench.lab import inside, present
from experiments.lab import machine, simulated
from experiments.model_fit.__main__ import load_model
from experiments.model_fit.native import TRIAD
from tests import building

MACHINE = "demo-2s"
LONGER = pytest.mark.full("minutes of simulated time in a second boot")
pytestmark = [pytest.mark.lab, pytest.mark.timed_boot, pytest.mark.long("a boot in simulated time")]


def run_measures(*what: str) -> list[dict]:
    """Runs the named measures of measures.py in the machine; returns their records."""
    building.build("lab-simulation", "build/numaplace", *(f"build/tests/{name}" for name in ("answers", "rounds", "timers")))
    return inside.run_program(MACHINE, "python3", "-m", "experiments.bench.lab.tests.measures", *what)


@pytest.fixture(scope="module")
def measured() -> list[dict]:
    return run_measures("latency", "sleep", "timers", "answers", "contention", "counters", "rounds", "torn",
                        "tool-counters", "unload")


@pytest.fixture(scope="module")
def longer() -> list[dict]:
    return run_measures("tool-penalty", "tool-daemon", "tool-verify", "tool-trial", "present")


def select_rows(measured: list[dict], what: str) -> list[dict]:
    found = [line for line in measured if line["measure"] == what]
    assert found, f"nothing was measured of '{what}'"
    return found


def test_a_pointer_chase_reads_the_machine_files_latency(measured):
    for line in select_rows(measured, "latency"):
        expected = inside.predict_latency_ns(MACHINE, line["node"], line["memory"])
        assert line["ns"] == pytest.approx(expected, rel=0.05), line


def test_running_triads_get_what_the_model_grants(measured):
    _, model = load_model(MACHINE)
    rounds: dict[tuple, list[list[float]]] = {}
    for line in select_rows(measured, "contention"):
        rounds.setdefault(tuple(map(tuple, line["threads"])), []).append(line["mb_per_s"])
    for threads, mb_per_s in rounds.items():
        local = sum(cpu < 2 for cpu, _ in threads)
        remote = len(threads) - local
        flows = [(0, 0, local)] * bool(local) + [(1, 0, remote)] * bool(remote)
        granted = [value / 1e6 for value in model.compute_bandwidths(flows, TRIAD)]
        got = [median(sum(one[part]) for one in mb_per_s)
               for part in (slice(0, local), slice(local, None)) if mb_per_s[0][part]]
        assert got == pytest.approx(granted, rel=0.08), (threads, mb_per_s)


def test_sleeping_takes_its_time(measured):
    for line in select_rows(measured, "sleep"):
        # A process starts and ends meanwhile, which waits for the host's files: a device's time is the host's.
        assert line["asked"] <= min(line["took"]), line
        assert median(line["took"]) < line["asked"] + 0.05, line


def select_timers(measured: list[dict], what: str) -> list[dict]:
    return [line for line in select_rows(measured, "timers") if line["what"] == what]


@pytest.mark.parametrize("what", ["sleep", "timerfd"])
def test_timers_of_100_us_are_on_time(measured, what):
    lines = select_timers(measured, what)
    assert [line["busy"] for line in lines] == [0, 1]
    for line in lines:
        assert 0 <= line["mean"] <= 5, line


def test_a_busy_cpu_is_used_all_the_time(measured):
    lines = select_timers(measured, "busy")
    assert [line["threads"] for line in lines] == [1, 2, 3, 4]
    for line in lines:
        assert line["used"] == pytest.approx(line["real"], rel=0.01), line


def test_a_busy_cpu_has_all_its_ticks(measured):
    lines = select_timers(measured, "ticks")
    assert [(line["threads"], line["cpu"]) for line in lines] == [(n, cpu) for n in range(1, 5) for cpu in range(n)]
    for line in lines:
        expected = line["real"] * simulated.JIFFIES_PER_S
        assert abs(line["count"] - expected) <= 0.01 * expected + 1, line  # the first and the last come at any time


def test_an_answer_takes_as_long_each_time(measured):
    for line in select_rows(measured, "answers"):
        # Of clocks that run away while CPUs spin: twice as much, and 17 to 25 us. What an answer takes has two values: the
        # other CPU has halted, and is woken, or it has not yet. Each line that the two kernels share comes from the other node.
        within = line["cpu"] < 2
        assert line["p50"] < (12 if within else 17) and line["p90"] < 1.6 * line["p10"], line


def test_counters_tell_local_from_remote(measured):
    for line in select_rows(measured, "counters"):
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


def test_each_round_of_a_repeated_instruction_is_one(measured):
    (line,) = select_rows(measured, "rounds")
    # The start and the end of the program and of taskset come on top, and two or three ticks.
    assert line["made"] <= line["instructions"] < 1.25 * line["made"], line
    mhz, per_cycle = machine.find(MACHINE).core_speed
    ns = 1000 / mhz / per_cycle
    assert line["sim_ns"] - line["stall_ns"] == pytest.approx(line["instructions"] * ns, rel=0.05), line


def test_every_reading_of_the_counters_is_of_one_moment(measured):
    (line,) = select_rows(measured, "torn")
    assert line["changed"] and not line["bad"], line


def test_the_tool_tells_a_tasks_local_from_its_remote_memory(measured):
    for line in select_rows(measured, "tool-counters"):
        task = {key: column["value"] for key, column in line["task"].items() if isinstance(column, dict)}
        assert line["task"]["local_dram"]["source"] == "lab", line
        near, far = ("local_dram", "remote_dram") if line["node"] == line["memory"] else ("remote_dram", "local_dram")
        assert task[near] > 100000 and task[far] < 0.1 * task[near], line
        assert task["ipc"] == pytest.approx(task["instructions"] / task["cycles"])
        assert task["mpki"] == pytest.approx(task["llc_misses"] / task["instructions"] * 1000)


@LONGER
def test_both_ways_to_measure_find_the_penalty_of_a_chase(longer):
    remote = inside.predict_latency_ns(MACHINE, 0, 1) / inside.predict_latency_ns(MACHINE, 0, 0)
    (runs,), (flip,) = select_rows(longer, "penalty-runs"), select_rows(longer, "penalty-flip")
    assert runs["source"] == "two-runs" and flip["source"] == "flip"
    # A run also sets its memory up, by stores that overlap; a flip sees the chase alone.
    assert 1.15 < runs["penalty"] < remote * 1.05, runs
    assert remote * 0.85 < flip["penalty"] < remote * 1.25, flip
    assert flip["home"] == 1 and flip["away"] == 0 and flip["cpus"] == [2]
    for line, said in ((flip, "calibrated: flip away from node 1"), (runs, "demo-2s (lab-timed), counted by lab")):
        saved = tomllib.loads(line["file"])["penalty"]["task"]
        assert any(task["name"] == "chase" and task["exe"].endswith("/chase") and task["method"] == line["source"] and
                   said in task["penalty"]["source"] for task in saved), saved


@LONGER
def test_what_was_not_measured_to_its_end_changes_no_file(longer):
    (line,) = select_rows(longer, "penalty-not-saved")
    assert line["status"] == 1 and '"false" ended with status 1' in line["error"], line
    assert "two-runs" in line["measured"] and line["same"] and not line["left"], line


@LONGER
def test_a_flip_that_is_stopped_leaves_the_task_its_cpus(longer):
    interrupted, killed = select_rows(longer, "penalty-killed")
    assert interrupted["same"] and killed["same"], "nothing was saved"
    assert interrupted["status"] == 1 and interrupted["left"] == [2] == interrupted["restored"]
    assert killed["status"] == -9 and killed["left"] != [2] and killed["restored"] == [2]


@LONGER
def test_ps_knows_what_was_measured(longer):
    (line,) = select_rows(longer, "penalty-ps")
    task = line["task"]
    assert task["penalty"]["source"] == "two-runs" and task["penalty"]["value"] > 1.15
    assert task["ipc"]["source"] == task["mpki"]["source"] == "counters" and task["mpki"]["value"] > 50
    assert task["node"] == 1 and task["cores"] == 1 and task["local_access"]["value"] > 0.9


@LONGER
def test_the_daemon_counts_what_it_plans_for(longer):
    (line,) = select_rows(longer, "tool-daemon")
    away, home = line["seen"]
    assert (away["sampled_tasks"], away["placed_tasks"], home["placed_tasks"]) == (1, 0, 1), line
    assert home["sampled_tasks"] == 0, "what was counted away from its memory does not hold at home"
    assert away["sampling_rounds_total"] == 1, "its budget makes it wait for hundreds of these short intervals"
    assert 0 < home["sampling_cpu_seconds_total"] < home["cpu_seconds_total"]
    assert "node 1 -> 0" in line["log"] and "nothing is counted" not in line["log"]
    assert line["cpus"] == [2], "given back"


@LONGER
def test_a_plan_that_makes_tasks_slower_is_taken_back(longer):
    wrong, right, phases = select_rows(longer, "verify")
    assert (wrong["status"], wrong["undone"], wrong["verified"]["taken_back"]) == (1, True, True), wrong
    assert wrong["verified"]["speed"] < 0.8 and wrong["pages"]["0"] == 0, wrong
    for line in (right, phases):
        assert (line["status"], line["undone"], line["verified"]["taken_back"]) == (0, False, False), line
        assert line["pages"]["0"] == pytest.approx(line["pages"]["1"], rel=0.01), line
    assert right["verified"]["speed"] > 1.1 and phases["verified"]["noise"] > 3 * right["verified"]["noise"], phases


@LONGER
def test_a_daemons_move_on_trial_is_taken_back_and_not_repeated(longer):
    (line,) = select_rows(longer, "trial")
    assert line["seen"] == [True, True], line
    assert dict(line["trials"]) == {"kept": "0", "taken_back": "1"}, line
    assert line["log"].count("taken back: 1 tasks run at 0.") == 1 and line["pages"]["0"] == 0, line


@LONGER
def test_a_plan_predicts_what_tasks_get_now(longer):
    lines = select_rows(longer, "present")
    assert {line["kind"] for line in lines} == {"stream", "chase"}
    for line in lines:
        assert abs(present.compute_errors(line)[0]) < present.ALLOWED, line


def test_the_module_can_leave_and_come_back_at_any_time(measured):
    (line,) = select_rows(measured, "unload")
    assert line["loaded"] and not line["left"], line
    assert line["cpus"] == machine.find(MACHINE).cpus and line["counts_on"], line

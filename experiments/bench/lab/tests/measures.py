# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the simulation measure of the machine that this runs on, as measure.py; one JSON object a line.

    measures.py latency|sleep|timers|answers|contention|counters|rounds|torn|tool-counters|tool-penalty|
                tool-daemon|tool-verify|tool-trial|present|unload ..

Runs inside a lab machine of two nodes, in the top folder; standard library only.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.bench.lab.measure import (
    CHASE_MIB,
    CHASE_SECONDS,
    COUNTERS,
    PROGRAMS,
    TOOL,
    TRIAD_SECONDS,
    TRIES,
    list_cpus,
    measure_latency,
    print_record,
    read_all_counters,
    read_counters,
    run_command,
    run_tool,
    run_undisturbed,
)

TEST_PROGRAMS = Path("build/tests")
CONTENTION_SECONDS, CONTENTION_ROUNDS = 0.01, 5
SLEEPS = 5
TIMERS, BUSY_SECONDS = "1000", "0.5"
TORN_READINGS = 1000
SCHEDULER = Path("/sys/kernel/debug/sched/features")
ANSWERS = 3000
REPEATED_TIMES = "4000"
PAGES_OF_MIB = 256


def measure_sleep():
    """Prints the seconds that each of SLEEPS runs of sleep takes, for 0.1 and for 1 s."""
    for seconds in (0.1, 1):
        durations = []
        for _ in range(SLEEPS):
            start = time.monotonic()
            run_command("sleep", str(seconds))
            durations.append(time.monotonic() - start)
        print_record(measure="sleep", asked=seconds, took=durations)


TIMER_FIELDS = {"sleep": ("busy", "mean", "most"), "timerfd": ("busy", "mean", "most"),
                "busy": ("threads", "used", "real"), "ticks": ("threads", "cpu", "count", "real")}


def measure_timers():
    """Prints how late timers are, in us, and the processors' time and ticks of busy CPUs; programs/timers.c says what fields are."""
    cpus = len(list_cpus(0)) + len(list_cpus(1))
    if "HRTICK" in SCHEDULER.read_text(encoding="ascii").split():  # on by default in 7: an interrupt at the end of each slice
        SCHEDULER.write_text("NO_HRTICK", encoding="ascii")
    for line in run_command(TEST_PROGRAMS / "timers", TIMERS, BUSY_SECONDS, str(cpus)).splitlines():
        what, *values = line.split()
        print_record(measure="timers", what=what, **dict(zip(TIMER_FIELDS[what], map(float, values), strict=True)))


def measure_answers():
    """Prints mean and percentiles, in us, of a request and its answer between two processes: on CPUs of one node, and of two."""
    for cpu in (list_cpus(0)[1], list_cpus(1)[0]):
        words = run_command(TEST_PROGRAMS / "answers", "0", str(cpu), str(ANSWERS)).split()
        print_record(measure="answers", cpu=cpu, **dict(zip(("mean", "p10", "p50", "p90", "p99"), map(float, words))))


def measure_contention():
    """Prints the MB/s of each thread of triads of both nodes in the memory of node 0, CONTENTION_ROUNDS times each, in turn."""
    teams = [[[0, 0], [1, 0]], [[2, 0], [3, 0]], [[0, 0], [2, 0]], [[0, 0], [1, 0], [2, 0], [3, 0]]]
    cells = [{"size": "4M", "threads": threads, "warm": CONTENTION_SECONDS} for threads in teams] * CONTENTION_ROUNDS
    plan = {"program": ["build/np-mem", "triad", "--kernel", "plain"], "seconds": CONTENTION_SECONDS, "keep": True,
            "cells": cells}
    for line in run_command("python3", "experiments/calibrate/teams.py", json.dumps(plan)).splitlines():
        print_record(measure="contention", **json.loads(line))


def find_torn_readings() -> None:
    """Reads the counters TORN_READINGS times while CPU 2 misses all the time, and prints up to three readings that are not of one moment.

    In such a reading the misses are not the sum of their kinds."""
    chase = start_chase_on_cpu_2(0)
    readings = [counters for _ in range(TORN_READINGS) for counters in read_all_counters()]
    chase.kill()
    chase.wait()
    torn = [reading for reading in readings
            if reading["llc_misses"] != reading["local_dram"] + reading["remote_dram"] + reading["remote_cache"]]
    print_record(measure="torn", readings=len(readings), bad=torn[:3], changed=readings[2] != readings[-2])  # CPU 2 of four


def measure_counters():
    """Prints CPU 2's counts, and the ns of a load, of a chase that misses at every load, with memory of each node."""
    for memory_node in (0, 1):
        before = read_counters(2)
        ns = run_command("numactl", "-C", "2", "-m", str(memory_node), PROGRAMS / "chase", CHASE_MIB, CHASE_SECONDS)
        after = read_counters(2)
        delta = {key: after[key] - before[key] for key in after if key != "cpu"}
        print_record(measure="counters", node=1, memory=memory_node, ns=float(ns), delta=delta)


def measure_rounds():
    """Prints CPU 2's instructions and times in ns for a program that only repeats one instruction, and how often it does."""
    before = read_counters(2)
    repeated = int(run_command("taskset", "-c", "2", TEST_PROGRAMS / "rounds", REPEATED_TIMES))
    after = read_counters(2)
    print_record(measure="rounds", made=repeated, **{key: after[key] - before[key] for key in ("instructions", "sim_ns", "stall_ns")})


VERIFY_TIME = "500ms"


def measure_tool_counters():
    """Prints what the tool, on a CPU of node 0, counts of a triad on CPU 2, with memory of each node."""
    for memory_node in (0, 1):
        text = run_command("taskset", "-c", "0", TOOL, "counters", "--json", "--", "taskset", "-c", "2", "build/np-triad",
                           "--mem", str(memory_node), "--size", "8M", "--threads", "1", "--seconds", TRIAD_SECONDS)
        task = json.loads(text.splitlines()[-1])["rows"][0]
        print_record(measure="tool-counters", node=1, memory=memory_node, task=task)


def start_chase_on_cpu_2(memory_node: int) -> subprocess.Popen:
    """Starts a chase that goes on until it is killed, and waits until it has all its memory; exits where it ends before."""
    seconds = "1000"  # longer than any measure
    chase = subprocess.Popen(["numactl", "-C", "2", "-m", str(memory_node), PROGRAMS / "chase", CHASE_MIB, seconds])
    while int(Path(f"/proc/{chase.pid}/statm").read_text(encoding="ascii").split()[1]) < int(CHASE_MIB) * PAGES_OF_MIB:
        if chase.poll() is not None:
            sys.exit(f"the chase ended with status {chase.returncode}")
        time.sleep(0.01)
    return chase


def check_failing_save(penalties: Path):
    """Measures the penalty of a task that succeeds and one that fails, and prints whether the file of before is unchanged."""
    before = penalties.read_bytes()
    run = run_undisturbed("measure-penalty", "--task", f"{PROGRAMS}/chase {CHASE_MIB} {CHASE_SECONDS}", "--task", "false",
                          "--save", penalties)
    print_record(measure="penalty-not-saved", status=run.returncode, error=run.stderr, measured=run.stdout,
                 same=penalties.read_bytes() == before, left=sorted(map(str, penalties.parent.glob("*.new*"))))


def measure_tool_penalty():
    """Prints the penalty of a chase by runs and by flips, what a killed flip leaves, and how `ps` shows the penalty then."""
    file = Path(tempfile.mkdtemp()) / "penalty.toml"  # alone in its folder, which check_failing_save() looks into
    by_runs = run_tool("measure-penalty", "--json", "--save", str(file), "--task",
                          f"{PROGRAMS}/chase {CHASE_MIB} {CHASE_SECONDS}")
    print_record(measure="penalty-runs", **by_runs["tasks"][0], file=file.read_text(encoding="ascii"))
    check_failing_save(file)
    chase = start_chase_on_cpu_2(1)
    # The lab counts what else ran on the CPU too, and a chase has few instructions: the middle one of three.
    by_flips = sorted((run_tool("measure-penalty", "--json", "--sample", "20ms", "--flip", str(chase.pid), "--save",
                               str(file.with_stem("flip")))["tasks"][0] for _ in range(3)), key=lambda task: task["penalty"])
    _least, middle, _most = by_flips
    print_record(measure="penalty-flip", **middle, cpus=sorted(os.sched_getaffinity(chase.pid)),
                 file=file.with_stem("flip").read_text(encoding="ascii"))
    saved = file.read_bytes()
    for kill in (signal.SIGINT, signal.SIGKILL):
        flip = subprocess.Popen([TOOL, "measure-penalty", "--sample", "10s", "--flip", str(chase.pid), "--save", file],
                                stderr=subprocess.DEVNULL)
        while os.sched_getaffinity(chase.pid) == {2}:
            time.sleep(0.002)
        flip.send_signal(kill)
        status, cpus_left = flip.wait(), sorted(os.sched_getaffinity(chase.pid))
        subprocess.run([TOOL, "restore", "--all"], capture_output=True)
        print_record(measure="penalty-killed", signal=kill.name, status=status, left=cpus_left, same=file.read_bytes() == saved,
                     restored=sorted(os.sched_getaffinity(chase.pid)))
    os.environ["NUMAPLACE_MACHINE_FILE"] = str(file)
    os.sched_setaffinity(0, {0})
    for _ in range(TRIES):
        (task,) = run_tool("ps", "--json", "-s", "50ms", str(chase.pid))["tasks"]
        if not task["not_counted_because"]:
            break
    chase.kill()
    print_record(measure="penalty-ps", task=task)


def measure_present():
    """Prints the records of placed.py for two scenarios of demo-2s: what plans predict, and what is counted."""
    for line in run_command("python3", "-m", "experiments.bench.lab.placed", "--model", "demo-2s", "streams-shared",
                            "chases-both").splitlines():
        print_record(measure="present", **json.loads(line))


def reload_module():
    """Takes the lab's module out and puts it in again, and prints whether its counters went and go on."""
    loaded = COUNTERS.exists()
    run_command("rmmod", "numaplace_lab")
    folder_left = COUNTERS.parent.exists()
    run_command("insmod", os.environ["NUMAPLACE_LAB_KO"])
    before = read_all_counters()
    run_command("true")
    print_record(measure="unload", loaded=loaded, left=folder_left, cpus=len(before), counts_on=read_all_counters() != before)


def run_daemon():
    """Has the daemon count a chase that runs away from its memory, and bring it home; prints its metrics and its log."""
    metrics_file = Path("/tmp/daemon.prom")
    chase = start_chase_on_cpu_2(0)
    os.sched_setaffinity(0, {3})
    daemon = subprocess.Popen([TOOL, "daemon", "--policy", "n-mass", "--override", "--engine", "syscall", "--interval", "20ms",
                               "--count", "4", "--hysteresis", "20", "--min-busy", "0", "--no-trial", "--metrics", metrics_file,
                               str(chase.pid)],
                              stderr=subprocess.PIPE, text=True)

    def read_metrics() -> dict[str, float]:
        text = metrics_file.read_text(encoding="ascii") if metrics_file.exists() else ""
        return {name.removeprefix("numaplace_daemon_"): float(value) for name, value in
                (line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")}

    def wait_for_metric(name: str) -> dict[str, float]:
        """Waits until the metric of this name is above 0; returns all metrics then, {} where the daemon ends before."""
        while daemon.poll() is None:
            metrics = read_metrics()
            if metrics.get(name):
                return metrics
            time.sleep(0.01)
        return {}

    metrics = [wait_for_metric("sampled_tasks"), wait_for_metric("placed_tasks")]
    daemon.terminate()
    log = daemon.communicate()[1]
    print_record(measure="tool-daemon", seen=metrics, log=log, cpus=sorted(os.sched_getaffinity(chase.pid)))
    chase.kill()


def verify_plan(chase: subprocess.Popen, policy: str) -> dict:
    """Applies a plan that moves the chase's pages with --verify; returns policy, status, verdict, error and pages by node.

    Up to TRIES times, until the tool gives a verdict: before, other programs ran on the chase's CPU."""
    for _ in range(TRIES):
        run = subprocess.run([TOOL, "apply", "--json", "--policy", policy, "--override", "--least-gain", "0", "--engine", "syscall",
                               "--sample", "0", "--verify", VERIFY_TIME, str(chase.pid)],
                              capture_output=True, text=True, check=False)
        answer = json.loads(run.stdout) if run.stdout else {"error": run.stderr}
        if answer.get("verified"):
            break
    pages = run_tool("ps", "--json", "-s", "0", str(chase.pid))["tasks"][0]["pages"]
    return {"policy": policy, "status": run.returncode, "verified": answer.get("verified"), "undone": answer.get("undone"),
            "error": answer.get("error"), "pages": pages}


def verify_plans():
    """Prints the verdicts on a plan that is wrong on purpose, one that is right, and one of a program that stops and goes on."""
    chase = start_chase_on_cpu_2(1)
    os.sched_setaffinity(0, {0})
    print_record(measure="verify", what="wrong", **verify_plan(chase, "remote:move=pages"))
    run_command(TOOL, "migrate", "--engine", "syscall", "--to", "0", str(chase.pid))
    print_record(measure="verify", what="right", **verify_plan(chase, "interleave"))
    run_command(TOOL, "migrate", "--engine", "syscall", "--to", "0", str(chase.pid))
    phases = subprocess.Popen(["sh", "-c", f"while :; do kill -STOP {chase.pid}; sleep 0.03; kill -CONT {chase.pid}; "
                                           "sleep 0.03; done"])
    print_record(measure="verify", what="phases", **verify_plan(chase, "interleave"))
    phases.kill()
    phases.wait()
    chase.kill()


def run_trial():
    """Runs a daemon whose policy is wrong, and prints whether it takes its move back, and does not repeat it when it plans again."""
    metrics_file = Path("/tmp/trial.prom")
    chase = start_chase_on_cpu_2(1)
    os.sched_setaffinity(0, {0})
    daemon = subprocess.Popen([TOOL, "daemon", "--policy", "remote:move=pages", "--override", "--engine", "syscall",
                               "--interval", "100ms", "--count", "0", "--hysteresis", "1", "--min-busy", "0", "--trial",
                               VERIFY_TIME, "--metrics", metrics_file, str(chase.pid)], stderr=subprocess.PIPE, text=True)

    def wait_for_sample(sample: str) -> bool:
        """Waits until this sample of the metrics is not 0; returns False where the daemon ends before. sample: a regular expression."""
        while daemon.poll() is None:
            if metrics_file.exists() and re.search(rf"^numaplace_daemon_{sample} [^0]", metrics_file.read_text(encoding="ascii"), re.M):
                return True
            time.sleep(0.05)
        return False

    taken_back = [wait_for_sample('trials_total{result="taken_back"}')]
    daemon.send_signal(signal.SIGHUP)  # reads its options again, and plans
    taken_back.append(wait_for_sample('decisions_total{verdict="taken_back"}'))
    text = metrics_file.read_text(encoding="ascii")
    pages = run_tool("ps", "--json", "-s", "0", str(chase.pid))["tasks"][0]["pages"]
    daemon.terminate()
    print_record(measure="trial", seen=taken_back, log=daemon.communicate()[1], pages=pages,
                 trials=re.findall(r'^numaplace_daemon_trials_total\{result="(\w+)"\} (\d+)$', text, re.M))
    chase.kill()


MEASURES = {
    "latency": measure_latency,
    "sleep": measure_sleep,
    "timers": measure_timers,
    "answers": measure_answers,
    "contention": measure_contention,
    "counters": measure_counters,
    "rounds": measure_rounds,
    "torn": find_torn_readings,
    "tool-counters": measure_tool_counters,
    "tool-penalty": measure_tool_penalty,
    "tool-daemon": run_daemon,
    "tool-verify": verify_plans,
    "tool-trial": run_trial,
    "present": measure_present,
    "unload": reload_module,
}


if __name__ == "__main__":
    everywhere = os.sched_getaffinity(0)
    for name in sys.argv[1:]:
        os.sched_setaffinity(0, everywhere)
        MEASURES[name]()

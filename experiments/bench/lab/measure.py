# SPDX-License-Identifier: GPL-2.0-only
"""Measures the machine it runs on with programs that know nothing of the lab; one JSON object a line.

    measure.py latency|bandwidth|sleep|timers|answers|contention|counters|rounds|torn|tool-counters|tool-penalty|
               tool-daemon|tool-verify|tool-verify-right|tool-trial|present|unload|redis ..

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

PROGRAMS = Path("build/lab/programs")
COUNTERS = Path("/sys/kernel/debug/numaplace_lab/counters")
CHASE_MIB, CHASE_SECONDS = "32", "0.004"
TRIAD_MIB, TRIAD_SECONDS = "16", "0.03"
REDIS_KEYS, REDIS_BYTES, REDIS_REQUESTS, REDIS_PAIRS = 2000, 16000, 8000, 5
CONTENTION_SECONDS, CONTENTION_ROUNDS = 0.01, 5
SLEEPS = 5
TIMERS, BUSY_SECONDS = "1000", "0.5"
TORN_READINGS = 1000
SCHEDULER = Path("/sys/kernel/debug/sched/features")
ANSWERS = 3000
REPEATED_TIMES = "4000"


def say(**values):
    print(json.dumps(values), flush=True)


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def cpus_of(node: int) -> list[int]:
    text = Path(f"/sys/devices/system/node/node{node}/cpulist").read_text(encoding="ascii").strip()
    cpus = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def latency():
    for node in (0, 1):
        for memory in (0, 1):
            ns = run("numactl", "-C", str(cpus_of(node)[0]), "-m", str(memory), PROGRAMS / "chase",
                     CHASE_MIB, CHASE_SECONDS)
            say(measure="latency", node=node, memory=memory, ns=float(ns))


def bandwidth():
    for node in (0, 1):
        for memory in (0, 1):
            threads = len(cpus_of(node))
            mb_s = run("numactl", "-N", str(node), "-m", str(memory), PROGRAMS / "triad", TRIAD_MIB,
                       str(threads), TRIAD_SECONDS)
            say(measure="bandwidth", node=node, memory=memory, threads=threads, mb_s=float(mb_s))


def sleep():
    for seconds in (0.1, 1):
        took = []
        for _ in range(SLEEPS):
            start = time.monotonic()
            run("sleep", str(seconds))
            took.append(time.monotonic() - start)
        say(measure="sleep", asked=seconds, took=took)


TIMER_FIELDS = {"sleep": ("busy", "mean", "most"), "timerfd": ("busy", "mean", "most"),
                "busy": ("threads", "used", "real"), "ticks": ("threads", "cpu", "count", "real")}


def timers():
    """Lateness of timers, in us, and the processors' time and ticks of busy CPUs; timers.c says what the fields are."""
    cpus = len(cpus_of(0)) + len(cpus_of(1))
    if "HRTICK" in SCHEDULER.read_text(encoding="ascii").split():  # on by default in 7: an interrupt at the end of each slice
        SCHEDULER.write_text("NO_HRTICK", encoding="ascii")
    for line in run(PROGRAMS / "timers", TIMERS, BUSY_SECONDS, str(cpus)).splitlines():
        what, *values = line.split()
        say(measure="timers", what=what, **dict(zip(TIMER_FIELDS[what], map(float, values), strict=True)))


def answers():
    """Requests and answers of two processes, on CPUs of one node and of two."""
    for cpu in (cpus_of(0)[1], cpus_of(1)[0]):
        words = run(PROGRAMS / "answers", "0", str(cpu), str(ANSWERS)).split()
        say(measure="answers", cpu=cpu, **dict(zip(("mean", "p10", "p50", "p90", "p99"), map(float, words))))


def contention():
    """Triads of both nodes in the memory of node 0, several times each, in turn."""
    teams = [[[0, 0], [1, 0]], [[2, 0], [3, 0]], [[0, 0], [2, 0]], [[0, 0], [1, 0], [2, 0], [3, 0]]]
    cells = [{"size": "4M", "threads": threads, "warm": CONTENTION_SECONDS} for threads in teams] * CONTENTION_ROUNDS
    plan = {"program": ["build/np-mem", "triad", "--kernel", "plain"], "seconds": CONTENTION_SECONDS, "keep": True,
            "cells": cells}
    for line in run("python3", "experiments/calibrate/teams.py", json.dumps(plan)).splitlines():
        say(measure="contention", **json.loads(line))


def all_counters() -> list[dict[str, int]]:
    lines = COUNTERS.read_text(encoding="ascii").splitlines()
    return [{key: int(value) for key, _, value in (word.partition("=") for word in line.split())} for line in lines]


def counters_of(cpu: int) -> dict[str, int]:
    return all_counters()[cpu]


def torn() -> None:
    """Readings whose numbers are not of one moment, while CPU 2 misses all the time."""
    chase = chase_on_cpu_2(0)
    readings = [counters for _ in range(TORN_READINGS) for counters in all_counters()]
    chase.kill()
    chase.wait()
    bad = [one for one in readings
           if one["llc_misses"] != one["local_dram"] + one["remote_dram"] + one["remote_cache"]]
    say(measure="torn", readings=len(readings), bad=bad[:3], changed=readings[2] != readings[-2])


def counters():
    """Counts of a CPU for a chase that misses at every load."""
    for memory in (0, 1):
        before = counters_of(2)
        ns = run("numactl", "-C", "2", "-m", str(memory), PROGRAMS / "chase", CHASE_MIB, CHASE_SECONDS)
        after = counters_of(2)
        delta = {key: after[key] - before[key] for key in after if key != "cpu"}
        say(measure="counters", node=1, memory=memory, ns=float(ns), delta=delta)


def rounds():
    """Counts of a CPU for a program that only repeats one instruction."""
    before = counters_of(2)
    made = int(run("taskset", "-c", "2", PROGRAMS / "rounds", REPEATED_TIMES))
    after = counters_of(2)
    say(measure="rounds", made=made, **{key: after[key] - before[key] for key in ("instructions", "sim_ns", "stall_ns")})


TOOL = "build/numaplace"
VERIFY_TIME = "500ms"


def tool_counters():
    """Counts by the tool of a triad, by task and by node, while the tool runs on a CPU of the other node."""
    for memory in (0, 1):
        text = run("taskset", "-c", "0", TOOL, "counters", "--json", "--", "taskset", "-c", "2", "build/np-triad",
                   "--mem", str(memory), "--size", "8M", "--threads", "1", "--seconds", TRIAD_SECONDS)
        task = json.loads(text.splitlines()[-1])["rows"][0]
        say(measure="tool-counters", node=1, memory=memory, task=task)


def tool(*words: str) -> dict:
    """Its answer. What other programs disturbed it refuses to count: ask again."""
    for _ in range(6):
        done = subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)
        if done.returncode != 3:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def chase_on_cpu_2(memory: int) -> subprocess.Popen:
    """One that has all its memory, on that node, and goes on until it is killed."""
    chase = subprocess.Popen(["numactl", "-C", "2", "-m", str(memory), PROGRAMS / "chase", CHASE_MIB, "1000"])
    while int(Path(f"/proc/{chase.pid}/statm").read_text(encoding="ascii").split()[1]) < int(CHASE_MIB) * 256:
        if chase.poll() is not None:
            sys.exit(f"the chase ended with status {chase.returncode}")
        time.sleep(0.01)
    return chase


def failing_save(file: Path):
    """The file after a task that succeeds and one that fails."""
    before = file.read_bytes()
    for _ in range(6):
        done = subprocess.run([TOOL, "measure-penalty", "--task", f"{PROGRAMS}/chase {CHASE_MIB} {CHASE_SECONDS}",
                               "--task", "false", "--save", file], capture_output=True, text=True, check=False)
        if done.returncode != 3:  # disturbed
            break
    say(measure="penalty-not-saved", status=done.returncode, error=done.stderr, measured=done.stdout,
        same=file.read_bytes() == before, left=sorted(map(str, file.parent.glob("*.new*"))))


def tool_penalty():
    """The penalty of a chase in two ways, and how `ps` shows it then."""
    file = Path(tempfile.mkdtemp()) / "penalty.toml"  # alone in its folder, which failing_save() looks into
    calibrated = tool("measure-penalty", "--json", "--save", str(file), "--task",
                      f"{PROGRAMS}/chase {CHASE_MIB} {CHASE_SECONDS}")
    say(measure="penalty-runs", **calibrated["tasks"][0], file=file.read_text(encoding="ascii"))
    failing_save(file)
    chase = chase_on_cpu_2(1)
    # The lab counts what else ran on the CPU too, and a chase has few instructions: the middle one of three.
    flipped = sorted((tool("measure-penalty", "--json", "--sample", "20ms", "--flip", str(chase.pid), "--save",
                           str(file.with_stem("flip")))["tasks"][0] for _ in range(3)), key=lambda task: task["penalty"])
    say(measure="penalty-flip", **flipped[1], cpus=sorted(os.sched_getaffinity(chase.pid)),
        file=file.with_stem("flip").read_text(encoding="ascii"))
    saved = file.read_bytes()
    for kill in (signal.SIGINT, signal.SIGKILL):
        flip = subprocess.Popen([TOOL, "measure-penalty", "--sample", "10s", "--flip", str(chase.pid), "--save", file],
                                stderr=subprocess.DEVNULL)
        while os.sched_getaffinity(chase.pid) == {2}:
            time.sleep(0.002)
        flip.send_signal(kill)
        status, left = flip.wait(), sorted(os.sched_getaffinity(chase.pid))
        subprocess.run([TOOL, "restore", "--all"], capture_output=True)
        say(measure="penalty-killed", signal=kill.name, status=status, left=left, same=file.read_bytes() == saved,
            restored=sorted(os.sched_getaffinity(chase.pid)))
    os.environ["NUMAPLACE_MACHINE_FILE"] = str(file)
    os.sched_setaffinity(0, {0})
    for _ in range(6):
        (task,) = tool("ps", "--json", "-s", "50ms", str(chase.pid))["tasks"]
        if not task["not_counted_because"]:
            break
    chase.kill()
    say(measure="penalty-ps", task=task)


def present():
    """Predictions of plans for streams and chases as they are placed, beside counters."""
    for line in run("python3", "-m", "experiments.bench.lab.placed", "--model", "demo-2s", "streams-shared",
                    "chases-both").splitlines():
        say(measure="present", **json.loads(line))


def unload():
    """Takes the lab's module out and puts it in again."""
    loaded, start = COUNTERS.exists(), time.monotonic()
    run("rmmod", "numaplace_lab")
    left = COUNTERS.parent.exists()
    time.sleep(0.1)
    went_on = time.monotonic() - start
    run("insmod", os.environ["NUMAPLACE_LAB_KO"])
    before = all_counters()
    run("true")
    say(measure="unload", loaded=loaded, left=left, went_on=went_on, cpus=len(before), counts_on=all_counters() != before)


def start_server(port: int, memory: int) -> subprocess.Popen:
    argv = ["numactl", "-C", "0", "-m", str(memory), "redis-server", "--port", str(port), "--save", "",
            "--appendonly", "no", "--io-threads", "1", "--dir", "/tmp"]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    script = ("for i = 0, ARGV[1] - 1 do redis.call('SET', string.format('key:%012d', i), "
              "string.rep('x', ARGV[2])) end")
    for _ in range(100):
        if subprocess.run(["redis-cli", "-p", str(port), "PING"], capture_output=True).returncode == 0:
            break
        time.sleep(0.05)
    run("redis-cli", "-p", str(port), "EVAL", script, "0", str(REDIS_KEYS), str(REDIS_BYTES))
    return server


def requests_per_second(port: int) -> float:
    text = run("numactl", "-C", "1", "-m", "0", "redis-benchmark", "-p", str(port), "-n", str(REDIS_REQUESTS),
               "-r", str(REDIS_KEYS), "-c", "10", "--csv", "GET", "key:__rand_int__")
    return float(text.splitlines()[-1].split('","')[1].strip('"'))


def redis():
    servers = [start_server(7000 + memory, memory) for memory in (0, 1)]
    try:
        for memory in (0, 1):
            requests_per_second(7000 + memory)  # loads the client's program from the host
        for pair in range(REDIS_PAIRS):
            for memory in (0, 1) if pair % 2 == 0 else (1, 0):
                before = counters_of(0)
                per_second = requests_per_second(7000 + memory)
                after = counters_of(0)
                misses = (after["llc_misses"] - before["llc_misses"]) / REDIS_REQUESTS
                say(measure="redis", pair=pair, memory=memory, per_second=per_second, misses=misses)
    finally:
        for server in servers:
            os.kill(server.pid, signal.SIGTERM)
            server.wait()


def tool_daemon():
    """The daemon counts a chase that runs away from its memory, and brings it home."""
    page = Path("/tmp/daemon.prom")
    chase = chase_on_cpu_2(0)
    os.sched_setaffinity(0, {3})
    daemon = subprocess.Popen([TOOL, "daemon", "--policy", "n-mass", "--override", "--engine", "syscall", "--interval", "20ms",
                               "--count", "4", "--hysteresis", "20", "--min-busy", "0", "--no-trial", "--metrics", page,
                               str(chase.pid)],
                              stderr=subprocess.PIPE, text=True)

    def metrics() -> dict:
        text = page.read_text(encoding="ascii") if page.exists() else ""
        return {name.removeprefix("numaplace_daemon_"): float(value) for name, value in
                (line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")}

    def wait_for(name: str) -> dict:
        while daemon.poll() is None:
            now = metrics()
            if now.get(name):
                return now
            time.sleep(0.01)
        return {}

    seen = [wait_for("sampled_tasks"), wait_for("placed_tasks")]
    daemon.terminate()
    log = daemon.communicate()[1]
    say(measure="tool-daemon", seen=seen, log=log, cpus=sorted(os.sched_getaffinity(chase.pid)))
    chase.kill()


def verified(chase: subprocess.Popen, policy: str) -> dict:
    """What apply says of a plan that moves the chase's pages, and where they are afterwards."""
    for _ in range(6):
        done = subprocess.run([TOOL, "apply", "--json", "--policy", policy, "--override", "--least-gain", "0", "--engine", "syscall",
                               "--sample", "0", "--verify", VERIFY_TIME, str(chase.pid)],
                              capture_output=True, text=True, check=False)
        answer = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
        if answer.get("verified"):
            break  # else other programs ran on the chase's CPU
    pages = tool("ps", "--json", "-s", "0", str(chase.pid))["tasks"][0]["pages"]
    return {"policy": policy, "status": done.returncode, "verified": answer.get("verified"), "undone": answer.get("undone"),
            "error": answer.get("error"), "pages": pages}


def tool_verify():
    """A plan that is wrong on purpose, one that is right, and one that is right for a program that stops and goes on."""
    chase = chase_on_cpu_2(1)
    os.sched_setaffinity(0, {0})
    say(measure="verify", what="wrong", **verified(chase, "remote:move=pages"))
    run(TOOL, "migrate", "--engine", "syscall", "--to", "0", str(chase.pid))
    say(measure="verify", what="right", **verified(chase, "interleave"))
    run(TOOL, "migrate", "--engine", "syscall", "--to", "0", str(chase.pid))
    phases = subprocess.Popen(["sh", "-c", f"while :; do kill -STOP {chase.pid}; sleep 0.03; kill -CONT {chase.pid}; "
                                           "sleep 0.03; done"])
    say(measure="verify", what="phases", **verified(chase, "interleave"))
    phases.kill()
    phases.wait()
    chase.kill()


def tool_verify_right():
    """Twenty plans that are right, of one program."""
    chase = chase_on_cpu_2(1)
    os.sched_setaffinity(0, {0})
    for _ in range(20):
        run(TOOL, "migrate", "--engine", "syscall", "--to", "0", str(chase.pid))
        say(measure="verify", what="right", **verified(chase, "interleave"))
    chase.kill()


def tool_trial():
    """A daemon whose policy is wrong takes its move back, and does not repeat it when it plans again."""
    page = Path("/tmp/trial.prom")
    chase = chase_on_cpu_2(1)
    os.sched_setaffinity(0, {0})
    daemon = subprocess.Popen([TOOL, "daemon", "--policy", "remote:move=pages", "--override", "--engine", "syscall",
                               "--interval", "100ms", "--count", "0", "--hysteresis", "1", "--min-busy", "0", "--trial",
                               VERIFY_TIME, "--metrics", page, str(chase.pid)], stderr=subprocess.PIPE, text=True)

    def wait_for(sample: str) -> bool:
        while daemon.poll() is None:
            if page.exists() and re.search(rf"^numaplace_daemon_{sample} [^0]", page.read_text(encoding="ascii"), re.M):
                return True
            time.sleep(0.05)
        return False

    seen = [wait_for('trials_total{result="taken_back"}')]
    daemon.send_signal(signal.SIGHUP)  # reads its options again, and plans
    seen.append(wait_for('decisions_total{verdict="taken_back"}'))
    text = page.read_text(encoding="ascii")
    pages = tool("ps", "--json", "-s", "0", str(chase.pid))["tasks"][0]["pages"]
    daemon.terminate()
    say(measure="trial", seen=seen, log=daemon.communicate()[1], pages=pages,
        trials=re.findall(r'^numaplace_daemon_trials_total\{result="(\w+)"\} (\d+)$', text, re.M))
    chase.kill()


MEASURES = {"latency": latency, "bandwidth": bandwidth, "sleep": sleep, "timers": timers, "answers": answers,
            "contention": contention, "counters": counters, "rounds": rounds, "torn": torn, "tool-counters": tool_counters,
            "tool-penalty": tool_penalty, "tool-daemon": tool_daemon, "tool-verify": tool_verify,
            "tool-verify-right": tool_verify_right, "tool-trial": tool_trial, "present": present, "unload": unload,
            "redis": redis}


if __name__ == "__main__":
    everywhere = os.sched_getaffinity(0)
    for name in sys.argv[1:]:
        os.sched_setaffinity(0, everywhere)
        MEASURES[name]()

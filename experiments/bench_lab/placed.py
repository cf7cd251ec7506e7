# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: what `numaplace plan` predicts of running tasks, beside what is counted. Standard library only.

    python3 -m experiments.bench_lab.placed [OPTION..] SCENARIO ..     one JSON object a task and scenario

Of each scenario `plan` predicts the tasks' traffic as they are placed now, from counters that it reads itself, and their
gain by another placement. The traffic is counted anew after the plan, by the lab's counters of the task's CPU; then
`apply` carries the plan out, and the traffic is counted again.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.bench_lab import measure

TOOL = measure.TOOL
PLAN, MODEL = "/tmp/placed.plan", "/tmp/placed.toml"
CALIBRATE = [TOOL, "calibrate-machine", MODEL, "--size", "24", "--seconds", "0.01", "--repeats", "3",
             "--name", "as-calibrated"]
CALIBRATIONS = 4
FLIPS = 3
# Long enough that what else runs on a CPU, ticks and the tool, has a small part of its counts.
SAMPLE_MS = {"streams": 40, "chases": 200, "redis": 150, "mix": 150}
TRIES = 8  # until nothing else ran on the CPUs
WARM_UP_S = 0.05  # until caches hold what they hold when nothing changes
TOOL_CPU = 0
CLIENT_CPU = 3  # of a Redis server's client, where no task has it; else it is on the tool's
PORT = 7100
ANSWERS_FIRST = 2000  # of a Redis server, until all of its values have been through the caches
LINE_BYTES = 64
EVER = "1000"


@dataclass(frozen=True)
class Task:
    kind: str
    cpu: int
    memory: int


@dataclass(frozen=True)
class Scenario:
    group: str
    tasks: tuple[Task, ...]
    then: tuple[str, ...]  # policy and options of the other placement


AWAY, HOME = ("remote",), ("maximum-local",)
PAGES_AWAY = ("remote", "-o", "move=pages")
BEST = ("measured", "-o", "hysteresis=0")

SCENARIOS = {
    "stream-local": Scenario("streams", (Task("stream", 2, 1),), AWAY),
    "stream-remote": Scenario("streams", (Task("stream", 2, 0),), HOME),
    "streams-shared": Scenario("streams", (Task("stream", 2, 1), Task("stream", 3, 1)), PAGES_AWAY),
    "streams-crossed": Scenario("streams", (Task("stream", 1, 1), Task("stream", 2, 1), Task("stream", 3, 0)), HOME),
    "chase-local": Scenario("chases", (Task("chase", 2, 1),), AWAY),
    "chases-both": Scenario("chases", (Task("chase", 1, 1), Task("chase", 2, 1), Task("chase", 3, 0)), PAGES_AWAY),
    "redis-local": Scenario("redis", (Task("redis", 2, 1),), PAGES_AWAY),
    "redis-remote": Scenario("redis", (Task("redis", 2, 0),), HOME),
    "mix": Scenario("mix", (Task("redis", 1, 1), Task("stream", 2, 1), Task("chase", 3, 1)), PAGES_AWAY),
    "mix-crossed": Scenario("mix", (Task("redis", 1, 1), Task("stream", 2, 0), Task("chase", 3, 0)), HOME),
}
# Where a kind's penalty is measured. While a server's threads are away, its client and they disturb each other's counts.
ALONE = {"stream": "stream-local", "chase": "chase-local"}


class Memory:
    """np-mem, until it is stopped."""

    ARGV = {"stream": ["triad", "--kernel", "plain", "--size", "8M"], "chase": ["chase", "--size", "32M"]}

    def __init__(self, task: Task):
        argv = ["build/np-mem", *self.ARGV[task.kind], "--cpus", str(task.cpu), "--mem", str(task.memory)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.process.stdout.readline(), f"{argv} ended"
        self.process.stdin.write(f"run {EVER}\n")
        self.pid = self.process.pid

    def stop(self):
        self.process.kill()
        self.process.communicate()


class Redis:
    """A server that a client keeps asking for random values."""

    ASK = ["redis-benchmark", "-p", str(PORT), "-n", "2000000000", "-r", str(measure.REDIS_KEYS), "-c", "10", "-q",
           "GET", "key:__rand_int__"]

    def __init__(self, task: Task, client_cpu: int):
        self.server = measure.start_server(PORT, task.memory)
        self.pid = self.server.pid
        pin(self.pid, task.cpu)
        self.client = subprocess.Popen(["numactl", "--all", "-C", str(client_cpu), "-m", "0", *self.ASK],
                                       stdout=subprocess.DEVNULL)
        while self.answered() < ANSWERS_FIRST:
            time.sleep(0.02)

    @staticmethod
    def answered() -> int:
        stats = measure.run("redis-cli", "-p", str(PORT), "INFO", "commandstats")
        calls = [line for line in stats.splitlines() if line.startswith("cmdstat_get:")]
        return int(calls[0].partition("calls=")[2].partition(",")[0]) if calls else 0

    def stop(self):
        for process in (self.client, self.server):
            process.kill()
            process.wait()


def start(tasks: tuple[Task, ...]) -> list[Memory | Redis]:
    free = {CLIENT_CPU, TOOL_CPU} - {task.cpu for task in tasks}
    return [Redis(task, max(free)) if task.kind == "redis" else Memory(task) for task in tasks]


def pin(pid: int, cpu: int):
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {cpu})


def pages(pid: int) -> dict[int, int]:
    """Anonymous pages by node."""
    held: dict[int, int] = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text(encoding="ascii").splitlines():
        words = dict(word.partition("=")[::2] for word in line.split())
        for node in (0, 1) if "anon" in words else ():
            held[node] = held.get(node, 0) + int(words.get(f"N{node}", 0))
    return held


def counted(cpus: list[int], milliseconds: int) -> list[dict[str, float]]:
    """Of each CPU: bytes a second that are read and written, and instructions a second."""
    before, since = measure.all_counters(), time.monotonic()
    time.sleep(milliseconds / 1000)
    after, seconds = measure.all_counters(), time.monotonic() - since
    change = [{key: after[cpu][key] - before[cpu][key] for key in after[cpu]} for cpu in cpus]
    return [{"bytes_per_s": LINE_BYTES * sum(one[key] for key in ("local_dram", "remote_dram", "dram_writes")) / seconds,
             "instructions_per_s": one["instructions"] / seconds} for one in change]


def penalty(kind: str) -> float:
    """The middle of several flips of one that runs alone."""
    scenario = SCENARIOS[ALONE[kind]]
    (running,) = start(scenario.tasks)
    flip = ["measure-penalty", "--json", "--sample", str(SAMPLE_MS[scenario.group]), "--flip", str(running.pid)]
    try:
        time.sleep(WARM_UP_S)
        flips = [measure.tool(*flip)["tasks"][0]["penalty"] for _ in range(FLIPS)]
    finally:
        running.stop()
    return sorted(flips)[FLIPS // 2]


def plan_of(scenario: Scenario, pids: list[str], more: list[str]) -> dict:
    """A plan that rests on counters for every task."""
    for _ in range(TRIES):
        plan = measure.tool("plan", "--json", "--override", "--sample", str(SAMPLE_MS[scenario.group]), "--policy",
                            *scenario.then, *more, "--save", PLAN, *pids)
        if all(decision["traffic"]["measured"]["source"] == "counters" for decision in plan["decisions"]):
            return plan
    sys.exit(f"tasks {' '.join(pids)} were not counted in {TRIES} tries: other tasks run on their CPUs")


def own_cpus(decisions: list[dict], now: list[int]) -> list[int]:
    """Where the tasks are put: each keeps its CPU or gets another of the node that it was moved to."""
    cpus: list[int] = []
    for decision, cpu in zip(decisions, now, strict=True):
        node = decision["from"] if decision["to"] is None else decision["to"]
        left = [one for one in reversed(measure.cpus_of(node)) if one not in cpus]
        cpus.append(cpu if cpu in left else left[0])
    return cpus


def compare(name: str, scenario: Scenario, running: list[Memory | Redis], penalties: dict[str, float], model: list[str]):
    time.sleep(WARM_UP_S)
    pids, cpus = [str(one.pid) for one in running], [task.cpu for task in scenario.tasks]
    known = [word for task, pid in zip(scenario.tasks, pids, strict=True) if task.kind in penalties
             for word in ("--assume", f"pid={pid},penalty={penalties[task.kind]}")]
    plan = plan_of(scenario, pids, model + known)
    before = counted(cpus, SAMPLE_MS[scenario.group])
    applied = subprocess.run([TOOL, "apply", "--plan", PLAN], capture_output=True, text=True, check=False)
    cpus_after = own_cpus(plan["decisions"], cpus)
    for one, cpu in zip(running, cpus_after, strict=True):
        pin(one.pid, cpu)
    time.sleep(WARM_UP_S)
    after = counted(cpus_after, SAMPLE_MS[scenario.group])
    for at, task in enumerate(scenario.tasks):
        decision = plan["decisions"][at]
        measure.say(scenario=name, group=scenario.group, kind=task.kind, model=plan["model"], cpu=task.cpu,
                    memory=task.memory, penalty=penalties.get(task.kind), traffic=decision["traffic"], gain=decision["gain"],
                    counted=before[at], then=" ".join(scenario.then), cpu_then=cpus_after[at], counted_then=after[at],
                    pages_then=pages(running[at].pid), applied=applied.returncode,
                    said=applied.stderr)


def run(name: str, penalties: dict[str, float], model: list[str]):
    scenario = SCENARIOS[name]
    running = start(scenario.tasks)
    try:
        compare(name, scenario, running, penalties, model)
    finally:
        for one in running:
            one.stop()


def calibrate() -> str:
    """Measures this machine's model; the name of its file. A calibration whose threads did not overlap is repeated."""
    for _ in range(CALIBRATIONS):
        done = subprocess.run(CALIBRATE, capture_output=True, text=True, check=False)
        print(done.stdout, flush=True)
        if not done.returncode:
            return MODEL
    sys.exit(f"{done.stderr}calibrate-machine ended with status {done.returncode}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calibrate", action="store_true", help="plan with a model that is measured first")
    parser.add_argument("--model", help="plan with this machine file's; without it: with one made of the distances")
    parser.add_argument("--penalties", action="store_true", help="tell plans the tasks' penalties, of flips of each kind")
    parser.add_argument("scenarios", nargs="+", choices=SCENARIOS)
    arguments = parser.parse_args()
    model = calibrate() if arguments.calibrate else arguments.model
    os.sched_setaffinity(0, {TOOL_CPU})
    kinds = {task.kind for name in arguments.scenarios for task in SCENARIOS[name].tasks}
    penalties = {kind: penalty(kind) for kind in sorted(kinds & ALONE.keys())} if arguments.penalties else {}
    for name in arguments.scenarios:
        run(name, penalties, ["--model", model] if model else [])


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: what `numaplace plan` predicts of running tasks, beside what is counted. Standard library only.

    python3 -m experiments.bench.lab.placed [OPTION..] SCENARIO ..     one JSON object a task and scenario

Of each scenario `plan` predicts the tasks' traffic as they are placed now, from counters that it reads itself, and their
gain by another placement. The traffic and the progress (requests of a server and of its client, instructions of other
tasks) are counted anew after the plan, the traffic by the lab's counters of the task's CPU; then `apply` carries the plan
out, and both are counted again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from experiments.bench.lab import measure
from experiments.calibrate import in_lab
from experiments.host.process import set_cpus

TOOL = measure.TOOL
PLAN, MODEL = "/tmp/placed.plan", "/tmp/placed.toml"
FLIPS = 3
# Long enough that what else runs on a CPU, ticks and the tool, has a small part of its counts.
SAMPLE_MS = {"streams": 40, "chases": 200, "redis": 150, "mix": 150}
TRIES = 8  # until nothing else ran on the CPUs
WARM_UP_S = 0.05  # until caches hold what they hold when nothing changes
TOOL_CPU = 0
PORT = 7100
ANSWERS_FIRST = 2000  # of a Redis server, until all of its values have been through the caches
LINE_BYTES = 64
EVER = "1000"


@dataclass(frozen=True)
class Task:
    """Says what runs on a CPU, with memory of which node."""
    kind: str
    cpu: int
    memory_node: int
    client: int | None = None  # CPU of a server's client, whose memory is on node 0


@dataclass(frozen=True)
class Scenario:
    """Names tasks and the other placement that they get."""
    group: str
    tasks: tuple[Task, ...]
    then: tuple[str, ...]  # policy and options of the other placement


AWAY, HOME = ("remote",), ("maximum-local",)
PAGES_AWAY = ("remote", "-o", "move=pages")
BEST = ("measured", "-o", "hysteresis=0", "-o", "horizon=0")

SCENARIOS = {
    "demo-2s": {
        "stream-local": Scenario("streams", (Task("stream", 2, 1),), AWAY),
        "stream-remote": Scenario("streams", (Task("stream", 2, 0),), HOME),
        "streams-shared": Scenario("streams", (Task("stream", 2, 1), Task("stream", 3, 1)), PAGES_AWAY),
        "streams-crossed": Scenario("streams", (Task("stream", 1, 1), Task("stream", 2, 1), Task("stream", 3, 0)), HOME),
        "chase-local": Scenario("chases", (Task("chase", 2, 1),), AWAY),
        "chases-both": Scenario("chases", (Task("chase", 1, 1), Task("chase", 2, 1), Task("chase", 3, 0)), PAGES_AWAY),
        "redis-local": Scenario("redis", (Task("redis", 2, 1, 3),), PAGES_AWAY),
        "redis-remote": Scenario("redis", (Task("redis", 2, 0, 3),), HOME),
        "redis-apart": Scenario("redis", (Task("redis", 2, 1, 1),), AWAY),
        "mix": Scenario("mix", (Task("redis", 1, 1, 0), Task("stream", 2, 1), Task("chase", 3, 1)), PAGES_AWAY),
        "mix-crossed": Scenario("mix", (Task("redis", 1, 1, 0), Task("stream", 2, 0), Task("chase", 3, 0)), HOME),
    },
    "xeon-e5620-2s": {
        "stream-local": Scenario("streams", (Task("stream", 4, 1),), AWAY),
        "streams-shared": Scenario("streams", tuple(Task("stream", cpu, 1) for cpu in (4, 5, 6, 7)), PAGES_AWAY),
        "streams-crossed": Scenario("streams", tuple(Task("stream", cpu, 1) for cpu in (1, 2, 4, 5, 6)), BEST),
        "chase-local": Scenario("chases", (Task("chase", 4, 1),), AWAY),
        "chases-both": Scenario("chases", tuple(Task("chase", cpu, cpu % 2) for cpu in (1, 2, 4, 5, 6)), HOME),
        "redis-remote": Scenario("redis", (Task("redis", 4, 0, 5),), HOME),
        "redis-apart": Scenario("redis", (Task("redis", 4, 1, 1), Task("redis", 2, 0, 5)), PAGES_AWAY),
        "mix": Scenario("mix", (Task("redis", 1, 1, 2), Task("redis", 4, 1, 5), Task("stream", 3, 1), Task("stream", 6, 1),
                                Task("chase", 7, 0)), HOME),
        "mix-best": Scenario("mix", (Task("redis", 1, 1, 2), Task("redis", 4, 0, 5), Task("stream", 3, 1),
                                     Task("stream", 6, 0), Task("chase", 7, 0)), BEST),
    },
}
# Where a kind's penalty is measured. While a server's threads are away, its client and they disturb each other's counts.
ALONE = {"stream": "stream-local", "chase": "chase-local"}


@dataclass(frozen=True)
class Member:
    """Holds a process that is counted, on a CPU of its own."""

    kind: str
    pid: int
    cpu: int
    memory_node: int
    port: int | None = None  # of the server that it is or that it asks


class Memory:
    """Runs np-mem until it is stopped."""

    ARGV = {"stream": ["triad", "--kernel", "plain", "--size", "8M"], "chase": ["chase", "--size", "32M"]}

    def __init__(self, task: Task):
        """Starts np-mem on the task's CPU and memory, and lets it work once it is ready."""
        argv = ["build/np-mem", *self.ARGV[task.kind], "--cpus", str(task.cpu), "--mem", str(task.memory_node)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.process.stdout.readline(), f"{argv} ended"
        self.process.stdin.write(f"run {EVER}\n")
        self.members = [Member(task.kind, self.process.pid, task.cpu, task.memory_node)]

    def stop(self):
        self.process.kill()
        self.process.communicate()


class Redis:
    """Runs a server that a client keeps asking for random values."""

    def __init__(self, task: Task, port: int):
        """Starts a server and its client, and waits until the server has answered ANSWERS_FIRST requests."""
        ask = ["redis-benchmark", "-p", str(port), "-n", "2000000000", "-r", str(measure.REDIS_KEYS), "-c", "10", "-q",
               "GET", "key:__rand_int__"]
        self.server = measure.start_server(port, task.memory_node)
        set_cpus(self.server.pid, [task.cpu])
        self.client = subprocess.Popen(["numactl", "--all", "-C", str(task.client), "-m", "0", *ask],
                                       stdout=subprocess.DEVNULL)
        self.members = [Member("redis", self.server.pid, task.cpu, task.memory_node, port),
                        Member("client", self.client.pid, task.client, 0, port)]
        while count_answers(port) < ANSWERS_FIRST:
            time.sleep(0.02)

    def stop(self):
        for process in (self.client, self.server):
            process.kill()
            process.wait()


def count_answers(port: int) -> int:
    """Returns the requests that a server has answered."""
    stats = measure.run_command("redis-cli", "-p", str(port), "INFO", "commandstats")
    calls = [line for line in stats.splitlines() if line.startswith("cmdstat_get:")]
    return int(calls[0].partition("calls=")[2].partition(",")[0]) if calls else 0


def start_tasks(tasks: tuple[Task, ...]) -> list[Memory | Redis]:
    """Starts the tasks in their order, each server on a port of its own, and waits until they work."""
    return [Redis(task, PORT + number) if task.kind == "redis" else Memory(task) for number, task in enumerate(tasks)]


def read_pages(pid: int) -> dict[int, int]:
    """Reads how many pages a process has on nodes 0 and 1 in mappings with anonymous pages; {} where it has none."""
    pages: dict[int, int] = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text(encoding="ascii").splitlines():
        fields = dict(word.partition("=")[::2] for word in line.split())
        for node in (0, 1) if "anon" in fields else ():
            pages[node] = pages.get(node, 0) + int(fields.get(f"N{node}", 0))
    return pages


def read_counters_and_answers(members: list[Member]) -> tuple[list[dict[str, int]], dict[int, tuple[int, float]], float]:
    """Reads the counters of each CPU, by port a server's answered requests and the time in s, and the time in s of the counters."""
    answers = {port: (count_answers(port), time.monotonic()) for port in {member.port for member in members if member.port}}
    return measure.read_all_counters(), answers, time.monotonic()


def measure_members(members: list[Member], milliseconds: int) -> list[dict[str, float]]:
    """Measures, of each member, `bytes_per_s` of DRAM that its CPU reads and writes, and `progress_per_s`, of requests or instructions."""
    before, answers, since = read_counters_and_answers(members)
    time.sleep(milliseconds / 1000)
    after, until = measure.read_all_counters(), time.monotonic()
    answers_after = {port: (count_answers(port), time.monotonic()) for port in answers}
    rows = []
    for member in members:
        counted = {key: after[member.cpu][key] - before[member.cpu][key] for key in after[member.cpu]}
        lines = sum(counted[key] for key in ("local_dram", "remote_dram", "dram_writes"))
        progress = counted["instructions"] / (until - since)
        if member.port:
            (count, counted_at), (count_before, counted_before_at) = answers_after[member.port], answers[member.port]
            progress = (count - count_before) / (counted_at - counted_before_at)
        rows.append({"bytes_per_s": LINE_BYTES * lines / (until - since), "progress_per_s": progress})
    return rows


def measure_penalty(scenario: Scenario) -> float:
    """Measures the penalty, a ratio, of the one task of a scenario, alone on the machine: the median of FLIPS flips."""
    (running,) = start_tasks(scenario.tasks)
    flip = ["measure-penalty", "--json", "--sample", f"{SAMPLE_MS[scenario.group]}ms", "--flip", str(running.members[0].pid)]
    try:
        time.sleep(WARM_UP_S)
        flips = [measure.run_tool(*flip)["tasks"][0]["penalty"] for _ in range(FLIPS)]
    finally:
        running.stop()
    return median(flips)


def make_plan(scenario: Scenario, pids: list[str], options: list[str]) -> dict:
    """Makes a plan that rests on counters for every task, writes it to PLAN, and returns it as `plan --json` prints it.

    Exits where TRIES tries do not give one. options: further words of the command line."""
    for _ in range(TRIES):
        plan = measure.run_tool("plan", "--json", "--override", "--sample", f"{SAMPLE_MS[scenario.group]}ms", "--policy",
                                *scenario.then, *options, *pids)
        if all(decision["traffic"]["measured"]["source"] == "counters" for decision in plan["decisions"]):
            Path(PLAN).write_text(json.dumps(plan), encoding="ascii")
            return plan
    sys.exit(f"tasks {' '.join(pids)} were not counted in {TRIES} tries: other tasks run on their CPUs")


def choose_cpus(decisions: list[dict], current: list[int]) -> list[int]:
    """Chooses a CPU for each task: its current one, or one of the node that the decision moves it to; no CPU gets two tasks."""
    cpus: list[int] = []
    for decision, cpu in zip(decisions, current, strict=True):
        node = decision["from"] if decision["to"] is None else decision["to"]
        free_cpus = [candidate for candidate in reversed(measure.list_cpus(node)) if candidate not in cpus]
        cpus.append(cpu if cpu in free_cpus else free_cpus[0])
    return cpus


def compare_placements(name: str, scenario: Scenario, members: list[Member], penalties: dict[str, float],
                       model_words: list[str]) -> None:
    """Applies a plan and prints, for each member, the traffic and gain that it predicts, and the traffic and progress before and after.

    penalties: by kind of task, told to the plan. model_words: those of the command line that name its model."""
    time.sleep(WARM_UP_S)
    pids = [str(member.pid) for member in members]
    assumed = [word for member in members if member.kind in penalties
               for word in ("--assume", f"pid={member.pid},penalty={penalties[member.kind]}")]
    plan = make_plan(scenario, pids, model_words + assumed)
    before = measure_members(members, SAMPLE_MS[scenario.group])
    applied = subprocess.run([TOOL, "apply", "--plan", PLAN], capture_output=True, text=True, check=False)
    moved = [replace(member, cpu=cpu) for member, cpu in
             zip(members, choose_cpus(plan["decisions"], [member.cpu for member in members]), strict=True)]
    for member in moved:  # apply leaves it all CPUs of its node, and counters are a CPU's
        set_cpus(member.pid, [member.cpu])
    time.sleep(WARM_UP_S)
    after = measure_members(moved, SAMPLE_MS[scenario.group])
    for position, member in enumerate(members):
        decision = plan["decisions"][position]
        measure.print_record(scenario=name, group=scenario.group, kind=member.kind, model=plan["model"], cpu=member.cpu,
                             memory=member.memory_node, penalty=penalties.get(member.kind), traffic=decision["traffic"], gain=decision["gain"],
                             counted=before[position], then=" ".join(scenario.then), cpu_then=moved[position].cpu,
                             counted_then=after[position], pages_then=read_pages(member.pid), applied=applied.returncode, said=applied.stderr)


def run_scenario(name: str, scenario: Scenario, penalties: dict[str, float], model_words: list[str]):
    """Starts a scenario's tasks, prints their records by compare_placements(), and stops them."""
    running = start_tasks(scenario.tasks)
    try:
        compare_placements(name, scenario, [member for task in running for member in task.members], penalties, model_words)
    finally:
        for task in running:
            task.stop()


def calibrate_machine() -> str:
    """Measures this machine's model and returns its file's name; exits where in_lab.TRIES tries fail, as where threads do not overlap."""
    for _ in range(in_lab.TRIES):
        run = subprocess.run([TOOL, "calibrate-machine", MODEL, *in_lab.list_options()], capture_output=True, text=True, check=False)
        print(run.stdout, flush=True)
        if not run.returncode:
            return MODEL
    sys.exit(f"{run.stderr}calibrate-machine ended with status {run.returncode}")


def main():
    """Runs the scenarios named, or all of the machine, and prints a record for each task."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="demo-2s", choices=SCENARIOS, help="the machine that this one is")
    parser.add_argument("--calibrate", action="store_true", help="plan with a model that is measured first")
    parser.add_argument("--model", help="plan with this machine file's; without it: with one made of the distances")
    parser.add_argument("--penalties", action="store_true", help="tell plans the tasks' penalties, of flips of each kind")
    parser.add_argument("scenarios", nargs="*", help="without one: all of the machine")
    arguments = parser.parse_args()
    scenarios = SCENARIOS[arguments.machine]
    model = calibrate_machine() if arguments.calibrate else arguments.model
    os.sched_setaffinity(0, {TOOL_CPU})
    penalties = {kind: measure_penalty(scenarios[name]) for kind, name in ALONE.items()} if arguments.penalties else {}
    for name in arguments.scenarios or scenarios:
        run_scenario(name, scenarios[name], penalties, ["--model", model] if model else [])


if __name__ == "__main__":
    main()

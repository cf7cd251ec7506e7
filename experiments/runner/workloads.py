# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of workload: how their tasks are started misplaced, measured and verified."""

from __future__ import annotations

import shutil
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import CannotError, ExperimentError
from .machine import Node, format_list
from .numaplace import BUILD
from .plan import Item
from .program import Program, set_cpus
from .suite import Suite, Task

START_LIMIT = 120  # s, for a program to be ready; generous, the lab is slow
WORK_LIMIT = 600   # s, for a phase of the Redis client
LEAD = 0.3         # s, until all workers begin together
KEEP_FREED = {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}  # for redis-server's jemalloc
STRUCTURES = 3     # lists or sorted sets; there are as many keys as all of them have elements
MIN_OVERLAP = 0.75  # of the time that the workers of one observation measure at once


@dataclass
class Measured:
    """What a workload's own programs report."""

    metrics: list[dict[str, Any]]
    marks: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)  # by role


def metric(name: str, unit: str, value: float) -> dict[str, Any]:
    return {"name": name, "unit": unit, "value": value}


class Running:
    """The processes of one observation. Every subclass starts, measures and verifies them."""

    def __init__(self, item: Item, suite: Suite, nodes: list[Node], scratch: Path) -> None:
        self.tasks = item.workload.tasks
        self.options = suite.parameters[item.workload.kind]
        self.seed = suite.seed + item.repeat
        self.item, self.nodes, self.scratch = item, nodes, scratch
        self.programs: dict[str, Program] = {}

    def start(self) -> None:
        raise NotImplementedError

    def measure(self) -> Measured:
        raise NotImplementedError

    def verify(self) -> str:
        raise NotImplementedError

    def run(self, task: Task, arguments: list[str | Path],
            environment: dict[str, str] | None = None, keep_memory: bool = False) -> Program:
        """Starts a task's program on the CPUs of the node that its memory is to be on; with
        keep_memory what it allocates later is to be there too, wherever it runs."""
        node = self.nodes[task.memory_on[0]]
        program = Program(arguments, node.cpus, environment or {}, node.id if keep_memory else None)
        self.programs[task.role] = program
        return program

    @property
    def pids(self) -> list[int]:
        return [self.programs[task.role].pid for task in self.tasks]

    def vanished(self) -> list[str]:
        return [f"task {role} vanished: {program.why()}"
                for role, program in self.programs.items() if not program.alive]

    def stop(self) -> None:
        for program in self.programs.values():
            program.stop()


class Triad(Running):
    """Processes of np-triad; the arrays are placed by memory policy, which is then taken away."""

    def start(self) -> None:
        for task in self.tasks:
            self.run(task, [BUILD / "np-triad", "--size", self.options["size"],
                            "--kernel", self.options["kernel"],
                            "--mem", format_list(tuple(self.nodes[n].id for n in task.memory_on)),
                            "--cpus", format_list(self.nodes[task.runs_on].cpus)])
        for program in self.programs.values():
            program.receive("ready", START_LIMIT)

    def measure(self) -> Measured:
        seconds, begin = self.options["seconds"], time.monotonic() + LEAD
        for program in self.programs.values():
            program.send(f"run {seconds} {begin:.6f}")
        self.results = {role: program.receive("result", seconds + START_LIMIT)
                        for role, program in self.programs.items()}
        found = self.results.values()
        both = min(r["finished"] for r in found) - max(r["started"] for r in found)
        marks = [] if both >= MIN_OVERLAP * seconds else [
            f"the workers measured together for {both:.2f} s of {seconds:g} s only"]
        return Measured([metric("bandwidth", "MB/s", sum(r["mb_per_s"] for r in found)),
                         metric("bandwidth_bus", "MB/s", sum(r["mb_per_s_bus"] for r in found))],
                        marks, self.results)

    def verify(self) -> str:
        wrong = [f"{role}: {r['wrong_elements']} wrong elements"
                 for role, r in self.results.items() if not r["verified"]]
        return "; ".join(wrong) or "ok"


class Redis(Running):
    """redis-server and its client: both load on one node and are then sent to the other.

    Their memory policy is the one of a deployment that pinned memory to the wrong node: preferred
    on the first node, for what is allocated later too, until a placement policy changes it. Both
    allocators keep what they have freed, so that few pages are new after loading.
    """

    def start(self) -> None:
        server, client = self.tasks
        path = self.scratch / "redis.sock"
        path.unlink(missing_ok=True)
        self.log = self.scratch / "redis.log"
        self.run(server, [redis_server(), "--port", "0", "--unixsocket", path, "--save", "",
                          "--appendonly", "no", "--dir", self.scratch, "--logfile", self.log,
                          "--loglevel", "warning", "--daemonize", "no"], KEEP_FREED, keep_memory=True)
        self._wait_for(path)
        structure = self.item.workload.name.removeprefix("redis-")
        elements = self.options["elements"] * (STRUCTURES if structure == "keys" else 1)
        self.run(client, [BUILD / "np-redis", "--socket", path,
                          "--workload", structure, "--elements", str(elements),
                          "--max-length", str(self.options["max_length"]),
                          "--seed", str(self.seed)], keep_memory=True).receive("ready", START_LIMIT)
        self.loaded = self._phase("load", self.options["load_pipeline"])
        # Once through all that is measured: both heaps grow to their full size here, not over there.
        self._phase("update", self.options["load_pipeline"])
        for task in self.tasks:
            set_cpus(self.programs[task.role].pid, self.nodes[task.runs_on].cpus)

    def _wait_for(self, path: Path) -> None:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if not self.programs["server"].alive:
                raise ExperimentError(f"redis-server did not start: {self.programs['server'].why()}; "
                                      f"its log says: {self._last_of_log()}")
            with socket.socket(socket.AF_UNIX) as attempt:
                try:
                    return attempt.connect(str(path))
                except OSError:
                    time.sleep(0.02)
        raise ExperimentError(f"redis-server does not listen on {path} after {START_LIMIT} s")

    def _last_of_log(self) -> str:
        try:
            return self.log.read_text(errors="replace").strip().rpartition("\n")[2]
        except OSError:
            return "nothing"

    def _phase(self, name: str, pipeline: int) -> dict[str, Any]:
        self.programs["client"].send(f"{name} {pipeline}")
        return self.programs["client"].receive("result", WORK_LIMIT)

    def measure(self) -> Measured:
        updated = self._phase("update", self.options["pipeline"])
        marks = [f"{updated['errors']} commands failed"] if updated["errors"] else []
        latency = updated["latency_us"]
        return Measured([metric("throughput", "ops/s", updated["ops_per_second"]),
                         metric("latency_p50", "us", latency["p50"]),
                         metric("latency_p99", "us", latency["p99"])],
                        marks, {"client": {"load": self.loaded, "update": updated}})

    def verify(self) -> str:
        self.programs["client"].send("verify")
        found = self.programs["client"].receive("verify", WORK_LIMIT)
        return "ok" if found["ok"] else (f"data set: {found['elements']} elements of "
                                         f"{found['expected']}, {found['mismatches']} differ")


def redis_server() -> str:
    path = shutil.which("redis-server")
    if not path:
        raise CannotError("redis-server is not installed: apt-get install redis-server, "
                          "or leave the redis workloads out with --workloads")
    return path


KINDS: dict[str, type[Running]] = {"triad": Triad, "redis": Redis}


def check_programs(suite: Suite) -> None:
    """That everything the suite starts is there, before anything is started."""
    kinds = {workload.kind for workload in suite.workloads}
    wanted = {"triad": ["np-triad"], "redis": ["np-redis"]}
    for kind in kinds:
        for name in wanted[kind]:
            if not (BUILD / name).exists():
                raise CannotError(f"{BUILD / name} is missing: run 'make tools'")
    if "redis" in kinds:
        redis_server()

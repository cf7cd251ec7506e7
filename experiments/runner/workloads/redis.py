# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of redis-server, which every observation starts anew."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import CannotError, ExperimentError
from ...host.counters import Counting
from ...host.process import set_cpus
from ...host.tool import take_last_line
from ...host.topology import SPREADS, order_cpus
from ...paths import HERE
from ..kinds.footprint import STRUCTURES
from ..suite.suite import Task
from .workload import START_LIMIT, WORK_LIMIT, Measured, RunningWorkload, make_metric

KEEP_FREED = {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}  # for redis-server's jemalloc
# redis-benchmark counts whole milliseconds: its fastest command is to take about so long, which makes its rate
# right to 3 %. A pilot of a part of the requests says how many that takes.
AIM_SECONDS, PILOT_PART, TICK_SECONDS = 0.03, 10, 0.001
LARGEST_PILOT = 100000  # requests, beyond those of the suite
POLL = 0.02  # s, between two attempts at the server's socket
LATENCIES = {"latency_p50": "p50_latency_ms", "latency_p99": "p99_latency_ms"}  # columns of redis-benchmark's CSV
REMEDIES = {"redis-server": "apt-get install redis-server, or leave the redis workloads out with --workloads",
            "redis-benchmark": "apt-get install redis-tools"}


class Redis(RunningWorkload):
    """redis-server and its client: both load on one node and are then sent to the other.

    Their memory policy is the one of a deployment that pinned memory to the wrong node: preferred
    on the first node, for what is allocated later too, until a placement policy changes it. Both
    allocators keep what they have freed, so that few pages are new after loading. Each has a CPU of its own until it is
    placed: what is counted there is its own.
    """

    def start(self) -> None:
        """Starts server and client with the structure that the workload's name says."""
        structure = self.trial.workload.name.removeprefix("redis-")
        elements = self.options["elements"] * (STRUCTURES if structure == "keys" else 1)
        self.start_loaded(structure, elements, self.options["load_pipeline"])

    def start_loaded(self, structure: str, elements: int, pipeline: int) -> None:
        """Starts server and client on the node of their memory, takes them once through all that is measured, so that both heaps have
        their full size there, and sends them to their own CPUs. elements: of each list, or keys; pipeline: commands in flight."""
        server, client = self.tasks
        path = self.start_server(server, None)
        self.run(client, self._list_client_words(path, structure, elements), keep_memory=True).receive("ready", START_LIMIT)
        self.loaded = self._time_phase("load", pipeline)
        self._time_phase("update", pipeline)
        self.send_to_own_cpus()

    def send_to_own_cpus(self) -> None:
        """Binds each program to a CPU of its own on the node where it is to run; to all of the node's where only one is left."""
        free = {k: list(order_cpus(node.places, SPREADS[0])) for k, node in enumerate(self.nodes)}
        for task in self.tasks:
            cpus = free[task.runs_on]
            set_cpus(self.programs[task.role].pid, [cpus.pop(0)] if len(cpus) > 1 else self.nodes[task.runs_on].cpus)

    def work_once(self) -> None:
        self._time_phase("update", self.options["pipeline"])

    def start_server(self, task: Task, cpus: tuple[int, ...] | None) -> Path:
        """Starts redis-server on these CPUs, or those of its memory's node. Returns the path of its socket, which is ready."""
        self.path = path = self.scratch / "redis.sock"
        path.unlink(missing_ok=True)
        self.log = self.scratch / "redis.log"
        self.run(task, [find_program("redis-server"), "--port", "0", "--unixsocket", path, "--save", "",
                        "--appendonly", "no", "--dir", self.scratch, "--logfile", self.log,
                        "--loglevel", "warning", "--daemonize", "no"], KEEP_FREED, keep_memory=True, cpus=cpus)
        self._wait_for_socket(path)
        return path

    def _list_client_words(self, path: Path, structure: str, elements: int) -> list[str | Path]:
        """Lists the words of np-redis. path: of the server's socket; elements: of each list or sorted set, or keys."""
        return [HERE.programs / "np-redis", "--socket", path, "--workload", structure,
                "--elements", str(elements), "--max-length", str(self.options["max_length"]),
                "--seed", str(self.seed)]

    def _wait_for_socket(self, path: Path) -> None:
        """Waits until the server takes a connection. ExperimentError: it ended, or does not within START_LIMIT seconds."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if not self.programs["server"].alive:
                raise ExperimentError(f"redis-server did not start: {self.programs['server'].explain_end()}; "
                                      f"its log says: {self._read_end_of_log()}")
            with socket.socket(socket.AF_UNIX) as attempt:
                try:
                    return attempt.connect(str(path))
                except OSError:
                    time.sleep(POLL)
        raise ExperimentError(f"redis-server does not listen on {path} after {START_LIMIT} s")

    def _read_end_of_log(self) -> str:
        """Returns the last line of the server's log; "nothing" where it has none that can be read."""
        try:
            return self.log.read_text(errors="replace").strip().rpartition("\n")[2]
        except OSError:
            return "nothing"

    def _time_phase(self, name: str, pipeline: int) -> dict[str, Any]:
        """Has np-redis carry out a phase, `load` or `update`, with so many commands in flight. Returns its result."""
        self.programs["client"].send(f"{name} {pipeline}")
        return self.programs["client"].receive("result", WORK_LIMIT)

    def ask(self, command: str) -> str:
        """Sends the server a command on a connection of its own. Returns its answer, without the type of Redis' protocol."""
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self.path))
            server.sendall(command.encode() + b"\r\n")
            with server.makefile("rb") as answer:
                first_line = answer.readline().decode()
                kind, rest = first_line[:1], first_line[1:]  # both empty where the server has ended
                return rest if kind in (":", "+") else answer.read(int(rest)).decode()  # a number or word, or the bytes of what follows

    def measure(self) -> Measured:
        """Measures one update of all elements: its throughput, and its latencies in us."""
        updated = self._time_phase("update", self.options["pipeline"])
        marks = [f"{updated['errors']} commands failed"] if updated["errors"] else []
        latency = updated["latency_us"]
        self.details = {"load": self.loaded, "update": updated}
        return Measured([make_metric("throughput", "ops/s", updated["ops_per_second"]),
                         make_metric("latency_p50", "us", latency["p50"]),
                         make_metric("latency_p99", "us", latency["p99"])],
                        marks, {"client": self.details})

    def verify(self) -> str:
        """Checks that the server has all elements as sent, and adds their digest to the details. Returns "ok", or what is wrong."""
        self.programs["client"].send("verify")
        verified = self.programs["client"].receive("verify", WORK_LIMIT)
        self.details["data_set"] = {"elements": verified["elements"], "digest": verified["digest"]}
        return "ok" if verified["ok"] else (f"data set: {verified['elements']} elements of "
                                            f"{verified['expected']}, {verified['mismatches']} differ")


class RedisTimes(Redis):
    """As the papers time it: fill, then go over all; the server's memory stays where it was put, or is placed before."""

    def start(self) -> None:
        """Starts server and client: loaded where they are placed later, else empty and each on the node that it runs on."""
        if self.placed:
            self.start_loaded(self.options["structure"], self.options["elements"], self.options["pipeline"])
            return
        server, client = self.tasks
        cpus = {task.role: self.nodes[task.runs_on].cpus for task in self.tasks}
        path = self.start_server(server, cpus["server"])
        self.run(client, self._list_client_words(path, self.options["structure"], self.options["elements"]),
                 keep_memory=True, cpus=cpus["client"]).receive("ready", START_LIMIT)

    def measure(self) -> Measured:
        """Measures filling the server and one update of all elements: seconds, throughput and latencies in us, with counters."""
        pipeline, cpus = self.options["pipeline"], self.nodes[self.tasks[0].runs_on].cpus
        if self.placed:
            self.ask("FLUSHALL SYNC")  # the heap stays where it is
        with Counting(cpus, self.options["interval"]) as counting:
            load, update = self._time_phase("load", pipeline), self._time_phase("update", pipeline)
        seconds = load["seconds"] + update["seconds"]
        metrics = [make_metric("seconds", "s", seconds),
                   make_metric("seconds_load", "s", load["seconds"]), make_metric("seconds_update", "s", update["seconds"]),
                   make_metric("throughput", "ops/s", (load["ops"] + update["ops"]) / seconds)]
        metrics += [make_metric(f"latency_{name}", "us", update["latency_us"][name]) for name in ("p50", "p99", "p999")]
        self.details = {"load": load, "update": update}
        return Measured(metrics, [], {"client": self.details}, counting.list_series())


class Calls(NamedTuple):
    """Holds how often a server was asked for a command."""
    made: int
    failed: int  # of these, or rejected


NO_CALLS = Calls(0, 0)


class ForeignClient(Redis):
    """redis-server, which a program of others loads; what it asked for is counted by the server. The client stays on the
    node that the server started on, also where a placement takes the server elsewhere."""

    def start(self) -> None:
        """Starts the server; where it is placed later, fills it too and binds it to a CPU of its own."""
        server, = self.tasks
        self.start_server(server, self.nodes[server.runs_on].cpus)
        if self.placed:
            self.work_once()
            self.send_to_own_cpus()

    def begin_measuring(self) -> None:
        """Empties the server, whose heap stays where it is, and sets its counts of commands to 0."""
        if self.placed:
            self.ask("FLUSHALL SYNC")
        self.ask("CONFIG RESETSTAT")

    def call_client(self, *words: str | Path) -> str:
        """Runs a client to its end on the node that the server started on. Returns its output. ExperimentError: it failed."""
        name, cpus = Path(words[0]).name, self.nodes[self.tasks[0].runs_on].cpus
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=WORK_LIMIT,
                                  stdin=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        except subprocess.TimeoutExpired:
            raise ExperimentError(f"{name}: not finished after {WORK_LIMIT} s") from None
        if done.returncode:
            raise ExperimentError(f"{name}: {take_last_line(done.stderr) or take_last_line(done.stdout)}")
        return done.stdout

    def count_calls(self) -> dict[str, Calls]:
        """Reads the server's calls since begin_measuring(), by command in small letters."""
        return count_command_calls(self.ask("INFO commandstats"))


class RedisBenchmark(ForeignClient):
    """redis-benchmark as the distribution has it."""

    def measure(self) -> Measured:
        """Measures the rate of each command in ops/s, and its latencies in us where redis-benchmark has them.

        A range's answer is as large as a hundred other answers and more: it has a count of requests of its own.
        What the measured run takes decides nothing: a rule that left out the fast ones would lower the mean.
        """
        options = self.options
        groups = [(tests, self._choose_requests(tests, requests)) for tests, requests in
                  ((options["tests"], options["requests"]), (options["range_tests"], options["range_requests"])) if tests]
        self.begin_measuring()
        self.timed_tests = {row["test"]: (row, made) for tests, requests in groups for row, made in self._time_tests(tests, requests)}
        rows = [row | {"requests": requests} for row, requests in self.timed_tests.values()]
        metrics = [make_metric(name_command(row["test"]), "ops/s", float(row["rps"])) for row in rows]
        metrics += [make_metric(f"{name_command(row['test'])}_{name}", "us", 1000 * float(row[column]))
                    for row in rows for name, column in LATENCIES.items() if column in row]
        return Measured(metrics, [], {"server": {"rows": rows}})

    def work_once(self) -> None:
        self._read_rows(self.options["tests"], max(self.options["clients"], self.options["requests"] // PILOT_PART))

    def _time_tests(self, tests: str, requests: int) -> list[tuple[dict[str, str], int]]:
        """Times the tests. Returns redis-benchmark's row of each and the requests that it made; more of them than asked for where one
        took no whole millisecond."""
        rows = self._read_rows(tests, requests)
        while any(math.isinf(float(row["rps"])) for row in rows):
            requests *= PILOT_PART
            rows = self._read_rows(tests, requests)
        return [(row, requests) for row in rows]

    def _choose_requests(self, tests: str, requests: int) -> int:
        """Chooses how many requests each test makes: as many as the suite says, or as the fastest command of a pilot needs for
        AIM_SECONDS."""
        pilot = max(self.options["clients"], requests // PILOT_PART)
        while pilot < requests + LARGEST_PILOT:
            # The rate of one that took no whole tick is infinite: it took one at most.
            fastest = max(min(float(row["rps"]), pilot / TICK_SECONDS) for row in self._read_rows(tests, pilot))
            if AIM_SECONDS * fastest <= PILOT_PART * pilot:
                break
            pilot *= PILOT_PART  # it was over in a few ticks, and says too little
        return max(requests, math.ceil(AIM_SECONDS * fastest))

    def _read_rows(self, tests: str, requests: int) -> list[dict[str, str]]:
        """Runs redis-benchmark for the tests named. Returns its rows by column, without those of what prepares a test.
        ExperimentError: there are none."""
        options = self.options
        random_keys = ["-r", str(options["keys"])] if options["keys"] else []  # without them, all requests have one key
        output = self.call_client(find_program("redis-benchmark"), "-s", str(self.path), "--csv", "-n", str(requests),
                                  "-c", str(options["clients"]), "-P", str(options["pipeline"]), *random_keys,
                                  "-d", str(options["value_bytes"]), "-t", tests)
        rows = [row for row in csv.DictReader(io.StringIO(output)) if "needed to benchmark" not in row["test"]]
        if not rows:
            raise ExperimentError(f"redis-benchmark: printed no line of CSV for {tests}")
        return rows

    def verify(self) -> str:
        """Checks that the server counted as many commands of each kind as were to be made and no error, and that ranges had their length.
        Returns "ok" or what is wrong."""
        calls, list_length = self.count_calls(), int(self.ask("LLEN mylist"))
        requests_by_command: Counter[str] = Counter()
        problems = []
        for row, requests in self.timed_tests.values():
            name, _, length = name_command(row["test"]).partition("_")
            requests_by_command[name] += requests  # all lengths of ranges are one command
            if name == "lrange" and list_length < int(length):
                problems.append(f"{row['test']}: the list had {list_length}; redis-benchmark.tests needs lpush")
        for name, requests in requests_by_command.items():
            made, failed = calls.get(name, NO_CALLS)
            if made < requests or failed:
                problems.append(f"{name}: {made} commands counted by the server, {failed} failed, "
                                f"{requests} asked for")
        return "; ".join(problems) or "ok"


def name_command(test: str) -> str:
    """Returns a metric's name for a test of redis-benchmark: lrange_100 for 'LRANGE_100 (first 100 elements)'."""
    return test.partition(" (")[0].strip().lower().replace(" ", "_")


def count_command_calls(info: str) -> dict[str, Calls]:
    """Reads the calls of each command from INFO commandstats."""
    return {name: Calls(int(calls), int(rejected) + int(failed)) for name, calls, rejected, failed in re.findall(
        r"cmdstat_(\w+):calls=(\d+).*?rejected_calls=(\d+),failed_calls=(\d+)", info)}


def find_program(name: str) -> str:
    """Finds the path of a program of REMEDIES. CannotError: it is not installed."""
    path = shutil.which(name)
    if not path:
        raise CannotError(f"{name} is not installed: {REMEDIES[name]}")
    return path

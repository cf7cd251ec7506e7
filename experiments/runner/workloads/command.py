# SPDX-License-Identifier: GPL-2.0-only
"""Any program, as a file describes it: placed where the kernel has put it, measured by what it prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import ExperimentError
from ...host import guard, host_nodes, packages
from ...host.background import Background, Process, find_user
from ...host.counters import Counting
from ...host.host_nodes import Node
from ...host.tool import Numaplace, take_last_line
from ...paths import HERE
from ..kinds import footprint
from ..records.record import TaskState
from ..suite import command as spec
from ..suite.schedule import ORACLE, Trial
from ..suite.suite import ANYWHERE, Suite
from .workload import WORK_LIMIT, Measured, RunningWorkload, make_metric

READY_LIMIT = host_nodes.scale_limit(900)  # s; generous, the lab is slow
POLL = 0.02        # s
CONNECT_LIMIT = 1  # s, for one attempt at a server's port
TRAVERSABLE = 0o711  # of the scratch folder, where another user's program works in a folder below it
# Looks at a program that runs to its end: the last is then not long before it.
FIRST_LOOK, LATER = 0.5, 1.5  # s, and so many times later each
COUNTED = 0.5  # of the time that a program works, so that its accesses are told


class Command(RunningWorkload):
    """One program that ends, or a server and a client that ends."""

    unpinned = True
    works = False

    def __init__(self, trial: Trial, suite: Suite, nodes: list[Node], scratch: Path) -> None:
        """Prepares a program's run. scratch: the run's folder, which gets one each for its files, its prepared data and its output."""
        super().__init__(trial, suite, nodes, scratch)
        self.spec: spec.Command = self.options["command"]
        self.folder, self.data = scratch / f"{self.spec.name}-scratch", scratch / f"{self.spec.name}-data"
        self.logs = scratch / f"{self.spec.name}-output"
        self.role = "server" if self.spec.client else "program"
        self.processes: list[Process] = []  # the program and its descendants, as the tasks
        self.last_read: dict[int, TaskState] = {}  # each task as it was read last, by pid
        self.client: Background | None = None

    def start(self) -> None:
        """Prepares and starts the program, waits until it is ready and warm, and takes its processes as tasks.
        ExperimentError: it ended before, or is not ready within READY_LIMIT seconds."""
        self.values, self.home = self._list_values(), self._list_home_cpus()
        self.directory = Path(spec.fill_word(self.spec.directory, self.values)) if self.spec.directory else self.folder
        self._make_folders()
        self._prepare()
        self._crowd_memory()
        words = (*self.spec.command, *(self.spec.oracle if self.trial.policy == ORACLE else ()))
        self.programs[self.role] = main = self._begin(self.role, words, self._hold_cpus)
        if self.spec.ready:
            self._wait_until_ready(main, self.spec.ready)
        self.ready_seconds = time.monotonic() - main.started
        if self.spec.load:
            self._run_to_end("load", self.spec.load)
        if main.wait(self.spec.warm_up * host_nodes.read_lab_scale()) and not self.unseen_counts:
            raise ExperimentError(f"{main.explain_end()}, before it could be placed: give it more work, or an earlier 'ready'")
        self._find_tasks(main.list_processes())
        for pid in self.pids:
            self._release_cpus(pid)

    def _list_home_cpus(self) -> set[int]:
        """Lists the CPUs of the node that it begins on; none where the kernel or a mechanism chooses them."""
        position = self.options.get("initial_node", ANYWHERE)
        return set() if position == ANYWHERE or self.bound else set([node for node in self.nodes if node.usable][position].cpus)

    def _hold_cpus(self) -> None:
        """Binds the calling process, the program's before exec, to its first node's CPUs, so that its first memory is there."""
        if self.home:
            os.sched_setaffinity(0, self.home)
        self.before_exec()

    def _release_cpus(self, pid: int) -> None:
        """Gives threads that are still bound to the first node all CPUs; those that have chosen CPUs of their own keep them."""
        for thread in Path(f"/proc/{pid}/task").glob("*") if self.home else ():
            with suppress(ProcessLookupError):  # it ended between the listing and now
                if os.sched_getaffinity(int(thread.name)) == self.home:
                    os.sched_setaffinity(int(thread.name), os.sched_getaffinity(0))

    def _list_values(self) -> dict[str, object]:
        """Returns what stands in the place of each word in braces, by that word; the port is one that was free a moment ago."""
        usable = [node for node in self.nodes if node.usable]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        memory_size = self.options.get("memory")
        return {"nodes": len(usable), "cpus": sum(len(node.cpus) for node in usable), "threads": min(len(node.cpus) for node in usable),
                "memory_mib": max(1, footprint.parse_bytes(memory_size) >> 20) if memory_size else 0, "seed": self.seed,
                "scratch": self.folder, "data": self.data, "port": port, "folder": self.spec.folder, "python": sys.executable,
                "scale": host_nodes.read_lab_scale()}

    def _fill_words(self, words: Sequence[str]) -> list[str]:
        return [spec.fill_word(word, self.values) for word in words]

    def _make_environment(self) -> dict[str, str]:
        return packages.make_environment() | {guard.OF_RUN: str(self.scratch)} | {
            name: spec.fill_word(value, self.values) for name, value in self.spec.environment.items()}

    def _make_folders(self) -> None:
        """Makes the program's folders, the scratch folder empty, and gives them to the user that it runs as."""
        user = find_user(self.spec.user)
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (self.folder, self.data, self.logs):
            folder.mkdir(exist_ok=True)
            if user and folder != self.logs:
                os.chown(folder, user.pw_uid, user.pw_gid)
        if user:
            self.scratch.chmod(TRAVERSABLE)

    def _prepare(self) -> None:
        """Runs the file's `prepare` to its end, once in a run: the data stay in their folder. ExperimentError: it failed."""
        marker = self.logs / "prepared"
        if self.spec.prepare and not marker.exists():
            self._run_to_end("prepare", self.spec.prepare)
            marker.touch()

    def _begin(self, name: str, words: Sequence[str], before_exec: Callable[[], None] = lambda: None) -> Background:
        """Starts a program of the workload's file, as its user, with its output in the log `name`. Returns it."""
        return Background(self._fill_words(words), self._make_environment(), self.directory, self.logs / name, self.spec.user, before_exec)

    def _run_to_end(self, name: str, words: Sequence[str]) -> None:
        """Runs a program to its end. ExperimentError, with `name`: it failed, or was not over after WORK_LIMIT seconds."""
        program = self._begin(name, words)
        try:
            program.finish(WORK_LIMIT)
        except ExperimentError as error:
            raise ExperimentError(f"'{name}': {error}") from None
        finally:
            program.stop()

    def _crowd_memory(self) -> None:
        """Fills the fast nodes with memory that nobody uses, so that they have room for only `fast_percent` of the workload's."""
        if self.spec.fast_percent is None:
            return
        words = [str(HERE.programs / "np-hot"), "ballast", "--size", f"{self.values['memory_mib']}M", "--fast-percent", f"{self.spec.fast_percent:g}"]
        self.programs["ballast"] = ballast = Background(words, self._make_environment(), self.folder, self.logs / "ballast")
        self._wait_until_ready(ballast, spec.Condition(pattern="^ready$"))

    def _wait_until_ready(self, main: Background, ready: spec.Condition) -> None:
        """Waits until the program is ready. ExperimentError: it ended before, or READY_LIMIT seconds have passed."""
        deadline = time.monotonic() + READY_LIMIT
        while not self._is_ready(main, ready):
            if not main.alive and not self._is_ready(main, ready):
                raise ExperimentError(f"{main.explain_end()}, before it was ready")
            if time.monotonic() > deadline:
                raise ExperimentError(f"{self.spec.name}: not ready after {READY_LIMIT} s: correct 'ready'")
            time.sleep(POLL)

    def _is_ready(self, main: Background, ready: spec.Condition) -> bool:
        """Checks whether the pattern is in the output, the file is there, or the port takes a connection."""
        if ready.pattern:
            return re.search(ready.pattern, main.output, re.MULTILINE) is not None
        if ready.file:
            return (self.folder / spec.fill_word(ready.file, self.values)).exists()
        try:
            with socket.create_connection(("127.0.0.1", int(spec.fill_word(ready.port, self.values))), timeout=CONNECT_LIMIT):
                return True
        except OSError:
            return False

    def _find_tasks(self, processes: list[Process]) -> None:
        """Takes the program and its descendants as the workload's tasks."""
        task, = self.tasks
        self.processes = processes
        names = [self.role, *(f"{process.comm}-{k}" for k, process in enumerate(processes[1:], 2))]
        self.tasks = tuple(replace(task, role=name) for name in names[:len(processes)])

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def list_alive(self) -> list[int]:
        return [process.pid for process in self.processes if process.alive]

    def read_tasks(self, numaplace: Numaplace) -> list[TaskState]:
        """Reads the tasks; of one that has ended, returns what was read last, and drops those that were never read.
        ExperimentError: none was."""
        self.numaplace = numaplace
        self._look_at_tasks()
        if not self.last_read and not self.unseen_counts:
            raise ExperimentError(f"{self.programs[self.role].explain_end()}, before it could be looked at: give it more work")
        kept = [k for k, process in enumerate(self.processes) if process.pid in self.last_read]
        self.processes, self.tasks = [self.processes[k] for k in kept], tuple(self.tasks[k] for k in kept)
        return [self.last_read[process.pid] for process in self.processes]

    def _look_at_tasks(self) -> None:
        """Reads the tasks that are alive and keeps what was read of those that have pages."""
        while alive := self.list_alive():
            try:  # a process that ends has given up its memory before it is gone
                self.last_read |= {task["pid"]: task for task in self.numaplace.read_tasks(alive)["tasks"] if any(task["pages"].values())}
                return
            except ExperimentError:  # no error where one of them ended meanwhile
                if alive == self.list_alive():
                    raise

    @contextmanager
    def keep_working(self, seconds: float) -> Iterator[float]:
        """Yields for how many seconds the program can be watched at work: `seconds`; 0 for a server, which waits for its client."""
        yield 0.0 if self.spec.client else seconds

    def measure(self) -> Measured:
        """Measures the metrics of the program's file, and its share of remote accesses where enough of its work was counted."""
        with Counting(tuple(cpu for node in self.nodes for cpu in node.cpus), WORK_LIMIT) as counting:
            begun = time.monotonic()
            measured = self._measure_metrics()
        worker, counts = self.client or self.programs[self.role], counting.sum_counts()
        work_begun = worker.started + (0 if self.client else self.ready_seconds)  # a client works from its start on
        ended = worker.started + worker.seconds
        is_counted = ended - begun > COUNTED * (ended - work_begun)
        if is_counted and counts.keys() >= {"local_dram", "remote_dram"}:
            local, remote = counts["local_dram"], counts["remote_dram"]
            measured.metrics.append(make_metric("remote_share", "fraction", remote / max(1, local + remote)))
        return measured

    def _measure_metrics(self) -> Measured:
        """Waits for the end of the program, or runs its client, and reads the metrics. ExperimentError: one failed, or takes too long."""
        main = self.programs[self.role]
        if self.spec.client:
            self.client = self._begin("client", self.spec.client)
            self.client.finish(WORK_LIMIT)
            if not main.alive:
                raise ExperimentError(f"{main.explain_end()}, while its client ran")
        else:
            self._look_until_end(main)
            main.finish(WORK_LIMIT)
        worker = self.client or main
        return Measured([make_metric(m.name, m.unit, read_value(m, worker)) for m in self.spec.metrics])

    def _look_until_end(self, main: Background) -> None:
        """Reads the tasks at growing intervals until the program ends. ExperimentError: it runs for longer than WORK_LIMIT seconds."""
        pause = FIRST_LOOK
        while not main.wait(pause):
            if time.monotonic() - main.started > WORK_LIMIT:
                raise ExperimentError(f"{main.words[0]}: not finished after {WORK_LIMIT} s")
            self._look_at_tasks()
            pause *= LATER

    def verify(self) -> str:
        """Checks the result by the file's command or pattern. Returns "ok", or what is wrong."""
        check = self.spec.check
        if check and check.command:
            program = self._begin("check", check.command)
            ended = program.wait(WORK_LIMIT)
            program.stop()
            return "ok" if ended and program.process.returncode == 0 else f"check: {program.explain_end()}"
        output = (self.client or self.programs[self.role]).output
        if check and not re.search(check.pattern, output, re.MULTILINE):
            return f"check: {check.pattern!r} is not in the output, whose last line is {take_last_line(output)!r}"
        return "ok"

    def list_vanished(self) -> list[str]:
        """Lists how each program ended that failed; one that has done its work is not among them."""
        return [program.explain_end() for program in self.programs.values() if not program.alive and program.process.returncode]

    def stop(self) -> None:
        """Ends all programs and removes the scratch folder."""
        for program in (self.client, *self.programs.values()):
            if program:
                program.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def read_value(metric: spec.Metric, program: Background) -> float:
    """Reads a metric's value, in its unit, of a program that has ended. ExperimentError: the output does not have it."""
    if metric == spec.SECONDS:
        return program.seconds
    return read_json(metric, program.stdout) if metric.json else read_pattern(metric, program.output)


def read_pattern(metric: spec.Metric, output: str) -> float:
    """Reads a metric from the last match of its pattern in the output. ExperimentError: there is none, or it is no number."""
    matches = re.findall(metric.pattern, output, re.MULTILINE)
    if not matches:
        raise ExperimentError(f"metric {metric.name}: {metric.pattern!r} is not in the output, whose last line is "
                              f"{take_last_line(output)!r}")
    return parse_number(metric, matches[-1])


def read_json(metric: spec.Metric, output: str) -> float:
    """Reads a metric by its path from an output that is JSON, or whose last line is. ExperimentError: it is not there, or no number."""
    try:
        value = json.loads(output)
    except ValueError:
        try:
            value = json.loads(take_last_line(output))
        except ValueError:
            raise ExperimentError(f"metric {metric.name}: neither the output nor its last line is JSON: "
                                  f"{take_last_line(output)!r}") from None
    for key in metric.json.split("."):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise ExperimentError(f"metric {metric.name}: the output's JSON has no {metric.json!r}: {key!r} is not there") from None
    return parse_number(metric, value)


def parse_number(metric: spec.Metric, value: Any) -> float:
    """Converts a metric's value to a number. ExperimentError: it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ExperimentError(f"metric {metric.name}: {value!r} is no number") from None

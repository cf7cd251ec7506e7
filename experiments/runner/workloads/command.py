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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import ExperimentError
from ...host import guard, packages
from ...host.background import Background, Process, find_user
from ...host.counters import Counting
from ...host.host_nodes import Node
from ...host.tool import Numaplace, last_line
from ...paths import HERE
from ..kinds import footprint
from ..suite import command as spec
from ..suite.schedule import CLAIRVOYANT, Trial
from ..suite.suite import ANYWHERE, Suite
from .workload import WORK_LIMIT, Measured, RunningWorkload, make_metric

READY_LIMIT = 900  # s; generous, the lab is slow
POLL = 0.02        # s
# Looks at a program that runs to its end: the last is then not long before it.
FIRST_LOOK, LATER = 0.5, 1.5  # s, and so many times later each
COUNTED = 0.5  # of the time that a program works, so that its accesses are told


class Command(RunningWorkload):
    """One program that ends, or a server and a client that ends."""

    unpinned = True
    works = False

    def __init__(self, trial: Trial, suite: Suite, nodes: list[Node], scratch: Path) -> None:
        super().__init__(trial, suite, nodes, scratch)
        self.spec: spec.Command = self.options["command"]
        self.folder, self.data = scratch / f"{self.spec.name}-scratch", scratch / f"{self.spec.name}-data"
        self.logs = scratch / f"{self.spec.name}-output"
        self.role = "server" if self.spec.client else "program"
        self.found: list[Process] = []
        self.seen: dict[int, dict[str, Any]] = {}
        self.client: Background | None = None

    def start(self) -> None:
        self.values, self.home = self._list_values(), self._list_home_cpus()
        self.directory = Path(spec.fill_word(self.spec.directory, self.values)) if self.spec.directory else self.folder
        self._make_folders()
        self._prepare()
        self._crowd_memory()
        words = (*self.spec.command, *(self.spec.clairvoyant if self.trial.policy == CLAIRVOYANT else ()))
        main = Background(self._fill_words(words), self._make_environment(), self.directory, self.logs / self.role,
                          self.spec.user, self._hold_cpus)
        self.programs[self.role] = main
        if self.spec.ready:
            self._wait_until_ready(main, self.spec.ready)
        self.ready_seconds = time.monotonic() - main.started
        if self.spec.load:
            self._run_to_end("load", self.spec.load)
        if main.wait(self.spec.warm_up) and not self.unseen_counts:
            raise ExperimentError(f"{main.explain_end()}, before it could be placed: give it more work, or an earlier 'ready'")
        self._find_tasks(main.list_processes())
        for pid in self.pids:
            self._release_cpus(pid)

    def _list_home_cpus(self) -> set[int]:
        """CPUs of the node that it begins on; none where the kernel or a mechanism chooses them."""
        position = self.options.get("initial_node", ANYWHERE)
        return set() if position == ANYWHERE or self.bound else set([node for node in self.nodes if node.usable][position].cpus)

    def _hold_cpus(self) -> None:
        """In the program's process: its node's CPUs alone until it is ready, so that its first memory is there."""
        if self.home:
            os.sched_setaffinity(0, self.home)
        self.before_exec()

    def _release_cpus(self, pid: int) -> None:
        """Threads that have chosen CPUs of their own keep them."""
        for thread in Path(f"/proc/{pid}/task").glob("*") if self.home else ():
            with suppress(ProcessLookupError):  # it ended between the listing and now
                if os.sched_getaffinity(int(thread.name)) == self.home:
                    os.sched_setaffinity(int(thread.name), os.sched_getaffinity(0))

    def _list_values(self) -> dict[str, object]:
        usable = [node for node in self.nodes if node.usable]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        memory = self.options.get("memory")
        return {"nodes": len(usable), "cpus": sum(len(node.cpus) for node in usable), "threads": min(len(node.cpus) for node in usable),
                "memory_mib": max(1, footprint.parse_bytes(memory) >> 20) if memory else 0, "seed": self.seed,
                "scratch": self.folder, "data": self.data, "port": port, "folder": self.spec.folder, "python": sys.executable}

    def _fill_words(self, words: Sequence[str]) -> list[str]:
        return [spec.fill_word(word, self.values) for word in words]

    def _make_environment(self) -> dict[str, str]:
        return packages.make_environment() | {guard.OF_RUN: str(self.scratch)} | {
            name: spec.fill_word(value, self.values) for name, value in self.spec.environment.items()}

    def _make_folders(self) -> None:
        user = find_user(self.spec.user)
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (self.folder, self.data, self.logs):
            folder.mkdir(exist_ok=True)
            if user and folder != self.logs:
                os.chown(folder, user.pw_uid, user.pw_gid)
        if user:
            self.scratch.chmod(0o711)

    def _prepare(self) -> None:
        done = self.logs / "prepared"
        if self.spec.prepare and not done.exists():
            self._run_to_end("prepare", self.spec.prepare)
            done.touch()

    def _run_to_end(self, name: str, words: Sequence[str], limit: float = WORK_LIMIT) -> Background:
        """A program that runs to its end beside the others, or before them."""
        program = Background(self._fill_words(words), self._make_environment(), self.directory, self.logs / name, self.spec.user)
        try:
            program.finish(limit)
        except ExperimentError as error:
            raise ExperimentError(f"'{name}': {error}") from None
        finally:
            program.stop()
        return program

    def _crowd_memory(self) -> None:
        """Cold memory of nobody's in the fast nodes, so that its own does not all find room there."""
        if self.spec.fast_percent is None:
            return
        words = [str(HERE.programs / "np-hot"), "ballast", "--size", f"{self.values['memory_mib']}M", "--fast-percent", f"{self.spec.fast_percent:g}"]
        self.programs["ballast"] = ballast = Background(words, self._make_environment(), self.folder, self.logs / "ballast")
        self._wait_until_ready(ballast, spec.Condition(pattern="^ready$"))

    def _wait_until_ready(self, main: Background, ready: spec.Condition) -> None:
        deadline = time.monotonic() + READY_LIMIT
        while not self._is_ready(main, ready):
            if not main.alive and not self._is_ready(main, ready):
                raise ExperimentError(f"{main.explain_end()}, before it was ready")
            if time.monotonic() > deadline:
                raise ExperimentError(f"{self.spec.name}: not ready after {READY_LIMIT} s: correct 'ready'")
            time.sleep(POLL)

    def _is_ready(self, main: Background, ready: spec.Condition) -> bool:
        if ready.pattern:
            return re.search(ready.pattern, main.output, re.MULTILINE) is not None
        if ready.file:
            return (self.folder / spec.fill_word(ready.file, self.values)).exists()
        try:
            with socket.create_connection(("127.0.0.1", int(spec.fill_word(ready.port, self.values))), timeout=1):
                return True
        except OSError:
            return False

    def _find_tasks(self, processes: list[Process]) -> None:
        """The tasks: the program and its descendants."""
        task, = self.tasks
        self.found = processes
        names = [self.role, *(f"{process.comm}-{k}" for k, process in enumerate(processes[1:], 2))]
        self.tasks = tuple(replace(task, role=name) for name in names[:len(processes)])

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self.found]

    def list_alive(self) -> list[int]:
        return [process.pid for process in self.found if process.alive]

    def read_tasks(self, numaplace: Numaplace) -> list[dict[str, Any]]:
        """Of one that has ended, what was last seen of it."""
        self.numaplace = numaplace
        self._look_at_tasks()
        if not self.seen and not self.unseen_counts:
            raise ExperimentError(f"{self.programs[self.role].explain_end()}, before it could be looked at: give it more work")
        known = [k for k, process in enumerate(self.found) if process.pid in self.seen]
        self.found, self.tasks = [self.found[k] for k in known], tuple(self.tasks[k] for k in known)
        return [self.seen[process.pid] for process in self.found]

    def _look_at_tasks(self) -> None:
        """One that ends has given up its memory before it is gone."""
        while alive := self.list_alive():
            try:
                self.seen |= {task["pid"]: task for task in self.numaplace.read_tasks(alive)["tasks"] if any(task["pages"].values())}
                return
            except ExperimentError:
                if alive == self.list_alive():
                    raise

    @contextmanager
    def keep_working(self, seconds: float) -> Iterator[float]:
        """A server waits until its client begins."""
        yield 0.0 if self.spec.client else seconds

    def measure(self) -> Measured:
        with Counting(tuple(cpu for node in self.nodes for cpu in node.cpus), WORK_LIMIT) as counting:
            begun = time.monotonic()
            measured = self._measure_metrics()
        worked, counts = self.client or self.programs[self.role], counting.sum_counts()
        ready = worked.started + (0 if self.client else self.ready_seconds)
        ended = worked.started + worked.seconds
        if ended - begun > COUNTED * (ended - ready) and counts.keys() >= {"local_dram", "remote_dram"}:
            local, remote = counts["local_dram"], counts["remote_dram"]
            measured.metrics.append(make_metric("remote_share", "fraction", remote / max(1, local + remote)))
        return measured

    def _measure_metrics(self) -> Measured:
        main = self.programs[self.role]
        if self.spec.client:
            self.client = Background(self._fill_words(self.spec.client), self._make_environment(), self.directory, self.logs / "client",
                                     self.spec.user)
            self.client.finish(WORK_LIMIT)
            if not main.alive:
                raise ExperimentError(f"{main.explain_end()}, while its client ran")
        else:
            self._look_until_end(main)
            main.finish(WORK_LIMIT)
        found = self.client or main
        return Measured([make_metric(m.name, m.unit, read_value(m, found)) for m in self.spec.metrics])

    def _look_until_end(self, main: Background) -> None:
        pause = FIRST_LOOK
        while not main.wait(pause):
            if time.monotonic() - main.started > WORK_LIMIT:
                raise ExperimentError(f"{main.words[0]}: not finished after {WORK_LIMIT} s")
            self._look_at_tasks()
            pause *= LATER

    def verify(self) -> str:
        check = self.spec.check
        if check and check.command:
            program = Background(self._fill_words(check.command), self._make_environment(), self.directory, self.logs / "check",
                                 self.spec.user)
            ended = program.wait(WORK_LIMIT)
            program.stop()
            return "ok" if ended and program.process.returncode == 0 else f"check: {program.explain_end()}"
        said = (self.client or self.programs[self.role]).output
        if check and not re.search(check.pattern, said, re.MULTILINE):
            return f"check: {check.pattern!r} is not in the output, whose last line is {last_line(said)!r}"
        return "ok"

    def list_vanished(self) -> list[str]:
        """A program that has done its work has not."""
        return [program.explain_end() for program in self.programs.values() if not program.alive and program.process.returncode]

    def stop(self) -> None:
        for program in (self.client, *self.programs.values()):
            if program:
                program.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def read_value(wanted: spec.Metric, program: Background) -> float:
    if wanted == spec.SECONDS:
        return program.seconds
    return read_json(wanted, program.stdout) if wanted.json else read_pattern(wanted, program.output)


def read_pattern(wanted: spec.Metric, said: str) -> float:
    found = re.findall(wanted.pattern, said, re.MULTILINE)
    if not found:
        raise ExperimentError(f"metric {wanted.name}: {wanted.pattern!r} is not in the output, whose last line is {last_line(said)!r}")
    return parse_number(wanted, found[-1])


def read_json(wanted: spec.Metric, said: str) -> float:
    """The output is one value of JSON, or its last line is."""
    try:
        value = json.loads(said)
    except ValueError:
        try:
            value = json.loads(last_line(said))
        except ValueError:
            raise ExperimentError(f"metric {wanted.name}: neither the output nor its last line is JSON: {last_line(said)!r}") from None
    for key in wanted.json.split("."):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise ExperimentError(f"metric {wanted.name}: the output's JSON has no {wanted.json!r}: {key!r} is not there") from None
    return parse_number(wanted, value)


def parse_number(wanted: spec.Metric, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ExperimentError(f"metric {wanted.name}: {value!r} is no number") from None

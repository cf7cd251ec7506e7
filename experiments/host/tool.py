# SPDX-License-Identifier: GPL-2.0-only
"""Calls of the numaplace command: the experiments use its command line only."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import CannotError, ExperimentError, UsageError
from ..paths import HERE
from .host_nodes import scale_limit

DERIVED = "derived from distances"  # the model of a plan: bandwidths that no firmware says are assumed
LIMIT = scale_limit(300)  # s, for one call
MAKE_TOOLS = HERE.remedy("run 'make tools'", "install numaplace again")


def get_policy(level: str) -> str:
    """Returns the policy of a level: 'none#2' is none once more, for A/A runs."""
    return level.partition("#")[0]


class Numaplace:
    """Calls the command line. The tasks wait while they are looked at, so that nothing is sampled unless they work meanwhile."""

    def __init__(self, program: Path = HERE.programs / "numaplace", engine: str = "auto") -> None:
        self.program, self.engine = program, engine
        self.model: Path | None = None  # machine file that plans are made with; None: what the tool finds

    def _run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs one command. CannotError: the tool is missing; ExperimentError: no answer within LIMIT seconds."""
        try:
            return subprocess.run([self.program, *arguments], capture_output=True, text=True,
                                  timeout=LIMIT, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise CannotError(f"{self.program} is missing: {MAKE_TOOLS}") from None
        except subprocess.TimeoutExpired:
            raise ExperimentError(f"numaplace {' '.join(arguments)}: no answer for {LIMIT:g} s") from None

    def _read_json(self, *arguments: str) -> Any:
        """Runs one command and returns its JSON, also where some decisions failed. UsageError, CannotError or ExperimentError, by its
        status: it gave no decisions and failed."""
        done = self._run_command(*arguments)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = {"error": take_last_line(done.stderr).removeprefix("numaplace: ") or "no answer"}
        if done.returncode and "decisions" not in answer:
            kind = {UsageError.status: UsageError, CannotError.status: CannotError}.get(done.returncode, ExperimentError)
            raise kind(f"numaplace {arguments[0]}: {answer.get('error', 'failed')}")
        return answer

    def check_counters(self) -> str | None:
        """Checks whether something can be counted here. Returns None, or why not."""
        done = self._run_command("counters", "--json", "-n", "1", "--interval", "100ms")
        return (take_last_line(done.stderr).removeprefix("numaplace: ") or "no reason given") if done.returncode else None

    def read_topology(self) -> dict[str, Any]:
        """Reads the machine as `numaplace topology --json` prints it."""
        return self._read_json("topology", "--json")

    def check_policies(self, policies: Sequence[str]) -> None:
        """Checks policies such as 'maximum-local' or 'maximum-local:pages=stay,penalty=1.3'. UsageError: one is wrong."""
        if policies:  # without any it lists them
            self._read_json("policies", "--json", *map(get_policy, policies))

    def list_needing(self, policies: Sequence[str], need: str) -> list[str]:
        """Lists those of the policies whose `needs`, as the tool prints them, have the word `need`."""
        if not policies:
            return []
        descriptions = self._read_json("policies", "--json", *map(get_policy, policies))["policies"]
        return [policy for policy, description in zip(policies, descriptions, strict=True) if need in description["needs"]]

    def read_model_origin(self) -> str:
        """Reads the origin of the contention model that a plan has here."""
        plan = self._read_json("plan", "--policy", "none", "--sample", "0", *self._list_model_words(), "--json", str(os.getpid()))
        return plan["model"]

    def _list_model_words(self) -> list[str]:
        """Lists the words of a command line that name the machine file of plans; none where the tool finds it."""
        return ["--model", str(self.model)] if self.model else []

    def read_tasks(self, pids: list[int], sample: float = 0) -> dict[str, Any]:
        """Reads the tasks as `numaplace ps --json` prints them. sample: seconds that they are counted."""
        return self._read_json("ps", "--sample", f"{round(sample * 1000)}ms", "--json", *map(str, pids))

    def apply(self, policy: str, pids: list[int], assume: list[str], sample: float = 0) -> dict[str, Any]:
        """Applies a policy to processes. Returns the tool's answer, record.Applied. assume: values in the place of measured ones, as of
        --assume; sample: seconds that the tasks are watched and counted. UsageError, CannotError, ExperimentError: it gave none."""
        options = [word for text in assume for word in ("--assume", text)]
        # The runner itself has chosen the CPUs that programs start on. A policy is measured, whatever its prediction.
        return self._read_json("apply", "--override", "--least-gain", "0", "--policy", get_policy(policy),
                               "--engine", self.engine, *options, *self._list_model_words(),
                               "--sample", f"{round(sample * 1000)}ms", "--json", *map(str, pids))

    def measure_penalty(self, pid: int, phase: float) -> tuple[float, float | None]:
        """Measures the penalty of a working task, a ratio of 1 or more, and its misses per 1000 instructions; the task runs away from
        its memory for two phases of `phase` seconds each."""
        task, = self._read_json("measure-penalty", "--flip", str(pid), "--sample", f"{round(phase * 1000)}ms", "--json")["tasks"]
        return task["penalty"], task["mpki"]

    def restore(self, pids: list[int], pages: bool = False) -> str | None:
        """Restores tasks, with the pages where they were before, if asked. Returns None, or why it did not work."""
        done = self._run_command("restore", *["--pages"] * pages, *map(str, pids))
        return take_last_line(done.stderr) or f"status {done.returncode}" if done.returncode else None


def take_last_line(text: str) -> str:
    """Returns the last line of a text; "" of an empty one."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""

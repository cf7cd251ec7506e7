# SPDX-License-Identifier: GPL-2.0-only
"""How far a campaign is: what its folder has of each suite on each machine."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.commands.campaign.machines import Machine
from experiments.errors import UsageError
from experiments.paths import HERE
from experiments.runner.records import results

FILE = "campaign.json"
RUNS = "runs"
VERDICT = "verdict"  # the last file of a step: see machine_side/step.sh
REPORT = "report.json"  # ReFrame's, of its last session
OPEN = "open"
STDERR = re.compile(r"--- stderr --- (.+) --- stderr ---")  # of a command of ReFrame's, such as ssh


@dataclass(frozen=True)
class Step:
    machine: str
    suite: str
    state: str  # done, skipped, failed, or open
    seconds: str = "-"
    why: str = ""
    records: int = 0

    @property
    def left(self) -> bool:
        return self.state in ("failed", OPEN)

    def __str__(self) -> str:
        return (f"{self.machine:16} {self.suite:20} {self.state:8} {self.records:5} records {self.seconds:>6} s  "
                f"{self.why}").rstrip()


@dataclass(frozen=True)
class Campaign:
    folder: Path
    name: str
    suites: list[str]  # names, or NAME.toml where the campaign's folder has a suite of the user's
    options: list[str]  # of `experiment run`
    machines: list[Machine]

    def write(self) -> None:
        told = {"name": self.name, "reporter": str(HERE.programs / "numaplace"), "suites": self.suites, "options": self.options,
                "machines": [asdict(m) for m in self.machines]}
        (self.folder / FILE).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

    def steps(self) -> list[Step]:
        return [self.step(m, k) for m in range(len(self.machines)) for k in range(len(self.suites))]

    def step(self, machine: int, suite: int) -> Step:
        """By their positions."""
        names = self.machines[machine].name, self.suites[suite].removesuffix(".toml")
        kept = self.folder / RUNS / f"{names[1]}@{names[0]}"
        try:
            state, seconds, why = (kept / VERDICT).read_text(encoding="utf-8").rstrip("\n").split(" ", 2)
        except OSError:
            return Step(*names, OPEN, why=self._failure(machine, suite), records=results.count(kept))
        return Step(*names, state, seconds, why, results.count(kept))

    def _failure(self, machine: int, suite: int) -> str:
        """What ReFrame says of a step that came to no verdict."""
        try:
            runs = json.loads((self.folder / REPORT).read_text(encoding="utf-8"))["runs"]
        except (OSError, ValueError):
            return ""
        said = [case["fail_reason"] or "" for run in runs for case in run["testcases"]
                if (case["partition"], case["suite"]) == (f"m{machine}", suite)]
        words = " ".join(said[-1].split()) if said else ""
        found = STDERR.search(words)
        return found[1] if found else words


def read(folder: Path) -> Campaign:
    try:
        told: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{folder} is no campaign's folder: {FILE}: {error.strerror}; name what --out named") from error
    machines = [Machine(**{key: tuple(value) if isinstance(value, list) else value for key, value in m.items()})
                for m in told["machines"]]
    return Campaign(folder.absolute(), told["name"], told["suites"], told["options"], machines)

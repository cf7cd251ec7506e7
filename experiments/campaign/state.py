# SPDX-License-Identifier: GPL-2.0-only
"""How far a campaign is: what its folder has of each suite on each machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.campaign.machines import Machine
from experiments.errors import UsageError
from experiments.places import HERE

FILE = "campaign.json"


@dataclass(frozen=True)
class Step:
    machine: str
    suite: str
    state: str  # done, skipped, failed, or open
    why: str
    records: int


@dataclass(frozen=True)
class Campaign:
    folder: Path
    name: str
    suites: list[str]
    options: list[str]  # of `experiment run`
    machines: list[Machine]

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"name": self.name, "reporter": str(HERE.programs / "numaplace"), "suites": self.suites, "options": self.options,
                "machines": {m.name: asdict(m) for m in self.machines}}
        (self.folder / FILE).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

    def steps(self) -> list[Step]:
        return [self.step(m.name, suite) for m in self.machines for suite in self.suites]

    def step(self, machine: str, suite: str) -> Step:
        kept = self.folder / "runs" / machine / suite
        for state, file in (("done", "done"), ("failed", "failed"), ("skipped", "skipped")):
            if (kept / file).exists():
                return Step(machine, suite, state, (kept / file).read_text(encoding="utf-8").strip(), records(kept))
        return Step(machine, suite, "open", "", 0)


def records(kept: Path) -> int:
    try:
        return len((kept / "results.jsonl").read_text(encoding="utf-8").splitlines())
    except OSError:
        return 0


def read(folder: Path) -> Campaign:
    try:
        told: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{folder} is no campaign's folder: {error.strerror}: {FILE}; name what --out named") from error
    machines = [Machine(**{key: tuple(value) if isinstance(value, list) else value for key, value in m.items()})
                for m in told["machines"].values()]
    return Campaign(folder.absolute(), told["name"], told["suites"], told["options"], machines)

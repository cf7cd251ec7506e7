# SPDX-License-Identifier: GPL-2.0-only
"""The folder of a campaign: its file has what the campaign began with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.commands.campaign.machines import Machine
from experiments.commands.campaign.piece import Piece, list_pieces
from experiments.commands.run_request import read_options
from experiments.errors import UsageError
from experiments.runner.options import RunOptions

FILE = "campaign.json"
RUNS = "runs"


@dataclass(frozen=True)
class Campaign:
    folder: Path
    name: str
    suites: list[str]  # names, or NAME.toml where the campaign's folder has a suite of the user's
    options: list[str]  # of `experiment run`
    machines: list[Machine]

    def write(self) -> None:
        """Writes the campaign to its folder, which is there."""
        content = {"name": self.name, "suites": self.suites, "options": self.options, "machines": [asdict(m) for m in self.machines]}
        (self.folder / FILE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def read_run_options(self) -> RunOptions:
        return replace(read_options(["run", *self.options]), resume=True)

    def list_pieces(self) -> list[Piece]:
        suites = [str(self.folder / "suites" / suite) if suite.endswith(".toml") else suite for suite in self.suites]
        pairs = [(suite, machine) for machine in self.machines for suite in suites]
        return list_pieces(self.folder / RUNS, pairs, self.read_run_options(), self.name)


def read_campaign(folder: Path) -> Campaign:
    """Reads the campaign of a folder. UsageError: it has none, or its file is damaged."""
    try:
        content: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        machines = [Machine(**{key: tuple(value) if isinstance(value, list) else value for key, value in m.items()})
                    for m in content["machines"]]
        if not all(isinstance(word, str) for word in (content["name"], *content["suites"], *content["options"])):
            raise TypeError("name, suites or options are no words")
        return Campaign(folder.absolute(), content["name"], content["suites"], content["options"], machines)
    except OSError as error:
        raise UsageError(f"{folder} is no campaign's folder: {FILE}: {error.strerror}; name what --out named") from error
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder / FILE}: is damaged ({error}): begin the campaign anew, with another --out") from None

# SPDX-License-Identifier: GPL-2.0-only
"""The options of `numaplace experiment run`, as data. Whoever starts a run fills them in; a guest or another process gets their words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunOptions:
    """Holds the options of a run; None, False or nothing in a list: not given."""
    suite: str | None = None
    all: bool = False
    out: Path | None = None
    lab: str | None = None                   # a machine; "" is the suite's own
    timed: bool = False
    functional: bool = False
    kernel: str | None = None
    repeats: int | None = None
    seed: int | None = None
    repeat_until_ci: float | None = None     # percent
    max_repeats: int = 30
    workloads: Sequence[str] | None = None
    policies: Sequence[str] | None = None
    tuned: Path | None = None
    set: Sequence[str] = ()                  # KIND.NAME=VALUE
    engine: str = "auto"
    quick: bool = False
    boots: int | None = None
    jobs: int | None = None
    share: Sequence[int] | None = None       # the number of this boot, and how many boots there are
    budget: float | None = None              # seconds
    no_calibrate: bool = False
    resume: bool = False
    force: bool = False

    @classmethod
    def read(cls, args: argparse.Namespace) -> RunOptions:
        """Takes the options from what a parser has read, whose destinations have the fields' names."""
        return cls(**{field.name: getattr(args, field.name) for field in fields(cls)})

    def list_words(self) -> list[str]:
        """Returns the words of the command line, `run` first, that give what is not a default."""
        changed = {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) != field.default}
        words = ["run", *([changed.pop("suite")] if self.suite else [])]
        return words + [word for name, value in changed.items() for word in spell_option(name, value)]


def spell_option(name: str, value: Any) -> list[str]:
    """Returns the words that give one option its value; none where a list has nothing in it."""
    option = "--placements" if name == "policies" else f"--{name.replace('_', '-')}"
    if value is True or value == "":
        return [option]
    if name == "set":
        return [word for assignment in value for word in (option, assignment)]
    if name == "share":
        return [option, *map(str, value)]
    if name == "budget":
        return [option, f"{value:.3f}s"]
    if isinstance(value, (list, tuple)):
        return [option, ",".join(value)] if value else []
    return [option, str(value)]

# SPDX-License-Identifier: GPL-2.0-only
"""What a person sees while a run in the lab grows its results file."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol

INTERVAL = 5.0  # s, between lines where no terminal is


class Progress(Protocol):
    def __enter__(self) -> "Progress": ...
    def show(self, done: int, text: str) -> None: ...
    def __exit__(self, *_: object) -> None: ...


class Lines:
    """For a log: a line when something was finished, but not more often than every few seconds."""

    def __init__(self, total: int) -> None:
        self.total, self.shown, self.last, self.begin = total, -1, 0.0, time.monotonic()

    def __enter__(self) -> "Lines":
        return self

    def show(self, done: int, text: str) -> None:
        now = time.monotonic()
        if done == self.shown or (now - self.last < INTERVAL and done < self.total):
            return
        self.shown, self.last = done, now
        print(f"{now - self.begin:5.0f} s  {done}/{self.total}  {text}", flush=True)

    def __exit__(self, *_: object) -> None:
        pass


class Bar:
    """For a terminal."""

    def __init__(self, total: int) -> None:
        from rich.progress import (BarColumn, MofNCompleteColumn, Progress, TextColumn,
                                   TimeElapsedColumn, TimeRemainingColumn)

        self.progress = Progress(TextColumn("{task.description:36.36}"), BarColumn(bar_width=None),
                                 MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
                                 TimeRemainingColumn(), transient=True)
        self.task = self.progress.add_task("", total=total)

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def show(self, done: int, text: str) -> None:
        self.progress.update(self.task, completed=done, description=text)

    def __exit__(self, kind: type | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.progress.stop()


def make(total: int) -> Progress:
    return Bar(total) if sys.stdout.isatty() else Lines(total)

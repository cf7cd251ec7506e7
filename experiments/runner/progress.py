# SPDX-License-Identifier: GPL-2.0-only
"""The progress display of a run: a line an observation, or a bar while the results file of a lab grows."""

import sys
import time

from ..units import format_duration
from .records.record import Record

INTERVAL = 5.0  # s, between lines where no terminal is


class Lines:
    """Prints a line to a log when something was finished, but not more often than every few seconds."""

    def __init__(self, total: int) -> None:
        self.total, self.shown, self.last, self.begin = total, -1, 0.0, time.monotonic()
        self.first: tuple[int, float] | None = None  # how many were done at first, and when

    def __enter__(self) -> "Lines":
        return self

    def show(self, done: int, text: str) -> None:
        """Prints how many are done, unless that is as before or the last line is younger than INTERVAL seconds; the end always."""
        now = time.monotonic()
        if done == self.shown or (now - self.last < INTERVAL and done < self.total):
            return
        self.shown, self.last = done, now
        print(f"{now - self.begin:5.0f} s  {done}/{self.total}  {text}{self._estimate_left(done, now)}", flush=True)

    def _estimate_left(self, done: int, now: float) -> str:
        """Formats the time left, by the pace since the first was done; "" at the end and while no pace is known. now: s."""
        if self.first is None and done:
            self.first = done, now
        before, begin = self.first or (done, now)
        if done in (before, self.total):
            return ""
        return f"  {format_duration((now - begin) / (done - before) * (self.total - done))} left"

    def __exit__(self, *_: object) -> None:
        pass


class Bar:
    """Draws a bar on a terminal."""

    def __init__(self, total: int) -> None:
        """Makes a bar of `total` observations, which is drawn within the context."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.progress = Progress(TextColumn("{task.description:36.36}"), BarColumn(bar_width=None),
                                 MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
                                 TimeRemainingColumn(), transient=True)
        self.task = self.progress.add_task("", total=total)

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def show(self, done: int, text: str) -> None:
        self.progress.update(self.task, completed=done, description=text)

    def __exit__(self, *_: object) -> None:
        self.progress.stop()


def make_progress(total: int) -> Lines | Bar:
    return Bar(total) if sys.stdout.isatty() else Lines(total)


class Narrator:
    """Prints an observation as one line of text, with the time that the rest will take."""

    def __init__(self) -> None:
        self.begin, self.printed = time.monotonic(), 0

    def tell(self, number: int, total: int, record: Record) -> None:
        """Prints the record of observation `number`, from 1, of `total`."""
        self.printed += 1
        left = (time.monotonic() - self.begin) / self.printed * (total - number)
        print(format_line(number, total, record, f"{format_duration(left)} left" if total > number else ""), flush=True)


def format_line(number: int, total: int, record: Record, left: str = "") -> str:
    """Formats an observation as a line, its marks and its failed check on lines below; left: the time left, in words."""
    metrics = {m["name"]: m for m in record["metrics"]}
    first_metric = record["metrics"][0] if record["metrics"] else None
    parts = [f"{number:{len(str(total))}}/{total}", f"{record['workload']:16}", f"{record['policy']:14}"]
    if first_metric:
        parts.append(f"{first_metric['value']:8.5g} {first_metric['unit']:6}")
    if "locality_before" in metrics and "locality_after" in metrics:
        parts.append(f"locality {metrics['locality_before']['value']:.2f} -> "
                     f"{metrics['locality_after']['value']:.2f}")
    parts.append(f"{record['seconds']:.1f} s")
    if record.get("warmup"):
        parts.append("(warm-up)")
    if left:
        parts.append(left)
    troubles = record["marks"] + ([record["check"]] if record["check"] != "ok" else [])
    return "  ".join(parts) + "".join(f"\n    ! {text}" for text in troubles)

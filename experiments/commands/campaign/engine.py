# SPDX-License-Identifier: GPL-2.0-only
"""Runs the pieces of a campaign: one at a time on each host, and machines of the lab as many as this one has processors for.

In the lab a machine has a thread of the host for each of its CPUs, and a busy host sets their clocks apart.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from experiments.errors import NotPutBackError, UsageError
from experiments.host import host_nodes
from experiments.host.interrupts import stop_signals
from experiments.runner.progress import Bar

from . import piece as pieces
from .piece import Piece, State

POLL = 0.5   # s
LEAST = 60   # s, for which a piece is begun
UNFINISHED = 1


@dataclass
class Running:
    piece: Piece
    process: subprocess.Popen[bytes]
    begin: float


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder} has a campaign that runs: numaplace campaign status shows it") from None
        yield


def list_left(found: Sequence[Piece]) -> list[Piece]:
    """Returns what is not done, in its order, what has failed last."""
    words = {piece: piece.read_state().word for piece in found}
    return sorted((piece for piece in found if words[piece] != pieces.DONE), key=lambda piece: words[piece] == pieces.FAILED)


def run_pieces(found: Sequence[Piece], seconds: float | None = None, shared: bool = False) -> None:
    """Runs each piece to its end, unless its machine is lost. Prints a line for each that ends; a terminal also has a bar of them.

    seconds: no piece begins after them. shared: each gets an equal part of what is left as its budget; else what runs then is
    ended, and goes on in a later call.
    """
    waiting, running, beside = list(found), [], count_at_once(found, len(os.sched_getaffinity(0)))
    until = float("inf") if seconds is None else time.monotonic() + seconds
    with stop_signals(), (Bar(len(found)) if sys.stdout.isatty() else nullcontext()) as bar:
        try:
            while (waiting or running) and (shared or time.monotonic() < until):
                while one := next((one for one in waiting if is_free(one, running, beside)), None):
                    room = until - time.monotonic()
                    budget = compute_share(room, len(waiting), beside) if shared and seconds is not None else None
                    if budget == 0 if shared else room < LEAST:
                        waiting.clear()
                        break
                    waiting.remove(one)
                    one.prepare()
                    running.append(Running(one, one.start(budget), time.monotonic()))
                time.sleep(POLL)
                for lost in take_ended(running):
                    waiting = [one for one in waiting if one.machine.host_name != lost]
                if bar:
                    bar.show(len(found) - len(waiting) - len(running), ", ".join(one.piece.name for one in running))
        finally:
            for one in running:
                one.piece.stop(one.process)
            for one in running:
                one.process.wait()


def count_at_once(found: Sequence[Piece], processors: int) -> int:
    """So many on this computer that their machines' CPUs, on average, are no more than the processors; one at least."""
    here = [one.machine.lab for one in found if not one.machine.remote]
    if not here or not all(here):
        return 1
    cpus = sum(len(node.cpus) for lab in here for node in host_nodes.of_lab(lab))
    return max(1, min(len(here), processors * len(here) // max(1, cpus)))


def is_free(piece: Piece, running: list[Running], beside: int) -> bool:
    there = sum(one.piece.machine.host_name == piece.machine.host_name for one in running)
    return there < (1 if piece.machine.remote else beside)


def compute_share(room: float, waiting: int, beside: int) -> int:
    """Returns the seconds for the next of so many pieces: what one does not need is for those after it."""
    return max(0, int(room * min(beside, waiting) / waiting))


def take_ended(running: list[Running]) -> Iterator[str]:
    """Takes those out that have ended, and prints them. Yields the hosts that are lost: not reached, or not as they were."""
    for one in [one for one in running if one.process.poll() is not None]:
        running.remove(one)
        status = one.piece.conclude(one.process.returncode, time.monotonic() - one.begin)
        print(format_line(one.piece, one.piece.read_state()), flush=True)
        if status is None or (status == NotPutBackError.status and not one.piece.machine.lab):
            yield one.piece.machine.host_name


def format_line(piece: Piece, state: State) -> str:
    return (f"{piece.machine.name:16} {piece.suite:20} {state.word:8} {state.records:5} records {state.seconds:>6} s  "
            f"{state.why}").rstrip()


def count_states(found: Sequence[Piece]) -> str:
    counted = Counter(piece.read_state().word for piece in found)
    return f"{len(found)} pieces: " + ", ".join(f"{number} {word}" for word, number in counted.items())


def conclude_pieces(name: str, found: Sequence[Piece], goes_on: str, enough: Sequence[str] = (pieces.DONE,)) -> int:
    """Names what has failed, then how much is not done, on standard error. Returns 1 where something is not, else 0."""
    states = {piece: piece.read_state() for piece in found}
    for piece, state in states.items():
        if state.word == pieces.FAILED:
            print(f"{name}: {piece.name} has failed: {state.why}: see {piece.out / pieces.LOG}", file=sys.stderr)
    if all(state.word in enough for state in states.values()):
        return 0
    print(f"{name}: {count_states(found)}: {goes_on}", file=sys.stderr)
    return UNFINISHED

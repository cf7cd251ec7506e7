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
LEAST = 60   # s, that must be left for a piece to begin
UNFINISHED = 1


@dataclass
class Running:
    piece: Piece
    process: subprocess.Popen[bytes]
    begin: float


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Makes a campaign's folder and locks it for the block. UsageError: another process has it locked."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder} has a campaign that runs: numaplace campaign status shows it") from None
        yield


def list_left(all_pieces: Sequence[Piece]) -> list[Piece]:
    """Lists the pieces that are not done, those that were skipped among them, in their order, and at the end those that have failed."""
    words = {piece: piece.read_state().word for piece in all_pieces}
    return sorted((piece for piece in all_pieces if words[piece] != pieces.DONE), key=lambda piece: words[piece] == pieces.FAILED)


def run_pieces(all_pieces: Sequence[Piece], seconds: float | None = None, shared: bool = False) -> None:
    """Runs each piece to its end, unless its machine is lost. Prints a line for each that ends; a terminal also has a bar of them.

    seconds: no piece begins after them. shared: each gets an equal part of what is left as its budget; else what runs then is
    ended, and goes on in a later call.
    """
    waiting, running, at_once = list(all_pieces), [], count_at_once(all_pieces, len(os.sched_getaffinity(0)))
    until = float("inf") if seconds is None else time.monotonic() + seconds
    with stop_signals(), (Bar(len(all_pieces)) if sys.stdout.isatty() else nullcontext()) as bar:
        try:
            while (waiting or running) and (shared or time.monotonic() < until):
                while piece := next((piece for piece in waiting if is_free(piece, running, at_once)), None):
                    seconds_left = until - time.monotonic()
                    budget = compute_share(seconds_left, len(waiting), at_once) if shared and seconds is not None else None
                    if budget == 0 if shared else seconds_left < LEAST:
                        waiting.clear()
                        break
                    waiting.remove(piece)
                    piece.prepare()
                    running.append(Running(piece, piece.start(budget), time.monotonic()))
                time.sleep(POLL)
                for lost_host in take_ended(running):
                    waiting = [piece for piece in waiting if piece.machine.host_name != lost_host]
                if bar:
                    bar.show(len(all_pieces) - len(waiting) - len(running), ", ".join(run.piece.name for run in running))
        finally:
            for run in running:
                run.piece.stop(run.process)
            for run in running:
                run.process.wait()


def count_at_once(all_pieces: Sequence[Piece], processors: int) -> int:
    """Computes how many pieces run at once on this computer: the CPUs of their machines, on average, are no more than its processors.
    At least one; one alone where a piece runs outside the lab."""
    here = [piece.machine.lab for piece in all_pieces if not piece.machine.remote]
    if not here or not all(here):
        return 1
    cpus = sum(len(node.cpus) for lab in here for node in host_nodes.list_lab_nodes(lab))
    return max(1, min(len(here), processors * len(here) // max(1, cpus)))


def is_free(piece: Piece, running: list[Running], at_once: int) -> bool:
    """Checks whether a piece's host can begin one more: another computer has one, this one `at_once`."""
    same_host = sum(run.piece.machine.host_name == piece.machine.host_name for run in running)
    return same_host < (1 if piece.machine.remote else at_once)


def compute_share(seconds_left: float, waiting: int, at_once: int) -> int:
    """Computes the seconds for the next of `waiting` pieces, of which `at_once` run side by side: what it leaves is for the others."""
    return max(0, int(seconds_left * min(at_once, waiting) / waiting))


def take_ended(running: list[Running]) -> Iterator[str]:
    """Removes the runs that have ended from the list, and prints their pieces. Yields the hosts that are lost: not reached, or not as
    they were."""
    for ended in [ended for ended in running if ended.process.poll() is not None]:
        running.remove(ended)
        status = ended.piece.conclude(ended.process.returncode, time.monotonic() - ended.begin)
        print(format_line(ended.piece, ended.piece.read_state()), flush=True)
        if status is None or (status == NotPutBackError.status and not ended.piece.machine.lab):
            yield ended.piece.machine.host_name


def format_line(piece: Piece, state: State) -> str:
    return (f"{piece.machine.name:16} {piece.suite:20} {state.word:8} {state.records:5} records {state.seconds:>6} s  "
            f"{state.why}").rstrip()


def count_states(all_pieces: Sequence[Piece]) -> str:
    counts = Counter(piece.read_state().word for piece in all_pieces)
    return f"{len(all_pieces)} pieces: " + ", ".join(f"{number} {word}" for word, number in counts.items())


def conclude_pieces(name: str, all_pieces: Sequence[Piece], goes_on: str, enough: Sequence[str] = (pieces.DONE,)) -> int:
    """Prints, on standard error, which pieces have failed and how many are left. Returns UNFINISHED where one is not in a state of
    `enough`, else 0. name: what a line begins with; goes_on: what goes on with the pieces, in words."""
    states = {piece: piece.read_state() for piece in all_pieces}
    for piece, state in states.items():
        if state.word == pieces.FAILED:
            print(f"{name}: {piece.name} has failed: {state.why}: see {piece.out / pieces.LOG}", file=sys.stderr)
    if all(state.word in enough for state in states.values()):
        return 0
    print(f"{name}: {count_states(all_pieces)}: {goes_on}", file=sys.stderr)
    return UNFINISHED

# SPDX-License-Identifier: GPL-2.0-only
"""A piece of a campaign: one suite on one machine. Its folder holds what was measured, and says how far it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from experiments.errors import CannotError
from experiments.host import host_nodes
from experiments.host.process import start_process
from experiments.host.tool import take_last_line
from experiments.paths import HERE
from experiments.runner import run
from experiments.runner.options import RunOptions
from experiments.runner.records import results
from experiments.runner.suite import designs
from experiments.runner.suite import suite as suites
from experiments.runner.workloads.kinds import list_lacking

from .machines import Machine

STEP = Path(__file__).with_name("machine_side") / "step.sh"
VERDICT = "verdict"  # one line, when the run has ended: state, seconds, why
LOG = "run.log"
ARRIVED = "arrived.tar"  # what came from another host
DONE, SKIPPED, FAILED, OPEN = "done", "skipped", "failed", "open"
STATES = {0: DONE, CannotError.status: SKIPPED}


@dataclass(frozen=True)
class State:
    """Holds how far a piece is."""
    word: str            # DONE, SKIPPED, FAILED or OPEN, or another of the caller's
    seconds: str = "-"   # that its last run took
    why: str = ""
    records: int = 0


@dataclass(frozen=True, eq=False)
class Piece:
    machine: Machine
    out: Path
    options: RunOptions  # with the suite: a name, or the path of a file
    kept_as: str = ""    # the name of the folder with its results on another host

    @property
    def suite(self) -> str:
        return self.options.suite.rpartition("/")[2].removesuffix(".toml")

    @property
    def name(self) -> str:
        return f"{self.suite} on {self.machine.name}"

    def read_state(self) -> State:
        """Reads the verdict and counts the records; without a verdict the piece is OPEN, with the log's last line."""
        records = results.count_records(self.out)
        try:
            return State(*(self.out / VERDICT).read_text(encoding="utf-8").rstrip("\n").split(" ", 2), records)
        except OSError:
            return State(OPEN, why=self._read_last_line(), records=records)

    def prepare(self) -> None:
        """Makes the folder where it is missing, and removes its verdict."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / VERDICT).unlink(missing_ok=True)

    def forget(self) -> None:
        """Throws away its results and its verdict."""
        for name in (VERDICT, *run.FILES):
            (self.out / name).unlink(missing_ok=True)

    def start(self, budget: float | None) -> subprocess.Popen[bytes]:
        """Starts the suite on its machine, as a process of this computer. budget: seconds, in the place of that of the options; None
        keeps that."""
        options = replace(self.options, lab=self.machine.lab or None, budget=self.options.budget if budget is None else budget)
        with open(self.out / LOG, "wb") as log:
            if self.machine.remote:
                return self._start_remote(options, log)
            resume = options.resume and (self.out / results.NAME).exists()
            words = replace(options, out=self.out, resume=resume).list_words()
            return start_process([sys.executable, "-m", "experiments.commands.experiment", *words], signal.SIGTERM,
                                 stdin=subprocess.DEVNULL,
                                 stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": f"{HERE.code}:{os.environ.get('PYTHONPATH', '')}"})

    def _start_remote(self, options: RunOptions, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts the suite on another host. A suite of the user's goes there by standard input; the results come as an archive by
        standard output."""
        of_user = options.suite.endswith(".toml")
        _run, *words = replace(options, suite=None, out=None, resume=False).list_words()  # step.sh adds --out, and --resume where results are
        step = ["sh", "-c", STEP.read_text(encoding="utf-8"), "step.sh", self.machine.folder, self.kept_as, self.machine.program,
                f"{self.suite}.toml" if of_user else self.suite, *words]
        with open(options.suite if of_user else os.devnull, "rb") as suite, open(self.out / ARRIVED, "wb") as arrived:
            return start_process(self.machine.list_command(step, self.kept_as), signal.SIGTERM, stdin=suite, stdout=arrived, stderr=log,
                                 start_new_session=True)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Asks a run to end; a job of Slurm's has some seconds to undo what it did. A run by ssh goes on there."""
        if self.machine.slurm:
            subprocess.run(["scancel", f"--name={self.kept_as}"], check=False, capture_output=True)
        else:
            process.terminate()

    def conclude(self, status: int, seconds: float) -> int | None:
        """Writes the verdict of a run that has ended after so many seconds. Returns the run's status; None where nothing came back from
        another host."""
        if self.machine.remote and (status := self._unpack_results()) is None:
            return None
        word = DONE if self.is_done(status) else STATES.get(status, FAILED)
        why = {DONE: "", SKIPPED: self._read_last_line()}.get(word, f"status {status}: {self._read_last_line()}")
        (self.out / VERDICT).write_text(f"{word} {seconds:.0f} {why}\n", encoding="utf-8")
        return status

    def is_done(self, status: int) -> bool:
        """Checks whether a run that ended with this status has all that the piece needs."""
        return status == 0

    def _unpack_results(self) -> int | None:
        """Replaces the folder by what came from another host. Returns the run's status there; None where that is not whole."""
        new = self.out.with_name(f"{self.out.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            done = subprocess.run(["tar", "-x", "-f", self.out / ARRIVED, "-C", new], capture_output=True, check=False)
            if done.returncode or not (new / "status").exists():
                return None
            shutil.rmtree(self.out)
            new.rename(self.out)
            return int((self.out / "status").read_text(encoding="utf-8"))
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _read_last_line(self) -> str:
        log = self.out / LOG
        return take_last_line(log.read_text(encoding="utf-8", errors="replace")) if log.exists() else ""


def list_pieces(folder: Path, pairs: Iterable[tuple[str, Machine]], options: RunOptions, campaign_name: str = "",
                kind: type[Piece] = Piece) -> list[Piece]:
    """Makes a piece, of class `kind`, of each pair; its folder is below `folder`. campaign_name: no other on the machines has it."""
    made = []
    for suite, machine in pairs:
        piece = kind(machine, folder, replace(options, suite=suite))
        name = f"{piece.suite}@{machine.name.replace('/', '-')}"  # NAME/S is no folder in a folder
        made.append(replace(piece, out=folder / name, kept_as=f"{campaign_name}-{name}"))
    return made


def list_suites(options: RunOptions) -> Iterator[tuple[str, Machine]]:
    """Yields each suite with its machines: the lab's that is given, its own of the lab, or this one where it has the nodes. Prints which
    suites are left out, and why."""
    for name in suites.list_names():
        suite = suites.load_suite(name)
        if missing := list_lacking(suite):
            print(f"{name}: left out, {', '.join(missing)} is not installed", flush=True)
        elif why := designs.explain_unplaceable(suites.choose_cells(suite, None, options.policies)):
            print(f"{name}: left out, has no placement: {why}", flush=True)
        elif options.lab is None and sum(node.usable for node in host_nodes.list_nodes()) >= suite.nodes:
            yield name, Machine("here")
        else:
            yield from ((name, Machine(lab, lab=lab)) for lab in ([options.lab] if options.lab else suite.machines))

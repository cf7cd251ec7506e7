# SPDX-License-Identifier: GPL-2.0-only
"""A run in the lab, seen from the host: starts it, watches its results file, says why it failed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CannotError, ExperimentError, UsageError
from ..host.interrupts import stop_signals
from ..host.process import start_process
from ..host.tool import MAKE_TOOLS, Numaplace, take_last_line
from ..lab.command import build_words
from ..paths import HERE
from . import calibration, progress
from .boots import boot_shares, parallel_boots
from .boots.boot_shares import Share
from .boots.host_load import HostLoad
from .records import manifest, results
from .run import Request, check_policies, prepare_folder, tell_precision
from .suite import estimate, schedule
from .workloads.kinds import check_programs

LOG = "lab.log"
CONSOLE = "console.log"
ListBootWords = Callable[[Share, Path], list[str]]  # of the boot of a share, with results in a folder
POLL = 0.5  # s
END_LIMIT = 30  # s, for the lab to power off


# A user's command before the run, in the guest; what it prints is in the log.
SET_UP = """sh -c "$1" || { echo "the set-up command '$1' ended with status $?: correct it" >&2; exit 1; }
shift
exec "$@"
"""


@dataclass(frozen=True)
class Guest:
    """Holds what the machine boots, and what is done there before the run."""

    kernel: Sequence[str | Path] = ()  # options of `lab run`
    setup: str = ""                    # a command of the shell's

    def list_words(self, program: list[Any]) -> list[Any]:
        """Returns the words of the program, after those of the set-up where there is one."""
        return ["sh", "-c", SET_UP, "sh", self.setup, *program] if self.setup else program


def run_in_guest(request: Request, machine: str, guest: Guest, arguments: list[str], functional: bool, boots: int | None = None) -> int:
    """Boots the machine, runs `numaplace experiment ARGUMENTS` in it, in boots one after the other or `jobs` at a time. Returns 0.

    functional: times mean nothing; boots: the first so many, None: all. ExperimentError or its kinds, by the guest's exit status: not 0."""
    if not (HERE.programs / "numaplace").exists():
        raise CannotError(f"{HERE.programs / 'numaplace'} is missing: {MAKE_TOOLS}")
    check_policies(request.suite, Numaplace())
    check_programs(request.suite)
    shares = boot_shares.divide_repeats(request.suite, request.boots)[:boots]
    check_shared(request.out)

    def list_boot_words(share: Share, folder: Path) -> list[str]:
        """Lists the words that boot the machine for one share, with results in `folder`."""
        command, options = complete_words(arguments, request, share, folder)
        return build_words(machine, guest.list_words([HERE.programs / "numaplace-experiment", *command]), [*guest.kernel, *options],
                           functional=functional)

    with stop_signals(), results.lock_folder(request.out):
        if request.force:
            for folder in parallel_boots.list_folders(request.out):
                shutil.rmtree(folder)
        else:
            parallel_boots.gather_records(request.out)  # what a run has left that was killed
        prepare_folder(request)
        begin, made_before = time.monotonic(), results.count_records(request.out)
        until = None if request.budget is None else begin + request.budget

        def is_late() -> bool:
            """Checks whether the budget is spent: then no boot begins."""
            return until is not None and time.monotonic() >= until

        run_shares = _run_side_by_side if request.jobs > 1 else _run_in_turn
        shares_left = _list_unfinished(request, shares) or shares[-1:]  # one boot at least, which says how the run ended
        status, boot = run_shares(list_boot_words, request, machine, shares_left, is_late)
        unfinished = _list_unfinished(request, shares)
        if is_late() and unfinished:
            print(f"{request.suite.name}: the budget is spent, {len(unfinished)} of {len(shares)} boots are not whole: --resume makes them",
                  flush=True)
        if not functional:
            estimate.keep_estimate(request.suite, machine, (time.monotonic() - begin) * request.jobs,
                                   results.count_records(request.out) - made_before)
        tell_precision(request)
        if status:
            _explain_status(status, request.out / parallel_boots.name_log(LOG, boot), machine)
    return status


def _list_unfinished(request: Request, shares: list[Share]) -> list[Share]:
    """Returns the shares of which observations are left to make."""
    records = results.read_records(request.out)
    return [share for share in shares if share.has_left(records)]


def _run_in_turn(list_boot_words: ListBootWords, request: Request, machine: str, shares: list[Share],
                 is_late: Callable[[], bool]) -> tuple[int, int]:
    """Runs the boots one after the other, up to one that did not make its share, or until is_late(). Returns the exit status of the last
    one, and 0, the number of the boot that the log is of."""
    status = 0
    with open(request.out / LOG, "w+b") as log:
        for share in shares:
            if share != shares[0] and is_late():
                break
            status = _run_boot(list_boot_words(share, request.out), log, request, machine)
            if share.has_left(results.read_records(request.out)):
                break
    return status, 0


def _run_side_by_side(list_boot_words: ListBootWords, request: Request, machine: str, shares: list[Share],
                      is_late: Callable[[], bool]) -> tuple[int, int]:
    """Runs the boots side by side, `request.jobs` at a time; none begins once is_late(). Returns status and number of the last that
    failed, or 0 and another's."""
    def begin_boot(share: Share, folder: Path) -> subprocess.Popen[bytes]:
        with open(folder / LOG, "wb") as log:
            return _start_boot(list_boot_words(share, folder), log)

    total = len(schedule.make_schedule(request.suite))  # each boot has warm-ups besides
    with progress.make_progress(total) as display:
        return parallel_boots.run_boots(request.out, shares, request.jobs, begin_boot, end_lab,
                                        lambda made: display.show(min(made, total), machine), is_late)


def complete_words(arguments: list[str], request: Request, share: Share, folder: Path) -> tuple[list[Any], list[Any]]:
    """Completes the words of `numaplace experiment` for one share, with results in `folder`. Returns them, and options of `lab run`."""
    console = folder / (CONSOLE if folder != request.out else parallel_boots.name_log(CONSOLE, share.boot))
    goes_on = (folder / manifest.NAME).exists()
    share_words = ["--share", str(share.boot), str(request.boots)] if request.boots > 1 else []
    command = [*arguments, "--out", folder, *["--resume"] * (goes_on and "--resume" not in arguments), *share_words]
    # Several boots are without a snapshot, which has what a kernel chose at random.
    return command, [*["--no-snapshot"] * (goes_on or request.boots > 1), "--console", console]


def _start_boot(command: list[Any], log: BinaryIO) -> subprocess.Popen[bytes]:
    return start_process(command, signal.SIGTERM, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                         env=os.environ | {manifest.SOURCES: json.dumps(manifest.read_sources())})


def _run_boot(command: list[Any], log: BinaryIO, request: Request, machine: str) -> int:
    """Boots the machine once by `command`, waits until it is off, and adds the host's load to the records. Returns the guest's status."""
    host = HostLoad(request.out)
    child = _start_boot(command, log)
    try:
        _watch_boot(child, request.out, boot_shares.list_trials_in_turn(request.suite, request.boots), machine, host)
    finally:
        end_lab(child)
        host.write()
    return child.returncode


def check_shared(out: Path) -> None:
    """Checks that the folder is below the current one, which is all that the guest can write to. UsageError: it is not."""
    if not out.resolve().is_relative_to(Path.cwd().resolve()):
        raise UsageError(f"--out {out}: the lab can write below the current folder only; "
                         f"go to a folder above it first")


def _watch_boot(child: subprocess.Popen[bytes], out: Path, trials: list[schedule.Trial], machine: str,
                host: HostLoad) -> None:
    """Shows the progress of the boot's observations, and looks at the host's load, every POLL seconds until the machine is off."""
    with progress.make_progress(len(trials)) as display:
        display.show(results.count_reached(out), f"booting {machine}")
        while child.poll() is None:
            done = results.count_reached(out)
            host.look(results.count_records(out))
            if not done and (out / calibration.LOG).exists():
                display.show(done, f"calibrating {machine}")
            if done and done < len(trials):  # they are made in this order; one made again counts once
                display.show(done, f"{trials[done].workload.name} / {trials[done].policy}")
            time.sleep(POLL)
        display.show(results.count_reached(out), "finished" if not child.returncode else "stopped")


def end_lab(child: subprocess.Popen[bytes]) -> None:
    """Ends the lab where it runs: asks it to power off, which leaves no QEMU behind, and kills it after END_LIMIT seconds."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _explain_status(status: int, log: Path, machine: str) -> None:
    """Raises UsageError, CannotError or ExperimentError by the guest's exit status, with the machine and the last line of its log."""
    why = take_last_line(log.read_text(errors="replace")) or "nothing was said"
    kind = {UsageError.status: UsageError, CannotError.status: CannotError}.get(status, ExperimentError)
    raise kind(f"in the lab ({machine}): {why} (all of it: {log})")

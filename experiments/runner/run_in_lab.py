# SPDX-License-Identifier: GPL-2.0-only
"""A run in the lab, seen from the host: starts it, watches its results file, says why it failed."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CannotError, ExperimentError, UsageError
from ..places import HERE
from . import progress
from .boots import shares
from .boots.host_load import HostLoad
from .host import calibration
from .host.interrupts import stop_signals
from .host.process import start
from .host.tool import MAKE_TOOLS, Numaplace, last_line
from .records import results
from .run import Request, check_policies, prepare_folder, tell_precision
from .suite import estimate, schedule
from .workloads.kinds import check_programs

LOG = "lab.log"
CONSOLE = "console.log"
POLL = 0.5  # s


def run(request: Request, machine: str, kernel: str | None, arguments: list[str], functional: bool) -> int:
    """Boots the machine, runs `numaplace experiment ARGUMENTS` in it. Returns its exit status."""
    numaplace = HERE.programs / "numaplace"
    if not numaplace.exists():
        raise CannotError(f"{numaplace} is missing: {MAKE_TOOLS}")
    check_policies(request.suite, Numaplace())
    check_programs(request.suite)
    ends = shares.ends(request.suite.repeats, request.boots)
    prepare_folder(request)
    _check_shared(request.out)
    words = [numaplace, "lab", "run", "--machine", machine, *(["--kernel", kernel] if kernel else []),
             *["--functional"] * functional, "--timeout", "0"]
    with stop_signals(), open(request.out / LOG, "w+b") as log:
        begin, made = time.monotonic(), results.count(request.out)
        status = _boots(words, arguments, log, request, machine, ends)
        if not functional:
            estimate.keep(request.suite, machine, time.monotonic() - begin, results.count(request.out) - made)
        tell_precision(request)
        if status:
            _explain(status, request.out / LOG, machine)
    return status


def _boots(words: list[Any], arguments: list[str], log: BinaryIO, request: Request, machine: str,
           ends: list[int]) -> int:
    """Those of which something is left to make, one where nothing is; the last is one that did not make its share."""
    status = None
    for boot, end in enumerate(ends):
        if shares.left(request.suite, results.read(request.out), end):
            status = _boot(command_of(words, arguments, request, boot, end), log, request, machine)
            if shares.left(request.suite, results.read(request.out), end):
                break
    if status is None:
        status = _boot(command_of(words, arguments, request, len(ends) - 1, ends[-1]), log, request, machine)
    return status


def command_of(words: list[Any], arguments: list[str], request: Request, boot: int, end: int) -> list[Any]:
    """A snapshot has what a kernel chose at random, so that several boots, also of a resumed run, are without."""
    console = CONSOLE if not boot else f"console-{boot + 1}.log"
    goes_on = results.count(request.out) > 0
    return [*words, *["--no-snapshot"] * (goes_on or request.boots > 1), "--console", request.out / console, "--",
            HERE.programs / "numaplace-experiment", *arguments, *["--resume"] * (goes_on and "--resume" not in arguments),
            *(["--end", str(end)] if request.boots > 1 else [])]


def _boot(command: list[Any], log: BinaryIO, request: Request, machine: str) -> int:
    """One start of the machine, until it is off. Returns the exit status of the guest's run."""
    host = HostLoad(request.out)
    child = start(command, signal.SIGTERM, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _watch(child, request.out, schedule.make(request.suite), machine, host)
    finally:
        _end(child)
        host.write()
    return child.returncode


def _check_shared(out: Path) -> None:
    """The guest can write to the current folder only."""
    if not out.resolve().is_relative_to(Path.cwd().resolve()):
        raise UsageError(f"--out {out}: the lab can write below the current folder only; "
                         f"go to a folder above it first")


def _watch(child: subprocess.Popen[bytes], out: Path, trials: list[schedule.Trial], machine: str,
           host: HostLoad) -> None:
    with progress.make(len(trials)) as display:
        display.show(results.reached(out), f"booting {machine}")
        while child.poll() is None:
            done = results.reached(out)
            host.look(results.count(out))
            if not done and (out / calibration.LOG).exists():
                display.show(done, f"calibrating {machine}")
            if done and done < len(trials):
                display.show(done, f"{trials[done].workload.name} / {trials[done].policy}")
            time.sleep(POLL)
        display.show(results.reached(out), "finished" if not child.returncode else "stopped")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Asks the lab to power off; it leaves no QEMU behind when asked so."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _explain(status: int, log: Path, machine: str) -> None:
    """The guest's own one line where there is one; everything else stands in the log."""
    why = last_line(log.read_text(errors="replace")) or "nothing was said"
    kind = {2: UsageError, 3: CannotError}.get(status, ExperimentError)
    raise kind(f"in the lab ({machine}): {why} (all of it: {log})")

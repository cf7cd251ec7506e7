# SPDX-License-Identifier: GPL-2.0-only
"""Runs a command in a lab machine: boots, forwards its output and its status, powers off."""

import os
import shlex
import shutil
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from experiments.lab import qemu, simulated
from experiments.lab.console import failure, plugin_refusal, qemu_was_at_fault
from experiments.lab.errors import TIME_LIMIT, UNABLE, LabError
from experiments.lab.kernels import Kernel
from experiments.lab.machine import Machine
from experiments.lab.run_folder import run_folder

GUEST = Path(__file__).parent / "guest.sh"
PASSED_ON = ("LANG", "PATH", "TERM")  # and NUMAPLACE_*
STARTS = 3
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asked the lab to end."""

    def __init__(self, number: int):
        super().__init__()
        self.status = 128 + number


class FlawedStart(LabError):
    """QEMU broke the kernel before the command began: worth another start."""

    def __init__(self, failure: LabError):
        super().__init__(failure.status, str(failure))


@dataclass
class Job:
    machine: Machine
    kernel: Kernel
    command: list[str]
    module: Path | None
    timeout: float | None
    console: str | None = None  # where to keep it
    timed: bool = True
    kernel_options: tuple[str, ...] = ()


class Pump(threading.Thread):
    """Copies what the guest writes to one of our own outputs, as it comes."""

    def __init__(self, target: int):
        super().__init__(daemon=True)
        self.target = target
        self.source, self.sink = os.pipe()
        self.on_broken = lambda: None

    def run(self):
        while data := os.read(self.source, 65536):
            try:
                while data:
                    data = data[os.write(self.target, data):]
            except BrokenPipeError:
                self.on_broken()
                return


def prepare(job: Job, files: qemu.Files):
    settings = {name: value for name, value in os.environ.items()
                if name in PASSED_ON or name.startswith("NUMAPLACE_")}
    settings["NUMAPLACE_KO"] = str(job.module or "")
    settings["NUMAPLACE_LAB_KO"] = str(simulated.guest_module(job.kernel)) if job.timed else ""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in settings.items()]
    (files.run / "settings").write_text("".join(lines), encoding="utf-8")
    (files.run / "command").write_text(f"exec {shlex.join(job.command)}\n", encoding="utf-8")


@contextmanager
def ending_signals():
    def end(number, _frame):
        raise Ended(number)

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(job: Job) -> int:
    """The exit status of the command."""
    qemu.check_host(job.machine, Path.cwd())
    if job.timed:
        simulated.check(job.machine, job.kernel)
    with ending_signals():
        try:
            for _ in range(STARTS - 1):
                with suppress(FlawedStart):
                    return run_once(job)
            return run_once(job)
        except Ended as ended:
            return ended.status


def run_once(job: Job) -> int:
    with run_folder() as folder:
        files = qemu.Files(folder)
        prepare(job, files)
        script = shlex.join(["sh", str(GUEST), str(files.run)])
        argv = qemu.command(job.machine, job.kernel, files, Path.cwd(), script, job.timed,
                            job.kernel_options)
        if job.timed:
            argv += simulated.qemu_options(job.machine, files.run)
        try:
            ended = boot(argv, files, job.timeout)
        finally:
            keep_console(job, files)
        if ended is None:
            raise LabError(TIME_LIMIT, f"machine '{job.machine.name}' was stopped at its time limit of "
                           f"{job.timeout:g} s, in the step '{step(files)}': give more with --timeout")
        status = read(files.run / "status")
        if status:
            return int(status)
        refusal = plugin_refusal(files.run) if job.timed and step(files) == "boot" else None
        if refusal:
            raise LabError(UNABLE, f"machine '{job.machine.name}' cannot be simulated here: {refusal}")
        if step(files) != "command" and (ended < 0 or qemu_was_at_fault(read(files.console))):
            raise FlawedStart(failure(files.run, step(files), job))
        raise failure(files.run, step(files), job)


def keep_console(job: Job, files: qemu.Files):
    if job.console and files.console.exists():
        shutil.copyfile(files.console, job.console)


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return ""


def step(files: qemu.Files) -> str:
    return read(files.run / "step") or "boot"


def boot(argv: list[str], files: qemu.Files, timeout: float | None) -> int | None:
    """Runs QEMU until it ends by itself; its status, below 0 when a signal ended it; None when the time was up."""
    pumps = [Pump(1), Pump(2)]
    argv = [*qemu.TIED, *qemu.adapt(argv, files, *(pump.sink for pump in pumps))]
    with (files.run / "qemu").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   pass_fds=[pump.sink for pump in pumps], process_group=0)
    broken = threading.Event()
    for pump in pumps:
        os.close(pump.sink)
        pump.on_broken = lambda: (broken.set(), process.kill())
        pump.start()
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait()
        for pump in pumps:
            pump.join()
    if broken.is_set():
        raise Ended(signal.SIGPIPE)
    return status

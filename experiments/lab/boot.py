# SPDX-License-Identifier: GPL-2.0-only
"""Runs a command in a lab machine: boots, forwards its output and its status, powers off."""

import os
import queue
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.lab import qemu, simulated, snapshot, timeline
from experiments.lab.console import build_failure, find_last_line, find_lost_timer, find_plugin_refusal, read_text
from experiments.lab.errors import BOOT_FAILED, TIME_LIMIT, UNABLE, LabError, print_message
from experiments.lab.kernels import Kernel
from experiments.lab.machine import Machine
from experiments.lab.qmp import Qmp, QmpError, run_qemu
from experiments.lab.run_folder import make_run_folder
from experiments.lab.stdin import PIPE_SIZE, Feed
from experiments.lab.terminal import Terminal
from experiments.paths import HERE

GUEST = Path(__file__).parent / "guest.sh"
WATCH = HERE.plugin.with_name("watch")  # watch/watch.c
PASSED_ON = ("LANG", "PATH", "TERM")  # and NUMAPLACE_*
STARTS = 3
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """Ends the lab because a signal asks for it; status: 128 and the signal's number."""

    def __init__(self, number: int):
        super().__init__()
        self.status = 128 + number


class FlawedStart(LabError):
    """Says that QEMU ended by a signal, or lost an interrupt, before the command began: worth another start."""

    def __init__(self, failure: LabError):
        super().__init__(failure.status, str(failure))


@dataclass
class Job:
    """Holds what a run of the lab is asked for; timeout in seconds of the host."""
    machine: Machine
    kernel: Kernel
    command: list[str]
    module: Path | None
    timeout: float | None
    console: str | None = None  # where to keep it
    timed: bool = True
    kernel_options: tuple[str, ...] = ()
    snapshot: bool = True  # restore the machine from one where that can be
    timeline: Path | None = None
    counts: bool = False  # accesses take no time
    profile: Path | None = None  # where to keep who uses memory
    input: int | None = None  # what the command reads; None: it has /dev/null
    terminal: bool = False  # the input is one, and so is the command's


class Pump(threading.Thread):
    """Copies what the guest writes to one of our own outputs, as it comes.

    QEMU holds a lock of all its CPUs while it writes. What comes is always read, and kept until our output's reader takes it.
    """

    def __init__(self, target: int):
        """Makes the pipe `sink` for the guest. target: descriptor of our output. on_broken: called when it can take no more."""
        super().__init__(daemon=True)
        self.target = target
        self.source, self.sink = os.pipe()
        self.kept: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.on_broken = lambda: None
        self.fault: OSError | None = None  # of writing to our output

    def run(self):
        """Reads until all have closed `sink`, and waits until the other thread has written what was read."""
        writer = threading.Thread(target=self.write_kept, daemon=True)
        writer.start()
        while data := os.read(self.source, PIPE_SIZE):
            self.kept.put(data)
        self.kept.put(b"")
        writer.join()

    def write_kept(self):
        """Writes what is kept until the empty end. Where our output fails, notes the fault and calls on_broken()."""
        try:
            while data := self.kept.get():
                while data:
                    data = data[self.write_some(data):]
        except OSError as error:
            self.fault = error
            self.on_broken()

    def write_some(self, data: bytes) -> int:
        """Writes a part of the data and returns its bytes; 0 of an output that was set not to wait, after a wait until it takes more."""
        try:
            return os.write(self.target, data)
        except BlockingIOError:
            select.select([], [self.target], [])
            return 0


def write_job_files(job: Job, files: qemu.Files):
    """Writes the settings and the command that the guest reads (guest.sh) into the run's folder."""
    settings = {name: value for name, value in os.environ.items()
                if name in PASSED_ON or name.startswith("NUMAPLACE_")}
    settings["NUMAPLACE_KO"] = str(job.module or "")
    settings["NUMAPLACE_LAB_KO"] = str(simulated.get_guest_module(job.kernel)) if job.timed else ""
    settings["NUMAPLACE_LAB_TASKS"] = str(int(bool(job.profile)))
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in settings.items()]
    lines += ["lab_input=1\n"] * (job.input is not None)
    (files.run / "settings").write_text("".join(lines), encoding="utf-8")
    (files.run / "command").write_text(f"exec {shlex.join(add_watch(job))}\n", encoding="utf-8")


def add_watch(job: Job) -> list[str]:
    """Returns the job's command, under the program that tells the plugin of its processes where a profile is asked for."""
    return [str(WATCH), *job.command] if job.profile else job.command


@contextmanager
def catch_signals():
    """Raises Ended at a signal that asks the lab to end, while the block runs."""
    def raise_ended(number, _frame):
        raise Ended(number)

    before = {number: signal.signal(number, raise_ended) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_job(job: Job) -> int:
    """Runs the job, with up to STARTS starts where one is flawed; returns the command's exit status, that of Ended at a signal.

    LabError: this computer cannot run it, or the machine failed."""
    with catch_signals():
        try:
            qemu.check_host(job.machine, Path.cwd())
            qemu.check_writable(Path.cwd())
            if job.timed:
                simulated.check_simulation(job.machine, job.kernel)
            for _ in range(STARTS - 1):
                try:
                    return run_once(job)
                except FlawedStart as flawed:
                    print_message(f"{str(flawed).partition(';')[0]}: it is started anew")  # without the console's lines
                    job = replace(job, snapshot=False)
            return run_once(job)
        except Ended as ended:
            return ended.status


def run_once(job: Job) -> int:
    """Starts the machine once; returns the exit status of the command. Keeps console and profile where the job asks for them.

    FlawedStart: worth another start. LabError: any other reason for which there is no status."""
    with make_run_folder() as folder:
        files = qemu.Files(folder)
        write_job_files(job, files)
        argv = qemu.build_command(job.machine, job.kernel, files, Path.cwd(), GUEST, job.timed,
                                  job.kernel_options, counts=job.counts)
        if job.timed:
            argv += simulated.build_qemu_options(job.machine, files.run, counts=job.counts, profiles=bool(job.profile),
                                           follow=job.input is not None)
        else:
            argv += simulated.build_clock_options(files.run, argv[0], follow=job.input is not None)
        limit = start_time_limit(job.timeout)
        try:
            qemu_status = start_machine(job, argv, files, limit)
        except subprocess.TimeoutExpired:
            qemu_status = None
        finally:
            keep_console(job, files)
            keep_profile(job, files)
        if qemu_status is None:
            where = f"the step '{read_step(files)}'" if read_step(files) != "boot" else f"its boot after '{find_last_line(files.run)}'"
            raise build_time_limit_error(job, where)
        status = read_text(files.run / "status").strip()
        if status:
            return int(status)
        check_plugin(job, files)
        if read_step(files) != "command" and (qemu_status < 0 or find_lost_timer(files.run)):
            raise FlawedStart(build_failure(files.run, read_step(files), job))
        raise build_failure(files.run, read_step(files), job)


def build_time_limit_error(job: Job, where: str) -> LabError:
    return LabError(TIME_LIMIT, f"machine '{job.machine.name}' was stopped at its time limit of {job.timeout:g} s, in {where}: "
                    "give more with --timeout")


def check_plugin(job: Job, files: qemu.Files):
    """Raises LabError where the plugin kept QEMU from starting."""
    refusal = find_plugin_refusal(files.run) if job.timed and read_step(files) == "boot" else None
    if refusal:
        raise LabError(UNABLE, f"machine '{job.machine.name}' cannot be simulated here: {refusal}")


def keep_console(job: Job, files: qemu.Files):
    """Copies the console to where the job asks for it. Where that fails, it says so and goes on."""
    if job.console and files.console.exists():
        try:
            shutil.copyfile(files.console, job.console)
        except OSError as error:  # the command has ended: its status counts
            print_message(f"the console cannot be written to '{job.console}': {error.strerror}")


def keep_profile(job: Job, files: qemu.Files):
    written = simulated.get_profile_path(files.run)
    if job.profile and written.exists():
        shutil.copyfile(written, job.profile)


def read_step(files: qemu.Files) -> str:
    """Reads how far the guest came, as guest.sh says it; "boot" before its first word."""
    return read_text(files.run / "step").strip() or "boot"


def start_time_limit(timeout: float | None) -> snapshot.Limit:
    """Starts a time limit of so many seconds; returns the function that computes those that are left. Without a limit it returns None."""
    end = timeout and time.monotonic() + timeout
    return lambda: max(0.0, end - time.monotonic()) if end else None


def start_machine(job: Job, argv: list[str], files: qemu.Files, limit: snapshot.Limit) -> int:
    """Runs QEMU's command `argv` from the machine's snapshot where that can be, else boots it; returns QEMU's status, as boot_machine().

    FlawedStart: the snapshot is unusable, and was removed. TimeoutExpired: not within the limit."""
    if not job.snapshot:
        return boot_machine(job, argv, files, limit)
    waiting_argv = snapshot.add_wait(argv)
    kept = snapshot.find_snapshot(waiting_argv, files, Path.cwd(), limit)
    if not kept:
        files.console.unlink(missing_ok=True)
        return boot_machine(job, argv, files, limit)
    try:
        return boot_machine(job, [*waiting_argv, "-incoming", "defer"], files, limit, kept)
    except QmpError as error:
        shutil.rmtree(kept, ignore_errors=True)
        raise FlawedStart(LabError(BOOT_FAILED, f"machine '{job.machine.name}' could not be restored from its snapshot "
                                   f"({error})")) from error


def restore_machine(kept: Path, files: qemu.Files, qmp: Qmp, go: int):
    """Loads the state of the snapshot `kept` into QEMU, and has it go on. go: the pipe on whose other end the machine waits for a line. QmpError: it fails."""
    snapshot.load_state(kept, qmp)
    (files.run / "now").write_text(f"{time.time():.0f}\n", encoding="ascii")
    qmp("cont")
    os.write(go, b"\n")


@contextmanager
def feed_input(job: Job, files: qemu.Files) -> Iterator[tuple[dict[str, int], Callable[[], None]]]:
    """Yields the descriptors that QEMU reads for the command, by stream of qemu.Streams, and what to call once QEMU has been started."""
    if job.input is None:
        yield {}, lambda: None
        return
    terminal = Terminal(job.input) if job.terminal else None
    feed = Feed(job.input, lambda: read_step(files) == "command", terminal.make_raw if terminal else lambda: None)
    try:
        yield {"input": feed.outlet} | ({"size": terminal.sizes} if terminal else {}), feed.start
    finally:
        feed.stop_feed()
        if terminal:
            terminal.restore_settings()


def boot_machine(job: Job, argv: list[str], files: qemu.Files, limit: snapshot.Limit, kept: Path | None = None) -> int:
    """Runs QEMU until it ends by itself; returns its status, below 0 when a signal ended it. kept: the snapshot that is restored, if any.

    TimeoutExpired: not within the limit. QmpError: it cannot be restored. Ended: our output's reader is gone. LabError: it fails."""
    pumps = out, err = [Pump(1), Pump(2)]
    broken = threading.Event()
    with feed_input(job, files) as (sources, feed):
        told, go = os.pipe()
        passed = sources | {"out": out.sink, "err": err.sink, "go": told}
        argv = qemu.adapt_command(argv, files, qemu.Streams(**{name: f"/proc/self/fd/{fd}" for name, fd in passed.items()}))
        try:
            if kept:
                snapshot.begin_run(kept, files)
            with run_qemu(argv, files.run / "qemu", tuple(passed.values())) as (process, qmp):
                feed()
                for pump in pumps:
                    os.close(pump.sink)
                    pump.on_broken = lambda: (broken.set(), process.kill())
                    pump.start()
                if kept:
                    restore_machine(kept, files, qmp, go)
                with timeline.keep_timeline(simulated.get_shared_path(files.run), job.timeline):
                    status = process.wait(limit())
        finally:  # while a terminal is still raw
            for pump in pumps:
                if pump.ident:  # a signal may have come before it was started
                    pump.join()
            for end in (told, go):
                os.close(end)
    for pump in pumps:
        if pump.fault and not isinstance(pump.fault, BrokenPipeError):
            raise LabError(UNABLE, f"the command's output cannot be written: {pump.fault.strerror}: its rest is lost")
    if broken.is_set():
        raise Ended(signal.SIGPIPE)
    return status

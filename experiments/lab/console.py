# SPDX-License-Identifier: GPL-2.0-only
"""The fault of a boot: the step that failed, and the console's last lines."""

import re
from pathlib import Path

from experiments.lab.errors import BOOT_FAILED, LabError

LAST_LINES = 15
REPORT_LINES = 45  # from the sign of a fault on: its kind, its place, and the stack of the allocation
MOST_REPORTS = 3
NO_TIMER = re.compile(r"numaplace lab: (CPU \d+ has no timer)$", re.MULTILINE)
FAULT = re.compile(r"WARNING:|BUG:|UBSAN:|ODEBUG:|Oops|Kernel panic|general protection|Call Trace|leaked|refcount_t"
                   r"|INFO: task|INFO: trying to register|self-detected stall|detected (expedited )?stalls on CPUs"
                   r"|suspicious RCU usage|inconsistent lock|recursive locking|circular locking")
FAILURES = {"simulation": "loading the simulation's module failed", "module": "loading the module failed",
            "machine": "preparing the machine (debugfs, numa_balancing) failed",
            "command": "the kernel died while the command ran"}  # by step of guest.sh


def read_text(path: Path) -> str:
    """Returns the file's text without carriage returns, "" where there is no file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").replace("\r", "")
    except FileNotFoundError:
        return ""


def find_reports(lines: list[str]) -> list[list[str]]:
    """Finds the first MOST_REPORTS faults in the console's lines, each of at most REPORT_LINES lines from its sign, FAULT, on."""
    reports: list[list[str]] = []
    index = 0
    while index < len(lines) and len(reports) < MOST_REPORTS:
        if FAULT.search(lines[index]):
            reports.append(lines[index:index + REPORT_LINES])
            index += REPORT_LINES
        else:
            index += 1
    return reports


def find_lost_timer(run_folder: Path) -> str | None:
    """Finds what the first program (init.sh) says where an interrupt of a CPU's timer has been lost; None where it says nothing."""
    match = NO_TIMER.search(read_text(run_folder / "console"))
    return match and match[1]


def describe_step(run_folder: Path, step: str) -> str:
    """Describes in words what failed. step: how far the guest came; before its first step the console says more."""
    console = read_text(run_folder / "console")
    if step in FAILURES:
        return FAILURES[step]
    if lost := find_lost_timer(run_folder):
        return f"the kernel was started, but {lost}"
    if "Run /init as init process" in console:
        return "mounting the root file system failed"
    if console:
        return "the kernel did not start"
    return "QEMU did not start"


def read_kernel_lines(run_folder: Path) -> list[str]:
    """Reads the console's lines without terminal sequences."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", read_text(run_folder / "console")).splitlines()


def find_last_line(run_folder: Path) -> str:
    return next((line for line in reversed(read_kernel_lines(run_folder)) if line.strip()), "")


def select_last_lines(run_folder: Path) -> list[str]:
    """Selects the last lines of console and QEMU, with the first report of a fault where that is further up."""
    lines = read_kernel_lines(run_folder) + read_text(run_folder / "qemu").splitlines()
    end = lines[-LAST_LINES:]
    report = next(iter(find_reports(lines[:-LAST_LINES])), None)
    return end if report is None else [*report, "...", *end]


def find_plugin_refusal(run_folder: Path) -> str | None:
    """Finds the plugin's own line, where it kept QEMU from starting, or QEMU's that it could not load it; None without both."""
    lines = read_text(run_folder / "qemu").splitlines()
    of_plugin = [line for line in lines if line.startswith("numaplace lab plugin: ")]
    return next(iter(of_plugin or [line for line in lines if "plugin" in line]), None)


def build_failure(run_folder: Path, step: str, job) -> LabError:
    """Builds the error of a machine that ended in `step` without the command's status, with its last lines. job: a boot.Job."""
    tail = "".join(f"\n  | {line}" for line in select_last_lines(run_folder)) or " none"
    return LabError(BOOT_FAILED, f"machine '{job.machine.name}' with kernel {job.kernel.release}: "
                    f"{describe_step(run_folder, step)}; last lines of its console:{tail}")

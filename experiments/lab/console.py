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


def read_text(path: Path) -> str:
    """Returns the file's text without carriage returns, "" where there is no file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").replace("\r", "")
    except FileNotFoundError:
        return ""


def find_reports(lines: list[str]) -> list[list[str]]:
    """Returns the first faults, each with the lines that follow it."""
    found: list[list[str]] = []
    index = 0
    while index < len(lines) and len(found) < MOST_REPORTS:
        if FAULT.search(lines[index]):
            found.append(lines[index:index + REPORT_LINES])
            index += REPORT_LINES
        else:
            index += 1
    return found


def find_lost_timer(run: Path) -> str | None:
    """Returns what the first program (init.sh) says where an interrupt of a CPU's timer has been lost."""
    found = NO_TIMER.search(read_text(run / "console"))
    return found and found[1]


def describe_step(run: Path, step: str) -> str:
    """Says in words what failed, from how far the guest came and what its console says."""
    console = read_text(run / "console")
    if step == "simulation":
        return "loading the simulation's module failed"
    if step == "module":
        return "loading the module failed"
    if step == "command":
        return "the kernel died while the command ran"
    if step == "machine":
        return "preparing the machine (debugfs, numa_balancing) failed"
    if lost := find_lost_timer(run):
        return f"the kernel was started, but {lost}"
    if "Run /init as init process" in console:
        return "mounting the root file system failed"
    if console:
        return "the kernel did not start"
    return "QEMU did not start"


def read_kernel_lines(run: Path) -> list[str]:
    """Reads the console's lines without terminal sequences."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", read_text(run / "console")).splitlines()


def find_last_line(run: Path) -> str:
    return next((line for line in reversed(read_kernel_lines(run)) if line.strip()), "")


def select_last_lines(run: Path) -> list[str]:
    """Returns the end of what was said, with the first sign of a fault where that is further up."""
    lines = read_kernel_lines(run) + read_text(run / "qemu").splitlines()
    end = lines[-LAST_LINES:]
    first = next(iter(find_reports(lines[:-LAST_LINES])), None)
    return end if first is None else [*first, "...", *end]


def find_plugin_refusal(run: Path) -> str | None:
    """Returns the plugin's own line, where it kept QEMU from starting, or QEMU's that it could not load it."""
    lines = read_text(run / "qemu").splitlines()
    own = [line for line in lines if line.startswith("numaplace lab plugin: ")]
    return next(iter(own or [line for line in lines if "plugin" in line]), None)


def build_failure(run: Path, step: str, job) -> LabError:
    tail = "".join(f"\n  | {line}" for line in select_last_lines(run)) or " none"
    return LabError(BOOT_FAILED, f"machine '{job.machine.name}' with kernel {job.kernel.release}: "
                    f"{describe_step(run, step)}; last lines of its console:{tail}")

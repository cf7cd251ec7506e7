# SPDX-License-Identifier: GPL-2.0-only
"""Tracepoints as text, with nothing but tracefs; and the environment of bpftrace in the lab."""

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import driver

FOLDER = Path("/sys/kernel/tracing")
Event = tuple[str, dict[str, str]]


def mounted() -> Path:
    if not (FOLDER / "trace").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", FOLDER], check=True)
    return FOLDER


def parse(text: str) -> list[Event]:
    """Name and fields of each line like "... batch: job=1 pid=2", as tracefs and perf script print them."""
    found = re.findall(r":\s+(?:\w+:)?(\w+): ((?:\w+=\S+ ?)+)$", text, re.MULTILINE)
    return [(name, driver.record(fields)) for name, fields in found]


@contextlib.contextmanager
def recording(*events: str) -> Iterator[Callable[[], list[Event]]]:
    """What these say from now on: "numaplace" for all of a system, or "sched/sched_move_numa"."""
    folder = mounted()
    (folder / "trace").write_text("")
    switches = [folder / "events" / event / "enable" for event in events]
    for switch in switches:
        switch.write_text("1")
    try:
        yield lambda: parse((folder / "trace").read_text())
    finally:
        for switch in switches:
            switch.write_text("0")


def headers() -> dict[str, str]:
    """Where bpftrace finds the kernel's headers if not in the two usual places, as with unpacked packages."""
    modules = Path("/lib/modules") / os.uname().release
    if (modules / "source").is_dir() or not (modules / "build").is_dir():
        return {}
    build = (modules / "build").resolve()
    return {"BPFTRACE_KERNEL_BUILD": str(build),
            "BPFTRACE_KERNEL_SOURCE": re.sub(r"-amd64$", "-common", str(build))}

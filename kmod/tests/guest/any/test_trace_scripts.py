# SPDX-License-Identifier: GPL-2.0-only
"""The output of the bpftrace scripts is right."""

import os
import re
import shutil
import subprocess
import threading
from contextlib import ExitStack, contextmanager

import driver
import pytest
import tracefs

FOLDER = driver.TOP / "userspace" / "tracing"


SCRIPTS = {
    "migrations.bt": r"{pid}\s+1\s+begins(.|\n)*{pid}\s+-\s+ends: error 0, 512 pages, 2048 KiB",
    "placements.bt": r"{pid}\s+2 CPUs from 2 on, error 0(.|\n)*{pid}\s+restored, error 0",
    "copies.bt": r"@kib\[{pid}\]: 2048",
}


def heard(tracer: subprocess.Popen, expected: str, seconds: float = 30) -> str:
    """The output of a script until it has the expected line, or for so long. bpftrace may forget a milder signal."""
    limit = threading.Timer(seconds, tracer.kill)
    limit.start()
    said = ""
    while not re.search(expected, said) and (line := tracer.stdout.readline()):
        said += line
    limit.cancel()
    return said


@contextmanager
def running(pid: int):
    with ExitStack() as stack:
        tracers = {}
        for name in SCRIPTS:
            tracers[name] = stack.enter_context(subprocess.Popen(
                ["bpftrace", FOLDER / name, str(pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=os.environ | tracefs.headers()))
            stack.callback(tracers[name].kill)
        yield tracers


@pytest.mark.skipif(not shutil.which("bpftrace"), reason="bpftrace is not installed")
@pytest.mark.full("bpftrace reads the kernel's types for half a minute")
def test_trace_scripts(target):
    """All at once: what takes long is their start."""
    t = target("anon", 512)
    with running(t.pid) as tracers:
        for tracer in tracers.values():
            assert "Attaching" in (first := tracer.stdout.readline()), first + tracer.stdout.read()
            assert tracer.stdout.readline().startswith("Tracing")
        t.move("0", 1)
        driver.write("place", f"pid={t.pid} cpus=2-3")
        driver.write("restore", f"pid={t.pid}")
        for name, expected in SCRIPTS.items():
            expected = expected.format(pid=t.pid)
            said = heard(tracers[name], expected)
            assert re.search(expected, said), f"{name}: {said}"

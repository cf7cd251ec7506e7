# SPDX-License-Identifier: GPL-2.0-only
"""The tracepoints and the scripts that read them say what happened."""

import os
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import driver
import pytest

TRACING = Path("/sys/kernel/tracing")
FOLDER = driver.TOP / "userspace" / "tracing"


@pytest.fixture
def events():
    """What numaplace:* say while it is on; one (name, fields) for each event."""
    if not (TRACING / "trace").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    switch = TRACING / "events" / "numaplace" / "enable"
    (TRACING / "trace").write_text("")
    switch.write_text("1")

    def seen() -> list[tuple[str, dict[str, str]]]:
        found = re.findall(r": (\w+): ((?:\w+=\S+ ?)+)$", (TRACING / "trace").read_text(), re.MULTILINE)
        return [(name, driver.record(fields)) for name, fields in found]

    yield seen
    switch.write_text("0")


def test_trace_job(target, events):
    t = target("anon", 1024)
    reply = t.move("0", 1)
    mine = [(name, fields) for name, fields in events() if fields.get("job") == reply["job"]]
    assert mine[0][0] == "job_begin" and mine[-1][0] == "job_end"
    assert mine[0][1]["pid"] == str(t.pid)
    assert int(mine[0][1]["start"], 16) == t.start
    batches = [fields for name, fields in mine if name == "batch"]
    assert sum(int(b["moved"]) for b in batches) == 1024
    assert mine[-1][1]["moved"] == "1024"
    assert mine[-1][1]["error"] == "0"
    assert all(int(b["setup_ns"]) > 0 and int(b["copy_ns"]) > 0 for b in batches)


def test_trace_place(target, events):
    t = target("anon", 4)
    driver.write("place", f"pid={t.pid} cpus=2-3 mem=caller")
    driver.write("restore", f"pid={t.pid}")
    mine = [(name, fields) for name, fields in events() if fields.get("tid") == str(t.pid)]
    assert [name for name, _ in mine] == ["place", "policy", "restore"]
    assert (mine[0][1]["cpus"], mine[0][1]["first_cpu"]) == ("2", "2")
    assert (mine[1][1]["mode"], mine[1][1]["error"]) == ("0", "0")
    assert mine[2][1]["kept"] == "0"


def headers() -> dict[str, str]:
    """Where bpftrace finds the kernel's headers if not in the two usual places, as with unpacked packages."""
    modules = Path("/lib/modules") / os.uname().release
    if (modules / "source").is_dir() or not (modules / "build").is_dir():
        return {}
    build = (modules / "build").resolve()
    return {"BPFTRACE_KERNEL_BUILD": str(build),
            "BPFTRACE_KERNEL_SOURCE": re.sub(r"-amd64$", "-common", str(build))}


SCRIPTS = {
    "migrations.bt": r"{pid}\s+1\s+begins(.|\n)*{pid}\s+-\s+ends: error 0, 512 pages, 2048 KiB",
    "placements.bt": r"{pid}\s+2 CPUs from 2 on, error 0(.|\n)*{pid}\s+restored, error 0",
    "copies.bt": r"@kib\[\d+, {pid}\]: 2048",
}


def heard(tracer: subprocess.Popen, expected: str, seconds: float = 30) -> str:
    """What a script says until it said what is expected, or for so long."""
    limit = threading.Timer(seconds, tracer.terminate)
    limit.start()
    said = ""
    while not re.search(expected, said) and (line := tracer.stdout.readline()):
        said += line
    limit.cancel()
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    return said


@pytest.mark.skipif(not shutil.which("bpftrace"), reason="bpftrace is not installed")
def test_trace_scripts(target):
    """All at once: what takes long is their start."""
    t = target("anon", 512)
    tracers = {name: subprocess.Popen(["bpftrace", FOLDER / name, str(t.pid)], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, env=os.environ | headers())
               for name in SCRIPTS}
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

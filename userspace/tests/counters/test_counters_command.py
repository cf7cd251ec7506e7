# SPDX-License-Identifier: GPL-2.0-only
"""`counters -- COMMAND` lets the command end by itself. Where the processor has no counters, a fake one counts."""
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
# By name: LD_PRELOAD takes no path with blanks.
FAKE_PMU = {"LD_PRELOAD": "fake_pmu.so", "LD_LIBRARY_PATH": str(ROOT / "build" / "tests")}
# Says each signal, and on SIGTERM that it saves; ends when its standard input says so.
PROGRAM = """
import os, select, signal, sys
def say(text):
    os.write(1, (text + "\\n").encode())
def end(number, frame):
    say("saved")
    os._exit(9)
signal.signal(signal.SIGINT, lambda number, frame: say("interrupted"))
signal.signal(signal.SIGTERM, end)
# A signal between a check for signals and read(2) would wait for the read to end.
came, comes = os.pipe()
os.set_blocking(comes, False)
signal.set_wakeup_fd(comes)
say(f"ready {os.getpid()}")
while 0 not in select.select([0, came], [], [])[0]:
    os.read(came, 1)
sys.stdin.readline()
say("ended")
os._exit(5)
"""
COMMAND = [sys.executable, "-IS", "-c", PROGRAM]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    building.build("build/numaplace", "build/tests/fake_pmu.so")


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def run(*options: object, **kwargs) -> subprocess.Popen[str]:
        kwargs = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | kwargs
        started.append(subprocess.Popen([TOOL, "counters", "--json", *map(str, options), "--", *COMMAND], text=True,
                                        env=os.environ | FAKE_PMU, **kwargs))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> int:
    """The pid of the command, once it catches signals."""
    assert process.stdout
    word, pid = process.stdout.readline().split()
    assert word == "ready"
    return int(pid)


def rows(text: str) -> list[dict[str, Any]]:
    return [row for line in text.splitlines() if line.startswith("{") for row in json.loads(line)["rows"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_handed_on_and_the_command_ends_by_itself(start, number: signal.Signals) -> None:
    process = start()
    pid = ready(process)
    process.send_signal(number)
    # Before the signal has come, the end of its input would end the command.
    assert process.stdout.readline() == ("saved\n" if number == signal.SIGTERM else "interrupted\n")
    if number == signal.SIGINT:
        process.stdin.write("end\n")
        process.stdin.flush()
    out, err = process.stdout.read(), process.stderr.read()  # communicate() forgets what readline() has read ahead
    assert process.wait(60) == (9 if number == signal.SIGTERM else 5), err
    assert number == signal.SIGTERM or out.startswith("ended\n")
    (row,) = rows(out)
    assert row["id"] == pid and row["cycles"]["value"] > 0


def test_a_signal_that_ends_the_command_is_its_status(start) -> None:
    process = start()
    os.kill(ready(process), signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL and len(rows(out)) == 1


def test_after_the_last_interval_the_command_goes_on(start) -> None:
    process = start("-n", 2, "-i", "20ms")
    lines = [process.stdout.readline() for _ in range(3)]  # the command may come to its own line at any time
    (word,) = (line for line in lines if line.startswith("ready"))
    lines.remove(word)
    assert [row["id"] for row in rows("".join(lines))] == [int(word.split()[1])] * 2
    out, _ = process.communicate("end\n", timeout=60)
    assert (process.returncode, out) == (5, "ended\n")


def test_the_command_outlives_a_killed_numaplace(start) -> None:
    process = start()
    ready(process)
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    process.stdin.write("end\n")
    process.stdin.flush()
    assert process.stdout.read() == "ended\n"


def test_a_key_of_the_terminal_reaches_the_command_once(start) -> None:
    master, slave = pty.openpty()

    def control() -> None:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = start(stdin=slave, preexec_fn=control)
    os.close(slave)
    ready(process)
    os.write(master, b"\x03")
    assert process.stdout.readline() == "interrupted\n"
    process.send_signal(signal.SIGTERM)
    out = process.stdout.read()
    assert process.wait(timeout=60) == 9 and out.startswith("saved\n"), out
    os.close(master)


def signals(text: str, which: str) -> set[int]:
    """Those of a line of /proc/PID/status."""
    mask = int(re.search(rf"^{which}:\s*(\w+)", text, re.M)[1], 16)
    return {number for number in range(1, 32) if mask >> (number - 1) & 1}


def test_the_command_ignores_what_was_ignored() -> None:
    """As nohup(1) and a shell's background jobs have it."""
    done = subprocess.run(["sh", "-c", 'trap "" HUP INT; exec "$0" counters -- grep SigIgn /proc/self/status', TOOL],
                          env=os.environ | FAKE_PMU, capture_output=True, text=True, timeout=60,
                          check=True)
    assert signals(done.stdout, "SigIgn") == {signal.SIGHUP, signal.SIGINT}


def test_a_signal_that_was_ignored_is_not_caught() -> None:
    with subprocess.Popen(["sh", "-c", 'trap "" HUP INT; exec "$0" counters -i 100ms', TOOL], text=True,
                          env=os.environ | FAKE_PMU, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        process.terminate()
    assert {signal.SIGHUP, signal.SIGINT} <= signals(text, "SigIgn") and signal.SIGTERM in signals(text, "SigCgt")

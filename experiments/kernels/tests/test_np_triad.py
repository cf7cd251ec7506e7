# SPDX-License-Identifier: GPL-2.0-only
"""np-triad on this machine: right results, counted bytes, verified pages, one-line errors."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "build" / "np-triad"
NODE = int(Path("/sys/devices/system/node/has_memory").read_text().strip().split(",")[0].split("-")[0])
KERNELS = ["plain", "sse2-nt", "avx2-nt"]
ARRAYS = 3
PAGE = os.sysconf("SC_PAGESIZE")


class Triad:
    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen([PROGRAM, *options], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def event(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def ask(self, command: str) -> dict:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.event()


@pytest.fixture
def start() -> Iterator[type[Triad]]:
    started: list[Triad] = []

    def make(*options: str) -> Triad:
        started.append(Triad(*options))
        return started[-1]

    yield make
    for triad in started:
        triad.process.kill()
        triad.process.wait()
        for stream in (triad.process.stdin, triad.process.stdout, triad.process.stderr):
            stream.close()


def supported(kernel: str) -> bool:
    flag = {"sse2-nt": "sse2", "avx2-nt": "avx2"}.get(kernel)
    return flag is None or flag in Path("/proc/cpuinfo").read_text().split()


@pytest.mark.parametrize("kernel", [k for k in KERNELS if supported(k)])
@pytest.mark.parametrize("threads", [1, 3])
def test_result_is_verified_and_bytes_are_counted(start, kernel: str, threads: int) -> None:
    triad = start("--size", "1M", "--mem", str(NODE), "--kernel", kernel, "--threads", str(threads))
    ready = triad.event()
    assert ready["event"] == "ready" and ready["kernel"] == kernel
    assert ready["pages"] == {str(NODE): ARRAYS * (1 << 20) // PAGE}
    result = triad.ask("run 0.2")
    assert result["event"] == "result"
    assert (result["verified"], result["wrong_elements"]) == (True, 0)
    assert 0.2 <= result["seconds"] < 2
    elements = result["bytes_credited"] // 24
    assert result["bytes_credited"] == elements * 24
    assert result["bytes_bus"] == elements * (32 if kernel == "plain" else 24)
    if threads == 1:
        assert elements == result["passes"] * (1 << 20) // 8
        assert result["mb_per_s"] == pytest.approx(result["bytes_credited"] / result["seconds"] / 1e6)
    assert result["mb_per_s_bus"] == pytest.approx(
        result["mb_per_s"] * result["bytes_bus"] / result["bytes_credited"])


@pytest.mark.parametrize("array", ["a", "b", "c"])
def test_a_corrupted_page_is_detected(start, array: str) -> None:
    """One double is changed from outside; a is overwritten by a pass, so only b and c can be met so."""
    triad = start("--size", "64K", "--kernel", "plain")
    address = int(triad.event()["arrays"][array], 16)
    assert triad.ask("run 0.01")["verified"]
    with open(f"/proc/{triad.process.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address + 8 * 4096)
        memory.write(b"\x55" * 8)
    result = triad.ask("run 0.01")
    if array == "a":
        assert result["verified"]
        return
    assert (result["verified"], result["wrong_elements"]) == (False, 1)
    assert triad.process.wait(10) == 1
    assert "1 of 8192 elements are wrong" in triad.process.stderr.read()


def test_workers_told_the_same_start_begin_together(start) -> None:
    both = [start("--size", "64K") for _ in range(2)]
    for triad in both:
        triad.event()
    begin = time.monotonic() + 0.3
    for triad in both:
        triad.process.stdin.write(f"run 0.3 {begin:.6f}\n")
        triad.process.stdin.flush()
    for result in [triad.event() for triad in both]:
        assert begin <= result["started"] < begin + 0.1
        assert result["finished"] - begin == pytest.approx(0.3, abs=0.15)


def test_pages_and_quit(start) -> None:
    triad = start("--size", "256K", "--mem", str(NODE))
    triad.event()
    assert triad.ask("pages") == {"event": "pages", "pages": {str(NODE): ARRAYS * 64}}
    assert triad.process.communicate("quit\n", timeout=10) == ("", "")
    assert triad.process.returncode == 0


def test_cpus_are_those_asked_for_even_from_a_narrower_start(start) -> None:
    """As the runner does it: started on one CPU, sent to all."""
    cpus = sorted(os.sched_getaffinity(0))
    triad = start("--size", "64K", "--cpus", ",".join(map(str, cpus)))
    triad.event()
    assert os.sched_getaffinity(triad.process.pid) == set(cpus)
    narrow = subprocess.run(["taskset", "-c", str(cpus[0]), PROGRAM, "--size", "64K", "--seconds", "0.01",
                             "--cpus", str(cpus[-1])], capture_output=True, text=True)
    assert narrow.returncode == 0, narrow.stderr


@pytest.mark.parametrize("options, status, said", [
    (["--mem", "1023"], 2, "no such node with memory"),
    (["--cpus", "100000"], 2, "no such CPU"),
    (["--cpus", "x"], 2, "no such CPU"),
    (["--size", "5"], 2, "whole pages"),
    (["--size", "4X"], 2, "whole pages"),
    (["--size", "-4096"], 2, "whole pages"),
    (["--threads", "0"], 2, "from 1 to"),
    (["--seconds", "nan"], 2, "0.001 to"),
    (["--kernel", "mmx"], 1, "not one this CPU can run"),
    (["more"], 2, "'more' is not an option"),
    (["--size", "4000000G"], 1, "cannot map the arrays"),
])
def test_bad_options_get_one_line(options: list[str], status: int, said: str) -> None:
    done = subprocess.run([PROGRAM, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status
    assert said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize("command", ["run", "run 0", "run x", "run 1 2 3", "walk", "pages now"])
def test_bad_commands_get_one_line(command: str) -> None:
    done = subprocess.run([PROGRAM, "--size", "64K"], input=command + "\n", capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "is not 'run SECONDS" in done.stderr

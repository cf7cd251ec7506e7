# SPDX-License-Identifier: GPL-2.0-only
"""In a machine with two nodes: whose data is where, and how many arenas there are."""

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[5] / "build" / "np-steal"
LIMIT = 60     # s, to see every worker
pytestmark = pytest.mark.full("four programs by four runtimes; the host runs them too")


@pytest.mark.parametrize("benchmark", ["cilksort", "heat", "transpose", "matmul"])
@pytest.mark.parametrize("runtime, nodes, arenas", [
    ("vanilla", 1, 1), ("locality", 2, 2), ("vanilla --data spread", 2, 1), ("locality --data first", 1, 2)])
def test_data_and_arenas(benchmark: str, runtime: str, nodes: int, arenas: int) -> None:
    workers = len(os.sched_getaffinity(0))
    done = subprocess.run([PROGRAM, benchmark, "--runtime", *runtime.split(), "--scale", "1"], capture_output=True, text=True,
                          input="".join(f"prepare {n}\nrun\nverify\n" for n in (1, workers, 1)))
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()][1:]
    assert [event["arenas"] for event in events[0::3]] == [1, arenas, 1]
    for event in events[2::3]:
        assert event["verified"] and len(event["pages"]) == nodes
        assert max(event["pages"].values()) - min(event["pages"].values()) <= 2


def watch_cpus(program: subprocess.Popen) -> Iterator[list[str]]:
    """Yields what each of its threads may run on, looked at again and again during one run."""
    program.stdin.write("prepare 4\n")
    while json.loads(program.stdout.readline())["event"] != "prepared":
        pass
    program.stdin.write("run\n")
    while not select.select([program.stdout], [], [], 0.01)[0]:
        tasks = Path(f"/proc/{program.pid}/task").glob("*/status")
        yield [re.search(r"Cpus_allowed_list:\s*(\S+)", task.read_text())[1] for task in tasks]
    assert json.loads(program.stdout.readline())["event"] == "result"


@pytest.mark.parametrize("runtime, bound", [("vanilla", {"0-3"}), ("locality", {"0-1", "2-3"})])
def test_workers_are_bound_to_their_node(runtime: str, bound: set[str]) -> None:
    """
    demo-2s has two CPUs a node: the caller and a worker on the first, two workers on the other. A
    worker without work may join the other node's arena, and is then bound to that node. A short run may
    end before every worker has started, so that all are seen only after some looks.
    """
    seen, threads, end = set(), 0, time.monotonic() + LIMIT
    with subprocess.Popen([PROGRAM, "heat", "--runtime", runtime, "--scale", "4"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        while (seen, threads) != (bound, 4) and time.monotonic() < end:
            for found in watch_cpus(program):
                seen.update(found)
                threads = max(threads, len(found))
        program.communicate("quit\n")
    assert (seen, threads) == (bound, 4)


@pytest.mark.parametrize("runtime, all_workers", [("vanilla", "0-3"), ("locality", "0-1")])
def test_one_worker_stays_on_the_first_node(runtime: str, all_workers: str) -> None:
    """Or the serial time would depend on where the scheduler left it; the caller of all workers is as free as before."""
    def read_caller_cpus(command: str) -> str:
        program.stdin.write(f"{command}\nrun\n")
        while json.loads(program.stdout.readline())["event"] != "result":
            pass
        status = Path(f"/proc/{program.pid}/status").read_text()
        return re.search(r"Cpus_allowed_list:\s*(\S+)", status)[1]

    with subprocess.Popen([PROGRAM, "heat", "--runtime", runtime, "--scale", "4"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        found = [read_caller_cpus(command) for command in ("prepare 1", "prepare 4", "prepare 1")]
        program.communicate("quit\n")
    assert found == ["0-1", all_workers, "0-1"]

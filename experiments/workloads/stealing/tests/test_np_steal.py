# SPDX-License-Identifier: GPL-2.0-only
"""np-steal on this machine: results against the serial run, where its pages are, one-line errors."""

import json
import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[4] / "build" / "np-steal"
BENCHMARKS = ["cilksort", "heat", "transpose", "matmul"]


def run_program(*words: str, text: str | None = None) -> tuple[subprocess.CompletedProcess[str], list[dict]]:
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, input=text, timeout=120)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("runtime", ["vanilla", "locality"])
def test_results_are_those_of_the_serial_run(benchmark: str, runtime: str) -> None:
    workers = len(os.sched_getaffinity(0))
    counts = [1, workers, workers, workers + 3, 1]
    done, events = run_program(benchmark, "--runtime", runtime, "--scale", "3",
                               text="".join(f"prepare {n}\nrun\nverify\n" for n in counts) + "quit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert [e["event"] for e in events] == ["ready", *["prepared", "result", "verified"] * len(counts)]
    assert [e["workers"] for e in events[1::3]] == counts
    assert all(e["seconds"] > 0 for e in events[2::3])
    for event in events[3::3]:
        assert event["verified"] and event["wrong_elements"] == 0
        assert event["pages"] == events[0]["pages"] and sum(event["pages"].values()) > 0


def test_data_is_on_the_node_of_that_number() -> None:
    done, events = run_program("transpose", "--runtime", "locality", "--data", "0", text="prepare 1\nrun\nverify\nquit\n")
    assert done.returncode == 0 and set(events[0]["pages"]) == set(events[-1]["pages"]) == {"0"} and events[-1]["verified"]


def test_passes_are_made_alone() -> None:
    done, events = run_program("heat", "--runtime", "vanilla", "--scale", "1", "--workers", "1", "--passes", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert [e["event"] for e in events] == ["ready", *["prepared", "result", "verified"] * 3]


def test_a_result_of_no_run_is_wrong() -> None:
    done, events = run_program("transpose", "--runtime", "vanilla", "--scale", "1", text="prepare 1\nverify\n")
    assert done.returncode == 1 and not events[-1]["verified"] and events[-1]["wrong_elements"] == 256 * 256


def test_a_damaged_result_is_detected() -> None:
    """The reference is a copy that only the check reads: one of its bytes is changed from outside."""
    process = subprocess.Popen([PROGRAM, "transpose", "--runtime", "vanilla", "--scale", "1", "--seed", "424242"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        damage_memory(process.pid)
        process.stdin.write("prepare 1\nrun\nverify\n")
        process.stdin.flush()
        result = [json.loads(process.stdout.readline()) for _ in range(3)][-1]
        assert not result["verified"] and result["wrong_elements"] == 1
        assert process.wait(20) == 1 and "differ from the serial run's" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


def damage_memory(pid: int) -> None:
    """Overwrites the first value of the reference, which begins with element 0 and the first of the second row: 424242, 424242 + side."""
    import struct
    wanted = struct.pack("dd", 424242, 424242 + 256)
    found = []
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split()
            if fields[1][:2] != "rw" or len(fields) > 5 and fields[5].startswith("/"):
                continue
            first, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(first)
            data = memory.read(end - first)
            at = data.find(wanted)
            if at >= 0:
                found.append(first + at)
        assert len(found) == 1
        memory.seek(found[0])
        memory.write(struct.pack("d", 1.5))


@pytest.mark.parametrize("words, said", [
    (["quicksort", "--runtime", "vanilla"], "'quicksort' is no benchmark"),
    (["heat"], "one benchmark and --runtime are needed"),
    (["heat", "--runtime", "global"], "needs vanilla or locality"),
    (["heat", "--runtime", "vanilla", "--nodes", "1000"], "no such node"),
    (["heat", "--runtime", "vanilla", "--scale", "0"], "is not a number of 1 and more"),
    (["heat", "--runtime", "vanilla", "--data", "third"], "--data third: needs first, spread or a node with memory"),
    (["heat", "--runtime", "vanilla", "--data", "4095"], "--data 4095: needs first, spread or a node with memory"),
])
def test_bad_options_get_one_line(words: list[str], said: str) -> None:
    done, events = run_program(*words)
    assert done.returncode == 2 and not events
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["run", "verify", "prepare", "prepare 0", "run 1 1", "walk 1 2"])
def test_bad_commands_get_one_line(command: str) -> None:
    done, _events = run_program("matmul", "--runtime", "vanilla", "--scale", "1", text=command + "\n")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "'prepare WORKERS', then" in done.stderr

# SPDX-License-Identifier: GPL-2.0-only
"""np-hot on this machine: what is hot when, a check that can fail, one-line errors."""

import json
import os
import re
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from experiments.bench.lab import inside
from experiments.paths import HERE
from tests.waiting import eventually

PROGRAM = HERE.programs / "np-hot"
SIZE, LINE = 4 << 20, 64
LONG = ("--seconds", "60", "--size", "4M", "--writes", "100")


class Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout.readline() == "ready\n"

    def find_start(self, size: int, pid: int) -> int:
        """Finds the start of the memory, by its size: a mapping may be longer by what was joined to it."""
        for start, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0 *$", Path(f"/proc/{pid}/maps").read_text(), re.M):
            if size <= int(end, 16) - int(start, 16) < size + (2 << 20):
                return int(start, 16)
        raise AssertionError(f"no mapping of {size} bytes")

    def count_quarters(self, size: int = SIZE, pid: int | None = None) -> list[int]:
        """Counts the lines of each quarter that were written."""
        pid = pid or self.process.pid
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self.find_start(size, pid))
            data = memory.read(size)
        written = [word for _, word, *_ in struct.iter_unpack("8Q", data)]
        return [sum(map(bool, written[k * len(written) // 4:(k + 1) * len(written) // 4])) for k in range(4)]

    def list_children(self) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]


@contextmanager
def run_program(*words: str) -> Iterator[Running]:
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield Running(process)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("words", ["static", "static --zipf 1.1", "moving --period 0.05", "scan", "growth --threads 2",
                                   "phases --period 0.05 --threads 2"])
def test_every_pattern_is_verified(words: str) -> None:
    done = subprocess.run([PROGRAM, *words.split(), "--seconds", "0.3", "--size", "8M"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["right"] and found["operations"] > 0 and found["ops_per_second"] == pytest.approx(found["operations"] / 0.3)
    assert 0 < found["p50_ns"] <= found["p99_ns"]
    for when in ("nodes_start", "nodes_end"):
        assert sum(found[when].values()) == pytest.approx(1)


def test_static_writes_its_hot_quarter_only() -> None:
    with run_program("static", *LONG) as found:
        assert eventually(lambda: found.count_quarters()[0] == SIZE // LINE // 4)
        assert found.count_quarters()[1:] == [0, 0, 0]


def test_zipf_has_hot_pages_everywhere() -> None:
    with run_program("static", "--zipf", "1.1", *LONG) as found:
        assert eventually(lambda: min(found.count_quarters()) > 0)


def test_moving_goes_on_from_quarter_to_quarter() -> None:
    with run_program("moving", "--period", "1", *LONG) as found:
        assert eventually(lambda: found.count_quarters()[1] > 0)
        assert found.count_quarters()[0] == SIZE // LINE // 4 and found.count_quarters()[3] == 0
        assert eventually(lambda: found.count_quarters()[3] > 0)


def test_growth_touches_what_it_has_not_had() -> None:
    with run_program("growth", "--seconds", "8", "--size", "64M", "--hot", "10") as found:
        def count_resident_bytes() -> int:
            return int(Path(f"/proc/{found.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        assert count_resident_bytes() < 32 << 20
        assert eventually(lambda: count_resident_bytes() >= 64 << 20)


def test_phases_are_of_two_processes_of_which_one_sleeps() -> None:
    with run_program("phases", "--period", "1.5", *LONG) as found:
        other, = found.list_children()
        assert eventually(lambda: found.count_quarters(SIZE // 2)[0] > 0)
        assert found.count_quarters(SIZE // 2, other) == [0, 0, 0, 0]
        assert eventually(lambda: found.count_quarters(SIZE // 2, other)[0] > 0)
        os.kill(other, 9)
        assert found.process.wait() == 1
        assert found.process.stderr.read() == "np-hot: its other process has ended too early\n"


@pytest.mark.lab
@pytest.mark.long("a boot, and four programs")
def test_cold_memory_keeps_the_hot_one_in_slow_memory() -> None:
    """And is given back: the last program finds fast memory free. What the kernel frees after the ballast has taken all is fast,
    and in one of three programs it frees little."""
    words = "static --size 64M --seconds 0.1"
    *held, free = inside.run_program("cxl-3n", "sh", "-ec",
                                     f"for i in 1 2 3; do build/np-hot {words} --ballast; done; build/np-hot {words}",
                                     timed=False)
    assert len(held) == 3 and all(one["right"] for one in held)
    assert any(one["nodes_start"].get("2", 0) > 0.8 and one["fast_start"] < 0.2 for one in held), held
    assert free["right"] and free["fast_start"] == 1


@pytest.mark.lab
@pytest.mark.full("eight runs")
def test_an_oracle_moves_what_is_hot_and_makes_room_for_it() -> None:
    """Without it the hot part of each pattern stays in slow memory."""
    patterns = ["static --fast-percent 30", "static --zipf 1.1 --fast-percent 50", "moving --period 0.3 --fast-percent 40", "phases --period 0.3 --fast-percent 30 --hot 50"]
    runs = [f"build/np-hot {words} --size 64M --seconds 1.2 --ballast{more}" for words in patterns for more in ("", " --oracle")]
    found = inside.run_program("cxl-3n", "sh", "-ec", "; ".join(runs), timed=False)
    assert len(found) == 8 and all(one["right"] for one in found)
    for blind, clear in zip(found[::2], found[1::2], strict=True):
        assert blind["fast_end"] < 0.5 and clear["fast_end"] > 0.8, (blind, clear)


@pytest.mark.lab
@pytest.mark.full("a boot more")
def test_a_ballast_is_held_for_another_program() -> None:
    hold = "build/np-hot ballast --size 64M --fast-percent 50 >/tmp/held & until grep -q ready /tmp/held; do kill -0 $!; sleep 0.1; done"
    held, free = inside.run_program("cxl-3n", "sh", "-ec", f"{hold}; {(work := 'build/np-hot static --hot 100 --size 64M --seconds 0.1')}; "
                                    f"kill $!; wait || true; {work}", timed=False)
    assert 0.3 < held["fast_start"] < 0.8 and free["fast_start"] == 1


@pytest.mark.parametrize("words, low, high", [("phases --period 0.1 --seconds 0.8", 0.55, 1), ("phases --period 9 --seconds 0.2", 0.5, 0.5)])
def test_fairness_is_jain_s_index_of_the_processes(words: str, low: float, high: float) -> None:
    done = subprocess.run([PROGRAM, *words.split(), "--size", "4M"], capture_output=True, text=True, check=True)
    assert low <= json.loads(done.stdout.splitlines()[-1])["fairness"] <= high


@pytest.mark.parametrize("offset", [0, 8 + 5 * LINE])
def test_a_changed_word_is_found(offset: int) -> None:
    with run_program("static", "--seconds", "1", "--size", "4M", "--writes", "0") as found:
        with open(f"/proc/{found.process.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(found.find_start(SIZE, found.process.pid) + offset)
            memory.write(struct.pack("Q", 2))
        said = found.process.stdout.read()
        assert (found.process.wait(), json.loads(said)["right"]) == (1, False)


@pytest.mark.parametrize("words, said", [
    ("", "needs one pattern"), ("hot", "'hot' is no pattern"), ("static scan", "needs one pattern"),
    ("static --hot 101", "'101' is not from 0 to 100"), ("static --threads 1.5", "'1.5' is not a whole number"), ("scan --zipf 1", "--zipf: is of the pattern static"),
    ("static --size 1x", "--size 1x: needs bytes"), ("static --size 2000%", "--size 2000%: needs bytes"), ("static --size 4K --threads 2", "2 threads need a page each"),
])
def test_wrong_use_is_one_line(words: str, said: str) -> None:
    done = subprocess.run([PROGRAM, *words.split()], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n"), said in done.stderr) == (2, "", 1, True), done.stderr

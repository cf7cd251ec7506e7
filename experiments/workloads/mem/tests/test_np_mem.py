# SPDX-License-Identifier: GPL-2.0-only
"""np-mem on this machine: right results, counted bytes, verified pages, one-line errors."""

import json
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[4] / "build"
PROGRAM = BUILD / "np-triad"
NODE = int(Path("/sys/devices/system/node/has_memory").read_text().strip().split(",")[0].split("-")[0])
KERNELS = ["plain", "sse2", "avx2", "avx512", "sse2-nt", "avx2-nt", "avx512-nt"]
ARRAYS = {"copy": 2, "scale": 2, "sum": 3, "triad": 3}
LINE = 64
PAGE = os.sysconf("SC_PAGESIZE")


class Kernel:
    def __init__(self, name: str, *options: str) -> None:
        self.process = subprocess.Popen([BUILD / "np-mem", name, *options], stdin=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def event(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def memory(self, address: int, size: int) -> bytes:
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def write(self, address: int, data: bytes) -> None:
        with open(f"/proc/{self.process.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            memory.write(data)

    def ask(self, command: str) -> dict:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.event()


@pytest.fixture
def start() -> Iterator[type[Kernel]]:
    started: list[Kernel] = []

    def make(*options: str) -> Kernel:
        started.append(Kernel(*options))
        return started[-1]

    yield make
    for triad in started:
        triad.process.kill()
        triad.process.wait()
        for stream in (triad.process.stdin, triad.process.stdout, triad.process.stderr):
            stream.close()


def supported(kernel: str) -> bool:
    flag = {"plain": None, "avx512": "avx512f"}.get(kernel.removesuffix("-nt"), kernel.removesuffix("-nt"))
    return flag is None or flag in Path("/proc/cpuinfo").read_text().split()


def test_auto_is_the_kernel_that_the_benchmark_found_fastest(start) -> None:
    best = next(k for k in ("avx2-nt", "sse2-nt", "plain") if supported(k))
    assert start("triad", "--size", "1M", "--mem", str(NODE)).event()["kernel"] == best


@pytest.mark.parametrize("kernel", [k for k in KERNELS if supported(k)])
@pytest.mark.parametrize("operation", ARRAYS)
@pytest.mark.parametrize("threads", [1, 3])
def test_result_is_verified_and_bytes_are_counted(start, operation: str, kernel: str, threads: int) -> None:
    worker = start(operation, "--size", "1M", "--mem", str(NODE), "--kernel", kernel, "--threads", str(threads))
    ready, arrays = worker.event(), ARRAYS[operation]
    assert (ready["event"], ready["operation"], ready["kernel"]) == ("ready", operation, kernel)
    assert ready["pages"] == {str(NODE): arrays * (1 << 20) // PAGE}
    begin = time.monotonic()
    result = worker.ask("run 0.05")
    assert result["event"] == "result"
    assert (result["verified"], result["wrong_elements"]) == (True, 0)
    assert 0.05 <= result["seconds"] <= time.monotonic() - begin
    elements = result["operations"]
    assert result["bytes_credited"] == elements * 8 * arrays
    assert result["bytes_bus"] == elements * 8 * (arrays + (not kernel.endswith("-nt")))
    assert len(result["samples_ns"]) == threads and all(result["samples_ns"])
    if threads == 1:
        assert elements == result["passes"] * (131072 if kernel.endswith("-nt") else 32768)
        assert result["mb_per_s"] == pytest.approx(result["bytes_credited"] / result["seconds"] / 1e6)
        low, high = min(result["samples_ns"][0]), max(result["samples_ns"][0])
        assert low <= result["ns_per_operation"] <= high
    assert result["mb_per_s_bus"] == pytest.approx(
        result["mb_per_s"] * result["bytes_bus"] / result["bytes_credited"])


@pytest.mark.parametrize("operation", ARRAYS)
def test_a_pass_writes_what_the_operation_says(start, operation: str) -> None:
    """Read from outside: the program's own check is not asked."""
    worker = start(operation, "--size", "64K")
    arrays = worker.event()["arrays"]
    assert set(struct.unpack("8192d", worker.memory(int(arrays["a"], 16), 1 << 16))) == {-1}
    worker.ask("run 0.001")
    a, b = (struct.unpack("8192d", worker.memory(int(arrays[name], 16), 1 << 16)) for name in "ab")
    c = struct.unpack("8192d", worker.memory(int(arrays["c"], 16), 1 << 16)) if "c" in arrays else b
    value = {"copy": lambda b, c: b, "scale": lambda b, c: 3 * b, "sum": lambda b, c: b + c,
             "triad": lambda b, c: b + 3 * c}[operation]
    assert a == tuple(map(value, b, c)) and len(set(a)) > 4000


@pytest.mark.parametrize("stride", [1, 3])
def test_a_stride_touches_one_element_in_so_many_lines(start, stride: int) -> None:
    worker = start("copy", "--size", "64K", "--stride", str(stride))
    arrays = worker.event()["arrays"]
    result = worker.ask("run 0.001")
    touched = -(-1024 // stride)
    assert result["verified"] and result["operations"] == result["passes"] * touched
    assert result["bytes_credited"] == result["operations"] * 16
    assert result["bytes_bus"] == result["operations"] * 3 * LINE
    a = struct.unpack("8192d", worker.memory(int(arrays["a"], 16), 1 << 16))
    assert [i for i, value in enumerate(a) if value != -1] == list(range(0, 8192, 8 * stride))


def cycle_of(worker: Kernel, address: int, lines: int) -> list[int]:
    """Lines in the order in which they name each other, from outside."""
    memory = worker.memory(address, lines * LINE)
    order, at = [], 0
    while len(order) <= lines:
        order.append(at)
        at = (struct.unpack_from("Q", memory, at * LINE)[0] - address) // LINE
        if not at:
            break
    return order


@pytest.mark.parametrize("group", [0, 4])
def test_chase_is_one_cycle_that_stays_in_its_page_group(start, group: int) -> None:
    worker = start("chase", "--size", "64K", "--group", str(group))
    order = cycle_of(worker, int(worker.event()["arrays"]["a"], 16), 1024)
    assert sorted(order) == list(range(1024)) and order != sorted(order)
    if group:
        assert [line // (group * 64) for line in order] == [g for g in range(4) for _ in range(group * 64)]
    result = worker.ask("run 0.01")
    assert result["verified"] and result["bytes_bus"] == result["operations"] * LINE


@pytest.mark.parametrize("chains", [1, 2, 8])
def test_chains_walk_the_same_cycle_evenly_apart(start, chains: int) -> None:
    worker = start("chase", "--size", "64K", "--chains", str(chains))
    worker.event()
    result = worker.ask("run 0.01")
    assert result["verified"] and result["operations"] == 1024 * chains * result["passes"]
    assert worker.ask("run 0.01")["verified"], "every chain goes on from where it ended"


@pytest.mark.parametrize("mix, every", [("1:0", 0), ("3:1", 3), ("2:1", 2), ("1:1", 1)])
def test_mix_writes_one_line_of_so_many(start, mix: str, every: int) -> None:
    """Read from outside: the program's own check is not asked."""
    worker = start("mix", "--size", "64K", "--mix", mix)
    address = int(worker.event()["arrays"]["a"], 16)
    before = struct.unpack("8192Q", worker.memory(address, 1 << 16))
    result = worker.ask("run 0.01")
    after = struct.unpack("8192Q", worker.memory(address, 1 << 16))
    times, rest = divmod(result["operations"], 1024)
    added = [(b - a) % (1 << 64) for a, b in zip(before, after)]
    assert added == [(times + (i // 8 < rest)) if every and i // 8 % every == 0 else 0 for i in range(8192)]
    assert result["verified"] and result["bytes_bus"] == pytest.approx(
        result["operations"] * LINE * (1 + (1 / every if every else 0)), abs=1)


def test_mix_takes_its_pace_from_the_delay(start) -> None:
    fast, slow = (start("mix", "--size", "64K", "--delay", delay) for delay in ("0", "100000"))
    for worker in (fast, slow):
        worker.event()
    result = slow.ask("run 0.01")
    assert result["verified"] and result["ns_per_operation"] > 20 * fast.ask("run 0.01")["ns_per_operation"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nobody to take lines from")
@pytest.mark.parametrize("state", ["dirty", "clean"])
def test_handover_reads_what_its_owner_has_touched(start, state: str) -> None:
    reader, owner = sorted(os.sched_getaffinity(0))[:2]
    worker = start("handover", "--size", "256K", "--chunk", "64K", "--state", state, "--cpus", str(reader), "--pin",
                   "--partner", str(owner))
    address = int(worker.event()["arrays"]["a"], 16)
    begin = time.monotonic()
    result = worker.ask("run 0.02")
    wall = time.monotonic() - begin
    assert result["verified"] and result["operations"] == result["passes"] * 1024
    assert 0 < result["ns_per_operation"] * result["operations"] / 1e9 < wall, "what the owner takes does not count"
    stamps = [struct.unpack_from("Q", worker.memory(address, 1 << 18), i * LINE + 8)[0] for i in range(4096)]
    rounds = [result["passes"] // 4 + (chunk < result["passes"] % 4) for chunk in range(4)]
    assert stamps == [rounds[i // 1024] if state == "dirty" else 0 for i in range(4096)]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nobody to take lines from")
@pytest.mark.parametrize("offset", [0, 8])
def test_a_line_that_the_owner_has_not_written_is_detected(start, offset: int) -> None:
    """Once the cycle is broken, once the stamp is another."""
    reader, owner = sorted(os.sched_getaffinity(0))[:2]
    worker = start("handover", "--size", "128K", "--chunk", "64K", "--cpus", str(reader), "--pin", "--partner", str(owner))
    address = int(worker.event()["arrays"]["a"], 16)
    worker.write(address + 100 * LINE + offset, worker.memory(address, 8) if not offset else struct.pack("Q", 7))
    assert not worker.ask("run 0.01")["verified"] and worker.process.wait(60) == 1


@pytest.mark.parametrize("pattern, alpha", [("sequential", 1), ("uniform", 1), ("zipf", 2.05), ("zipf", 1.05)])
def test_cachetest_patterns(start, pattern: str, alpha: float) -> None:
    worker = start("cachetest", "--size", "1M", "--pattern", pattern, "--alpha", str(alpha))
    address, n = int(worker.event()["arrays"]["a"], 16), 16384
    memory = worker.memory(address, n * LINE)
    if pattern == "sequential":
        assert cycle_of(worker, address, n) == list(range(n))
    else:  # what comes next is drawn, not kept
        assert not any(struct.unpack_from("Q", memory, i * LINE)[0] for i in range(n))
    prefixes = [struct.unpack_from("Q", memory, i * LINE + 8)[0] for i in range(n)]
    if pattern != "zipf":
        assert not any(prefixes)
    else:
        assert min(prefixes) == 1 and max(prefixes) < n
        weights = [k ** -alpha for k in range(1, n)]
        for k in (1, 2, 5):
            expected = n * weights[k - 1] / sum(weights)
            assert prefixes.count(k) == pytest.approx(expected, abs=5 * expected ** 0.5)
    result = worker.ask("run 0.01")
    assert result["verified"] and result["counts"] == "access" and result["bytes_bus"] is None
    accesses = 1 + sum(prefixes) / n
    assert result["iterations_per_second"] == pytest.approx(result["per_second"] / accesses)
    assert result["bytes_credited"] / result["operations"] == pytest.approx(8 + 8 / accesses)


def test_sort_leaves_its_ints_in_order(start) -> None:
    worker = start("sort", "--size", "1M", "--seed", "7")
    address = int(worker.event()["arrays"]["a"], 16)
    before = sorted(struct.unpack("262144i", worker.memory(address, 1 << 20)))
    result = worker.ask("run 0.001")
    assert result["verified"] and result["passes"] == 1 and result["operations"] == 262144
    assert list(struct.unpack("262144i", worker.memory(address, 1 << 20))) == before


def test_update_adds_as_often_as_it_says(start) -> None:
    worker = start("update", "--size", "64K", "--accesses", "50000", "--threads", "2")
    address = int(worker.event()["arrays"]["a"], 16)
    before = struct.unpack("16384I", worker.memory(address, 1 << 16))
    result = worker.ask("run 0.001")
    after = struct.unpack("16384I", worker.memory(address, 1 << 16))
    added = [(a - b) % (1 << 32) for a, b in zip(after, before)]
    assert result["verified"] and sum(added) == result["operations"] >= 50000
    assert sum(map(bool, added)) > 14000


@pytest.mark.parametrize("kernel, options, offset", [
    ("chase", [], 0), ("chase", ["--chains", "4"], 0), ("mix", ["--mix", "2:1"], 0), ("cachetest", ["--pattern", "sequential"], 0), ("cachetest", ["--pattern", "uniform"], 16),
    ("cachetest", ["--pattern", "zipf"], 16),
    ("update", [], 0), ("update", [], 4), ("copy", ["--stride", "1"], 16)])
def test_corruption_is_detected(start, kernel: str, options: list[str], offset: int) -> None:
    """Line 100 is made to say what line 0 says, and is then met or not: the check must see it."""
    worker = start(kernel, "--size", "64K", *options)
    address = int(worker.event()["arrays"]["a"], 16)
    assert worker.ask("run 0.001")["verified"]
    taken = worker.memory(address + offset, 4 if kernel in ("update", "copy") else 8)
    worker.write(address + 100 * LINE + offset, bytes(byte ^ 5 for byte in taken) if kernel in ("update", "copy") else taken)
    result = worker.ask("run 0.001")
    assert not result["verified"] and result["wrong_elements"] > 0
    assert worker.process.wait(60) == 1
    assert f"not what {kernel} must leave" in worker.process.stderr.read()


@pytest.mark.parametrize("size", ["512000", "8M"])
@pytest.mark.parametrize("pages, huge", [("small", False), ("thp", True)])
def test_pages_are_of_the_kind_and_on_the_node_asked_for(start, pages: str, huge: bool, size: str) -> None:
    if huge and "[never]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        pytest.skip("transparent huge pages are switched off here")
    ready = start("chase", "--size", size, "--mem", "0", "--pages", pages).event()
    assert (ready["huge_kib"] >= 2048) == huge


def test_pinned_threads_have_a_cpu_each(start) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    worker = start("update", "--size", "64K", "--threads", str(len(cpus)), "--pin",
                   "--cpus", ",".join(map(str, cpus)))
    worker.event()
    worker.process.stdin.write("run 600\n")     # and is killed when all have been seen
    worker.process.stdin.flush()
    tasks, deadline = Path(f"/proc/{worker.process.pid}/task"), time.monotonic() + 60
    expected = sorted([cpu] for cpu in cpus)
    while time.monotonic() < deadline:
        found = sorted(sorted(os.sched_getaffinity(int(task.name))) for task in tasks.iterdir())
        if found == expected:
            break
    assert found == expected


@pytest.mark.parametrize("array", ["a", "b", "c"])
def test_a_corrupted_page_is_detected(start, array: str) -> None:
    """One double is changed from outside; a is overwritten by a pass, so only b and c can be met so."""
    triad = start("triad", "--size", "64K", "--kernel", "plain")
    address = int(triad.event()["arrays"][array], 16)
    assert triad.ask("run 0.01")["verified"]
    triad.write(address + 8 * 4096, b"\x55" * 8)
    result = triad.ask("run 0.01")
    if array == "a":
        assert result["verified"]
        return
    assert (result["verified"], result["wrong_elements"]) == (False, 2)  # the double, and what a is made of it
    assert triad.process.wait(60) == 1
    assert "2 elements are wrong" in triad.process.stderr.read()


def test_a_warm_up_is_worked_but_not_measured(start) -> None:
    worker = start("triad", "--size", "64K")
    worker.event()
    begin = time.monotonic()
    result = worker.ask("run 0.02 0 0.3")
    assert time.monotonic() - begin >= 0.3 + result["seconds"] >= 0.32, "it counts to neither the other's time"
    assert result["started"] >= begin + 0.3 and result["warm_per_second"] > 0 and result["verified"]
    assert worker.ask("run 0.001")["warm_per_second"] == 0


def test_workers_told_the_same_start_begin_together(start) -> None:
    both = [start("triad", "--size", "64K") for _ in range(2)]
    for triad in both:
        triad.event()
    begin = time.monotonic() + 0.3
    for triad in both:
        triad.process.stdin.write(f"run 0.3 {begin:.6f}\n")
        triad.process.stdin.flush()
    for result in [triad.event() for triad in both]:
        assert result["started"] >= begin and result["finished"] - result["started"] >= 0.3


@pytest.mark.parametrize("threads", [1, 3])
def test_a_work_has_as_many_operations_whatever_it_takes(start, threads: int) -> None:
    elements = (1 << 20) // 8
    worker = start("triad", "--size", "1M", "--threads", str(threads))
    worker.event()
    for passes in (1, 7, 250):
        found = worker.ask(f"work {passes * elements}")
        assert passes * elements <= found["operations"] <= (passes + (threads > 1)) * elements and found["verified"]
        assert found["operations"] == worker.ask(f"work {passes * elements}")["operations"]
        assert max(map(len, found["samples_ns"])) <= 100


def test_pages_and_quit(start) -> None:
    triad = start("triad", "--size", "256K", "--mem", str(NODE))
    triad.event()
    assert triad.ask("pages") == {"event": "pages", "pages": {str(NODE): 3 * 64}}
    assert triad.process.communicate("quit\n", timeout=10) == ("", "")
    assert triad.process.returncode == 0


def test_cpus_are_those_asked_for_even_from_a_narrower_start(start) -> None:
    """As the runner does it: started on one CPU, sent to all."""
    cpus = sorted(os.sched_getaffinity(0))
    triad = start("triad", "--size", "64K", "--cpus", ",".join(map(str, cpus)))
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
    (["--size", "4K", "--threads", "2"], 2, "a page each"),
    (["--stride", "0"], 2, "from 1 to"),
    (["--stride", "1", "--kernel", "sse2"], 1, "vectors take neighbours"),
    (["--pages", "large"], 2, "default, small, thp or huge"),
    (["--pin"], 2, "needs --cpus"),
    (["--chains", "0"], 2, "from 1 to"),
])
def test_bad_options_get_one_line(options: list[str], status: int, said: str) -> None:
    done = subprocess.run([PROGRAM, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status
    assert said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize("command", ["run", "run 0", "run x", "run 1 2 x", "run 1 2 3 4", "walk", "pages now", "work", "work 0", "work x", "work 9 9"])
def test_bad_commands_get_one_line(command: str) -> None:
    done = subprocess.run([PROGRAM, "--size", "64K"], input=command + "\n", capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "is not 'run SECONDS" in done.stderr


@pytest.mark.parametrize("words, said", [
    ([], "which kernel? see --help"), (["walk"], "'walk' is no kernel"), (["--size", "4M"], "which kernel?"),
    (["cachetest", "--pattern", "odd", "--size", "64K"], "sequential, uniform or zipf"),
    (["mix", "--mix", "1:2", "--size", "64K"], "--mix 1:2: needs 1:0, 3:1, 2:1 or 1:1"),
    (["handover", "--size", "64K"], "needs --partner CPU"),
    (["handover", "--size", "64K", "--chunk", "48K", "--partner", "0"], "--chunk 49152: needs whole lines"),
    (["handover", "--size", "64K", "--chunk", "4K", "--partner", "0", "--state", "odd"], "--state odd: needs dirty or clean"),
    (["handover", "--size", "64K", "--chunk", "4K", "--partner", "99999"], "cannot run the owner on CPU 99999"),
    (["chase", "--chains", "3", "--size", "64K"], "--chains 3: needs 1, 2, 4, 8 or 16"),
    (["cachetest", "--alpha", "0"], "0.01 to 100"), (["update", "--accesses", "-3"], "from 1 to")])
def test_bad_words_for_np_mem_get_one_line(words: list[str], said: str) -> None:
    done = subprocess.run([BUILD / "np-mem", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode in (1, 2) and said in done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout

# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel sees of accesses by the pages' accessed bits; one JSON object a line.

    accessed_inside.py damon|ageing MIB ..

A program uses the first MIB of 64 MiB that it has touched once. Runs inside a timed machine; standard library only.
"""

import ctypes
import json
import mmap
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE, MIB = 4096, 1 << 20
WHOLE = 64 * MIB
DAMON = Path("/sys/kernel/mm/damon/admin/kdamonds")
DAMON_STAT = Path("/sys/module/damon_stat/parameters/enabled")
TRACING = Path("/sys/kernel/tracing")
SAMPLE_US, AGGREGATION_US = 5000, 100_000
DAMON_S = 4
# Of a region's samples in an aggregation, by which it counts as used.
USED_SAMPLES = AGGREGATION_US // SAMPLE_US // 2
GENERATIONS = Path("/sys/kernel/debug/lru_gen")
GROUP = Path("/sys/fs/cgroup/numaplace-accessed")
ROUNDS, ROUND_S = 3, 0.1


@contextmanager
def run_program(hot: int) -> Iterator[tuple[int, int]]:
    """Forks a program on CPU 1, in the cgroup GROUP, that reads the first `hot` bytes of its WHOLE bytes while the block runs.

    Yields its PID and its memory's address, when it has touched all of it."""
    memory = mmap.mmap(-1, WHOLE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ready_end, tell_end = os.pipe()
    pid = os.fork()
    if not pid:
        (GROUP / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        os.sched_setaffinity(0, {1})
        for offset in range(0, WHOLE, PAGE):
            memory[offset] = 1
        os.write(tell_end, b".")
        while True:
            sum(memory[0:hot:PAGE])
    os.read(ready_end, 1)
    try:
        yield pid, address
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def write_files(folder: Path, **values: object):
    """Writes each value into the file of its name."""
    for name, value in values.items():
        (folder / name).write_text(str(value), encoding="ascii")


@contextmanager
def monitor_memory(pid: int, begin: int, end: int):
    """Monitors the addresses from begin to end of a process with DAMON while the block runs."""
    if DAMON_STAT.exists():
        DAMON_STAT.write_text("N", encoding="ascii")
    write_files(DAMON, nr_kdamonds=1)
    write_files(DAMON / "0/contexts", nr_contexts=1)
    context = DAMON / "0/contexts/0"
    write_files(context, operations="fvaddr")
    write_files(context / "monitoring_attrs/intervals", sample_us=SAMPLE_US, aggr_us=AGGREGATION_US, update_us=1_000_000)
    write_files(context / "targets", nr_targets=1)
    write_files(context / "targets/0", pid_target=pid)
    write_files(context / "targets/0/regions", nr_regions=1)
    write_files(context / "targets/0/regions/0", start=begin, end=end)
    write_files(DAMON / "0", state="on")
    try:
        yield
    finally:
        write_files(DAMON / "0", state="off")
        write_files(DAMON, nr_kdamonds=0)


def parse_aggregations(text: str) -> list[list[tuple[int, int, int]]]:
    """Parses the trace into aggregations: of each the regions as (begin, end, samples that found it accessed)."""
    found: list[list[tuple[int, int, int]]] = []
    for count, begin, end, samples in re.findall(r"nr_regions=(\d+) (\d+)-(\d+): (\d+)", text):
        if not found or sum(stop - start for start, stop, _ in found[-1]) >= WHOLE:  # the last one is complete
            found.append([])
        found[-1].append((int(begin), int(end), int(samples)))
        assert len(found[-1]) <= int(count), text[:2000]
    return found


def measure_by_damon(hot: int):
    """Prints, for each aggregation, the bytes of the regions in use, of a program that uses its first `hot`."""
    with run_program(hot) as (pid, address):
        (TRACING / "trace").write_text("", encoding="ascii")
        write_files(TRACING / "events/damon/damon_aggregated", enable=1)
        with monitor_memory(pid, address, address + WHOLE):
            time.sleep(DAMON_S)
        write_files(TRACING / "events/damon/damon_aggregated", enable=0)
        text = (TRACING / "trace").read_text(encoding="ascii")
    for regions in parse_aggregations(text):
        used = [end - begin for begin, end, samples in regions if samples >= USED_SAMPLES]
        print(json.dumps({"hot": hot, "used": sum(used)}), flush=True)


def read_generations() -> tuple[str, dict[int, int]]:
    """Reads the number of the program's cgroup, and its anonymous pages on node 0 by generation."""
    # Blocks of lines: "memcg NUMBER PATH", then for each node " node N" and lines "GENERATION AGE_MS ANONYMOUS FILE".
    blocks = re.split(r"^memcg\s+", GENERATIONS.read_text(encoding="ascii"), flags=re.MULTILINE)
    block = next(block for block in blocks if block.split()[1:2] == [f"/{GROUP.name}"])
    on_node_0 = re.split(r"^ *node\s+\d+\n", block, flags=re.MULTILINE)[1]
    rows = [line.split() for line in on_node_0.splitlines()]
    return block.split()[0], {int(number): int(pages) for number, _, pages, *_ in rows}


def measure_by_ageing(hot: int):
    """Prints the pages of each generation after each of ROUNDS rounds, in which a program uses `hot` bytes."""
    Path("/sys/kernel/mm/lru_gen/enabled").write_text("y", encoding="ascii")
    with run_program(hot):
        for _ in range(ROUNDS):
            time.sleep(ROUND_S)
            number, pages = read_generations()
            GENERATIONS.write_text(f"+ {number} 0 {max(pages)} 1 1", encoding="ascii")
            _, pages = read_generations()
            print(json.dumps({"hot": hot, "pages": pages}), flush=True)


WHAT = {"damon": measure_by_damon, "ageing": measure_by_ageing}

if __name__ == "__main__":
    Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory", encoding="ascii")
    GROUP.mkdir(exist_ok=True)
    for mib in sys.argv[2:]:
        WHAT[sys.argv[1]](int(mib) * MIB)

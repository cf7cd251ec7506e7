# SPDX-License-Identifier: GPL-2.0-only
"""ps.py NUMAPLACE CROWD: what `numaplace ps` takes over 10,000 tasks of 20 touched pages each.

Judged only at real-time priority, where what else runs on the machine does not count: exit 1 above a second."""

import os
import resource
import statistics
import subprocess
import sys
import time

TASKS, PAGES, ROUNDS, LIMIT_S = 10000, 20, 9, 1.0
CASES = [(TASKS, 1, ["--sample", "0"]), (TASKS, 1, []), (TASKS // 100, 100, [])]


def read_cpu_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def raise_priority() -> bool:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    return True


def time_rounds(command: list[str], tasks: int) -> tuple[list[float], list[float]]:
    elapsed, cpu = [], []
    for _ in range(ROUNDS):
        start, before = time.monotonic(), read_cpu_time()
        lines = subprocess.run(command, check=True, capture_output=True).stdout.count(b"\n")
        elapsed.append(time.monotonic() - start)
        cpu.append(read_cpu_time() - before)
        if lines <= tasks:
            sys.exit(f"{command} listed {lines} lines of more than {tasks} processes")
    return elapsed, cpu


def time_case(tool: str, crowd: str, processes: int, threads: int, words: list[str]) -> bool:
    with subprocess.Popen([crowd, str(processes), str(PAGES), str(threads)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as people:
        if people.stdout.readline() != f"ready {processes}\n":
            sys.exit(f"there could not be {processes} processes of {threads} threads; see ulimit -u and pid_max")
        judged = raise_priority()
        elapsed, cpu = time_rounds([tool, "ps", *words], processes)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    print(f"{processes:9d} {threads:7d}  {' '.join(['ps', *words]):13s} {statistics.median(elapsed):8.2f} "
          f"{max(elapsed):6.2f} {statistics.median(cpu):6.2f}{'' if judged else '  not at real-time priority'}",
          flush=True)
    return not judged or statistics.median(elapsed) < LIMIT_S


def main(tool: str, crowd: str) -> int:
    print(f"{os.cpu_count()} CPUs, {ROUNDS} runs each, {PAGES} touched pages a process\n"
          "processes threads  command       median s  worst  CPU s")
    return 0 if all([time_case(tool, crowd, *each) for each in CASES]) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

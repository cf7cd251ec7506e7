# SPDX-License-Identifier: GPL-2.0-only
"""Measures the machine it runs on with programs that know nothing of the lab; one JSON object a line.

    measure.py latency|bandwidth|redis ..

Runs inside a lab machine of two nodes, in the top folder; standard library only.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from experiments.host.topology import parse_list

PROGRAMS = Path("build/lab/programs")
COUNTERS = Path("/sys/kernel/debug/numaplace_lab/counters")
CHASE_MIB, CHASE_SECONDS = "32", "0.004"
TRIAD_MIB, TRIAD_SECONDS = "16", "0.03"
REDIS_KEYS, REDIS_BYTES, REDIS_REQUESTS, REDIS_PAIRS = 2000, 16000, 8000, 5
TRIES = 6      # of a measure that other programs may disturb
DISTURBED = 3  # status of the tool then


def print_record(**values):
    """Prints values as a JSON object in a line."""
    print(json.dumps(values), flush=True)


def run_command(*argv: str) -> str:
    """Returns the output of a command, without blanks around it. CalledProcessError: its status is not 0."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def list_cpus(node: int) -> list[int]:
    return list(parse_list(Path(f"/sys/devices/system/node/node{node}/cpulist").read_text(encoding="ascii")))


def measure_latency():
    """Prints the ns of a dependent load by each node's first CPU from the memory of each node."""
    for node in (0, 1):
        for memory_node in (0, 1):
            ns = run_command("numactl", "-C", str(list_cpus(node)[0]), "-m", str(memory_node), PROGRAMS / "chase",
                             CHASE_MIB, CHASE_SECONDS)
            print_record(measure="latency", node=node, memory=memory_node, ns=float(ns))


def measure_bandwidth():
    """Prints the MB/s of a triad on all CPUs of each node with the memory of each."""
    for node in (0, 1):
        for memory_node in (0, 1):
            threads = len(list_cpus(node))
            mb_s = run_command("numactl", "-N", str(node), "-m", str(memory_node), PROGRAMS / "triad", TRIAD_MIB,
                               str(threads), TRIAD_SECONDS)
            print_record(measure="bandwidth", node=node, memory=memory_node, threads=threads, mb_s=float(mb_s))


def read_all_counters() -> list[dict[str, int]]:
    """Reads the counters of each CPU, in the order of CPUs: totals by name."""
    lines = COUNTERS.read_text(encoding="ascii").splitlines()
    return [{key: int(value) for key, _, value in (word.partition("=") for word in line.split())} for line in lines]


def read_counters(cpu: int) -> dict[str, int]:
    return read_all_counters()[cpu]


TOOL = "build/numaplace"


def run_undisturbed(*words: str | Path) -> subprocess.CompletedProcess:
    """Runs the tool, up to TRIES times where it refuses to count what other programs disturbed. Returns the last run."""
    for _ in range(TRIES):
        run = subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)
        if run.returncode != DISTURBED:
            break
    return run


def run_tool(*words: str) -> dict:
    """Runs the tool by run_undisturbed(); returns its JSON. AssertionError: it fails, or is disturbed each time."""
    run = run_undisturbed(*words)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def start_server(port: int, memory_node: int) -> subprocess.Popen:
    """Starts a Redis server on CPU 0, and fills it with REDIS_KEYS values of REDIS_BYTES each. CalledProcessError: it does not answer."""
    argv = ["numactl", "-C", "0", "-m", str(memory_node), "redis-server", "--port", str(port), "--save", "",
            "--appendonly", "no", "--io-threads", "1", "--dir", "/tmp"]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    script = ("for i = 0, ARGV[1] - 1 do redis.call('SET', string.format('key:%012d', i), "
              "string.rep('x', ARGV[2])) end")
    for _ in range(100):  # 5 s
        if subprocess.run(["redis-cli", "-p", str(port), "PING"], capture_output=True).returncode == 0:
            break
        time.sleep(0.05)
    run_command("redis-cli", "-p", str(port), "EVAL", script, "0", str(REDIS_KEYS), str(REDIS_BYTES))
    return server


def measure_requests_per_second(port: int) -> float:
    """Measures the GET requests a second that a server answers to redis-benchmark on CPU 1."""
    text = run_command("numactl", "-C", "1", "-m", "0", "redis-benchmark", "-p", str(port), "-n", str(REDIS_REQUESTS),
                       "-r", str(REDIS_KEYS), "-c", "10", "--csv", "GET", "key:__rand_int__")
    return float(text.splitlines()[-1].split('","')[1].strip('"'))  # "TEST","REQUESTS A SECOND",..; TEST may have commas


def measure_redis():
    """Prints, of two servers, with local and remote memory, in turn: requests a second, and misses of CPU 0 for a request."""
    servers = [start_server(7000 + memory_node, memory_node) for memory_node in (0, 1)]
    try:
        for memory_node in (0, 1):
            measure_requests_per_second(7000 + memory_node)  # loads the client's program from the host
        for pair in range(REDIS_PAIRS):
            for memory_node in (0, 1) if pair % 2 == 0 else (1, 0):  # neither is always the first
                before = read_counters(0)
                per_second = measure_requests_per_second(7000 + memory_node)
                after = read_counters(0)
                misses = (after["llc_misses"] - before["llc_misses"]) / REDIS_REQUESTS
                print_record(measure="redis", pair=pair, memory=memory_node, per_second=per_second, misses=misses)
    finally:
        for server in servers:
            os.kill(server.pid, signal.SIGTERM)
            server.wait()


MEASURES = {
    "latency": measure_latency,
    "bandwidth": measure_bandwidth,
    "redis": measure_redis,
}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        MEASURES[name]()

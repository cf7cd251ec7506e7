# SPDX-License-Identifier: GPL-2.0-only
"""What the simulation costs the host: time of its processors, and memory, beside plain QEMU."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.lab.bench import inside
from experiments.lab.bench.claims import Outcome
from experiments.lab.bench.endurance import qemu_of

SMALL, EIGHT, LARGEST = "demo-2s", "xeon-e5620-2s", "opteron-6172-4s"
LIMIT = 900
ROUNDS = 3


@dataclass
class Run:
    boot: float      # seconds until the command ran
    boot_cpu: float  # of QEMU's, by then
    accesses: float
    taken: float   # seconds of the accesses
    cpu_taken: float
    data_mib: float  # anonymous, of QEMU; the guest's own memory is not in it
    code_mib: float  # translated


def cpu_seconds(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9


def anonymous_mib(pid: int) -> tuple[float, float]:
    """Of data, and of code that was translated."""
    kib, executable = [0, 0], False
    for line in Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            executable = "x" in words[1]
        elif words[0] == "Anonymous:":
            kib[executable] += int(words[1])
    return kib[False] / 1024, kib[True] / 1024


@contextmanager
def lab(machine: str, simulated: bool, *argv: str) -> Iterator[subprocess.Popen]:
    command = inside.command(machine, *argv, timeout=LIMIT, simulated=simulated)
    with subprocess.Popen(command, cwd=inside.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        yield run
        _, errors = run.communicate()
    if run.returncode:
        raise RuntimeError(f"{machine}: status {run.returncode}: {errors}")


def event(run: subprocess.Popen) -> dict:
    line = run.stdout.readline()
    if not line:
        raise RuntimeError(f"the lab ended early: {run.stderr.read()}")
    return json.loads(line)


def triads(machine: str, simulated: bool, cpus: list[int], seconds: float) -> Run:
    start = time.monotonic()
    words = ["python3", "experiments/lab/bench/memory_loop.py", ",".join(map(str, cpus)), str(seconds)]
    with lab(machine, simulated, *words) as run:
        event(run)
        qemu, boot = qemu_of(run), time.monotonic() - start
        boot_cpu = cpu_seconds(qemu)
        event(run)
        begin, cpu = time.monotonic(), cpu_seconds(qemu)
        end = event(run)
        return Run(boot, boot_cpu, end["accesses"], time.monotonic() - begin, cpu_seconds(qemu) - cpu,
                   *anonymous_mib(qemu))


def per_second(run: Run) -> float:
    """Million accesses for a second of the host's processors: what else the host does does not count."""
    return run.accesses / run.cpu_taken / 1e6


def one_cpu(out: Outcome):
    plain = [triads(SMALL, False, [0], 2) for _ in range(ROUNDS)]
    simulated = [triads(SMALL, True, [0], 0.2) for _ in range(ROUNDS)]
    best = [max(map(per_second, runs)) for runs in (plain, simulated)]
    out.say(f"memory operations of a triad on one CPU, million a second of the host's processor, best of {ROUNDS}:")
    out.say(f"  plain {best[0]:.1f}, simulated {best[1]:.1f}")
    out.at_least("speed: one CPU, of plain QEMU's", best[1] / best[0], 0.40)
    boots = [run.boot for run in simulated]
    out.say(f"boot of {SMALL} until its command runs: {min(boots):.1f} to {max(boots):.1f} s, "
            f"{min(run.boot_cpu for run in simulated):.1f} s of processors")
    out.at_most(f"boot of {SMALL}, slowest of {ROUNDS}", max(boots), 40, "{:.1f} s")


def eight_cpus(out: Outcome):
    two = [triads(EIGHT, True, [0, 4], 0.2) for _ in range(ROUNDS)]
    eight = [triads(EIGHT, True, list(range(8)), 0.2) for _ in range(ROUNDS)]
    rate = [max(run.accesses / run.taken / 1e6 for run in runs) for runs in (two, eight)]
    out.say(f"all CPUs together, million a second of time, best of {ROUNDS}: two {rate[0]:.1f}, eight {rate[1]:.1f}")
    out.at_least("speed: eight CPUs, of what two make", rate[1] / rate[0], 0.75)


def memory(out: Outcome):
    plain, simulated = (triads(LARGEST, simulated, [0, 47], 0.05) for simulated in (False, True))
    out.say(f"QEMU's own memory for {LARGEST}, without the guest's, in MiB:")
    for name, run in (("plain", plain), ("simulated", simulated)):
        out.say(f"  {name:9} data {run.data_mib:.0f}, translated code {run.code_mib:.0f}")
    more = simulated.data_mib + simulated.code_mib - plain.data_mib - plain.code_mib
    out.at_most(f"memory of the plugin: {LARGEST}", more, 200, "{:.0f} MiB")


def speed() -> Outcome:
    out = Outcome()
    one_cpu(out)
    eight_cpus(out)
    memory(out)
    return out

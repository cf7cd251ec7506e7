# SPDX-License-Identifier: GPL-2.0-only
"""Ten boots in a row, in each CPUs that go and come back, and a host that stops QEMU for some seconds."""

import os
import signal
import subprocess
import time

from experiments.bench.lab import inside
from experiments.bounds import Outcome
from experiments.host.background import list_tree

MACHINE = "demo-2s"
BOOTS = 10
STOPPED = 3  # seconds
LIMIT = 240  # seconds of a boot
# Every CPU but the first goes and comes back; while QEMU is stopped, and after.
HOTPLUG = """
import pathlib, subprocess, time
cpus = [pathlib.Path(f"/sys/devices/system/cpu/cpu{n}/online") for n in range(1, 4)]
def round():
    for cpu in cpus:
        for state in ("0", "1"):
            cpu.write_text(state)
            assert cpu.read_text().strip() == state
busy = subprocess.Popen(["build/np-mem", "triad", "--size", "1M", "--threads", "4", "--seconds", "0.1"],
                        stdout=subprocess.DEVNULL)
round()
print("stop me", flush=True)
start = time.monotonic()
for _ in range(3):
    round()
took = time.monotonic() - start
busy.wait()
assert busy.returncode == 0
print(f"done {took}", flush=True)
"""


def find_qemu(process: subprocess.Popen) -> int:
    """Finds the PID of QEMU below a lab's process. RuntimeError: it is not there."""
    for below in list_tree(process.pid):
        if "qemu" in below.comm:
            return below.pid
    raise RuntimeError("QEMU is not among the lab's processes")


def boot_once() -> tuple[float, float]:
    """Boots once and stops QEMU meanwhile; returns the host's s until the command ran, and the guest's s of hotplugging.

    Raises RuntimeError where the machine fails."""
    start = time.monotonic()
    argv = inside.build_command(MACHINE, "python3", "-c", HOTPLUG, timeout=LIMIT, anew=True)
    with subprocess.Popen(argv, cwd=inside.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as lab:
        line = lab.stdout.readline()
        booted = time.monotonic() - start
        if line.strip() == "stop me":
            qemu = find_qemu(lab)
            os.kill(qemu, signal.SIGSTOP)
            time.sleep(STOPPED)
            os.kill(qemu, signal.SIGCONT)
        line, errors = lab.communicate()
    if lab.returncode or not line.startswith("done "):
        raise RuntimeError(f"status {lab.returncode}: {line}{errors}")
    return booted, float(line.split()[1])


def measure_boots() -> Outcome:
    """Boots BOOTS times with hotplugging, and checks that each comes through; returns the outcome."""
    out, came_through = Outcome(), 0
    out.say("boot  seconds to the command  simulated seconds of hotplugging")
    for number in range(1, BOOTS + 1):
        try:
            booted, hotplug_s = boot_once()
        except RuntimeError as error:
            out.say(f"{number:4}  {error}")
            continue
        came_through += 1
        out.say(f"{number:4}  {booted:22.1f}  {hotplug_s:.3f}")
    out.at_least(f"boots with hotplug and {STOPPED} s stopped", came_through, BOOTS, "{:.0f}")
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""What time in which nothing runs costs the host, and whether a device at work still takes its own."""

import statistics
import subprocess
import time

from experiments.bench.lab.inside import ROOT
from experiments.bounds import Outcome
from experiments.lab.command import build_words

MACHINE = "demo-2s"
MODES = ("functional", "timed")
SLEEP_S, SLEEP_COST_S = 60, 1
WATCHED_S, WATCH_COST_S = 600, 60
READ_MIB, TRIES = 40, 5
APART = 2  # times as long, at most: what the host takes to read varies so much by itself
READ = """
import subprocess, sys, time
with open("build/idle.bin", "rb", buffering=0) as file:
    begin = time.monotonic()
    while file.read(1 << 20):
        pass
    print(time.monotonic() - begin)
"""
# 124: timeout has ended it
DAEMON = (f"sleep 100000 & timeout {WATCHED_S} build/numaplace daemon --policy maximum-local --interval 1s >/dev/null 2>&1; "
          "status=$?; kill $!; test $status = 124")


def run_command(mode: str, *command: str, waits: bool = False) -> tuple[float, str]:
    """Runs a command in the machine; returns seconds of the host, start included, and its output. RuntimeError: it fails.

    waits: it has an input, so that idle time follows the host's clock."""
    words = build_words(MACHINE, command, functional=mode == "functional")
    begin = time.monotonic()
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE if waits else subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as lab:
        output = lab.stdout.read()
        if waits:
            lab.stdin.close()
    if lab.returncode:
        raise RuntimeError(f"{command[0]} in {MACHINE} ended with status {lab.returncode}")
    return time.monotonic() - begin, output


def compare_reads(out: Outcome, mode: str):
    """Compares what reading a file of the host's takes by the machine's clock, with idle time skipped and with idle time at the host's
    pace."""
    reads = {waits: [float(run_command(mode, "python3", "-c", READ, waits=waits)[1]) for _ in range(TRIES)] for waits in (False, True)}
    skipped, followed = (statistics.median(reads[waits]) for waits in (False, True))
    out.say(f"{mode:12} {READ_MIB} MiB read by 9p: {skipped:.3f} s of the machine's, {followed:.3f} s at the host's pace, medians of {TRIES}")
    out.between(f"{mode}: a read while idle time is skipped, by one at the host's pace", skipped / followed, 1 / APART, APART, "{:.2f}")


def measure_idle() -> Outcome:
    """Measures host s of a sleep and of a daemon that looks once a second, and reads of a file, in each mode; returns the outcome."""
    out = Outcome()
    with open(ROOT / "build/idle.bin", "wb") as file:
        file.write(b"x" * (READ_MIB << 20))
    for mode in MODES:
        run_command(mode, "true")  # leaves the snapshot
        start = statistics.median(run_command(mode, "true")[0] for _ in range(TRIES))
        slept = statistics.median(run_command(mode, "sleep", str(SLEEP_S))[0] for _ in range(TRIES)) - start
        watched, _ = run_command(mode, "sh", "-c", DAEMON)
        out.say(f"{mode:12} host s: start {start:.2f}, sleep {SLEEP_S} beyond it {slept:.2f}, a daemon that looks once a second for "
                f"{WATCHED_S} s {watched:.1f}")
        out.at_most(f"{mode}: sleep {SLEEP_S}, host s beyond the start", slept, SLEEP_COST_S, "{:.2f}")
        out.at_most(f"{mode}: a daemon for {WATCHED_S} s, host s", watched, WATCH_COST_S, "{:.1f}")
        compare_reads(out, mode)
    return out

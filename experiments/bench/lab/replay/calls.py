# SPDX-License-Identifier: GPL-2.0-only
"""The plugin alone: the host's time for an access, by kind of program."""

import json
import subprocess
import tempfile
from pathlib import Path

from experiments.bounds import Outcome
from experiments.lab import machine, simulated
from experiments.paths import HERE

REPLAY = HERE.plugin.with_name("replay")
MACHINE = "demo-2s"


def replay(plugin: Path = HERE.plugin, program: Path = REPLAY) -> list[dict]:
    """Returns a record for each program, as replay.c says, which `program` is built of. CalledProcessError: it fails."""
    with tempfile.TemporaryDirectory() as folder:
        simulated.build_qemu_options(machine.find(MACHINE), Path(folder))
        argv = [program, plugin, f"{folder}/simulation.conf", f"{folder}/simulation.shared"]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure_calls() -> Outcome:
    """Measures the plugin's part of an access in ns of the host, by program; misses and simulated ns are those of all rounds."""
    out = Outcome()
    out.say(f"the plugin's part of an access, without QEMU, caches of {MACHINE}: host ns of the fastest of 20 rounds;")
    out.say("misses and simulated ns of all rounds")
    out.say("program                 host ns     misses  simulated ns")
    for record in replay():
        out.data[record["program"]] = record
        out.say(f"{record['program']:22} {record['host_ns']:8.2f} {record['misses']:10} {record['simulated_ns']:13}")
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""The plugin alone: the host's time for an access, by kind of program."""

import json
import subprocess
import tempfile
from pathlib import Path

from experiments.lab import machine, simulated

MACHINE = "demo-2s"


def replay(plugin: Path, program: Path) -> list[dict]:
    """Returns a record for each program, as replay.c says, which `program` is built of. CalledProcessError: it fails."""
    with tempfile.TemporaryDirectory() as folder:
        simulated.build_qemu_options(machine.find(MACHINE), Path(folder))
        argv = [program, plugin, f"{folder}/simulation.conf", f"{folder}/simulation.shared"]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]

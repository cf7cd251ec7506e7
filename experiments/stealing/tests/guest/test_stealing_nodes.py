# SPDX-License-Identifier: GPL-2.0-only
"""In a machine with two nodes: whose data is where, and how many arenas there are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[4] / "build" / "np-steal"


@pytest.mark.parametrize("runtime, nodes, arenas", [("vanilla", 1, 1), ("locality", 2, 2)])
def test_data_and_arenas(runtime: str, nodes: int, arenas: int) -> None:
    workers = len(os.sched_getaffinity(0))
    done = subprocess.run([PROGRAM, "heat", "--runtime", runtime, "--scale", "1"], capture_output=True, text=True,
                          input=f"run 1 1\nrun {workers} 1\n")
    assert done.returncode == 0, done.stderr
    _ready, serial, parallel = map(json.loads, done.stdout.splitlines())
    assert serial["verified"] and parallel["verified"]
    assert (serial["arenas"], parallel["arenas"]) == (1, arenas)
    assert len(parallel["pages"]) == nodes
    assert max(parallel["pages"].values()) - min(parallel["pages"].values()) <= 2

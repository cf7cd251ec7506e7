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
                          input="".join(f"prepare {n}\nrun\nverify\n" for n in (1, workers, 1)))
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()][1:]
    assert [event["arenas"] for event in events[0::3]] == [1, arenas, 1]
    for event in events[2::3]:
        assert event["verified"] and len(event["pages"]) == nodes
        assert max(event["pages"].values()) - min(event["pages"].values()) <= 2

# SPDX-License-Identifier: GPL-2.0-only
"""The bar on a terminal while pages move, and no bar without a terminal."""
import os
import pty
import re
import subprocess

import pytest
from placed import TOOL, Target

PAGES = 4096    # of 16 MiB


def on_a_terminal(*words: object) -> tuple[str, str]:
    """Standard output, and what the terminal at standard error was sent."""
    outer, inner = pty.openpty()
    done = subprocess.Popen([TOOL, *map(str, words)], stdout=subprocess.PIPE, stderr=inner, text=True)
    os.close(inner)
    drawn = b""
    try:
        while chunk := os.read(outer, 65536):
            drawn += chunk
    except OSError:     # the tool has closed it
        pass
    os.close(outer)
    output, _ = done.communicate(timeout=60)
    assert done.returncode == 0, (output, drawn)
    return output, drawn.decode()


def commands(target: Target) -> dict[str, list[object]]:
    pace = ["--rate", "8", "--engine", "syscall"]
    return {
        "migrate": ["migrate", target.pid, "--from", 0, "--to", 1, *pace],
        "apply": ["apply", "--policy", "interleave", "--override", target.pid, *pace],     # half of them
    }


@pytest.fixture
def target(start_target) -> Target:
    away = start_target(cpus=1, memory=0)
    away.allocate(16)
    return away


@pytest.mark.parametrize("command, pages", [("migrate", PAGES), ("apply", PAGES // 2)])
def test_a_terminal_shows_how_far_it_is(target: Target, tool, command: str, pages: int) -> None:
    _, drawn = on_a_terminal(*commands(target)[command])
    shown = [(int(share), int(moved)) for share, moved in re.findall(r"\] +(\d+)%  (\d+) pages moved", drawn)]
    assert len(shown) > 3 and shown == sorted(shown), drawn
    assert shown[0][0] < 50 and shown[-1][0] >= 90 and shown[-1][1] > pages * 0.9, shown
    assert drawn.endswith("\r"), "the line is given back"
    assert target.pages()[1] > pages * 0.9


@pytest.mark.parametrize("command", ["migrate", "apply"])
def test_json_has_none(target: Target, tool, command: str) -> None:
    _, drawn = on_a_terminal(*commands(target)[command], "--json")
    assert drawn == "" and target.pages()[1] > PAGES // 3

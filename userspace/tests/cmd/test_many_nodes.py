# SPDX-License-Identifier: GPL-2.0-only
"""ps and top on a machine of 16 nodes, which this one is made to look like in a mount namespace."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import building
from userspace.tests.terminal import TOOL, Terminal

NODES = 16
SYSFS = Path("/sys/devices/system/node")


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """What comes before a command that is to see them."""
    building.build("build/numaplace")
    if os.geteuid() or not shutil.which("unshare") or SYSFS.joinpath("online").read_text() != "0\n":
        pytest.skip("needs root and a machine of one node")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    folder = tmp_path_factory.mktemp("nodes")
    for name in ("online", "has_memory"):
        (folder / name).write_text(f"0-{NODES - 1}\n")
    for node in range(NODES):
        own = folder / f"node{node}"
        own.mkdir()
        (own / "cpulist").write_text((SYSFS / "node0/cpulist").read_text() if node == 0 else "\n")
        (own / "distance").write_text(" ".join("10" if k == node else "20" for k in range(NODES)) + "\n")
        (own / "meminfo").write_text(f"Node {node} MemTotal: 1024 kB\nNode {node} MemFree: 512 kB\n")
    return "unshare", "--mount", "sh", "-c", f'mount --bind {folder} {SYSFS} && exec "$@"', "sh"


def run(there: tuple[object, ...], *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, (*there, TOOL, *words))], capture_output=True, text=True, timeout=60, check=False)


def test_ps_shows_the_nodes_that_matter_and_says_so(there: tuple[object, ...]) -> None:
    done = run(there, "ps", "-s", "0", os.getpid())
    heading, line = done.stdout.splitlines()
    assert " NODE:PAGES " in heading and "N1" not in heading and re.search(r" 0:\d+ ", line)
    assert done.stderr.count("\n") == 1 and "of 16 nodes" in done.stderr and "--columns pid,command,pages" in done.stderr
    done = run(there, "ps", "-s", "0", "--columns", "pid,command,pages", os.getpid())
    assert done.stdout.split()[2:18] == [f"N{node}" for node in range(NODES)] and not done.stderr


def test_top_says_that_there_are_more_and_shows_them(there: tuple[object, ...]) -> None:
    terminal = Terminal(40, 100, there)
    lines = terminal.wait_for("^9 more nodes: n shows all", r" columns cut: [0-9]+ \(see --columns\)")
    assert sum(line.startswith("node ") for line in lines) == 7
    terminal.type(b"n")
    lines = terminal.wait_for("^node 15 ")
    assert sum(line.startswith("node ") for line in lines) == NODES
    terminal.type(b"q")
    assert terminal.status() == 0

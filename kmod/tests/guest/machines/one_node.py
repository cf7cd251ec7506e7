# SPDX-License-Identifier: GPL-2.0-only
"""For the machine one_node.toml, see test_topology.py: first without debugfs, then with it and one node only."""

import json
import os
import subprocess

import driver
from without_module import TOOL, clean_kernel  # noqa: F401


def test_no_debugfs_the_module_is_refused():
    done = subprocess.run(["insmod", driver.module()], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "Operation not permitted" in done.stderr
    assert not driver.is_loaded()
    said = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    assert "numaplace: not loaded: error -1" in said


def test_no_debugfs_the_tool_says_so_and_works_without(target):
    sleeper = subprocess.Popen(["sleep", "100"])
    refused = subprocess.run([TOOL, "place", str(sleeper.pid), "--cpus", "1", "--engine", "module"],
                             capture_output=True, text=True, check=False)
    assert refused.returncode == 3 and len(refused.stderr.splitlines()) == 1
    assert "module" in refused.stderr
    placed = subprocess.run([TOOL, "place", str(sleeper.pid), "--cpus", "1"], capture_output=True, text=True, check=False)
    assert placed.returncode == 0, placed.stderr
    assert os.sched_getaffinity(sleeper.pid) == {1}
    sleeper.kill()
    sleeper.wait()


def test_one_node_topology():
    shown = subprocess.run([TOOL, "topology", "--json"], capture_output=True, text=True, check=True).stdout
    assert len(json.loads(shown)["nodes"]) == 1

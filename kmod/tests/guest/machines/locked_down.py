# SPDX-License-Identifier: GPL-2.0-only
"""For a kernel that is locked down, see test_topology.py: no module, and the tool says why."""

import subprocess

import driver
from without_module import TOOL, clean_kernel  # noqa: F401


def test_locked_down_the_module_is_refused():
    done = subprocess.run(["insmod", driver.module()], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert not driver.is_loaded()


def test_locked_down_the_tool_says_why():
    sleeper = subprocess.Popen(["sleep", "100"])
    refused = subprocess.run([TOOL, "place", str(sleeper.pid), "--cpus", "1", "--engine", "module"],
                             capture_output=True, text=True, check=False)
    sleeper.kill()
    sleeper.wait()
    assert refused.returncode == 3 and len(refused.stderr.splitlines()) == 1
    assert "locked down" in refused.stderr and "integrity" in refused.stderr, refused.stderr
    checked = subprocess.run([TOOL, "experiment", "check-machine"], capture_output=True, text=True, check=False)
    assert "locked down (integrity)" in checked.stdout, checked.stdout + checked.stderr

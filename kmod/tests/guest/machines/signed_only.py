# SPDX-License-Identifier: GPL-2.0-only
"""For a kernel with module.sig_enforce, see test_topology.py: no unsigned module, and the tools say why."""

import subprocess

import driver
from without_module import TOOL, clean_kernel  # noqa: F401


def test_signed_only_the_module_is_refused():
    done = subprocess.run(["insmod", driver.module()], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and not driver.is_loaded()


def test_signed_only_the_tools_say_why():
    refused = subprocess.run([TOOL, "migrate", "1", "--to", "0", "--engine", "module"], capture_output=True, text=True, check=False)
    assert refused.returncode == 3 and len(refused.stderr.splitlines()) == 1
    assert "signed modules only" in refused.stderr and "mokutil --import" in refused.stderr, refused.stderr
    checked = subprocess.run([TOOL, "experiment", "check-machine"], capture_output=True, text=True, check=False)
    assert "signed modules only" in checked.stdout, checked.stdout + checked.stderr

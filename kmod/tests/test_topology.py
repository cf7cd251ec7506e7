# SPDX-License-Identifier: GPL-2.0-only
"""The module on machines that are not like the lab's usual ones, each a boot of its own."""

import subprocess
from pathlib import Path

import pytest

from experiments.lab import kernels
from experiments.lab.command import build_words

TOP = Path(__file__).resolve().parents[2]


TIME_LIMIT = 1200  # seconds; a busy host takes some hundred
MACHINES = {
    "odd_nodes": [],
    "eight_nodes": [],
    "leaving_memory": ["--kernel-option", "movablecore=1G", "--kernel-option", "init_on_alloc=0"],
    "one_node": ["--kernel-option", "debugfs=off", "--no-module"],
    "locked_down": ["--kernel-option", "lockdown=integrity", "--no-module"],
    "signed_only": ["--kernel-option", "module.sig_enforce=1", "--no-module"],
}
FILES = {"locked_down": "kmod/tests/one_node.toml", "signed_only": "kmod/tests/one_node.toml", "leaving_memory": "demo-2s"}
# Debian's kernels clear what they allocate, and so hide what is not initialised.
SOONER = ("odd_nodes", "leaving_memory")  # in make check
ALSO = {"leaving_memory": ["kmod/tests/guest/any/test_trace.py::test_trace_policy_without_nodes"]}


@pytest.mark.lab
@pytest.mark.long("a boot of a machine of its own")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.full("a boot more")] * (name not in SOONER)) for name in MACHINES])
def test_module_on(name):
    machine = FILES.get(name, f"kmod/tests/{name}.toml")
    module = TOP / "build" / "modules" / kernels.DEFAULT_SERIES / "numaplace.ko"
    done = subprocess.run(
        build_words(machine, ["env", f"NUMAPLACE_KO={module}", ".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                              f"kmod/tests/guest/machines/{name}.py", *ALSO.get(name, [])], MACHINES[name], functional=True, seconds=TIME_LIMIT),
        cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

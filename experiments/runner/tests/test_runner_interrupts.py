# SPDX-License-Identifier: GPL-2.0-only
"""A signal that arrives while a child is forked ends the run like any other."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The handler runs in a hook of fork(), whose exceptions Python prints and drops.
IN_THE_FORK = """
import os, signal, time
from pathlib import Path
from experiments.errors import Interrupted
from experiments.host.interrupts import stop_signals
from experiments.host.process import start_process

def hook():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)

os.register_at_fork(after_in_parent=hook)
with stop_signals():
    try:
        start_process(["sleep", "60"], signal.SIGKILL)
        print("not interrupted")
    except Interrupted as stop:
        print("interrupted by", stop.number)
print("children:", Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
"""


def test_a_signal_in_the_middle_of_a_fork_is_kept() -> None:
    done = subprocess.run([sys.executable, "-c", IN_THE_FORK], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["interrupted by 15", "children: []"]
    assert done.stderr == ""


BEFORE_THE_FORK = """
import os, signal, subprocess, sys
from experiments.errors import Interrupted
from experiments.host.interrupts import stop_signals
from experiments.host.process import start_process

os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGTERM))
with stop_signals():
    try:
        start_process([sys.executable, "-IS", "-c", "import sys, time; time.sleep(60); open(sys.argv[1], 'w')", sys.argv[1]],
                      signal.SIGTERM)
    except Interrupted as stop:
        print("interrupted by", stop.number)
"""


def test_a_child_does_not_ignore_the_signal_that_arrived_before_its_fork(tmp_path: Path) -> None:
    """It is ended, and would go on after a minute."""
    went_on = tmp_path / "went_on"
    done = subprocess.run([sys.executable, "-c", BEFORE_THE_FORK, went_on], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("interrupted by 15\n", "")
    assert not went_on.exists()

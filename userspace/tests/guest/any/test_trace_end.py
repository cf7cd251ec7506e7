# SPDX-License-Identifier: GPL-2.0-only
"""The end of `numaplace trace`, with a program in place of bpftrace that forgets a signal as bpftrace 0.17 may."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

TOOL = Path(__file__).resolve().parents[4] / "build" / "numaplace"
BPFTRACE = """#!/usr/bin/python3 -IS
import signal, time
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(1))
print("Tracing", flush=True)
while len(came) < 2:
    time.sleep(0.05)
signal.signal(signal.SIGINT, signal.SIG_DFL)
time.sleep(2)  # one that comes now would end it before its maps are shown
print("@maps: 1", flush=True)
"""


def test_a_forgotten_signal_is_sent_again(module: None, tmp_path: Path) -> None:
    fake = tmp_path / "bpftrace"
    fake.write_text(BPFTRACE)
    fake.chmod(0o755)
    done = subprocess.run([TOOL, "trace", "migrations", "--", "true"], capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "Tracing\n@maps: 1\n", "")

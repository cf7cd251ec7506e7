# SPDX-License-Identifier: GPL-2.0-only
"""The command of `numaplace trace`, with a program in place of bpftrace that splits it at blanks as bpftrace does."""
import os
import subprocess
from pathlib import Path

TOOL = Path(__file__).resolve().parents[4] / "build" / "numaplace"
BPFTRACE = """#!/bin/sh
[ "$1" = -c ] && echo "Tracing" && $2
echo "@maps: 1"
"""


def test_the_command_gets_its_words_and_its_signals(module: None, tmp_path: Path) -> None:
    """Its exit status is returned; no signal is ignored for it, SIGPIPE neither."""
    fake = tmp_path / "bpftrace"
    fake.write_text(BPFTRACE)
    fake.chmod(0o755)
    code = """printf '<%s>' "$@"; grep SigIgn /proc/self/status; cat; exit 7"""
    done = subprocess.run([TOOL, "trace", "migrations", "--", "sh", "-c", code, "sh", "it's", "a  b", "", "x\n"],
                          input="input", capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stdout, done.stderr) == (
        7, f"Tracing\n<it's><a  b><><x\n>SigIgn:\t{0:016x}\ninput@maps: 1\n", "")

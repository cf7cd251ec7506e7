# SPDX-License-Identifier: GPL-2.0-only
"""The user's terminal while `lab shell` runs: raw, so that the guest's own terminal does all, and as it was afterwards."""

import os
import shlex
import shutil
import signal
import termios
import tty
from pathlib import Path

from experiments.lab.errors import UNABLE, LabError

SHELL = Path(__file__).with_name("shell.sh")


def build_shell_command() -> list[str]:
    """Builds the command that runs the user's shell on a terminal of the guest's, which has the host's programs. LabError: script(1) is
    missing."""
    if not shutil.which("script"):
        raise LabError(UNABLE, "script is not installed, and it makes the shell's terminal: install util-linux's (bsdutils)")
    run = f"exec sh {shlex.quote(str(SHELL))} {shlex.quote(os.environ.get('SHELL') or '/bin/sh')}"
    return ["script", "--quiet", "--return", "--flush", "--command", run, os.devnull]


class Terminal:
    """Holds a terminal and its settings. fd: the terminal. sizes: where QEMU reads a line "ROWS COLUMNS" for each size that it has."""

    def __init__(self, fd: int):
        """Saves the terminal's settings; sends its size now and at each SIGWINCH."""
        self.fd = fd
        self.before = termios.tcgetattr(fd)
        self.sizes, self.sink = os.pipe()
        os.set_blocking(self.sink, False)
        self.tell_size()
        self.handler = signal.signal(signal.SIGWINCH, self.tell_size)

    def tell_size(self, *_):
        """Writes the terminal's size to where QEMU reads it."""
        columns, rows = os.get_terminal_size(self.fd)
        try:
            os.write(self.sink, f"{rows} {columns}\n".encode())
        except OSError:  # full, or QEMU has ended
            pass

    def make_raw(self):
        tty.setraw(self.fd, termios.TCSADRAIN)  # what was typed ahead is kept

    def restore_settings(self):
        """Restores the settings and the signal's handler, and closes the pipe of sizes."""
        signal.signal(signal.SIGWINCH, self.handler)
        os.close(self.sink)
        os.close(self.sizes)
        termios.tcsetattr(self.fd, termios.TCSADRAIN, self.before)

# SPDX-License-Identifier: GPL-2.0-only
"""A terminal with `numaplace top` on it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pyte

TOOL = Path(__file__).resolve().parents[2] / "build" / "numaplace"


class Terminal:
    """`numaplace top` in a terminal of that size, and what stands on its screen."""

    def __init__(self, rows: int, columns: int, before: tuple[object, ...] = ()):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.fd, inside = pty.openpty()
        self.set_size(rows, columns)
        others = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.top = subprocess.Popen([*map(str, before), TOOL, "top", "--interval", "400ms"], stdin=inside, stdout=inside, stderr=inside,
                                    env=others | {"TERM": "linux", "LC_ALL": "C"}, start_new_session=True)
        os.close(inside)

    def set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def shows(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.screen.display)

    def wait_for(self, *patterns: str, last: str = "") -> list[str]:
        """The lines of the screen, once each pattern is found in one of them, and that of the last in the last."""
        end = time.monotonic() + 60
        while not (all(map(self.shows, patterns)) and re.match(last, self.screen.display[-1])):
            assert time.monotonic() < end, (patterns, last, self.screen.display)
            if select.select([self.fd], [], [], 1)[0]:
                self.stream.feed(os.read(self.fd, 65536))
        return self.screen.display

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        self.set_size(rows, columns)
        self.top.send_signal(signal.SIGWINCH)

    def status(self) -> int:
        while True:  # what it still has to say must not hold it up
            try:
                os.read(self.fd, 65536)
            except OSError:
                return self.top.wait(60)

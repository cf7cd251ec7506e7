# SPDX-License-Identifier: GPL-2.0-only
"""The command's standard input: what this process is given, from the command's begin on."""

import os
import select
import stat
import threading
from collections.abc import Callable

NULL = os.makedev(1, 3)
PERIOD = 0.02  # seconds between two looks whether the command has begun
PIPE_SIZE = 65536  # bytes that a pipe of Linux holds, unless it is told otherwise


def find_input() -> int | None:
    """Returns the descriptor of an input to forward; None of a terminal, which is for `lab shell`, and of /dev/null."""
    status = os.fstat(0)
    null = stat.S_ISCHR(status.st_mode) and status.st_rdev == NULL
    return None if null or os.isatty(0) else 0


class Feed(threading.Thread):
    """Copies `source` into a pipe that QEMU reads. Nothing is taken before the command has begun: a start that is made
    anew finds the input whole."""

    def __init__(self, source: int, has_begun: Callable[[], bool], on_begin: Callable[[], None] = lambda: None):
        """Makes the pipe. has_begun: checks whether the command has begun. on_begin: called once, before the first byte is copied."""
        super().__init__(daemon=True)
        self.source, self.has_begun, self.on_begin = source, has_begun, on_begin
        self.outlet, self.sink = os.pipe()
        self.over, self.end = os.pipe()

    def start(self):
        """Starts the thread, and closes our end of the pipe: to be called once QEMU has its own."""
        os.close(self.outlet)
        super().start()

    def run(self):
        """Waits until the command has begun, then copies the input until its end or stop_feed()."""
        # The guest takes an end before the first line for a channel that is not open yet.
        os.write(self.sink, b"\n")
        try:
            while not self.has_begun():
                if self.is_over(PERIOD):
                    return
            self.on_begin()
            self.copy_input()
        except OSError:  # QEMU has ended, or a terminal is gone
            pass
        finally:
            os.close(self.sink)

    def is_over(self, seconds: float) -> bool:
        return bool(select.select([self.over], [], [], seconds)[0])

    def copy_input(self):
        """Copies until the input's end or stop_feed()."""
        while self.over not in select.select([self.source, self.over], [], [])[0]:
            data = os.read(self.source, PIPE_SIZE)
            if not data:
                return
            while data:
                data = data[os.write(self.sink, data):]

    def stop_feed(self):
        """Ends the copying and closes the pipes; to be called once QEMU has ended."""
        os.close(self.end)
        if self.ident:
            self.join()
        else:
            os.close(self.outlet)
            os.close(self.sink)
        os.close(self.over)

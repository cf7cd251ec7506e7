# SPDX-License-Identifier: GPL-2.0-only
"""numaplace lab shell on a terminal of its own, as a user types."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from experiments.paths import HERE
from tests.waiting import eventually, has_ended

TOP = HERE.code
LAB = (sys.executable, "-m", "experiments.lab", "shell")


class Typist:
    """Runs a shell of the lab, and holds what it has said."""

    def __init__(self, *options: str, shell: str = "/bin/sh"):
        self.said = b""
        self.fd, self.inside = pty.openpty()
        self.resize_terminal(24, 80)
        self.before = termios.tcgetattr(self.inside)
        self.lab = subprocess.Popen([*LAB, "--functional", "--no-module", *options], cwd=TOP, stdin=self.inside, stdout=self.inside,
                                    stderr=self.inside, env=os.environ | {"SHELL": shell, "PS1": "% "}, start_new_session=True,
                                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lab.kill()
        self.lab.wait()
        os.close(self.fd)
        os.close(self.inside)

    def resize_terminal(self, rows: int, columns: int):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type_keys(self, keys: str):
        os.write(self.fd, keys.encode())

    def wait_for_text(self, text: str):
        """Waits until the text was said; what came before it is over."""
        end = time.monotonic() + 200
        while text.encode() not in self.said:
            assert time.monotonic() < end and self.lab.poll() is None, (text, self.said)
            if select.select([self.fd], [], [], 1)[0]:
                self.said += os.read(self.fd, 65536)
        self.said = self.said.partition(text.encode())[2]

    def wait_for_status(self) -> int:
        assert eventually(lambda: self.lab.poll() is not None, 100), self.said
        return self.lab.returncode

    @property
    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.inside) == self.before


def test_without_a_terminal_it_is_wrong_usage():
    done = subprocess.run(LAB, cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "the shell needs a terminal" in done.stderr


@pytest.mark.lab
@pytest.mark.long("a boot, and what a user types")
def test_terminal_of_the_guest_is_as_the_users():
    with Typist(shell="/no/such/shell") as user:
        user.wait_for_text("# ")
        user.type_keys("echo $((6*7)) in $(tty)\r")
        user.wait_for_text("42 in /dev/pts/")
        user.type_keys("stty size\r")
        user.wait_for_text("24 80")
        user.type_keys("pwd; id -u; cat /sys/devices/system/node/online\r")
        user.wait_for_text(f"{TOP}\r\n0\r\n0-1\r\n")
        user.type_keys("trap 'echo of $(stty size)' WINCH; echo ready''now\r")
        user.wait_for_text("readynow")
        user.resize_terminal(33, 101)
        user.type_keys("until stty size | grep 33; do :; done\r")
        user.wait_for_text("33 101")
        user.type_keys("sh -c 'echo begins\"\"now; exec sleep 1000'\r")
        user.wait_for_text("beginsnow")
        user.type_keys("\x03")
        user.wait_for_text("# ")
        user.type_keys("sh -c 'echo begins\"\"now; exec sleep 1000'\r")
        user.wait_for_text("beginsnow")
        user.type_keys("\x1a")
        user.wait_for_text("Stopped")
        user.type_keys("exit 3\r")
        user.type_keys("exit 3\r")  # after the line about stopped jobs
        assert user.wait_for_status() == 3
        assert user.is_as_before


@pytest.mark.lab
def test_signal_gives_the_terminal_back():
    with Typist() as user:
        user.wait_for_text("# ")
        assert not user.is_as_before
        user.lab.send_signal(signal.SIGTERM)
        assert user.wait_for_status() == 128 + signal.SIGTERM
        assert user.is_as_before
        assert has_ended(user.lab.pid)

# SPDX-License-Identifier: GPL-2.0-only
"""A target that does not go on does not keep those who move its pages from ending."""

import contextlib
import ctypes
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import driver
import pytest

INIT, GETATTR, OPEN, READ, FORGET, INTERRUPT = 26, 3, 14, 15, 2, 36  # requests of FUSE
SIZE = 1 << 16


class SlowFile:
    """A file of FUSE whose pages are never served."""

    def __init__(self, path: Path):
        self.path = path
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        path.touch()
        options = f"fd={self.fd},rootmode=100000,user_id=0,group_id=0".encode()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mount(b"slow", bytes(path), b"fuse", 0, options) == 0, ctypes.get_errno()
        self.is_read = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def answer(self, unique: int, data: bytes, error: int = 0):
        os.write(self.fd, struct.pack("IiQ", 16 + len(data), -error, unique) + data)

    def serve(self):
        with contextlib.suppress(OSError):  # the file system is gone
            while True:
                _, request, unique = struct.unpack_from("IIQ", os.read(self.fd, 1 << 20))
                if request == INIT:
                    self.answer(unique, struct.pack("IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 0, 0, 0))
                elif request == GETATTR:
                    self.answer(unique, struct.pack("QII6Q10I", 3600, 0, 0, 1, SIZE, 1, 0, 0, 0, 0, 0, 0, 0o100644, 1,
                                                    0, 0, 0, 4096, 0))
                elif request == OPEN:
                    self.answer(unique, bytes(16))
                elif request == READ:
                    self.is_read.set()
                elif request not in (FORGET, INTERRUPT):
                    self.answer(unique, b"", 38)  # ENOSYS

    def give_up(self):
        """What is asked for fails."""
        control = Path("/sys/fs/fuse/connections")
        with contextlib.suppress(OSError):
            if not list(control.iterdir()):
                subprocess.run(["mount", "-t", "fusectl", "fusectl", str(control)], check=True)
        for one in control.iterdir():
            (one / "abort").write_text("1")
        subprocess.run(["umount", "-l", str(self.path)], check=True)
        self.thread.join()
        os.close(self.fd)


# futex(FUTEX_WAKE_OP) holds the lock of the address space for reading while a page of the file is read. Then another
# thread waits to write, so that no one can read.
HOLDING = """
import ctypes, mmap, sys, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
with open(sys.argv[1], "rb") as f:
    page = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 3, 2, f.fileno(), ctypes.c_size_t(0)))
word = ctypes.create_string_buffer(8)
threading.Thread(target=libc.syscall, args=(202, word, 133, 1, ctypes.c_void_p(1), page, 0)).start()
sys.stdin.readline()
print("on", flush=True)
mmap.mmap(-1, 4096)
"""


def is_asleep(pid: int) -> bool:
    """Without a signal that would wake it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "D"


def test_wedged_by_its_address_space(tmp_path):
    """Who moves pages of a target whose lock is held can be killed, and leaves the module free to go."""
    if subprocess.run(["modprobe", "fuse"], check=False).returncode:
        pytest.skip("this kernel has no FUSE")
    slow = SlowFile(tmp_path / "slow")
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(slow.path)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        assert slow.is_read.wait(20)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "on\n"
        assert driver.eventually(lambda: is_asleep(process.pid))
        moving = driver.Moving(process.pid)
        assert driver.eventually(lambda: is_asleep(moving.process.pid))
        moving.process.kill()
        moving.process.wait(5)
        assert driver.unload(20) == 0
    finally:
        slow.give_up()
        process.kill()
        process.communicate()


def test_ends_beside_threads_that_map():
    """The lock of their address space always has one that waits for it, so that a try fails."""
    target = driver.Target("anon", 2048, 0)
    try:
        for _ in range(4):
            target.ask("map-anew")
        assert target.move("0", 1)["moved"] == "2048"
        assert target.is_whole()
    finally:
        target.stop()

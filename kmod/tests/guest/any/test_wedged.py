# SPDX-License-Identifier: GPL-2.0-only
"""A target that does not go on does not keep its job from ending."""

import contextlib
import ctypes
import itertools
import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import driver
import pytest
from driver import start_job, wait_job, write

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


def has_state(pid: int, state: str) -> bool:
    """Whether the main thread is in STATE, a letter of proc(5): S is a sleep that a signal ends, D one that none does."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == state


def is_in_queue() -> bool:
    """A thread of the module's waits for the lock of an address space (lock_mm.c)."""
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if path.read_text() == "numaplace-lock\n" and has_state(int(path.parent.name), "D"):
                return True
    return False


def test_wedged_by_its_address_space(tmp_path):
    """A job of a target whose lock is held can be cancelled, and leaves the module free to go."""
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
        assert driver.eventually(lambda: has_state(process.pid, "D"))
        job = start_job(f"pid={process.pid} from=any to=1")
        assert driver.eventually(is_in_queue)
        assert driver.job(job)["state"] == "running"
        write("cancel", f"job={job}")
        assert wait_job(job, 5)["state"] == "cancelled"
        job = start_job(f"pid={process.pid} from=any to=1")
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
        assert target.move("0", 1, "pause=never")["moved"] == "2048"
        assert target.is_whole()
    finally:
        target.stop()


# A thread closes many files, then a connection whose data nobody reads: the latter sleeps on its way to user mode.
CLOSING = """
import ctypes, os, resource, socket, struct, sys, threading
N = 200000
resource.setrlimit(resource.RLIMIT_NOFILE, (N + 100, N + 100))
libc = ctypes.CDLL(None)
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer = server.accept()[0]
client.setblocking(False)
try:
    while True:
        client.send(bytes(1 << 16))
except BlockingIOError:
    pass
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, int(sys.argv[1])))
null = os.open("/dev/null", os.O_RDONLY)
first = null + 1
for fd in range(first, N):
    libc.dup2(null, fd)
libc.dup2(client.detach(), N)
os.close([fd for fd in range(3, null) if os.readlink(f"/proc/self/fd/{fd}") == os.readlink(f"/proc/self/fd/{N}")][0])
memory = bytearray(64 << 20)
print("ready", flush=True)
sys.stdin.readline()
print("on", flush=True)
libc.close_range(first, N, 0)
print("closed", flush=True)
sys.stdin.readline()
"""
LINGER = 15  # s


def move_until_asleep(pid: int) -> list[int]:
    """Has three jobs that run for as long as the thread does, so that a pause is always on its way to it, and says which."""
    jobs: list[int] = []
    nodes = itertools.cycle((1, 0))

    def is_asleep() -> bool:
        jobs[:] = [job for job in jobs if driver.job(job)["state"] == "running"]
        while len(jobs) < 3:
            jobs.append(start_job(f"pid={pid} from=any to={next(nodes)} pause=always duty=100 threads=1 max_stall_us=100000"))
        return has_state(pid, "S")

    assert driver.eventually(is_asleep, 60)
    return jobs


@pytest.mark.full("a sleep of 15 s in the kernel")
def test_wedged_by_what_comes_before_the_pause():
    """A thread that has begun to return to user mode and sleeps there: its job goes on, and only rmmod waits for it."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    process = subprocess.Popen([sys.executable, "-c", CLOSING, str(LINGER)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    said = b""
    try:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "on\n"
        begin = time.monotonic()
        # It leaves close_range(2) with the task work of a pause behind its files', then sleeps in the connection's close.
        jobs = move_until_asleep(process.pid)
        for job in jobs:
            write("cancel", f"job={job}")
        ends = [wait_job(job, 5)["state"] for job in jobs]
        print(f"jobs ended {ends} after {time.monotonic() - begin:.1f} s")
        rmmod = subprocess.Popen(["rmmod", "numaplace"])
        assert process.stdout.readline() == "closed\n"
        took = time.monotonic() - begin
        assert rmmod.wait(30) == 0
        with contextlib.suppress(BlockingIOError):
            while True:
                said += os.read(log, 8192)
        assert f"rmmod waits for task {process.pid} (".encode() in said, f"it did not wait; closed after {took:.1f} s"
        assert took > LINGER - 1
    finally:
        os.close(log)
        process.kill()
        process.communicate()

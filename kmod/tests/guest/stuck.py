# SPDX-License-Identifier: GPL-2.0-only
"""A process with a thread that does not return to user mode, and writes that wait for it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import driver

# Its main thread waits for a child that has not executed yet, and no signal but a fatal one wakes it. The others
# start one more for each byte that they read.
STUCK = """
import ctypes, os, sys, threading
threading.stack_size(65536)
def start():
    threading.Thread(target=sleep, daemon=True).start()
def sleep():
    while os.read(int(sys.argv[3]), 1):
        start()
for _ in range(int(sys.argv[2])):
    start()
words = [word.encode() for word in sys.argv[4:]]
libc, actions = ctypes.CDLL(None), ctypes.create_string_buffer(256)
argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
libc.posix_spawn_file_actions_init(actions)
libc.posix_spawn_file_actions_addopen(actions, 0, sys.argv[1].encode(), os.O_RDONLY, 0)
print("ready", flush=True)
sys.stdin.readline()
libc.posix_spawn(ctypes.create_string_buffer(8), words[0], actions, None, argv, None)
print("on", flush=True)
sys.stdin.readline()
"""


class Stuck:
    def __init__(self, folder: Path, threads: int = 0, program: tuple[str, ...] = ("/bin/true",)):
        self.fifo = folder / "fifo"
        os.mkfifo(self.fifo)
        theirs, self.ours = os.pipe()
        self.process = subprocess.Popen([sys.executable, "-c", STUCK, str(self.fifo), str(threads), str(theirs), *program],
                                        pass_fds=[theirs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.close(theirs)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def wait_for_child(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert driver.eventually(lambda: Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text() != "")
        assert driver.eventually(lambda: Path(f"/proc/{self.pid}/stat").read_text().split()[2] == "D")

    def start_thread(self):
        """Also while the main thread is stuck."""
        os.write(self.ours, b"+")

    def go_on(self):
        with open(self.fifo, "w", encoding="ascii"):
            assert self.process.stdout.readline() == "on\n"

    def end(self):
        self.process.kill()
        os.close(os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK))  # or its child waits for a writer for ever
        self.process.communicate()
        os.close(self.ours)


class Write:
    """A write that waits."""

    def __init__(self, name: str, line: str):
        self.error = None
        self.thread = threading.Thread(target=self.run, args=(name, line))
        self.thread.start()

    def run(self, name: str, line: str):
        self.error = driver.refusal(name, line)

    def waits(self) -> bool:
        time.sleep(0.3)
        return self.thread.is_alive()

    def end(self) -> str:
        self.thread.join()
        return self.error

# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's machine protocol (its docs/interop/qmp-spec.rst), over a socket that QEMU inherits."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Dies with the process that started it, however that ends.
TIED = ("setpriv", "--pdeathsig", "KILL", "--")
POLL = 0.002  # s, between two questions for a status


class QmpError(Exception):
    """Says that QEMU ended, or did not do what it was told, in its own words."""


class Qmp:
    """Sends QMP commands to QEMU; a call returns the command's answer. QmpError where QEMU refuses it or has ended."""
    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.file = connection.makefile("rw", encoding="utf-8")

    def read_answer(self) -> dict:
        """Reads QEMU's next object: its greeting, an answer or an event. QmpError: it has ended."""
        try:
            return json.loads(self.file.readline())
        except (ConnectionError, json.JSONDecodeError) as error:  # an end within a line, or before one
            raise QmpError("QEMU has ended") from error

    def begin_session(self):
        self.read_answer()  # its greeting
        self("qmp_capabilities")

    def __call__(self, command: str, **arguments: object) -> dict:
        """Carries out a command, letting events by. Returns its answer. QmpError: QEMU refuses it or has ended."""
        try:
            self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
            self.file.flush()
        except ConnectionError as error:
            raise QmpError("QEMU has ended") from error
        while "return" not in (answer := self.read_answer()):
            if "error" in answer:
                raise QmpError(f"{command}: {answer['error'].get('desc', answer['error'])}")
        return answer["return"]

    def wait_while(self, command: str, statuses: set[str]) -> str:
        """Repeats a query, without a limit, until its answer's status is none of these, and returns that."""
        while (status := self(command).get("status", "")) in statuses:
            time.sleep(POLL)
        return status


@contextmanager
def run_qemu(argv: list[str], log: Path, pass_fds: tuple[int, ...] = ()) -> Iterator[tuple[subprocess.Popen, Qmp]]:
    """Runs QEMU, which ends with this block and with this process; it prints to the log, and has our descriptors `pass_fds` open."""
    ours, its = socket.socketpair()
    with ours, log.open("ab") as log_file:
        with its:
            argv = [*TIED, *argv, "-chardev", f"socket,id=qmp,fd={its.fileno()}", "-mon", "chardev=qmp,mode=control"]
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file,
                                       pass_fds=(*pass_fds, its.fileno()), process_group=0)
        try:
            yield process, Qmp(ours)
        finally:
            process.kill()
            process.wait()

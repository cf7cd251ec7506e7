# SPDX-License-Identifier: GPL-2.0-only
"""Root's numaplace notes what it placed in /run/numaplace: a run of the tests has one of its own.

Another run on this machine, or a user's `restore --all`, would restore what the tests place.
"""
import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

CLONE_NEWNS = 0x20000
LIBC = ctypes.CDLL(None, use_errno=True)
FOLDER = Path("/run/numaplace")


@pytest.fixture(scope="module")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """In a mount namespace, where one can be made; the tests after it are in the machine's own again."""
    folder, where = tmp_path_factory.mktemp("run"), os.getcwd()
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    with open("/proc/self/ns/mnt", encoding="utf-8") as before:
        if os.geteuid() or LIBC.unshare(CLONE_NEWNS):
            os.close(root)
            yield
            return
        try:
            subprocess.run(["mount", "--make-rprivate", "/"], check=True)
            FOLDER.mkdir(mode=0o700, exist_ok=True)
            subprocess.run(["mount", "--bind", folder, FOLDER], check=True)
            yield
        finally:
            assert LIBC.setns(before.fileno(), CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
            # Which has made the namespace's root this process's, out of the bare system that the tests may run in.
            os.fchdir(root)
            os.chroot(".")
            os.chdir(where)
            os.close(root)

# SPDX-License-Identifier: GPL-2.0-only
"""The host's side of a run: a temporary folder that goes with it, however it ends."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PREFIX = "numaplace-lab-"
YOUNG = 60  # seconds; may have been made and not yet been locked


def locked(folder: Path) -> int | None:
    """A lock that ends with this process; None where another holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None


def remove_left_behind(parent: Path):
    """Folders of runs that were killed."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            status = folder.stat()
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < YOUNG:
                continue
            descriptor = locked(folder)
        except OSError:
            continue
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


@contextmanager
def run_folder():
    remove_left_behind(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        descriptor = locked(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(descriptor)

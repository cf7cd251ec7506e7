# SPDX-License-Identifier: GPL-2.0-only
"""The host's side of a run: a temporary folder that goes with it, however it ends."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.lab.errors import UNABLE, LabError

PREFIX = "numaplace-lab-"
YOUNG = 60  # seconds; may have been made and not yet been locked
NEEDED = 32 << 20  # bytes: the initramfs, the console, what QEMU and its plugin share


def lock_folder(folder: Path) -> int | None:
    """Locks a folder until this process ends. Returns the descriptor that holds the lock; None where another process has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None


def remove_left_folders(parent: Path):
    """Removes this user's folders of runs that were killed: older than YOUNG seconds, and not locked."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            status = folder.stat()
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < YOUNG:
                continue
            descriptor = lock_folder(folder)
        except OSError:  # another process has removed it, or it may not be opened
            continue
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def find_parent() -> Path:
    """Finds the folder for temporary files. LabError: none can be written, or NEEDED bytes are not free there."""
    configured = os.environ.get("TMPDIR")
    if configured and not os.access(configured, os.W_OK | os.X_OK, effective_ids=True):  # Python would take another one
        raise LabError(UNABLE, f"TMPDIR is '{configured}', which is no folder that can be written, and the files of a run would be "
                       "there: correct TMPDIR or unset it")
    try:
        folder = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise LabError(UNABLE, "there is no folder for the files of a run, as none of $TMPDIR, /tmp, /var/tmp and the "
                       "current folder can be written: set TMPDIR to one that can") from error
    free = shutil.disk_usage(folder).free  # without it QEMU would end by a signal, as its shared memory finds no space on the disk
    if free < NEEDED:
        raise LabError(UNABLE, f"No space left in '{folder}' for the files of a run ({free >> 10} KiB free, {NEEDED >> 10} "
                       "KiB needed): free some, or set TMPDIR to another folder")
    return folder


@contextmanager
def make_run_folder() -> Iterator[Path]:
    """Removes folders of killed runs; makes and locks one, and removes it when the block ends. LabError: there is no place or no room for
    it."""
    parent = find_parent()
    remove_left_folders(parent)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True) as name:
        descriptor = lock_folder(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(descriptor)

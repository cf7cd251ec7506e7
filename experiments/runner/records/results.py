# SPDX-License-Identifier: GPL-2.0-only
"""results.jsonl: one line an observation, on the disk before the next one starts."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ExperimentError
from .record import Record

NAME = "results.jsonl"
FORMAT = 1  # of a line and of manifest.json, which has it: Documentation/reference/schema


def read_records(directory: Path) -> list[Record]:
    """Reads a run's records; a line that a kill cut off is left out, and overwritten by the next append. ExperimentError: not JSON."""
    path = directory / NAME
    if not path.exists():
        return []
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    records = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise ExperimentError(f"{path} line {number}: not JSON ({error}): "
                                  "remove the line or start anew with --force") from None
    return records


def count_reached(directory: Path) -> int:
    """Counts the scheduled observations that are made, for a progress display."""
    return len(set(map(make_key, read_records(directory))))


def read_write_time(directory: Path) -> int | None:
    """Returns when something was written last, in ns; None where nothing was."""
    path = directory / NAME
    return path.stat().st_mtime_ns if path.exists() and path.stat().st_size else None


def count_records(directory: Path) -> int:
    return len(read_records(directory))


def rewrite_records(directory: Path, records: list[Record]) -> None:
    """Replaces all records, whole or not at all, within lock_folder(). ExperimentError: they cannot be written."""
    partial = directory / (NAME + ".partial")
    try:
        partial.write_bytes(b"".join(map(_format_record, records)))
        os.replace(partial, directory / NAME)
    except OSError as error:
        raise ExperimentError(f"{partial}: {error.strerror}: {NAME} is as it was; free disk space") from None


def _format_record(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


@contextmanager
def lock_folder(directory: Path) -> Iterator[None]:
    """Makes the folder where it is missing, and locks it for the block: nobody else writes results there, in this process neither.
    ExperimentError: it is locked, or cannot be made."""
    # The lock is on the folder, as rewrite_records() replaces the file. Of a guest's lock the host knows nothing.
    try:
        directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ExperimentError(f"{directory}: {error.strerror}: choose another folder with --out") from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExperimentError(f"{directory / NAME}: is being written by {_name_holder(fd)}: wait for it or end it") from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(fd)


def _name_holder(fd: int) -> str:
    """Names the holder of the lock on an open file or folder: 'pid 12 (python3)', or 'another process' where it is not seen."""
    inode = str(os.fstat(fd).st_ino)
    for line in Path("/proc/locks").read_text().splitlines():
        *kinds, pid, place, _begin, _end = line.split()  # place: device:inode; "->" among the kinds: it waits for the lock
        if "FLOCK" in kinds and place.rpartition(":")[2] == inode and "->" not in kinds:
            try:
                return f"pid {pid} ({Path(f'/proc/{pid}/comm').read_text().strip()})"
            except OSError:
                break  # of another namespace, or it has just ended
    return "another process"


class Writer:
    """Appends records to a run's results, within lock_folder()."""

    def __init__(self, directory: Path) -> None:
        """Opens the results, makes the file where it is missing, and removes a last line that a kill cut off."""
        self.path = directory / NAME
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        whole, newline, _ = self.path.read_bytes().rpartition(b"\n")
        self.size = len(whole) + len(newline)
        os.ftruncate(self.fd, self.size)

    def append(self, record: Record) -> None:
        """Appends a record and waits until it is on the disk. ExperimentError: it does not fit there, and no part of it is left."""
        line = _format_record(record)
        try:
            written = 0
            while written < len(line):
                written += os.pwrite(self.fd, line[written:], self.size + written)
            os.fsync(self.fd)
        except OSError as error:
            os.ftruncate(self.fd, self.size)
            raise ExperimentError(
                f"{self.path}: {error.strerror}: what was measured before is safe; "
                "free disk space and go on with --resume") from None
        self.size += len(line)

    def close(self) -> None:
        os.close(self.fd)


def list_marks(record: Record) -> tuple[str, ...]:
    """Lists why a record may not be averaged; a failed check is a mark too."""
    marks = [str(mark) for mark in record.get("marks") or []]
    check = record.get("check", "ok")
    if check != "ok" and not (check == "not reached" and marks):
        marks.append(f"check failed: {check}")
    return tuple(marks)


def make_key(record: Record) -> tuple[str, str, int, bool]:
    """Returns the key of the scheduled observation that a line of results.jsonl is of."""
    return record["workload"], record["policy"], record["repeat"], bool(record.get("warmup"))

# SPDX-License-Identifier: GPL-2.0-only
"""Work that is kept under a digest of what it depends on, a line of JSON for each piece: it is not done again for the same."""

import fcntl
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIGITS = 12
WITHOUT_TESTS = (":(exclude,glob)**/tests/**", ":(exclude)*.md")  # among the paths of digest()


def git(top: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=True).stdout


def digest(top: Path, paths: Iterable[str], values: tuple[object, ...] = ()) -> str:
    """Computes DIGITS digits of a digest of the names and contents, committed or not, of the files that git knows in the tree `top`.

    paths: below which they are, with git's magic words; values: of the work besides, such as options. CalledProcessError: git fails."""
    names = git(top, "ls-files", "-z", "--", *paths).split("\0")
    whole = hashlib.sha256(repr(values).encode() if values else b"")
    for name in sorted(name for name in names if name and (top / name).is_file()):
        whole.update(f"{name}\0".encode() + hashlib.sha256((top / name).read_bytes()).digest())
    return whole.hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Kept:
    """The records in a file; of each piece the last one counts."""
    path: Path

    def read(self) -> dict[str, dict[str, Any]]:
        """Reads the records by piece; {} where there is no file."""
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        return {record["piece"]: record for record in map(json.loads, lines)}

    def write(self, record: dict[str, Any]) -> None:
        """Writes a record, whose `piece` is its name, in the place of what there was of it; the file is replaced whole, one writer after
        the other."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            records = self.read() | {record["piece"]: record}
            new = self.path.with_name(self.path.name + ".new")
            new.write_text("".join(json.dumps(records[name]) + "\n" for name in sorted(records)), encoding="utf-8")
            new.replace(self.path)
        finally:
            os.close(folder)

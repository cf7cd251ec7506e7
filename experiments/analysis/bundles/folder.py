# SPDX-License-Identifier: GPL-2.0-only
"""The files of a bundle in a folder of their own, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .archive import BundleError

ENDINGS = (".tar.gz", ".tgz")


def default(path: Path) -> Path:
    """In the current folder, with the bundle's name."""
    ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), "")
    if not ending or path.name == ending:
        raise BundleError(f"{path}: does not end in {' or '.join(ENDINGS)}, so that no folder has its name: give a FOLDER too")
    return Path(path.name.removesuffix(ending))


def check_free(folder: Path, choose: str) -> None:
    if folder.is_symlink() or folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise BundleError(f"{folder}: there already: choose another {choose}")


def write(folder: Path, files: Mapping[str, bytes], choose: str) -> None:
    """Beside its place first."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.partial-", dir=folder.parent) as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()  # with the rights of a new folder, which the scratch one has not
            for name, data in files.items():
                (whole / name).parent.mkdir(parents=True, exist_ok=True)
                (whole / name).write_bytes(data)
            os.rename(whole, folder)
    except OSError as error:
        raise BundleError(f"{folder}: {error.strerror}: choose another {choose}") from None

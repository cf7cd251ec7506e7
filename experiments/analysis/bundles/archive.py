# SPDX-License-Identifier: GPL-2.0-only
"""A gzipped tar archive with the hash of every file: the same files make the same bytes, and nothing is read unchecked."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from ..runs.results import ResultsError

MANIFEST = "MANIFEST"
FORMAT = 1


class BundleError(ResultsError):
    """A bundle that is broken, or not asked for rightly."""

    status = 2


def pack(path: Path, about: dict[str, Any], files: dict[str, bytes]) -> None:
    """Whole or not at all. Neither time nor owner is kept, and names are in order."""
    hashes = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    manifest = json.dumps({"format": FORMAT} | about | {"files": hashes}, indent=1, ensure_ascii=False) + "\n"
    held = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=held, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in [(MANIFEST, manifest.encode()), *sorted(files.items())]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(held.getvalue())
        os.replace(partial, path)
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}: choose another file") from None


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and the files that it names, all of them as they were packed."""
    found = _members(path)
    manifest = _manifest(path, found.pop(MANIFEST, b""))
    hashes = manifest["files"]
    for name in sorted(found.keys() ^ hashes.keys()):
        raise BundleError(f"{path}: {name}: {'not in MANIFEST' if name in found else 'missing'}: fetch the bundle again")
    for name, data in found.items():
        if hashlib.sha256(data).hexdigest() != hashes[name]:
            raise BundleError(f"{path}: {name}: not as it was packed, its SHA-256 differs: fetch the bundle again")
    return manifest, found


def _members(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        whole = gzip.decompress(path.read_bytes())  # its end has a sum of all
        with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as tar:
            for member in tar:
                if not member.isreg() or not _inside(member.name) or member.name in found:
                    raise BundleError(f"{path}: {member.name!r}: no plain file below the bundle's own folder")
                found[member.name] = tar.extractfile(member).read()
    except (EOFError, ValueError, zlib.error, tarfile.TarError, gzip.BadGzipFile) as error:
        raise BundleError(f"{path}: cut off, damaged or no bundle ({error}): fetch it again") from None
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror}") from None
    return found


def _inside(name: str) -> bool:
    """Python before 3.11.4 has no tarfile.data_filter."""
    path = PurePosixPath(name)
    return str(path) == name and not path.is_absolute() and ".." not in path.parts and name.isprintable()


def _manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("files"), dict):
        raise BundleError(f"{path}: no MANIFEST of a bundle in it")
    if found.get("format") != FORMAT:
        raise BundleError(f"{path}: of format {found.get('format')}, and this numaplace reads {FORMAT}")
    return found

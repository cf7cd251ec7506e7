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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..runs.results import ResultsError
from . import sums

MANIFEST, SIGNATURE, ABOUT = "MANIFEST", "MANIFEST.sig", "about.json"
FORMAT = 2
JSON_MANIFEST = 1  # format whose MANIFEST has the hashes and what about.json has now
LIMIT = 512 << 20  # bytes of an archive without its compression; they are in memory twice
AGAIN = "fetch the bundle again"


class BundleError(ResultsError):
    """A bundle that is broken, or not asked for rightly."""

    status = 2


@dataclass(frozen=True)
class Bundle:
    """Files as they were packed: MANIFEST has the hash of each."""

    about: dict[str, Any]
    files: dict[str, bytes]
    hashes: dict[str, str]
    manifest: bytes
    signature: bytes | None

    @property
    def members(self) -> dict[str, bytes]:
        signed = {} if self.signature is None else {SIGNATURE: self.signature}
        return {MANIFEST: self.manifest} | signed | self.files


def pack(path: Path, about: dict[str, Any], files: dict[str, bytes], sign: Callable[[bytes], bytes] | None = None) -> None:
    """Whole or not at all. Neither time nor owner is kept, and names are in order."""
    files = files | {ABOUT: _json({"format": FORMAT} | about)}
    manifest = sums.text({name: hashlib.sha256(data).hexdigest() for name, data in files.items()})
    head = [(MANIFEST, manifest), *([(SIGNATURE, sign(manifest))] if sign else [])]
    whole = _tar([*head, *sorted(files.items())])
    if len(whole) > LIMIT:
        raise ResultsError(f"{path}: {len(whole)} bytes of records and code, and a bundle has {LIMIT} at most: "
                           "pack fewer runs or shorten their logs")
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(_gzipped(whole))
        os.replace(partial, path)
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}: choose another file") from None


def _json(found: dict[str, Any]) -> bytes:
    return json.dumps(found, indent=1, ensure_ascii=False).encode() + b"\n"


def _tar(members: list[tuple[str, bytes]]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return held.getvalue()


def _gzipped(whole: bytes) -> bytes:
    """gzip.compress writes other bytes in other versions of Python."""
    held = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=held, mtime=0) as packed:
        packed.write(whole)
    return held.getvalue()


def _gunzipped(packed: bytes) -> bytes:
    """No more than shows that it is too much."""
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # of gzip, whose end has a sum of all
    whole = stream.decompress(packed, LIMIT + 1)
    if len(whole) <= LIMIT and (not stream.eof or stream.unused_data):
        raise ValueError("bytes behind its end" if stream.eof else "its end is missing")
    return whole


def unpack(path: Path) -> Bundle:
    """With the files that MANIFEST names, all of them as they were packed."""
    found = _members(path)
    manifest, signature = found.pop(MANIFEST, b""), found.pop(SIGNATURE, None)
    about, hashes = _about(path, manifest, found)
    for name in sorted(found.keys() ^ hashes.keys()):
        raise BundleError(f"{path}: {name}: {'not in MANIFEST' if name in found else 'missing'}: {AGAIN}")
    for name, data in found.items():
        if hashlib.sha256(data).hexdigest() != hashes[name]:
            raise BundleError(f"{path}: {name}: not as it was packed, its SHA-256 differs: {AGAIN}")
    return Bundle(about, found, hashes, manifest, signature)


def _members(path: Path) -> dict[str, bytes]:
    try:
        if (size := path.stat().st_size) > LIMIT:
            raise BundleError(f"{path}: {size} bytes, and a bundle has {LIMIT} at most: not read")
        whole = _gunzipped(path.read_bytes())
        with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as tar:
            found = _plain_files(path, tar)
    except (ValueError, zlib.error, tarfile.TarError) as error:
        raise BundleError(f"{path}: cut off, damaged or no bundle ({error}): fetch it again") from None
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror}") from None
    if len(whole) > LIMIT:
        raise BundleError(f"{path}: more than {LIMIT} bytes behind its last file: not unpacked")
    return found


def _plain_files(path: Path, tar: tarfile.TarFile) -> dict[str, bytes]:
    """A sparse file is none: few bytes of the archive may be any number of its own."""
    found: dict[str, bytes] = {}
    for member in tar:
        if not member.isreg() or member.issparse() or not inside(member.name) or member.name in found:
            raise BundleError(f"{path}: {member.name!r}: no plain file below the bundle's own folder")
        if member.offset_data + member.size > LIMIT:
            raise BundleError(f"{path}: {member.name}: more than {LIMIT} bytes with the files before it: not unpacked")
        found[member.name] = tar.extractfile(member).read()
    return found


def inside(name: str) -> bool:
    """Python before 3.11.4 has no tarfile.data_filter. sha256sum writes names with a backslash in another way."""
    path = PurePosixPath(name)
    return (str(path) == name and not path.is_absolute() and ".." not in path.parts and name.isprintable()
            and "\\" not in name)


def _about(path: Path, manifest: bytes, files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, str]]:
    """And the hashes. The format comes first: another one may say the rest in other words."""
    of_format_1 = manifest.startswith(b"{")
    about = _object(manifest if of_format_1 else files.get(ABOUT, b""))
    if about and about.get("format") != (JSON_MANIFEST if of_format_1 else FORMAT):
        raise BundleError(f"{path}: {MANIFEST if of_format_1 else ABOUT}: of format {about.get('format')}, and this "
                          f"numaplace reads {JSON_MANIFEST} and {FORMAT}: take the numaplace that packed it or a newer one")
    hashes = about.get("files") if of_format_1 and about else sums.read(manifest)
    if not isinstance(hashes, dict) or not hashes:
        raise BundleError(f"{path}: no MANIFEST of a bundle in it")
    if about is None and ABOUT in files and ABOUT in hashes:
        raise BundleError(f"{path}: {ABOUT}: not a JSON object: {AGAIN}")
    return about or {}, hashes


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None

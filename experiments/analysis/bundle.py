# SPDX-License-Identifier: GPL-2.0-only
"""Packs the records of runs into one tar file with the SHA-256 of each, and unpacks it whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import tarfile
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

from .pages import report_all
from .runs.results import ResultsError, read_results

RECORDS = ("results.jsonl", "manifest.json", "*.log")
SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
NAMESPACE = "numaplace"  # of ssh-keygen: a signature of something else by the same key is none of a bundle
LIMIT = 512 << 20        # bytes of all files
ENDINGS = (".tar.gz", ".tgz")
NAME_AT = 66             # in a line of SUMS: behind 64 digits and two blanks
RECORD = re.compile(r"runs/(?!\.\.?/)[^/\\\n\ud800-\udfff]+/(?!\.\.?$)[^/\\\n\ud800-\udfff]+")  # surrogates: bytes that are no UTF-8


class BundleError(ResultsError):
    """A file that is broken, or not asked for rightly."""

    status = 2


class NoSshKeygenError(ResultsError):
    """This machine cannot do that."""

    status = 3


def pack_runs(directory: Path, path: Path, key: Path | None = None) -> None:
    """Writes the records of a run, or of a folder of runs, into the tar file `path`, over an old one, signed by `key` where there is one.

    Raises ResultsError where a run is unreadable, no name for a bundle or too large, or `path` cannot be written."""
    files = _find_records(directory)
    partial = path.with_name(path.name + ".partial")
    with tempfile.TemporaryDirectory(prefix="numaplace-pack-") as scratch:
        sums = Path(scratch) / SUMS
        try:
            sums.write_text(_format_sums(files))
            if key:
                _sign_sums(sums, key)
            with tarfile.open(partial, "w:gz") as tar:
                for made in sorted(Path(scratch).iterdir()):
                    tar.add(made, made.name, filter=_strip_owner)
                for name, record in files.items():
                    tar.add(record, name, filter=_strip_owner)
            os.replace(partial, path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise ResultsError(f"{error.filename or path}: {error.strerror}: check its folder and its permissions") from None


def _find_records(directory: Path) -> dict[str, Path]:
    """Finds the files of a run, or of each run of a folder; returns them by their names in a bundle, 'runs/RUN/FILE'.

    Raises ResultsError where a name is not allowed or occurs twice, or the files have more than LIMIT bytes."""
    folders = report_all.list_runs(directory.resolve()) or [directory.resolve()]
    files: dict[str, Path] = {}
    for folder in folders:
        read_results(folder)
        for record in sorted(record for pattern in RECORDS for record in folder.glob(pattern) if record.is_file()):
            name = f"runs/{folder.name}/{record.name}"
            if not RECORD.fullmatch(name):
                raise ResultsError(f"{folder}: no name for a bundle: rename it, in UTF-8, without backslash and newline")
            if name in files:
                raise ResultsError(f"{folder}: a bundle has one run of a name, and {files[name].parent} has it too: pack one of them")
            files[name] = record
    if (size := sum(record.stat().st_size for record in files.values())) > LIMIT:
        raise ResultsError(f"{directory}: {size} bytes of records, and a bundle has {LIMIT} at most: pack fewer runs")
    return files


def _strip_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Gives a member owner 0 and mode 0644, whatever those of the packed file are; returns it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


def _format_sums(files: dict[str, Path]) -> str:
    """Returns a line for each of `files`, by their names, as sha256sum writes it."""
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}\n" for name, file in sorted(files.items()))


def unpack_runs(path: Path, folder: Path | None, allowed: Path | None) -> tuple[Path, str]:
    """Writes the files of `path` into a folder that is new or empty, by default one of the bundle's name in the working folder; returns
    it, and a line on the number of files and on the signature.

    Raises BundleError where a file is not as it was packed, or, with `allowed`, no signer of that file has signed it;
    NoSshKeygenError where that is asked for and cannot be checked."""
    folder = folder or _choose_folder(path)
    try:
        if folder.is_symlink() or folder.is_file() or folder.is_mount() or not folder.name or (folder.is_dir() and any(folder.iterdir())):
            raise BundleError(f"{folder}: there already: choose another FOLDER")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.partial-", dir=folder.parent) as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()  # with the rights of a new folder, which the scratch one has not
            count = _extract_files(path, whole)
            signer = _find_signer(path, whole, allowed) if allowed else None
            signed = (whole / SIGNATURE).exists()
            os.rename(whole, folder)
    except OSError as error:
        raise BundleError(f"{error.filename or folder}: {error.strerror}: check its folder and its permissions") from None
    signature = f"signed by {signer}" if signer else "its signature is not verified: --allowed SIGNERS does" if signed else "not signed"
    return folder, f"{path}: {count} files as they were packed; {signature}"


def _choose_folder(path: Path) -> Path:
    """Chooses the folder of the bundle's name without its ending, in the working folder; BundleError where it has none of ENDINGS."""
    ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), "")
    if not ending or path.name == ending:
        raise BundleError(f"{path}: does not end in {' or '.join(ENDINGS)}, so that no folder has its name: give a FOLDER too")
    return Path(path.name.removesuffix(ending))


def _extract_files(path: Path, whole: Path) -> int:
    """Extracts the plain files of a bundle below `whole` and checks their SHA-256 sums; returns the number of files of runs.

    Raises BundleError where the archive is damaged, holds anything else, or a file's sum is not that of SHA256SUMS."""
    try:
        with tarfile.open(path, "r:gz") as tar:
            size, names = 0, set()
            for member in tar:  # Python before 3.11.4, as in Debian 12, has no tarfile.data_filter
                size += member.size
                if not _is_allowed(member) or member.name in names:
                    raise BundleError(f"{path}: {member.name!r}: no plain file of a bundle")
                if size > LIMIT:
                    raise BundleError(f"{path}: {member.name}: more than {LIMIT} bytes with the files before it: not unpacked")
                names.add(member.name)
                (whole / member.name).parent.mkdir(parents=True, exist_ok=True)
                (whole / member.name).write_bytes(tar.extractfile(member).read())
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        raise BundleError(f"{path}: cut off, damaged or no bundle ({error}): fetch it again") from None
    names -= {SUMS, SIGNATURE}
    listed = (whole / SUMS).read_text(errors="replace") if (whole / SUMS).exists() else ""
    # Lines that only one of both has, of which the first is told.
    for line in sorted({*_format_sums({name: whole / name for name in names}).splitlines()} ^ {*listed.splitlines()}):
        raise BundleError(f"{path}: {line[NAME_AT:] or SUMS}: not as it was packed by {SUMS}: fetch it again")
    if not names:
        raise BundleError(f"{path}: no run in it: fetch it again")
    return len(names)


def _is_allowed(member: tarfile.TarInfo) -> bool:
    return (member.isreg() and not member.issparse()
            and (member.name in (SUMS, SIGNATURE) or RECORD.fullmatch(member.name) is not None))


def _sign_sums(sums: Path, key: Path) -> None:
    """Writes the signature beside the file, by a private key, or a public one whose private key an ssh-agent has."""
    done = _run_ssh_keygen("sign", "-n", NAMESPACE, "-f", key, sums)
    if done.returncode:
        raise BundleError(f"--sign {key}: {_read_last_line(done)}: give a private key of OpenSSH that nobody else can read")


def _find_signer(path: Path, whole: Path, allowed: Path) -> str:
    """Returns the name of the signer in the file `allowed` who has signed the sums in `whole`; BundleError where there is none."""
    if not allowed.is_file():
        raise BundleError(f"--allowed {allowed}: no such file: give one of lines 'NAME KEY', as ssh-keygen(1) describes")
    signature = whole / SIGNATURE
    if not signature.exists():
        raise BundleError(f"{path}: {SIGNATURE}: missing, and --allowed wants a signature: ask for one that is packed with --sign")
    done = _run_ssh_keygen("find-principals", "-f", allowed, "-s", signature)
    for signer in done.stdout.splitlines():
        done = _run_ssh_keygen("verify", "-n", NAMESPACE, "-f", allowed, "-I", signer, "-s", signature, text=(whole / SUMS).read_text())
        if not done.returncode:
            return signer
    raise BundleError(f"{path}: {SIGNATURE}: {SUMS} is not signed by a key in {allowed} ({_read_last_line(done)}): not unpacked")


def _run_ssh_keygen(what: str, *options: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """Runs `ssh-keygen -Y what` with `text` as its input, whatever its status; NoSshKeygenError where it is not installed."""
    try:
        return subprocess.run(["ssh-keygen", "-Y", what, *options], input=text, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        raise NoSshKeygenError("ssh-keygen is not installed: install the package openssh-client") from None


def _read_last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr or done.stdout).strip().rpartition("\n")[2].strip()

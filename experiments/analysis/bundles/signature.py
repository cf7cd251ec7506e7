# SPDX-License-Identifier: GPL-2.0-only
"""Signatures of a bundle's MANIFEST, made and verified by OpenSSH's ssh-keygen."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ..runs.results import ResultsError
from .archive import MANIFEST, SIGNATURE, Bundle, BundleError

NAMESPACE = "numaplace"  # a signature of something else by the same key is none of a bundle


class NoSshKeygenError(ResultsError):
    """This machine cannot do that."""

    status = 3


def sign(key: Path, manifest: bytes) -> bytes:
    """By a private key, or by a public one whose private key an ssh-agent has. ssh-keygen asks for the passphrase itself."""
    done = _ssh_keygen("sign", manifest, "-f", key)
    if done.returncode:
        raise BundleError(f"--sign {key}: {_last_line(done)}: give a private key of OpenSSH that nobody else can read")
    return done.stdout


def verify(path: Path, bundle: Bundle, allowed: Path) -> str:
    """Which of the signers that are allowed has signed it."""
    if not allowed.is_file():
        raise BundleError(f"--allowed {allowed}: no such file: give one of lines 'NAME KEY', as ssh-keygen(1) describes")
    if bundle.signature is None:
        raise BundleError(f"{path}: {SIGNATURE}: missing, and --allowed wants a signature: ask for a bundle that is packed "
                          "with --sign")
    with tempfile.TemporaryDirectory(prefix="numaplace-signature-") as scratch:
        file = Path(scratch) / SIGNATURE
        file.write_bytes(bundle.signature)
        found = _ssh_keygen("find-principals", b"", "-f", allowed, "-s", file)
        for signer in found.stdout.decode(errors="replace").splitlines():
            found = _ssh_keygen("verify", bundle.manifest, "-f", allowed, "-I", signer, "-s", file)
            if not found.returncode:
                return signer
    raise BundleError(f"{path}: {SIGNATURE}: {MANIFEST} is not signed by a key in {allowed} ({_last_line(found)}): not unpacked")


def _ssh_keygen(what: str, text: bytes, *options: str | Path) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", "-Y", what, "-n", NAMESPACE, *options], input=text, capture_output=True)
    except FileNotFoundError:
        raise NoSshKeygenError("ssh-keygen is not installed: install the package openssh-client") from None


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return (done.stderr or done.stdout).decode(errors="replace").strip().rpartition("\n")[2].strip()

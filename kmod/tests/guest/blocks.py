# SPDX-License-Identifier: GPL-2.0-only
"""Block devices, made of files in memory."""

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

MAKERS = {"ext4": ("mkfs.ext4", "-q"), "ext4 without journal": ("mkfs.ext4", "-q", "-O", "^has_journal"),
          "xfs": ("mkfs.xfs", "-q"), "btrfs": ("mkfs.btrfs", "-q")}


def run(*argv) -> str:
    return subprocess.run([str(word) for word in argv], check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def device(mib: int):
    run("modprobe", "-q", "loop")
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as image:
        image.truncate(mib << 20)
        loop = run("losetup", "--find", "--show", image.name)
        try:
            yield loop
        finally:
            run("losetup", "--detach", loop)


@contextmanager
def swap(mib: int):
    with device(mib) as disk:
        run("mkswap", disk)
        run("swapon", disk)
        try:
            yield
        finally:
            run("swapoff", disk)


@contextmanager
def mounted(folder: Path, *words: object):
    """What mount(8) mounts there by these words; the folder."""
    run("mount", *words, folder)
    try:
        yield folder
    finally:
        run("umount", folder)


@contextmanager
def file_system(mib: int, folder: Path, name: str = "ext4 without journal"):
    """One of MAKERS, mounted on the folder. XFS has at least 300 MiB. LookupError: this kernel has none."""
    if subprocess.run(["modprobe", "-q", name.split()[0]], check=False).returncode:
        raise LookupError(f"this kernel has no {name}")
    with device(mib) as disk:
        run(*MAKERS[name], disk)
        with mounted(folder, disk):
            yield folder

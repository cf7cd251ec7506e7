# SPDX-License-Identifier: GPL-2.0-only
"""Block devices, made of files in memory."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path


def run(*argv) -> str:
    return subprocess.run([str(word) for word in argv], check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def device(mib: int):
    image = Path(f"/dev/shm/numaplace-{os.getpid()}-{mib}")
    run("modprobe", "-q", "loop")
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    loop = run("losetup", "--find", "--show", image)
    try:
        yield loop
    finally:
        run("losetup", "--detach", loop)
        image.unlink()


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
def file_system(mib: int, folder: Path):
    run("modprobe", "-q", "ext4")
    with device(mib) as disk:
        run("mkfs.ext4", "-q", "-O", "^has_journal", disk)
        run("mount", disk, folder)
        try:
            yield folder
        finally:
            run("umount", folder)

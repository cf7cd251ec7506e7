# SPDX-License-Identifier: GPL-2.0-only
"""Pages of mapped files on file systems by name: all move, and the disk has what memory had."""

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import blocks
import pytest
from mapped import PAGES, SIZE, drop_pages, mapped_by, migrate, write_half_dirty

MIB = 320  # of a disk: XFS makes none that is smaller than 300


@contextmanager
def overlay(folder: Path) -> Iterator[Path]:
    """A file of the lower layer that has been written to is one of the upper layer."""
    with blocks.file_system(MIB, folder, "ext4"):
        layers = [folder / name for name in ("lower", "upper", "work", "merged")]
        for layer in layers:
            layer.mkdir()
        lower, upper, work, merged = layers
        (lower / "data").write_bytes(bytes(SIZE))
        with blocks.mounted(merged, "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "none"):
            yield merged


@contextmanager
def fuse(folder: Path) -> Iterator[Path]:
    """A folder of a disk as bindfs shows it. Without kernel_cache each open(2) drops the file's pages, that of the tool too."""
    below, above = folder / "below", folder / "above"
    below.mkdir()
    above.mkdir()
    with blocks.file_system(MIB, below, "ext4"):
        blocks.run("bindfs", "-o", "kernel_cache", below, above)
        try:
            yield above
        finally:
            blocks.run("umount", above)


FILE_SYSTEMS = {"tmpfs": lambda folder: blocks.mounted(folder, "-t", "tmpfs", "none"), "overlayfs": overlay, "fuse": fuse}
MODULES = {"overlayfs": "overlay"}


def mount(name: str, folder: Path):
    """Skips where this kernel has it not, as one that was built without it."""
    if name != "tmpfs" and subprocess.run(["modprobe", "-q", MODULES.get(name, name.split()[0])], check=False).returncode:
        pytest.skip(f"this kernel has no {name}")
    return FILE_SYSTEMS[name](folder) if name in FILE_SYSTEMS else blocks.file_system(MIB, folder, name)


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", [*blocks.MAKERS, *FILE_SYSTEMS])
def test_every_page_moves(name, tmp_path):
    """One half is on the disk, the other is dirty, and two processes map all of it; the tool takes the call where a kind needs it."""
    with mount(name, tmp_path) as folder:
        file = folder / "data"
        write_half_dirty(file, PAGES)
        with mapped_by("file", file, 2) as mappers:
            seen = mappers[0].read_sum()
            for to in (1, 0):
                found = migrate("auto", "--file", file, "--to", to)
                assert found.get("moved", 0) + found.get("already", 0) == PAGES, found
                assert all(mapper.nodes() == {to} for mapper in mappers)
            assert {mapper.read_sum() for mapper in mappers} == {seen}
        before = sum_of(file)
        drop_pages(file)
        Path("/proc/sys/vm/drop_caches").write_text("3")  # of a file system beneath it, too
        assert sum_of(file) == before

# SPDX-License-Identifier: GPL-2.0-only
"""The first program of a machine, and what it is told: beside the modules and busybox of virtme-ng's initramfs."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

INIT = Path(__file__).with_name("init.sh")
# Of virtme-ng's kernel options, those that name files of one run
OF_ONE_RUN = re.compile(r"(virtme_initmount\d+\w*|virtme_chdir|init|PATH)=")


def pad_data(data: bytes) -> bytes:
    """Pads data with zeros to a multiple of 4 bytes."""
    return data + b"\0" * (-len(data) % 4)


def build_entry(name: str, mode: int, content: bytes) -> bytes:
    """Builds a file or folder of a "newc" archive, buffer-format.rst of the kernel. name: its path; mode: with its type."""
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    return (pad_data(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
            + pad_data(content))


def append_archive(initramfs: Path, entries: Iterable[bytes]):
    """Appends an archive of entries, made by build_entry(), to the initramfs; its files take the place of earlier ones."""
    with initramfs.open("ab") as file:
        file.write(b"\0" * (-file.tell() % 4) + b"".join(entries) + build_entry("TRAILER!!!", 0, b""))


def complete_initramfs(initramfs: Path, drivers: list[Path]):
    """Appends an archive to the initramfs: the drivers, and a first program that takes the place of virtme-ng's."""
    append_archive(initramfs, [build_entry("init", 0o100755, INIT.read_bytes()), build_entry("drivers", 0o40755, b""),
                               *(build_entry(f"drivers/{driver.name}", 0o100644, driver.read_bytes()) for driver in drivers)])


def divide_options(kernel_options: str) -> tuple[str, dict[str, str]]:
    """Divides virtme-ng's kernel options; returns those of every run of a machine, and the others as the first program's environment."""
    words = shlex.split(kernel_options)
    of_one_run = dict(word.split("=", 1) for word in words if OF_ONE_RUN.match(word))
    kept = " ".join(f'"{word}"' if " " in word else word for word in words if not OF_ONE_RUN.match(word))
    return kept, {"lab_init": of_one_run.pop("init"), **of_one_run}


def format_environment(values: dict[str, str]) -> str:
    """Formats the file that the first program reads."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())

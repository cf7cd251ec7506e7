# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: every method, in a shuffled order; one JSON object a line.

    observe.py MIB REPEATS SEED

Standard library only.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BENCH = "build/np-move"
FROM, TO = 0, 1
DISK = Path("/run/np-move")  # where a file is
DISK_MORE_MIB = 48  # of the file system: its own, and the target's memory is aligned to a huge page
# Name in the table, method of np-move, words for the module.
VARIANTS = (
    ("module", "module", ""),
    ("module, 1 thread", "module", "threads=1"),
    ("module, 100 us", "module", "max_stall_us=100"),
    ("module, 20 ms", "module", "max_stall_us=20000"),
    ("move_pages(2)", "move_pages", ""),
    ("syscall engine", "engine", ""),
    ("migrate_pages(2)", "migrate_pages", ""),
)
STATES = {"asleep": 0, "running": 2}  # threads that write
WARM_MIB = 8
# Of memory that is not private: by the module and each call at its defaults, mapped by so many processes besides.
KINDS = {"memfd": 3, "file": 3}
KIND_VARIANTS = ("module", "move_pages(2)", "migrate_pages(2)")
KIND_SHARE = 2  # they are of so much less memory


def observe_variant(variant: tuple[str, str, str], state: str, mib: int, kind: str = "private") -> dict:
    """Moves `mib` MiB once by one of VARIANTS; returns np-move's object with the variant's name, state of the target and kind of memory."""
    name, method, options = variant
    argv = [Path(BENCH).resolve(), method, mib, FROM, TO, STATES[state], options, kind, KINDS.get(kind, 0)]
    output = subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.PIPE, text=True, cwd=DISK).stdout
    return {**json.loads(output), "variant": name, "state": state, "kind": kind}


@contextmanager
def mount_disk(mib: int) -> Iterator[None]:
    """Mounts an ext4 file system with a journal and room for `mib` MiB on DISK, which is made for it."""
    image = Path("/dev/shm/np-move-disk")
    DISK.mkdir(exist_ok=True)
    subprocess.run(["modprobe", "-qa", "loop", "ext4"], check=True)
    try:
        with image.open("wb") as file:
            file.truncate((mib + DISK_MORE_MIB) << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, DISK], check=True)
    finally:
        image.unlink()  # once it is mounted it goes with the mount
    try:
        yield
    finally:
        subprocess.run(["umount", DISK], check=True)


def main(mib: int, repeats: int, seed: int):
    """Prints an observation of `mib` MiB for each method and state, `repeats` times, in an order shuffled with `seed`."""
    # The first time through costs QEMU a translation and the kernel a page fault or two.
    for variant in VARIANTS:
        for state in STATES:
            observe_variant(variant, state, WARM_MIB)
    for repeat in range(repeats):
        order = [(variant, state, mib, "private") for variant in VARIANTS for state in STATES]
        order += [(variant, state, mib // KIND_SHARE, kind) for kind in KINDS for variant in VARIANTS for state in STATES if variant[0] in KIND_VARIANTS]
        random.Random(seed + repeat).shuffle(order)
        for variant, state, size, kind in order:
            print(json.dumps({**observe_variant(variant, state, size, kind), "repeat": repeat}), flush=True)


if __name__ == "__main__":
    with mount_disk(int(sys.argv[1]) // KIND_SHARE):
        main(*(int(word) for word in sys.argv[1:4]))

# SPDX-License-Identifier: GPL-2.0-only
"""A pool of buffers that a server's parent fills before it forks its workers.

The pages lie on the parent's node, also for the worker that is bound to another node and uses them. With the argument
"fixed" the worker makes its pool after the fork, and after it is bound.
"""

import os
import sys
from pathlib import Path

from numaplace_region import region  # of experiments/lab/region

BUFFERS, BYTES = 64, 256 << 10


def cpus(node: int) -> set[int]:
    found: set[int] = set()
    for part in Path(f"/sys/devices/system/node/node{node}/cpulist").read_text(encoding="ascii").strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def make_pool() -> list[bytearray]:
    return [bytearray(b"\1") * BYTES for _ in range(BUFFERS)]


def use(pool: list[bytearray]) -> int:
    return sum(buffer.count(1) for buffer in pool)


def serve(pool: list[bytearray]) -> int:
    with region("serve"):
        return use(pool)


def main() -> int:
    fixed = "fixed" in sys.argv[1:]
    os.sched_setaffinity(0, cpus(0))
    pool = [] if fixed else make_pool()
    worker = os.fork()
    if worker == 0:
        os.sched_setaffinity(0, cpus(1))
        os._exit(0 if serve(make_pool() if fixed else pool) == BUFFERS * BYTES else 1)
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])


if __name__ == "__main__":
    sys.exit(main())

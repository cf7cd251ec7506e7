# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: every batch size, in a shuffled order; one JSON object a line.

    observe_batches.py REPEATS SEED

Standard library only.
"""

import json
import random
import subprocess
import sys

BENCH = "build/np-batch"
FROM, TO = "0", "1"
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MIB = {"small": 8, "huge": 64}
WARM_MIB = 4
MODULE = 0  # as a batch size: one job of the module
CELLS = [*(("small", batch) for batch in (*BATCHES, MODULE)), *(("huge", batch) for batch in (*BATCHES[:6], MODULE))]


def observe_batch(kind: str, batch: int, mib: int) -> dict:
    """Moves `mib` MiB of pages of a kind once, `batch` pages a call, or by one job for MODULE; returns np-batch's object."""
    output = subprocess.run([BENCH, str(mib), FROM, TO, str(batch), kind], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output)


def main(repeats: int, seed: int):
    """Prints an observation for each kind of page and batch, `repeats` times, in an order shuffled with `seed`."""
    for kind in MIB:  # the first time through costs QEMU a translation and the kernel a page fault or two
        observe_batch(kind, BATCHES[-1], WARM_MIB)
        observe_batch(kind, MODULE, WARM_MIB)
    for repeat in range(repeats):
        order = CELLS.copy()
        random.Random(seed + repeat).shuffle(order)
        for kind, batch in order:
            print(json.dumps({**observe_batch(kind, batch, MIB[kind]), "repeat": repeat}), flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))

# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: every method, in a shuffled order; one JSON object a line.

    observe.py MIB REPEATS SEED

Standard library only.
"""

import json
import random
import subprocess
import sys

BENCH = "build/np-move"
FROM, TO = 0, 1
# Name in the table, method of np-move, words for the module.
VARIANTS = (
    ("module", "module", ""),
    ("module, 1 thread", "module", "threads=1"),
    ("module, duty=100", "module", "duty=100"),
    ("module, pause=never", "module", "pause=never"),
    ("move_pages(2)", "move_pages", ""),
    ("syscall engine", "engine", ""),
    ("migrate_pages(2)", "migrate_pages", ""),
)
STATES = {"asleep": 0, "running": 2}  # threads that write
WARM_MIB = 8


def observe_variant(variant: tuple[str, str, str], state: str, mib: int) -> dict:
    """Moves `mib` MiB once by one of VARIANTS; returns np-move's object with the variant's name and the state of the target."""
    name, method, options = variant
    argv = [BENCH, method, str(mib), str(FROM), str(TO), str(STATES[state]), options]
    output = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {**json.loads(output), "variant": name, "state": state}


def main(mib: int, repeats: int, seed: int):
    """Prints an observation of `mib` MiB for each method and state, `repeats` times, in an order shuffled with `seed`."""
    # The first time through costs QEMU a translation and the kernel a page fault or two.
    for variant in VARIANTS:
        for state in STATES:
            observe_variant(variant, state, WARM_MIB)
    for repeat in range(repeats):
        order = [(variant, state) for variant in VARIANTS for state in STATES]
        random.Random(seed + repeat).shuffle(order)
        for variant, state in order:
            print(json.dumps({**observe_variant(variant, state, mib), "repeat": repeat}), flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:4]))

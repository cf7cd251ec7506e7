# SPDX-License-Identifier: GPL-2.0-only
"""The programs of make check-worth: five that are to be the same under any placement, and those that are drawn from a seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

MACHINES = ("demo-2s", "xeon-e5620-2s", "cxl-3n")
SEED, DRAWN = 2, 40
SECONDS = "0.2"  # of the lab's time; of a shorter one most runs of a policy come too late
RATE = r'"per_second":([0-9.e+]+)'


@dataclass(frozen=True)
class Program:
    name: str
    machine: str
    words: tuple[str, ...]
    metric: str = RATE
    drawn: bool = True

    @property
    def asked(self) -> list[str]:
        """Returns the words as numaplace worth takes them."""
        return [*(["--metric", self.metric] if self.metric else []), "--", *self.words]


def make_words(kernel: str, size: str, *more: str) -> tuple[str, ...]:
    """Makes the words of a run of np-mem for SECONDS."""
    return ("build/np-mem", kernel, "--size", size, "--seconds", SECONDS, *more)


# By their machine in turn: in the caches, computation, waiting. Three arrays may share the sets of a cache with two ways, by
# where their pages are; the start of a program differs from run to run by some hundredths of 0.1 s.
STILL = ((make_words("chase", "16K"), RATE), (make_words("chase", "4K"), RATE), (make_words("update", "16K"), RATE), (("sleep", "0.5"), ""),
         (("awk", "BEGIN { while (k < 4000000) k++ }"), ""))


def draw_programs(seed: int, cpus: dict[str, Sequence[Sequence[int]]]) -> list[Program]:
    """Draws the programs, the same for the same seed, and adds those of STILL. cpus: by machine, of each of its nodes that has some."""
    generator = random.Random(seed)
    drawn = [_draw_program(generator, k, MACHINES[k % len(MACHINES)], cpus[MACHINES[k % len(MACHINES)]]) for k in range(DRAWN)]
    return drawn + [Program(f"still-{k}", MACHINES[k % len(MACHINES)], words, metric, False) for k, (words, metric) in enumerate(STILL)]


def _draw_program(generator: random.Random, number: int, machine: str, cpus: Sequence[Sequence[int]]) -> Program:
    """Draws a kernel, a size beside the caches', threads, where its memory is, and whether it is bound to a node. cpus: of each node."""
    kernel, size = generator.choice(("triad", "copy", "chase", "update", "mix")), generator.choice(("4M", "8M", "16M"))
    threads, memory_node, bound = generator.choice((1, 2)), generator.choice((None, 0, 1)), generator.choice((None, None, 0, 1))
    words = ["--threads", str(threads), *([] if memory_node is None else ["--mem", str(memory_node)])]
    words += [] if bound is None else ["--cpus", f"{cpus[bound][0]}-{cpus[bound][-1]}"]
    return Program(f"random-{number}", machine, make_words(kernel, size, *words))

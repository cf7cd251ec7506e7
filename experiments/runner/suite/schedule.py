# SPDX-License-Identifier: GPL-2.0-only
"""The order of the observations: blocked, and random within a block from a seed that is kept."""

import random
from collections import Counter
from dataclasses import dataclass

from ..records.record import Record
from ..records.results import list_marks, make_key
from .suite import Suite, Workload

ORACLE = "oracle"  # a level: programs that know what they will access place it themselves
ATTEMPTS = 2  # at an observation that comes out marked; all of them stay in the file


@dataclass(frozen=True)
class Trial:
    """Describes one observation to be made."""

    workload: Workload
    policy: str
    repeat: int
    order: int
    warmup: bool

    @property
    def key(self) -> tuple[str, str, int, bool]:
        return (self.workload.name, self.policy, self.repeat, self.warmup)


def is_static(suite: Suite) -> bool:
    """Checks whether its tasks stay where the design starts them."""
    return bool(suite.design) and {level.partition("#")[0] for level in suite.policies} == {"none"}


def make_schedule(suite: Suite) -> list[Trial]:
    """Lists the observations in their order: warm-ups, then as many blocks as repeats, each with every combination once, shuffled."""
    # Whatever changes slowly (temperature, free memory) then falls on all combinations alike.
    trials: list[Trial] = []

    def add_trial(workload: Workload, policy: str, repeat: int, warmup: bool) -> None:
        trials.append(Trial(workload, policy, repeat, order=len(trials), warmup=warmup))

    for repeat in range(suite.warmups):
        for workload in suite.workloads:
            add_trial(workload, suite.policies[0], repeat, warmup=True)
    for repeat in range(suite.repeats):
        block = list_cells(suite)
        random.Random(f"{suite.seed}/{repeat}").shuffle(block)
        for workload, policy in block:
            add_trial(workload, policy, repeat, warmup=False)
    return trials


def list_cells(suite: Suite) -> list[tuple[Workload, str]]:
    """Returns every workload under every level, but under the oracle only those that know what they will access."""
    return [(w, p) for w in suite.workloads for p in suite.policies
            if p != ORACLE or w.kind == "command" and w.options["command"].oracle]


def is_clean(record: Record) -> bool:
    """Checks whether a record is averaged."""
    return not list_marks(record)


def find_done(records: list[Record]) -> set[tuple[str, str, int, bool]]:
    """Returns the keys of the observations that need not be made (again): clean, or tried as often as allowed."""
    tries = Counter(map(make_key, records))
    return ({make_key(record) for record in records if is_clean(record)} |
            {key for key, count in tries.items() if count >= ATTEMPTS})


def count_without_clean(records: list[Record]) -> int:
    """Counts the observations that were tried and never came out clean, in this run or before it was resumed."""
    return len({make_key(record) for record in records} - {make_key(record) for record in records if is_clean(record)})

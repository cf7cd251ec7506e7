# SPDX-License-Identifier: GPL-2.0-only
"""When a run is long enough: it goes on while an option is undecided, with the program as it is and the options that are."""

import random
from collections.abc import Sequence
from pathlib import Path

from ...errors import ExperimentError
from ...host import state
from ...runner.records import results
from ...runner.records.record import Record
from ...runner.repeats import precision
from ...runner.repeats.looks import BOOTS, LOOKS
from ...runner.suite.schedule import Trial, is_clean
from ...runner.suite.suite import Suite

MOST = LOOKS[-1]
SPENT = "the budget is spent"
OF_BOOT = 4  # blocks, in the lab


class Stop:
    """A run's rule, and afterwards what has ended the run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ended = folder, SPENT
        self.levels: list[str] | None = None  # of further blocks, from the first look on

    def plan_block(self, suite: Suite, records: list[Record]) -> list[Trial]:
        """Plans the next block; [] where the run is to end, and `ended` says why."""
        made = count_blocks(records)
        if made >= LOOKS[0] and (made in LOOKS or self.levels is None):
            self.levels = list_undecided(self.folder)
            if not self.levels:
                self.ended = f"decided after {made} blocks"
                return []
        if made >= MOST:
            self.ended = f"{made} blocks are the most"
            return []
        return plan_levels(suite, records, self.levels or suite.policies)


class Boot:
    """The rule of one boot of several: at most `most` blocks of these levels."""

    def __init__(self, most: int, levels: Sequence[str]) -> None:
        self.most, self.levels, self.boot = most, levels, state.read_boot_id()

    def plan_block(self, suite: Suite, records: list[Record]) -> list[Trial]:
        """Plans the next block of this boot; [] where it has its blocks."""
        made = {record["repeat"] for record in records if record["boot_id"] == self.boot}
        return plan_levels(suite, records, self.levels) if len(made) < self.most else []


def list_next_levels(folder: Path) -> list[str] | None:
    """Lists the placements of a further boot: None is all of them, an empty list ends the run."""
    records = results.read_records(folder)
    if len({record["boot_id"] for record in records}) < BOOTS:
        return None
    return list_undecided(folder) if count_blocks(records) < MOST else []


def describe_end(folder: Path) -> str:
    """Describes what has ended a run of several boots whose budget is not spent."""
    records = results.read_records(folder)
    number = len({record["boot_id"] for record in records})
    made = count_blocks(records)
    return f"{made} blocks are the most" if made >= MOST else f"decided after {made} blocks in {number} boots"


def list_undecided(folder: Path) -> list[str]:
    """Lists the placements of further blocks, the program as it is among them; none where they would decide nothing."""
    from . import verdict  # which imports scipy: not inside the lab, where it takes long
    try:
        undecided = verdict.read_verdict(folder).undecided
    except ExperimentError:  # no option can be judged: the answer says why
        return []
    return [verdict.BASELINE, *(decision.policy for decision in undecided)] if undecided else []


def plan_levels(suite: Suite, records: list[Record], levels: Sequence[str]) -> list[Trial]:
    """Plans one observation of each level that has ever come out clean or was not tried too often, in random order."""
    workload, = suite.workloads
    tried = {level: [is_clean(record) for record in records if record["policy"] == level] for level in levels}
    order, repeat = precision.get_next_order(records), count_blocks(records)
    chosen = [level for level in levels if any(tried[level]) or len(tried[level]) < precision.GIVE_UP]
    random.Random(f"{suite.seed}/{repeat}").shuffle(chosen)
    return [Trial(workload, level, repeat, order + k, False) for k, level in enumerate(chosen)]


def count_blocks(records: list[Record]) -> int:
    """Counts the blocks that a run has begun."""
    return 1 + max((record["repeat"] for record in records), default=-1)

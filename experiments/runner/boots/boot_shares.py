# SPDX-License-Identifier: GPL-2.0-only
"""Repeats shared out over boots: each boot makes whole blocks, that is every cell as often.

Of more boots than repeats, several share one: each makes some of the workloads, under every placement.
"""

import itertools
from dataclasses import dataclass

from ...errors import UsageError
from ..records.record import Record
from ..suite import schedule
from ..suite.suite import Suite


@dataclass(frozen=True)
class Share:
    """Describes what one boot makes of a run: a range of its repeats of some workloads."""
    suite: Suite
    boot: int   # its number, from 0
    begin: int  # the first repeat
    end: int    # the repeat before which it ends
    workloads: frozenset[str]

    def contains(self, record: Record) -> bool:
        """Checks whether a record is of this share; a warm-up is of one boot alone."""
        return self._has_block(record["workload"], record["repeat"]) and not record.get("warmup")

    def list_trials(self) -> list[schedule.Trial]:
        """Returns the share's observations, with the warm-ups, which each boot has."""
        return [trial for trial in schedule.make_schedule(self.suite)
                if trial.warmup and trial.workload.name in self.workloads or self._has_block(trial.workload.name, trial.repeat)]

    def has_left(self, records: list[Record]) -> bool:
        """Checks whether observations are to be made; warm-ups alone are no reason for a boot."""
        done = schedule.find_done(records)
        return any(not trial.warmup and trial.key not in done for trial in self.list_trials())

    def _has_block(self, workload: str, repeat: int) -> bool:
        return workload in self.workloads and self.begin <= repeat < self.end


def divide_repeats(suite: Suite, boots: int) -> list[Share]:
    """Divides the repeats of a suite among boots, whose shares differ by one repeat or one workload at most. UsageError: too many boots."""
    names = [workload.name for workload in suite.workloads]
    if not divides_evenly(suite, boots):
        raise UsageError(f"--boots {boots}: this run has {suite.repeats} repeats of {len(names)} workloads, and each boot makes one of "
                         f"them at least: give up to {suite.repeats}, or a multiple of it, or more --repeats")
    boots_per_repeat = max(1, boots // suite.repeats)
    ranges = boots // boots_per_repeat  # of repeats
    ends = [suite.repeats * number // ranges for number in range(ranges + 1)]
    return [Share(suite, number * boots_per_repeat + offset, begin, end, frozenset(names[offset::boots_per_repeat]))
            for number, (begin, end) in enumerate(itertools.pairwise(ends)) for offset in range(boots_per_repeat)]


def list_trials_in_turn(suite: Suite, boots: int) -> list[schedule.Trial]:
    """Returns all observations as the boots make them one after the other, warm-ups as of one boot."""
    return list({trial.key: trial for share in divide_repeats(suite, boots) for trial in share.list_trials()}.values())


def divides_evenly(suite: Suite, boots: int) -> bool:
    """Checks whether so many boots can each make whole repeats, or each an equal part of the workloads of one repeat."""
    return 1 <= boots <= suite.repeats or boots % suite.repeats == 0 < boots <= suite.repeats * len(suite.workloads)


def choose_boots(suite: Suite, boots: int) -> int:
    """Returns `boots` where they divide the suite, else no more than its repeats: the run may have other repeats or workloads."""
    return boots if divides_evenly(suite, boots) else min(boots, suite.repeats)

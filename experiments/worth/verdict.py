# SPDX-License-Identifier: GPL-2.0-only
"""What the runs of a program say: each option's gain with its interval, and one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..analysis.policies.speedup import BASELINE, Speedup, speedups
from ..analysis.runs.results import Results, read
from ..errors import ExperimentError

LEAST = 0.01  # a gain that is smaller is not worth a change, however certain it is


@dataclass(frozen=True)
class Verdict:
    options: list[Speedup]  # the best first
    best: Speedup | None    # None: nothing is worth it
    runs: int               # of the program as it is
    remote: float | None    # share of its memory's pages on other nodes than its own, as it is

    def sentence(self) -> str:
        lost = [found for found in self.options if found.significant and found.value < 1 - LEAST]
        worst = f"; {name(lost[-1])} loses {percent(1 - lost[-1].value)}" if lost else ""
        where = f"; {percent(self.remote)} of its memory is on other nodes than its own" if self.remote is not None else ""
        if self.best is None:
            return f"nothing is worth it{worst}{where}"
        return f"{name(self.best)} {gain(self.best)}{worst}{where}"

    def as_dict(self) -> dict[str, object]:
        return {"sentence": self.sentence(), "best": self.best.policy if self.best else None, "runs": self.runs,
                "remote_pages": self.remote,
                "options": [{"placement": found.policy, "speedup": found.value, "low": found.low, "high": found.high,
                             "p_holm": found.p_holm, "significant": found.significant} for found in self.options]}


def of(folder: Path) -> Verdict:
    results = read(folder)
    found = [one for one in speedups(results).values() if one.value > 0]
    if not found:
        raise ExperimentError(f"{folder}: no option was measured twice beside the program as it is: give more --budget")
    return judged(found, len(results.select(found[0].workload, BASELINE)), remote_pages(results))


def judged(found: list[Speedup], runs: int, remote: float | None) -> Verdict:
    ordered = sorted(found, key=lambda one: -one.value)
    return Verdict(ordered, next((one for one in ordered if one.significant and one.value >= 1 + LEAST), None), runs, remote)


def remote_pages(results: Results) -> float | None:
    """None where its tasks may run on several nodes: nobody knows then which are remote."""
    local = [o.value("locality_after") for o in results.clean if o.policy == BASELINE]
    known = [value for value in local if value is not None]
    return 1 - sum(known) / len(known) if known else None


def name(found: Speedup) -> str:
    return re.sub(r"^start-|^exec:.*/(?=bind\.py)", "", found.policy).replace("bind.py", "bind")


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def gain(found: Speedup) -> str:
    ends = "" if found.low is None or found.high is None else f" [{100 * (found.low - 1):.0f}, {100 * (found.high - 1):.0f}]"
    return f"{100 * (found.value - 1):+.0f} %{ends}"


def table(verdict: Verdict) -> str:
    width = max(len(name(found)) for found in verdict.options)
    rows = [f"  {name(found):{width}}  {gain(found)}{'' if found.significant else ', undecided'}" for found in verdict.options]
    return "\n".join(rows)

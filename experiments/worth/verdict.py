# SPDX-License-Identifier: GPL-2.0-only
"""What the runs of a program say: each option's gain with its interval, and one sentence."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ..analysis.policies.speedup import BASELINE, Speedup, speedups
from ..analysis.runs.results import Results, read
from ..errors import ExperimentError
from ..runner.repeats.precision import LEAST as ENOUGH

LEAST = 0.01  # a gain that is smaller is not worth a change, however certain it is
NAMED = 0.1  # of a program's memory or accesses: a mapping is not named where less of them is remote
ELSEWHERE = ", but not on every machine that the model may stand for"
MARKED = 0.1  # share of an option's runs; those that are left are then no fair sample of it


@dataclass(frozen=True)
class Verdict:
    options: list[Speedup]  # the best first, with the limits of the runs alone
    best: Speedup | None    # None: nothing is worth it, or it is not decided
    runs: int               # of the program as it is
    remote: float | None    # share of its memory's pages on other nodes than its own, as it is
    unknown: dict[str, str] = field(default_factory=dict)  # options that cannot be judged, and why
    most: str = ""          # the mapping that most of the remote memory is in, where one has more than half
    accesses: float | None = None  # share of the accesses to memory that are to other nodes', where the machine counts them
    machines: dict[str, Speedup] = field(default_factory=dict)  # by option, with the limits of every machine that the lab's may be

    def sentence(self) -> str:
        lost = [found for found in self.options if found.significant and found.value < 1 - LEAST]
        worst = f"; {name(lost[-1].policy)} loses {percent(1 - lost[-1].value)}" if lost else ""
        return f"{self.answer()}{worst}{self.where()}"

    def where(self) -> str:
        share = self.remote if self.accesses is None else self.accesses
        if share is None:
            return ""
        what = "its memory is on other nodes than its own" if self.accesses is None else "accesses are remote"
        most = f", most remote memory is in {self.most}" if self.most and share >= NAMED else ""
        return f"; {percent(share)} of {what}{most}"

    def answer(self) -> str:
        if self.best:
            return f"{name(self.best.policy)} {gain(self.best)}"
        if self.open:
            return f"not decided: {name(self.open.policy)} {gain(self.open)}{self.elsewhere(self.open)}"
        return f"not decided: {', '.join(map(name, self.unknown))} not known" if self.unknown else "nothing is worth it"

    @property
    def open(self) -> Speedup | None:
        """Where none is the best, the option that may gain most of those that may be worth it; None where none may."""
        able = [found for found in self.options if may_be_worth_it(found) or self.elsewhere(found)]
        return max(able, key=lambda one: one.high or math.inf, default=None) if self.best is None else None

    @property
    def decided(self) -> bool:
        return self.best is not None or not (self.open or self.unknown)

    def elsewhere(self, found: Speedup) -> str:
        return ELSEWHERE if is_worth_it(found) and not is_worth_it(self.machines.get(found.policy, found)) else ""

    def as_dict(self) -> dict[str, object]:
        return {"sentence": self.sentence(), "best": self.best.policy if self.best else None,
                "decided": self.decided, "runs": self.runs,
                "remote_pages": self.remote, "remote_accesses": self.accesses, "most_remote": self.most, "not_known": self.unknown,
                "options": [{"placement": found.policy, "speedup": found.value, "low": found.low, "high": found.high,
                             "p_holm": found.p_holm, "significant": found.significant,
                             "on_every_machine": not self.elsewhere(found)} for found in self.options]}


def of(folder: Path) -> Verdict:
    results = read(folder)
    unknown = not_known(results)
    found = [one for one in speedups(results, machines=False).values() if one.value > 0 and one.policy not in unknown]
    if not found:
        why = "; ".join(f"{name(policy)}: {text}" for policy, text in unknown.items())
        raise ExperimentError(f"{folder}: {why or 'no option was measured twice beside the program as it is: give more --budget'}")
    local = mean_as_it_is(results, "locality_after")  # none where its tasks may run on several nodes
    return judged(found, len(results.select(found[0].workload, BASELINE)), None if local is None else 1 - local, unknown,
                  most_remote(results), mean_as_it_is(results, "remote_share"), {s.policy: s for s in speedups(results).values()})


def judged(found: list[Speedup], runs: int, remote: float | None, unknown: dict[str, str] | None = None, most: str = "",
           accesses: float | None = None, machines: dict[str, Speedup] | None = None) -> Verdict:
    """machines: the same on every machine that the lab's may be. The best holds on all of them."""
    ordered, machines = sorted(found, key=lambda one: -one.value), machines or {}
    best = next((one for one in ordered if is_worth_it(one) and is_worth_it(machines.get(one.policy, one))), None)
    return Verdict(ordered, best, runs, remote, unknown or {}, most, accesses, machines)


def is_worth_it(found: Speedup) -> bool:
    same = found.p_holm is None and found.low == found.high == found.value and found.blocks >= ENOUGH  # in all blocks: no test has a p
    return (found.significant or same) and found.value >= 1 + LEAST


def may_be_worth_it(found: Speedup) -> bool:
    return not is_worth_it(found) and (found.high is None or found.high > 1 + LEAST)


def not_known(results: Results) -> dict[str, str]:
    """Of a program that ends before a policy has placed it, the runs that are clean are those that needed no move."""
    found = {}
    for policy in results.policies:
        runs = [o for o in results.measured if o.policy == policy]
        marked = [o.marks[-1] for o in runs if o.marks]
        if policy != BASELINE and len(marked) > MARKED * len(runs):
            found[policy] = f"{len(marked)} of {len(runs)} runs do not count ({marked[-1]})"
    return found


def mean_as_it_is(results: Results, metric: str) -> float | None:
    """None where some runs lack it: those that have it are no fair sample, as what is counted depends on how long they take."""
    values = [o.value(metric) for o in results.clean if o.policy == BASELINE]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def most_remote(results: Results) -> str:
    """The mapping with more than half of what is on other nodes than its task's, and its size: 'the file x (3.0 GiB)'.

    None where that is little of the program's memory.
    """
    remote: dict[str, int] = defaultdict(int)
    size: dict[str, int] = defaultdict(int)
    for o in results.measured:
        home = {task["role"]: task["node_before"] for task in o.tasks}
        for role, maps in (o.raw.get("mappings") or {}).items():
            for mapping, nodes in maps.items():
                size[mapping] += sum(nodes.values())
                remote[mapping] += sum(kib for node, kib in nodes.items() if home.get(role) not in (None, int(node)))
    worst = max(remote, key=remote.__getitem__, default="")
    if not worst or 2 * remote[worst] <= sum(remote.values()) or remote[worst] < NAMED * sum(size.values()):
        return ""
    return f"{f'the file {worst}' if worst.startswith('/') else worst} ({text_of(size[worst])})"


def text_of(kib: int) -> str:
    return f"{kib / (1 << 20):.1f} GiB" if kib >= 1 << 20 else f"{kib / 1024:.0f} MiB"


def name(policy: str) -> str:
    return re.sub(r"^start-|^exec:.*/(?=bind\.py)", "", policy).replace("bind.py", "bind")


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def gain(found: Speedup) -> str:
    value, *ends = (None if end is None else round(100 * (end - 1)) for end in (found.value, found.low, found.high))
    return f"{value:+d} %" + ("" if None in ends else f" [{ends[0]}, {ends[1]}]")


def table(verdict: Verdict) -> str:
    """An option is undecided that may be worth it."""
    known = {name(found.policy): f"{gain(found)}{', undecided' if may_be_worth_it(found) else verdict.elsewhere(found)}"
             for found in verdict.options}
    rows = known | {name(policy): f"not known: {why}" for policy, why in verdict.unknown.items()}
    few = f", of fewer than {ENOUGH} an interval may be too narrow: give more --budget" if verdict.runs < ENOUGH else ""
    counted = f"{verdict.runs} runs of the program as it is{few}"
    return "\n".join([*(f"  {option:{max(map(len, rows))}}  {text}" for option, text in rows.items()), counted])

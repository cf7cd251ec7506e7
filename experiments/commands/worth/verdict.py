# SPDX-License-Identifier: GPL-2.0-only
"""What the runs of a program say: each option's gain with its interval, and one sentence.

The intervals are simultaneous, over the options and over the looks that a run takes before it ends (Bonferroni): the option
that is named is chosen by its gain, and the run ends by what it has seen, and its interval is to hold all the same.
"""

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...analysis.policies.decision import Decision
from ...analysis.policies.speedup import BASELINE, decide_cells
from ...analysis.runs.results import Results, read_results
from ...errors import ExperimentError
from ...runner.repeats import looks
from ...runner.repeats.precision import LEAST as ENOUGH

LEAST = 0.01  # a gain that is smaller is not worth a change, however certain it is
NAMED = 0.1  # of a program's memory or accesses: a mapping is not named where less of them is remote
ELSEWHERE = ", but not on every machine that the model may stand for"
MARKED = 0.1  # share of an option's runs; those that are left are then no fair sample of it


@dataclass(frozen=True)
class Verdict:
    options: list[Decision]  # the best first
    best: Decision | None    # None: nothing is worth it, or it is not decided
    runs: int               # of the program as it is
    remote: float | None    # share of its memory's pages on other nodes than its own, as it is
    unknown: dict[str, str] = field(default_factory=dict)  # options that cannot be judged, and why
    most: str = ""          # the mapping that most of the remote memory is in, where one has more than half
    accesses: float | None = None  # share of the accesses to memory that are to other nodes', where the machine counts them
    ended: str = ""         # what has ended the run
    platform: str = ""      # and what its times are

    def format_sentence(self) -> str:
        """Formats the answer, what the worst option loses, and what of the program is remote, as one sentence."""
        lost = [decision for decision in self.options if decision.significant and decision.value < 1 - LEAST]
        worst = f"; {shorten_name(lost[-1].policy)} loses {format_percent(1 - lost[-1].value)}" if lost else ""
        within = "" if any(decision.boots for decision in self.options) else " within this boot"
        return f"{self.format_answer()}{within}{worst}{self.describe_remote()}"

    def describe_remote(self) -> str:
        """Describes how much of the accesses, or of the memory, is remote; "" where neither is known."""
        share = self.remote if self.accesses is None else self.accesses
        if share is None:
            return ""
        what = "its memory is on other nodes than its own" if self.accesses is None else "accesses are remote"
        most = f", most remote memory is in {self.most}" if self.most and share >= NAMED else ""
        return f"; {format_percent(share)} of {what}{most}"

    def format_answer(self) -> str:
        """Formats the best option with its gain, what is not decided, or that nothing is worth it."""
        if self.best:
            return f"{shorten_name(self.best.policy)} {format_gain(self.best)}"
        if self.open:
            few = "" if self.open.enough else f"; {describe_few(self.open)}"
            return f"not decided: {shorten_name(self.open.policy)} {format_gain(self.open)}{self.describe_elsewhere(self.open)}{few}"
        return f"not decided: {', '.join(map(shorten_name, self.unknown))} not known" if self.unknown else "nothing is worth it"

    @property
    def open(self) -> Decision | None:
        """Returns, where none is the best, the option that may gain most of those that may be worth it; None where none may."""
        able = [decision for decision in self.options if may_be_worth_it(decision) or self.describe_elsewhere(decision)]
        return max(able, key=lambda one: one.by_runs.high or math.inf, default=None) if self.best is None else None

    @property
    def undecided(self) -> list[Decision]:
        """Lists the options of which more blocks may make the best, or another best; not those that the model alone leaves open."""
        return [decision for decision in self.options if may_be_worth_it(decision)
                and (self.best is None or not decision.enough or decision.by_runs.high is None or decision.by_runs.high > self.best.value)]

    @property
    def decided(self) -> bool:
        return self.best is not None or not (self.open or self.unknown)

    def describe_elsewhere(self, decision: Decision) -> str:
        """Returns ELSEWHERE of an option that is worth it by the runs but not on every machine of the model, else ""."""
        return ELSEWHERE if is_worth_it(decision) and not decision.significant else ""

    def make_dict(self) -> dict[str, object]:
        """Returns the verdict as `numaplace worth --json` prints it."""
        return {"sentence": self.format_sentence(), "best": self.best.policy if self.best else None,
                "decided": self.decided, "runs": self.runs, "ended": self.ended, "platform": self.platform,
                "remote_pages": self.remote, "remote_accesses": self.accesses, "most_remote": self.most, "not_known": self.unknown,
                "options": [{"placement": decision.policy, "speedup": decision.value, "low": decision.low, "high": decision.high,
                             "blocks": decision.observations, "boots": decision.boots or 1, "word": decision.word, "undecided": may_be_worth_it(decision),
                             "on_every_machine": not self.describe_elsewhere(decision)} for decision in self.options]}


def read_verdict(folder: Path) -> Verdict:
    """Reads the run in a folder and decides on each option; one whose runs do not count has a reason. ExperimentError: none counts."""
    results = read_results(folder)
    unknown = find_unknown(results)
    decisions = {policy: decision for (_, policy), decision in decide_cells(results).items() if policy not in unknown and decision.blocks > 1}
    if not decisions:
        why = "; ".join(f"{shorten_name(policy)}: {text}" for policy, text in unknown.items())
        raise ExperimentError(f"{folder}: {why or 'no option was measured twice beside the program as it is: give more --budget'}")
    unknown |= {policy: "measured too seldom beside the program as it is" for policy in results.policies
                if policy not in decisions and policy != BASELINE and policy not in unknown}
    local = compute_mean_as_it_is(results, "locality_after")  # none where its tasks may run on several nodes
    verdict = judge_options(list(decisions.values()), len(results.select(results.workloads[0], BASELINE)), None if local is None else 1 - local,
                            unknown, find_most_remote(results), compute_mean_as_it_is(results, "remote_share"))
    return replace(verdict, platform=results.platform_line)


def judge_options(decisions: list[Decision], runs: int, remote: float | None, unknown: dict[str, str] | None = None, most: str = "",
                  accesses: float | None = None) -> Verdict:
    """Judges the options: the best is the one with the largest gain that is worth it on all machines that the lab's may be.

    runs: of the program as it is; remote, accesses: shares, None where they are not known; unknown: the reasons, by option, why one
    cannot be judged; most: the mapping with most of the remote memory."""
    ordered = sorted(decisions, key=lambda decision: -decision.value)
    best = next((decision for decision in ordered if is_worth_it(decision) and decision.significant), None)
    return Verdict(ordered, best, runs, remote, unknown or {}, most, accesses)


def is_worth_it(decision: Decision) -> bool:
    """Checks whether by the runs it gains something for certain, and what was measured is worth a change."""
    low = decision.by_runs.low
    return decision.rejected and not decision.by_chance and low is not None and low > 1 and decision.value >= 1 + LEAST


def may_be_worth_it(decision: Decision) -> bool:
    """Checks whether more blocks may show that it is worth it."""
    high = decision.by_runs.high
    return not is_worth_it(decision) and (not decision.enough or decision.by_chance or high is None or high > 1 + LEAST)


def find_unknown(results: Results) -> dict[str, str]:
    """Finds the options that cannot be judged, as more than MARKED of their runs do not count, each with the reason: of a program that
    ends before a policy has placed it, the runs that are clean are those that needed no move."""
    reasons = {}
    for policy in results.policies:
        runs = [o for o in results.measured if o.policy == policy]
        marked = [o.marks[-1] for o in runs if o.marks]
        if policy != BASELINE and len(marked) > MARKED * len(runs):
            reasons[policy] = f"{len(marked)} of {len(runs)} runs do not count ({marked[-1]})"
    return reasons


def compute_mean_as_it_is(results: Results, metric: str) -> float | None:
    """Computes a metric's mean over the runs of the program as it is. None where some lack it: those that have it are no fair sample,
    as what is counted depends on how long they take."""
    values = [o.get_value(metric) for o in results.clean if o.policy == BASELINE]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def find_most_remote(results: Results) -> str:
    """Finds the mapping with more than half of what is on other nodes than its task's. Returns it with its size: 'the file x (3.0 GiB)'.

    "" where there is none, or where that is little of the program's memory."""
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
    return f"{f'the file {worst}' if worst.startswith('/') else worst} ({format_size(size[worst])})"


def format_size(kib: int) -> str:
    """Formats KiB as '3.0 GiB' or '24 MiB'."""
    return f"{kib / (1 << 20):.1f} GiB" if kib >= 1 << 20 else f"{kib / 1024:.0f} MiB"


def shorten_name(policy: str) -> str:
    """Shortens a placement as worth's own tables name it: 'interleave', 'bind:node=1'."""
    return re.sub(r"^start-|^exec:.*/(?=bind\.py)", "", policy).replace("bind.py", "bind")


def format_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def format_gain(decision: Decision) -> str:
    """Formats '+11 % [8, 14]'; without limits where the interval has none."""
    value, *ends = (None if end is None else round(100 * (end - 1)) for end in (decision.value, decision.low, decision.high))
    return f"{value:+d} %" + ("" if None in ends else f" [{ends[0]}, {ends[1]}]")


def describe_few(decision: Decision) -> str:
    return f"fewer than {ENOUGH} blocks" if decision.observations < ENOUGH else f"fewer than {looks.BOOTS} boots"


def format_table(verdict: Verdict) -> str:
    """Formats a line for each option, with its gain or why it is not known, then one on the run and the platform of its times.

    Undecided is one that may be worth it."""
    rows = {}
    for decision in verdict.options:
        note = ", undecided" if may_be_worth_it(decision) else verdict.describe_elsewhere(decision)
        rows[shorten_name(decision.policy)] = f"{format_gain(decision)}{note}"
    rows |= {shorten_name(policy): f"not known: {why}" for policy, why in verdict.unknown.items()}
    return "\n".join([*(f"  {option:{max(map(len, rows))}}  {text}" for option, text in rows.items()),
                      "; ".join(filter(None, [f"{verdict.runs} runs of the program as it is", verdict.ended])),
                      *filter(None, [verdict.platform])])

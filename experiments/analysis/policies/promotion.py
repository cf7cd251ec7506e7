# SPDX-License-Identifier: GPL-2.0-only
"""When promotion to fast memory pays: the map of a run of the suite promotion, and what was predicted of it.

    python -m experiments.analysis.policies.promotion DIR

A cell helps or hurts where the whole interval of its speed-up is beyond 1, and the change is 2 % at least.
"""

import sys

from ...bounds import UNDECIDED, Outcome, verdicts
from ..runs.results import Results, ResultsError, read_results
from .decision import Decision
from .speedup import decide_cells

LEAST = 0.02
UNKNOWN = ("undecided", "?", "not measured")
RATE = "promote_rate_limit_mbps="
Found = dict[tuple[str, int, int], Decision]  # by distribution, percent of the fast tier, MB/s


def read_cells(results: Results) -> Found:
    """Reads the decisions of a run by distribution, percent of the fast tier, and rate limit in MB/s."""
    cells = {}
    for (workload, policy), decision in decide_cells(results).items():
        distribution, _, percent = workload.partition("-")
        cells[distribution, int(percent), int(policy.partition(RATE)[2])] = decision
    return dict(sorted(cells.items()))


def choose_word(decision: Decision) -> str:
    """Chooses a decision's word: helps, hurts, same, undecided, or '?' without an interval."""
    if decision.low is None or decision.high is None:
        return "?"
    if abs(decision.value - 1) >= LEAST and not decision.low <= 1 <= decision.high:
        return "helps" if decision.value > 1 else "hurts"
    return "same" if 1 - LEAST < decision.low and decision.high < 1 + LEAST else "undecided"


def format_table(found: Found, distribution: str) -> list[str]:
    """Formats the lines of one distribution's table: a row for each percentage of the fast tier, a column for each rate limit."""
    rates = sorted({rate for _, _, rate in found})
    head = f"{'of the fast tier':>16}" + "".join(f"{f'{rate} MB/s':>26}" for rate in rates)
    rows = []
    for percent in sorted({p for d, p, _ in found if d == distribution}):
        texts = (format_decision(found.get((distribution, percent, rate))) for rate in rates)
        rows.append(f"{f'{percent} %':>16}" + "".join(f"{text:>26}" for text in texts))
    return [head, *rows]


def format_decision(decision: Decision | None) -> str:
    """Formats a decision as 'helps 1.05 [1.02, 1.08]', without the interval where it has no limits."""
    if decision is None:
        return "not measured"
    ends = "" if decision.low is None or decision.high is None else f" [{decision.low:.2f}, {decision.high:.2f}]"
    return f"{choose_word(decision)} {decision.value:.2f}{ends}"


def check_predictions(found: Found) -> Outcome:
    """Checks what was predicted before the first run: with room a clear gain, under pressure none or harm.

    So it was reported of hardware to linux-mm in February 2026 (message 5146e3b4-751f-ca6a-0bdd-7b1f4d425ff0; reconstructed
    from quotations). The others follow from what the kernel does: for a page promoted into a full tier another one is demoted."""
    outcome, unlimited = Outcome(), max(rate for _, _, rate in found)
    for distribution in ("random", "zipf"):
        for percent in (50, 75):
            check_all(outcome, f"room, {distribution}, {percent} %: helps without a limit",
                      [found.get((distribution, percent, unlimited))], "helps")
    for percent in (150, 200):
        pressed = [decision for (distribution, size, _), decision in found.items() if (distribution, size) == ("random", percent)]
        check_none(outcome, f"pressure, random, {percent} %: no rate helps", pressed, "helps")
    check_none(outcome, "pressure, random, 200 %: the lowest rate does not hurt",
               [found.get(("random", 200, min(rate for _, _, rate in found)))], "hurts")
    check_all(outcome, "pressure, zipf, 150 %: helps without a limit, as the hottest pages fit",
              [found.get(("zipf", 150, unlimited))], "helps")
    return outcome


def check_all(outcome: Outcome, what: str, decisions: list[Decision | None], wanted: str) -> None:
    """Adds a check to `outcome` that the word of each decision is `wanted`; undecided where one of them is, or was not measured."""
    words = [choose_word(decision) if decision else "not measured" for decision in decisions]
    undecided = any(word in UNKNOWN for word in words)
    outcome.check(what, 0, ", ".join(words), wanted, UNDECIDED if undecided else all(word == wanted for word in words))


def check_none(outcome: Outcome, what: str, decisions: list[Decision | None], unwanted: str) -> None:
    """Adds a check to `outcome` that the word of no decision is `unwanted`; undecided where none is, and one may be."""
    words = [choose_word(decision) if decision else "not measured" for decision in decisions]
    undecided = unwanted not in words and any(word in UNKNOWN for word in words)
    outcome.check(what, 0, ", ".join(words), f"not {unwanted}", UNDECIDED if undecided else unwanted not in words)


def main() -> int:
    """Prints the tables and the predictions of the run in sys.argv; returns the exit status."""
    if len(sys.argv) != 2:
        print("promotion: needs one folder, of a run of the suite promotion", file=sys.stderr)
        return 2
    try:
        results = read_results(sys.argv[1])
    except ResultsError as error:
        print(f"promotion: {error}", file=sys.stderr)
        return 1
    if results.suite != "promotion":
        print(f"promotion: {sys.argv[1]} is of the suite {results.suite}: give a run of the suite promotion", file=sys.stderr)
        return 2
    found = read_cells(results)
    if not found:
        print(f"promotion: {sys.argv[1]} has no placement that was measured in the same repeats as none: give a run that has ended", file=sys.stderr)
        return 1
    print(f"{results.suite} on {results.machine}, {results.platform_line}\nSpeed-up of operations/s against no promotion, with 95 % intervals by blocks")
    for distribution in ("random", "zipf"):
        print(f"\n{distribution}\n" + "\n".join(format_table(found, distribution)))
    print("\nPredicted before the first run:\n" + "\n".join(verdicts(check_predictions(found).checks)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""A run in a terminal: each workload under each placement, while it runs and with the placement in it, with what is decided."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from rich.console import Console
from rich.text import Text

from ..papers import luo, reference
from ..policies.decision import LEGEND, Decision, describe_blocks, describe_least
from ..policies.speedup import BASELINE, decide_cells, decide_solutions, find_response, has_speedups
from ..runs import text_format
from ..runs.results import MetricName, Results, compute_mean
from . import summary
from .terminal import format_name, format_options_below, make_console, make_table

COLUMNS = 6  # placements side by side in 80 columns
FEW = 4      # placements below each other, with where the pages were
CONTENTION = "contention"  # a design, whose bandwidths are also told in parts of 4L0R
Key = tuple[str, str]  # workload, policy


@dataclass(frozen=True)
class Run:
    """Holds a run and its decisions; those of the fixed work with the placement in it are {} where the run has no such work."""
    results: Results
    while_it_runs: dict[Key, Decision]
    with_the_move: dict[Key, Decision]


def show_run(results: Results) -> None:
    """Prints a run: its notes, the matrix of a contention run, each cell beside the baseline, and what the marks mean."""
    out = make_console()
    for note in summary.list_notes(results):
        out.print(Text(f"note: {text_format.make_printable(note)}"))
    timed = has_speedups(results)
    run = Run(results, decide_cells(results) if timed else {}, decide_solutions(results) if timed else {})
    if results.design == CONTENTION:
        show_contention(run, out)
    if len(results.policies) > 1:
        (_show_cells if len(results.policies) > FEW and timed else _show_tasks)(run, out)
    for line in [*list_marked(results), *describe_given_up(results)]:
        out.print(format_name(line))
    if run.while_it_runs:
        decisions = list(run.while_it_runs.values())
        least = describe_least(decisions)
        out.print(Text(f"speed / speed under none, and its 95 % interval, of {describe_blocks(decisions)}, in the lab on every machine "
                       f"that the model may stand for: first while it runs, then of a fixed work with the placement in it. {LEGEND}. "
                       f"{least[:1].upper()}{least[1:]}.", style="dim"))
    out.print(Text(results.platform_line, style="bold"))


def list_marked(results: Results) -> list[str]:
    """Lists a line for each workload and policy with a marked observation that no clean one of its repeat replaces: the last mark."""
    clean = {(o.workload, o.policy, o.repeat) for o in results.clean}
    reasons = {(o.workload, o.policy): o.marks[-1] for o in results.measured if o.marks and (o.workload, o.policy, o.repeat) not in clean}
    return [f"marked: {workload} / {policy}: {why}" for (workload, policy), why in reasons.items()]


def describe_given_up(results: Results) -> list[str]:
    """Describes each policy's locality after its moves and the pages moved, means over the workloads; without policies that lack either.

    Returns [] for more than FEW policies."""
    lines = []
    for policy in [p for p in results.policies if p != BASELINE] if len(results.policies) <= FEW else []:
        group = [o for o in results.independent if o.policy == policy]
        moved, after = compute_mean(group, "pages_moved"), compute_mean(group, "locality_after")
        seconds = [cost["move_s"] for o in group if (cost := o.raw.get("cost"))]
        if moved is None or after is None:
            continue
        within = f" in {1e3 * fmean(seconds):.1f} ms" if seconds else ""
        price = f"moves {moved:.0f} pages{within}" if moved >= 1 else "moves no page"
        lines.append(f"{policy}: {price}, leaves a locality of {text_format.format_fraction(after)} (means over the workloads)")
    return lines


def show_contention(run: Run, out: Console) -> None:
    """Prints Luo's Table 1: MB/s of xL yR under each placement, and its part of the same node's most local threads alone under none."""
    results, printed = run.results, _find_printed(run.results)
    levels = {o.workload: (o.factors.get("local"), o.factors.get("remote")) for o in results.clean}
    most_local = max((local for local, _ in levels.values()), default=0)
    whole = next((workload for workload, threads in levels.items() if threads == (most_local, 0)), None)
    whole_mean = compute_mean(results.select_independent(whole, BASELINE), "bandwidth") if whole else None
    for policies in _divide_policies(results.policies):
        table = make_table(("MB/s, parts" if whole_mean else "MB/s", "left"), *([("paper", "right")] if printed else []),
                           *((_format_head(policy), "right") for policy in policies))
        for workload in results.workloads:
            paper = [Text("" if (value := printed.get(levels.get(workload))) is None else f"\n{value:.2f}")] if printed else []
            table.add_row(format_name(workload.removeprefix("contention-")), *paper,
                          *(Text(_format_bandwidth(run, workload, policy, whole_mean)) for policy in policies))
        out.print(table)
    if whole_mean:
        out.print(Text(f"parts: of {whole.removeprefix('contention-')} under none, as the paper's Table 1 has them", style="dim"))


def _find_printed(results: Results) -> dict[tuple[int, int], float]:
    """Returns the paper's parts by local and remote threads, where the machine is one of its two; else {}."""
    table = next((table for table in luo.FILES.values() if table in results.machine), None)
    return reference.read_luo(table) if table else {}


def _format_bandwidth(run: Run, workload: str, policy: str, whole_mb_s: float | None) -> str:
    """Formats the mean in MB/s, and below it its part of `whole_mb_s` and the mark; of no clean observation, why."""
    mean = compute_mean(run.results.select_independent(workload, policy), "bandwidth")
    if mean is None:
        return _explain_uncounted(run.results, workload, policy)
    decision = run.while_it_runs.get((workload, policy))
    parts = f"{mean / whole_mb_s:.2f}" if whole_mb_s else ""
    return f"{mean:.0f}\n{parts} {decision.mark if decision else ''}".rstrip()


def _show_cells(run: Run, out: Console) -> None:
    """Prints a table with a column for each placement: its speed-up with interval in each workload."""
    results = run.results
    for policies in _divide_policies(results.policies):
        table = make_table(("workload, measured", "left"), *((_format_head(policy), "right") for policy in policies))
        for workload in results.workloads:
            metric = find_response(results, workload)
            title = [workload, metric.label] if metric else [workload]
            table.add_row(Text("\n").join(map(format_name, title)), *(Text(_format_cell(run, workload, policy)) for policy in policies))
        out.print(table)


def _format_cell(run: Run, workload: str, policy: str) -> str:
    """Formats a cell as '1.57 *' and its interval, then the same with the placement in it, which begins with '>'."""
    results, metric = run.results, find_response(run.results, workload)
    running, solved = run.while_it_runs.get((workload, policy)), run.with_the_move.get((workload, policy))
    if not results.select(workload, policy):
        return _explain_uncounted(results, workload, policy)
    if not running:
        mean = compute_mean(results.select_independent(workload, policy), metric.name) if metric else None
        return text_format.remove_grouping(text_format.format_number(mean, 4))
    lines = [line for decision, sign in ((running, ""), (solved, "> ")) if decision
             for line in (f"{sign}{decision.ratio} {decision.mark}".rstrip(), decision.format_limits().strip("[]").replace(", ", "-"))]
    return "\n".join(filter(None, lines))


def _explain_uncounted(results: Results, workload: str, policy: str) -> str:
    marked = sum((o.workload, o.policy) == (workload, policy) for o in results.measured)
    return f"{marked} marked" if marked else text_format.DASH


def _show_tasks(run: Run, out: Console) -> None:
    """Prints a line for each placement, with where pages were before and after; for few placements."""
    results = run.results
    columns = [("workload", "left"), ("placement", "left"), ("locality", "left"), ("while it runs", "right")]
    table = make_table(*columns, *([("with the move", "right")] if run.with_the_move else [("pages moved", "right")]))
    for workload in results.workloads:
        metric = find_response(results, workload) or next(iter(results.list_performance_metrics(workload)), None)
        titles = [workload, metric.label if metric else ""]
        for row, policy in enumerate(results.policies):
            last = policy == results.policies[-1]
            title = titles[row:] if last else titles[row:row + 1]  # the last line has the titles that are left, below each other
            table.add_row(Text("\n").join(map(format_name, title)), format_options_below(policy),
                          *map(Text, _format_task_cells(run, workload, policy, metric)),
                          end_section=last)
    out.print(table)


def _format_task_cells(run: Run, workload: str, policy: str, metric: MetricName | None) -> list[str]:
    """Formats three cells: locality before and after, speed-up (or mean) while it runs, and the same with the move (or pages moved)."""
    results = run.results
    group = results.select_independent(workload, policy)
    if not group:
        return [_explain_uncounted(results, workload, policy), "", ""]
    locality = "->".join(text_format.format_fraction(compute_mean(group, f"locality_{when}")) for when in ("before", "after"))
    moved = text_format.remove_grouping(text_format.format_count(compute_mean(group, "pages_moved")))
    decided = [(run.while_it_runs, metric.name if metric else None), (run.with_the_move, "time_to_solution")]
    cells = [_format_ratio_or_mean(decisions.get((workload, policy)), compute_mean(group, name) if name else None)
             for decisions, name in decided]
    return [f"{locality}\n{moved} moved", *cells] if run.with_the_move else [locality, cells[0], moved]


def _format_ratio_or_mean(decision: Decision | None, mean: float | None) -> str:
    """Formats a decision's ratio with its interval; the mean of the baseline, which has no decision."""
    if decision is None:
        return text_format.remove_grouping(text_format.format_number(mean, 4))
    return f"{decision.ratio} {decision.mark}".rstrip() + f"\n{decision.format_limits()}"


def _format_head(policy: str) -> str:
    """Formats a policy's name as a head of ten columns: broken at a hyphen, options after the equals sign."""
    name, _, options = policy.partition(":")
    name = name.replace("-", "-\n") if len(name) > 10 else name
    lines = [*name.split("\n"), *options.replace("=", "=\n").replace(",", "\n").split("\n")]
    return "\n".join(map(text_format.make_printable, filter(None, lines)))


def _divide_policies(policies: list[str]) -> list[list[str]]:
    """Divides the policies into groups of up to COLUMNS for tables side by side, each led by the baseline."""
    others = [policy for policy in policies if policy != BASELINE]
    first = [BASELINE] if BASELINE in policies else []
    return [[*first, *others[k:k + COLUMNS - 1]] for k in range(0, len(others), COLUMNS - 1)] or [first]

# SPDX-License-Identifier: GPL-2.0-only
"""Tables for a terminal of regret, of comparisons and of the papers' numbers."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..papers import Chapter, comparison
from ..policies import matrix, regret_table, speedup
from ..policies.decision import LEGEND, describe_blocks
from ..runs import text_format
from ..runs.results import Results
from ..samples import progress
from ..stats.compare import Comparison, Pair, Row
from .terminal import format_name, format_options_below, make_console, make_table


def show_regret(results: Results) -> None:
    """Prints the ranks and the regrets of a run; nothing where no mechanism acts while programs work."""
    out, found = make_console(), regret_table.make_table(results)
    if not found:
        return
    out.print(_show_ranking(results, found["means"]))
    table = make_table(("workload", "left"), ("policy", "left"), ("regret, static", "right"), ("regret, oracle", "right"))
    decisions = speedup.decide_cells(results)
    for row in found["rows"]:
        # A title stands in the line of each policy; zip leaves out the empty ones that are too many.
        titles = [row["workload"], *(f"best: {level}" for level in row["best"])] + [""] * len(found["policies"])
        for title, policy, cells in zip(titles, found["policies"], row["cells"], strict=False):
            decision = decisions.get((row["workload"], policy))
            table.add_row(format_name(title), format_options_below(policy) + (f" {decision.mark}" if decision else ""), *map(Text, cells),
                          end_section=policy == found["policies"][-1])
    out.print(table)
    for note in found["notes"]:
        out.print(format_name(note))
    out.print(Text("regret: 1 - speed / speed of the best static placement, which for each block the other blocks choose, and of the "
                   "oracle: programs that place their own hot memory as they know their next accesses; not a bound; "
                   f"95 % intervals by blocks, of each cell alone, of {describe_blocks(list(decisions.values()))}; "
                   f"of each placement beside none: {LEGEND}; ?: a regret that is not decided; 2/3: in two of three blocks", style="dim"))
    out.print(Text(results.platform_line, style="bold"))


def show_progress(results: Results) -> None:
    """Prints when the pages of each cell moved, and why none did; nothing of a run without looks."""
    out, rows = make_console(), progress.list_rows(results)
    if not rows:
        return
    table = make_table(("workload", "left"), ("policy", "left"), ("moved", "right"), ("half by", "right"),
                       (f"{progress.MOST:.0%} by", "right"), ("fast, first", "right"), ("last", "right"))
    for workload, policy, *cells in rows:
        first = policy == results.policies[0]
        table.add_row(format_name(workload if first else ""), format_options_below(policy), *map(Text, cells),
                      end_section=policy == results.policies[-1])
    out.print(table)
    for line in progress.explain_stillness(results):
        out.print(format_name(line))
    out.print(Text(f"by: {progress.TIME}, until this part of the pages that moved had moved; fast: share of the accesses that read memory of a "
                   "node with CPUs, in the first and the last quarter of the time; means of the observations", style="dim"))
    out.print(Text(results.platform_line, style="bold"))


def _show_ranking(results: Results, regrets: list[str]) -> Table:
    """Makes a table of geometric mean over all workloads, rank and mean regret of each policy."""
    names = ("speed-up", "95 % interval", "rank", "regret, static")
    table = make_table(("all workloads", "left"), *((name, "right") for name in names))
    for policy, total, regret in zip(results.policies, matrix.make_total_cells(results), regrets, strict=True):
        mean = total["mean"] + ("" if total["decided"] else regret_table.UNDECIDED)
        table.add_row(format_options_below(policy), *map(Text, (mean, total["limits"], total["rank"], regret)))
    return table


TESTS = {False: "Welch's t test", True: "Student's t test of the differences in blocks"}


def show_comparison(compared: Comparison) -> None:
    """Prints each pair of a comparison; rows that are equal in both runs are counted, not shown."""
    out = make_console()
    for pair in compared["pairs"]:
        _show_pair(out, pair, compared)


def _show_pair(out: Console, pair: Pair, compared: Comparison) -> None:
    """Prints one pair of a comparison: its table, what the numbers are, notes, and rows of one run alone."""
    for side in "ab":
        run = pair[side]
        machine = run["machine"] or "an unnamed machine"
        where = f"{run['suite']} on {machine}, {run['platform']}"
        out.print(format_name(f"{side}: {run['directory']} ({where})"))
    shown = [row for row in pair["rows"] if row["p"] is not None or row["difference"]]
    out.print(_make_comparison(shown))
    legend = (
        f"b / a: with Fieller's 95 % interval, of each row alone; * significant at "
        f"{compared['alpha']}: {TESTS[compared['in_blocks']]}, p adjusted by Holm over all "
        f"{compared['tests']} tests; – no test: fewer than two observations, no spread, or a multiple of another metric"
    )
    legend += f"; {_describe_values(pair)}"
    if compared["smallest"]:
        legend += f"; nothing is marked whose interval is within {100 * compared['smallest']:g} %"
    out.print(Text(legend, style="dim"))
    for note in pair["notes"]:
        out.print(format_name(f"note: {note}"))
    if len(shown) < len(pair["rows"]):
        out.print(Text(f"{len(pair['rows']) - len(shown)} more rows are equal in both"))
    for side in "ab":
        for name in pair[f"only_in_{side}"]:
            out.print(format_name(f"only in {side}: {name}"))
    platforms = sorted({pair[side]["platform"] for side in "ab"})
    out.print(Text(text_format.format_platforms(platforms), style="bold"))


def _describe_values(pair: Pair) -> str:
    """Returns how many values a and b have of each row, as 'a: 3 boots, b: 3 to 5 boots'."""
    parts = []
    for side in "ab":
        counts = sorted({row[f"n_{side}"] for row in pair["rows"]})
        parts.append(f"{side}: {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "") + f" {pair[side]['values']}")
    return ", ".join(parts)


def _make_comparison(rows: list[Row]) -> Table:
    """Makes the table of one pair of runs, a line a row; workload and policy stand where they change."""
    names = [(name, "left") for name in ("workload", "policy", "metric")]
    table = make_table(*names, *((name, "right") for name in ("a", "b", "b / a", "p (Holm)")))
    previous = ()
    for row in rows:
        title = (row["workload"], row["policy"])
        metric = format_name(f"{text_format.make_label(row['metric'])}, {row['unit']}")
        same = title == previous
        table.add_row(*map(format_name, ("", "") if same else title), metric, *map(Text, _format_change(row)))
        previous = title
    return table


def _format_change(row: Row) -> tuple[str, str, str, str]:
    """Formats both means, b / a with its interval (the difference where there is no ratio), and p, with '*' where significant."""
    change = text_format.format_number(row["difference"] if row["ratio"] is None else row["ratio"])
    if row["ratio_ci95_low"] is not None:
        low, high = (text_format.format_number(row[f"ratio_ci95_{end}"]) for end in ("low", "high"))
        change += f"\n{low} .. {high}"
    return (
        text_format.remove_grouping(text_format.format_number(row["mean_a"], 4)),
        text_format.remove_grouping(text_format.format_number(row["mean_b"], 4)),
        text_format.remove_grouping(change),
        text_format.format_p_value(row["p_holm"]) + (" *" if row["significant"] else ""),
    )


def show_papers(results: Results, chapters: list[Chapter]) -> None:
    """Prints each paper's numbers beside ours, and how far ours are off."""
    out = make_console()
    for chapter in chapters:
        out.print(format_name(f"{chapter.title}{f', of the {chapter.machine}' if chapter.machine else ''}"))
        for missing in chapter.missing:
            out.print(format_name(f"missing: {missing}"))
        if chapter.compared:
            head, *columns = comparison.HEAD
            table = make_table((head, "left"), *((name, "right") for name in columns))
            for unit in dict.fromkeys(number.printed.unit for number in chapter.compared):
                table.add_row(format_name(unit or "ratio"), *[""] * len(columns))
                for number in chapter.compared:
                    if number.printed.unit == unit:
                        _, *cells = number.cells  # the first has the unit, which stands above
                        table.add_row(format_name(f"  {number.printed.cell}"), *(Text(text_format.remove_grouping(cell)) for cell in cells))
            out.print(table)
        for line in chapter.summary:
            out.print(format_name(line))
    out.print(Text(results.platform_line, style="bold"))

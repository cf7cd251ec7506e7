# SPDX-License-Identifier: GPL-2.0-only
"""Tables for a terminal: readable at 80 columns, plain text where the output is no terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..policies import matrix, regret_table, speedup
from ..runs import text_format
from ..runs.results import Observation, Results, read
from ..stats.intervals import Interval, t_interval

# Columns. What is longer has two rows: in 80 columns the names of policies are then seldom broken.
MEASURED, RESULT = 18, 12


def console(stream: TextIO | None = None) -> Console:
    stream = stream or sys.stdout
    watched = stream.isatty()
    return Console(
        file=stream,
        width=None if watched else 80,
        no_color=not watched,
        highlight=False,
        emoji=False,
        markup=False,
    )


def show(directory: str | Path, stream: TextIO | None = None) -> None:
    """Per workload and policy: where the pages ended and how long it took."""
    results, out = read(directory), console(stream)
    for notice in results.notices:
        out.print(Text(f"note: {text_format.printable(notice)}"))
    columns = [("workload", "left"), ("policy", "left"), ("locality", "left"), ("moved", "right"),
               ("result", "right")]
    # Where the clock knows no nodes, a difference of times would be read as what it is not.
    if set(results.platforms) != {"lab-functional"}:
        columns.append(("vs none", "right"))
    table = _table(*columns)
    for platform in results.platforms:
        for workload in results.workloads:
            _add_workload(table, results, workload, platform)
    out.print(table)
    for line in _marked(results):
        out.print(_name(line))
    out.print(
        Text(
            "locality: pages on the node of the task that uses them, before -> after; "
            "moved: pages; result: mean ± 95 % CI (Student t), one observation has none; "
            "marked observations are not counted",
            style="dim",
        )
    )
    out.print(Text(results.platform_line, style="bold"))


def _marked(results: Results) -> list[str]:
    """Why observations do not count that were not made again without a mark: of each workload and policy the last reason."""
    clean = {(o.workload, o.policy, o.repeat) for o in results.clean}
    reasons = {(o.workload, o.policy): o.marks[-1] for o in results.measured if o.marks and (o.workload, o.policy, o.repeat) not in clean}
    return [f"marked: {workload} / {policy}: {why}" for (workload, policy), why in reasons.items()]


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    for name, justify in columns:
        table.add_column(
            name, justify=justify, overflow="fold", no_wrap=name in ("workload", "locality")
        )
    return table


def _add_workload(table: Table, results: Results, workload: str, platform: str) -> None:
    metrics = results.performance_metrics(workload)
    metric, unit = metrics[0] if metrics else (None, "")
    groups = {
        policy: [o for o in results.select_independent(workload, policy) if o.platform == platform]
        for policy in results.policies
    }
    base = _mean(groups.get("none", []), metric)
    asked = {
        policy: sum(
            (o.workload, o.policy, o.platform) == (workload, policy, platform) for o in results.measured
        )
        for policy in groups
    }
    shown = [policy for policy in groups if asked[policy]]
    titles = _first_column(workload, _measured(metric, unit) if metric else [], len(shown))
    for title, policy in zip(titles, shown):
        table.add_row(
            Text("\n").join(map(_name, title.split("\n"))),
            _policy(policy),
            *map(Text, _cells(groups[policy], metric, base, asked[policy])[: len(table.columns) - 2]),
            end_section=policy == shown[-1],
        )


def _first_column(workload: str, measured: list[str], rows: int) -> list[str]:
    """The workload in its first row, what was measured and its unit in the next."""
    found = [workload, *measured]
    return [*found[: rows - 1], "\n".join(found[rows - 1 :]), *[""] * (rows - len(found))]


def _measured(metric: str, unit: str) -> list[str]:
    """In one row, or in two where it is long."""
    label = text_format.label(metric)
    whole = f"{label}, {unit}"
    return [whole] if len(whole) <= MEASURED else [f"{label},", unit]


def _policy(name: str) -> Text:
    """Its options below it: a line has 80 columns."""
    policy, _, options = name.partition(":")
    return Text("\n  ").join(map(_name, [policy, *options.split(",")] if options else [policy]))


def _name(text: str) -> Text:
    return Text(text_format.printable(text))


def _cells(
    group: list[Observation], metric: str | None, base: float | None, asked: int
) -> tuple[str, str, str, str]:
    if not group:
        return (f"{asked} marked", "", text_format.DASH, "")
    locality = (
        f"{text_format.fraction(_mean(group, 'locality_before'))} -> "
        f"{text_format.fraction(_mean(group, 'locality_after'))}"
    )
    interval = _interval(group, metric)
    against = interval.mean / base - 1 if interval and base else None
    return (
        locality,
        text_format.ungrouped(text_format.count(_mean(group, "pages_moved"))),
        _result(interval) if interval else text_format.DASH,
        text_format.DASH if group[0].policy == "none" else text_format.percent(against),
    )


def _result(interval: Interval) -> str:
    found = text_format.ungrouped(text_format.spread(interval))
    return found if len(found) <= RESULT else found.replace(" ± ", "\n± ")


def _interval(group: list[Observation], metric: str | None) -> Interval | None:
    found = [v for v in (o.value(metric) for o in group) if v is not None] if metric else []
    return t_interval(found) if found else None


def _mean(group: list[Observation], metric: str | None) -> float | None:
    interval = _interval(group, metric)
    return interval.mean if interval else None


def show_regret(results: Results, stream: TextIO | None = None) -> None:
    """And before it the ranks. Nothing where nothing acts while programs work."""
    out, found = console(stream), regret_table.table(results)
    if not found:
        return
    out.print(_ranking(results, found["means"]))
    table = _table(("workload", "left"), ("policy", "left"), ("regret, static", "right"), ("regret, clairvoyant", "right"))
    against = speedup.speedups(results)
    for row in found["rows"]:
        titles = [row["workload"], *(f"best: {level}" for level in row["best"])] + [""] * len(found["policies"])
        for title, policy, cells in zip(titles, found["policies"], row["cells"], strict=False):
            differs = _differs(against.get((row["workload"], policy)))
            table.add_row(_name(title), _policy(policy) + differs, *map(Text, cells), end_section=policy == found["policies"][-1])
    out.print(table)
    for note in found["notes"]:
        out.print(_name(note))
    out.print(Text("regret: 1 - speed / speed of the best static placement, which for each block the other blocks choose, and of the "
                   "clairvoyant: programs that place their own hot memory as they know their next accesses; not a bound; "
                   "95 % intervals by blocks, of each cell alone; "
                   "*: faster or slower than none after Holm's adjustment; ?: not decided; 2/3: in two of three blocks", style="dim"))
    out.print(Text(results.platform_line, style="bold"))


def _differs(found: speedup.Speedup | None) -> Text:
    """From the baseline, which itself has no mark."""
    return Text("" if found is None else " *" if found.significant else regret_table.UNDECIDED)


def _ranking(results: Results, regrets: list[str]) -> Table:
    """Of the geometric mean over all workloads."""
    names = ("speed-up", "95 % interval", "rank", "regret, static")
    table = _table(("all workloads", "left"), *((name, "right") for name in names))
    for policy, total, regret in zip(results.policies, matrix.total_cells(results), regrets, strict=True):
        mean = total["mean"] + ("" if total["decided"] else regret_table.UNDECIDED)
        table.add_row(_policy(policy), *map(Text, (mean, total["limits"], total["rank"], regret)))
    return table


TESTS = {False: "Welch's t test", True: "Student's t test of the differences in blocks"}


def show_comparison(found: dict[str, Any], stream: TextIO | None = None) -> None:
    """Rows that are equal in both runs are counted, not shown."""
    out = console(stream)
    for pair in found["pairs"]:
        _show_pair(out, pair, found)


def _show_pair(out: Console, found: dict[str, Any], whole: dict[str, Any]) -> None:
    for side in "ab":
        run = found[side]
        machine = run["machine"] or "an unnamed machine"
        where = f"{run['suite']} on {machine}, {run['platform']}"
        out.print(_name(f"{side}: {run['directory']} ({where})"))
    shown = [row for row in found["rows"] if row["p"] is not None or row["difference"]]
    out.print(_comparison(shown))
    told = (
        f"b / a: with Fieller's 95 % interval, of each row alone; * significant at "
        f"{whole['alpha']}: {TESTS[whole['in_blocks']]}, p adjusted by Holm over all "
        f"{whole['tests']} tests; – no test: fewer than two observations, no spread, or a multiple of another metric"
    )
    if whole["smallest"]:
        told += f"; nothing is marked whose interval is within {100 * whole['smallest']:g} %"
    out.print(Text(told, style="dim"))
    for note in found["notes"]:
        out.print(_name(f"note: {note}"))
    if len(shown) < len(found["rows"]):
        out.print(Text(f"{len(found['rows']) - len(shown)} more rows are equal in both"))
    for side in "ab":
        for name in found[f"only_in_{side}"]:
            out.print(_name(f"only in {side}: {name}"))
    platforms = sorted({found[side]["platform"] for side in "ab"})
    out.print(Text(text_format.platform_line(platforms), style="bold"))


def _comparison(rows: list[dict[str, Any]]) -> Table:
    names = [(name, "left") for name in ("workload", "policy", "metric")]
    table = _table(*names, *((name, "right") for name in ("a", "b", "b / a", "p (Holm)")))
    previous = ()
    for row in rows:
        title = (row["workload"], row["policy"])
        metric = _name(f"{text_format.label(row['metric'])}, {row['unit']}")
        same = title == previous
        table.add_row(*map(_name, ("", "") if same else title), metric, *map(Text, _change(row)))
        previous = title
    return table


def _change(row: dict[str, Any]) -> tuple[str, str, str, str]:
    change = text_format.number(row["difference"]) if row["ratio"] is None else text_format.number(row["ratio"])
    if row["ratio_ci95_low"] is not None:
        low, high = (text_format.number(row[f"ratio_ci95_{end}"]) for end in ("low", "high"))
        change += f"\n{low} .. {high}"
    return (
        text_format.ungrouped(text_format.number(row["mean_a"], 4)),
        text_format.ungrouped(text_format.number(row["mean_b"], 4)),
        text_format.ungrouped(change),
        text_format.p_value(row["p_holm"]) + (" *" if row["significant"] else ""),
    )


def show_papers(results: Results, chapters: list[Any], stream: TextIO | None = None) -> None:
    """The statements of the papers' texts, and whether they hold here."""
    out = console(stream)
    table = _table(("statement", "left"), ("verdict", "left"))
    for chapter in chapters:
        machine = f", of the {chapter.machine}" if chapter.machine else ""
        table.add_row(_name(f"{chapter.title}{machine}"), Text(""))
        for kind, counts in chapter.by_kind:
            table.add_row(Text(f"  {kind}: {counts}"), Text(""))
        for missing in chapter.missing:
            table.add_row(_name(f"  missing: {missing}"), Text(""))
        for check in chapter.own_checks:
            table.add_row(_name(f"  {check.says} ({check.where}; {check.kind})"), Text(check.verdict),
                          end_section=check is chapter.own_checks[-1])
    out.print(table)
    out.print(Text(results.platform_line, style="bold"))

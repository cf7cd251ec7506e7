# SPDX-License-Identifier: GPL-2.0-only
"""One page for a folder of runs: every paper's tables beside ours, each with its own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import papers
from ..policies import agreement, matrix
from ..policies.decision import Decision
from ..runs.results import Results, ResultsError, read_results
from . import report, summary
from .summary import list_notes, write_text

PLACES = ("*", "runs/*", "*/runs/*")
Part = tuple[Results, list[papers.Chapter]]


def list_runs(directory: str | Path) -> list[Path]:
    """Lists the folders of runs in a directory, also those that 'unpack' wrote; none where it is a run itself."""
    directory = Path(directory)
    if (directory / "results.jsonl").exists():
        return []
    return sorted(path.parent for pattern in PLACES for path in directory.glob(f"{pattern}/results.jsonl"))


def write_reports(directory: str | Path, folders: list[Path]) -> tuple[Path, list[Part]]:
    """Writes DIR/report.html and every run's own report; returns the path, and results and chapters of each readable run.

    Raises ResultsError where no run can be read."""
    parts: list[Part] = []
    broken: list[tuple[str, str]] = []
    for folder in folders:
        try:
            results = read_results(folder)
            summary.write_summary(folder, report.write_report(folder)[1])
        except ResultsError as error:  # one run that failed leaves the others readable
            broken.append((_name_run(folder, directory), str(error)))
            continue
        chapters, _ = report.make_chapters(results, report.make_slug(_name_run(folder, directory)))
        parts.append((results, chapters))
    parts.sort(key=_rank_part)
    if not parts:
        raise ResultsError(broken[0][1] if broken else f"{directory}: holds no run")
    page = report.build_page("report_all.html", title=_make_title(parts),
                             broken=broken,
                             agreement=[_list_agreement(suite) for suite in agreement.group_suites([results for results, _ in parts])],
                             parts=[_make_part(results, chapters, _name_run(results.directory, directory)) for results, chapters in parts])
    return write_text(Path(directory) / "report.html", page), parts


def _make_title(parts: list[Part]) -> str:
    """Makes the title: the number of runs, and their machine or the number of their machines."""
    machines = {results.machine for results, _ in parts}
    runs_in_words = f"{len(parts)} experiment" + ("s" if len(parts) > 1 else "")
    return f"{runs_in_words} on " + (f"{len(machines)} machines" if len(machines) > 1
                                     else next(iter(machines)) or "an unnamed machine")


def _rank_part(part: Part) -> tuple[int, str]:
    """Returns a sort key of a run: papers in the order of Documentation/explanation/papers.md, runs without one first."""
    results, chapters = part
    known = [name for name in results.presents if name in papers.PRESENTATIONS] if chapters else []
    return (list(papers.PRESENTATIONS).index(known[0]) if known else -1, results.directory.name)


def _name_run(folder: Path, directory: str | Path) -> str:
    return folder.relative_to(directory).as_posix()


def _list_agreement(suite: agreement.Suite) -> dict[str, Any]:
    """Makes what the page shows of a suite on several machines; conclusions that differ come first."""
    order = (agreement.DIFFERS, agreement.HOLDS, agreement.NOT_ALL, agreement.NONE)
    return {
        "name": suite.name,
        "places": [(place.machine, place.kernel, place.results.platform_short) for place in suite.places],
        "counts": [(verdict, len(suite.select(verdict))) for verdict in order],
        "differ": [(differing.workload, differing.policy, agreement.describe_difference(suite, differing))
                   for differing in suite.select(agreement.DIFFERS)],
        "rows": [(conclusion.workload, conclusion.policy, conclusion.agreement, [_format_speedup(found) for found in conclusion.found])
                 for verdict in order for conclusion in suite.select(verdict)],
    }


def _format_speedup(found: Decision | None) -> tuple[str, str]:
    """Formats a decision as its verdict, and its speed-up with limits."""
    if not found:
        return "not measured", ""
    return agreement.give_verdict(found), f"{matrix.format_times(found.value)}, {found.format_limits()}"


def _make_part(results: Results, chapters: list[papers.Chapter], name: str) -> dict[str, Any]:
    """Makes what the page shows of one run: its names, platform, chapters and notes."""
    return {
        "folder": name,
        "suite": results.suite,
        "machine": results.machine or "an unnamed machine",
        "platform": results.platform_line,
        "short": results.platform_short,
        "chapters": chapters,
        "counted": f"{len(results.clean)} of {len(results.measured)}",
        "notes": list_notes(results),
        "anchor": report.make_slug(name),
    }

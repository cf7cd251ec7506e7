# SPDX-License-Identifier: GPL-2.0-only
"""One page for a folder of runs: every paper's tables beside ours, each with its own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import papers
from ..policies import agreement, matrix
from ..policies.decision import Decision
from ..runs.results import Results, ResultsError, read
from . import report, summary
from .summary import notes, write_text

PLACES = ("*", "runs/*", "*/runs/*")
Part = tuple[Results, list[papers.Chapter]]


def runs(directory: str | Path) -> list[Path]:
    """The folders of runs in this one, those that 'unpack' wrote too; none where it is a run itself."""
    directory = Path(directory)
    if (directory / "results.jsonl").exists():
        return []
    return sorted(path.parent for pattern in PLACES for path in directory.glob(f"{pattern}/results.jsonl"))


def write(directory: str | Path, folders: list[Path]) -> tuple[Path, list[Part]]:
    """DIR/report.html, and every run's own report that it links to."""
    parts: list[Part] = []
    broken: list[tuple[str, str]] = []
    for folder in folders:
        try:
            results = read(folder)
            summary.write(folder, report.make(folder)[1])
        except ResultsError as error:  # one run that failed leaves the others readable
            broken.append((_name(folder, directory), str(error)))
            continue
        chapters, _ = report.chapters_of(results, report.slug_of(_name(folder, directory)))
        parts.append((results, chapters))
    parts.sort(key=_place)
    if not parts:
        raise ResultsError(broken[0][1] if broken else f"{directory}: holds no run")
    page = report.page_of("report_all.html", title=_title(parts),
                          broken=broken,
                          agreement=[_agreement(suite) for suite in agreement.suites([results for results, _ in parts])],
                          parts=[_part(results, chapters, _name(results.directory, directory)) for results, chapters in parts])
    return write_text(Path(directory) / "report.html", page), parts


def _title(parts: list[Part]) -> str:
    machines = {results.machine for results, _ in parts}
    runs_in_words = f"{len(parts)} experiment" + ("s" if len(parts) > 1 else "")
    return f"{runs_in_words} on " + (f"{len(machines)} machines" if len(machines) > 1
                                     else next(iter(machines)) or "an unnamed machine")


def _place(part: Part) -> tuple[int, str]:
    """Papers together, in the order of Documentation/explanation/papers.md; runs without one first."""
    results, chapters = part
    known = [name for name in results.presents if name in papers.PRESENTATIONS] if chapters else []
    return (list(papers.PRESENTATIONS).index(known[0]) if known else -1, results.directory.name)


def _name(folder: Path, directory: str | Path) -> str:
    return folder.relative_to(directory).as_posix()


def _agreement(suite: agreement.Suite) -> dict[str, Any]:
    """Those that differ come first."""
    order = (agreement.DIFFERS, agreement.HOLDS, agreement.NOT_ALL, agreement.NONE)
    return {
        "name": suite.name,
        "places": [(place.machine, place.kernel, place.results.platform_short) for place in suite.places],
        "counts": [(said, len(suite.select(said))) for said in order],
        "differ": [(one.workload, one.policy, agreement.between(suite, one)) for one in suite.select(agreement.DIFFERS)],
        "rows": [(one.workload, one.policy, one.agreement, [_speedup(found) for found in one.found])
                 for said in order for one in suite.select(said)],
    }


def _speedup(found: Decision | None) -> tuple[str, str]:
    return (agreement.verdict(found), f"{matrix.times(found.value)}, {found.limits()}") if found else ("not measured", "")


def _part(results: Results, chapters: list[papers.Chapter], name: str) -> dict[str, Any]:
    return {
        "folder": name,
        "suite": results.suite,
        "machine": results.machine or "an unnamed machine",
        "platform": results.platform_line,
        "short": results.platform_short,
        "chapters": chapters,
        "counted": f"{len(results.clean)} of {len(results.measured)}",
        "notes": notes(results),
        "anchor": report.slug_of(name),
    }

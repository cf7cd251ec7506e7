# SPDX-License-Identifier: GPL-2.0-only
"""One page of what stands behind the verdicts: predictions first, then what the judge makes of other machines."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from experiments.analysis import papers
from experiments.analysis.machines.other_machines import MODELLED
from experiments.analysis.pages import report_all
from experiments.analysis.papers import advance
from experiments.analysis.papers.checks import (
    AGAINST,
    FOR,
    OPPOSITE,
    PAPERS,
    PREDICTED,
    UNDECIDED,
    UNIFORM,
    Check,
    separates,
    separation,
    tally,
)
from experiments.model_fit import luo
from experiments.model_fit.__main__ import load, print_held_out

from . import pieces

DECIDED = (*FOR, *AGAINST)


def write(folder: Path, states: dict[pieces.Piece, str]) -> str:
    """FOLDER/report.html with all chapters of the pieces that are done; the page as text."""
    done = [piece.out for piece, state in states.items() if state == pieces.DONE]
    if not done:
        return "\n".join(_pieces(states))
    _, parts = report_all.write(folder, done)
    chapters = [chapter for _, found in parts for chapter in found if chapter.machine]
    checks = [c for chapter in chapters for c in chapter.own_checks] + papers.across([results for results, _ in parts])
    sections = (_pieces(states), _tallies(chapters, checks), _predictions(checks), _controls(checks), _claims(parts),
                _sensitivity(chapters), _held_out(), _runs(parts))
    return "\n".join(line for section in sections for line in (*section, ""))


def _pieces(states: dict[pieces.Piece, str]) -> Iterator[str]:
    """Those that this page is not of, by name."""
    yield f"This page is of the pieces that are done, of {pieces.told(states)}"
    for state in (pieces.FAILED, pieces.MISSING, pieces.CUT, pieces.OLD):
        names = [piece.name for piece, found in states.items() if found == state]
        if names:
            yield f"  {state}: {', '.join(names)}"


def _tallies(chapters: list[papers.Chapter], checks: list[Check]) -> Iterator[str]:
    yield "Verdicts about each paper's own machine"
    for chapter in chapters:
        yield f"  {chapter.name} ({chapter.machine}): {chapter.tally}"
    yield f"  all: {tally(checks)}"
    yield f"  {separation(checks) or 'no statement is decided'}"


def _predictions(checks: list[Check]) -> Iterator[str]:
    """What nothing was fitted to, first."""
    yield "Predicted statements"
    for c in checks:
        if c.kind == PREDICTED:
            uniform = f"; {UNIFORM}: {c.controls[UNIFORM]}" if UNIFORM in c.controls else ""
            yield f"  {c.verdict:18} {c.machine or 'any machine'}: {c.says}{uniform}"


def _controls(checks: list[Check]) -> Iterator[str]:
    """What the same judge makes of other numbers, of the statements that it decided."""
    yield "The same judge on other numbers, of the decided statements"
    decided = [c for c in checks if c.verdict in DECIDED]
    for name in (PAPERS, UNIFORM, OPPOSITE):
        found = Counter(c.controls[name] for c in decided if name in c.controls)
        counts = ", ".join(f"{n} {verdict}" for verdict, n in found.most_common())
        yield f"  {name}: {counts or 'none'} (of {sum(found.values())})"


def _claims(parts: list[report_all.Part]) -> Iterator[str]:
    """Of what the model says before the run that it tells this machine from a uniform one by."""
    yield f"Statements that the lab claims to decide before the run, and {UNIFORM}"
    for results, chapters in parts:
        if results.design not in MODELLED:
            continue
        before = advance.decides(advance.on(results.suite, results.machine), results.machine)
        claimed = {c.says for c in before if c.verdict in DECIDED and separates(c)}
        found = [c for chapter in chapters for c in chapter.own_checks if c.says in claimed]
        told = [c for c in found if c.verdict in DECIDED and separates(c)]
        yield f"  {results.suite} on {results.machine}: {len(told)} of {len(found)} are told apart"


def _sensitivity(chapters: list[papers.Chapter]) -> Iterator[str]:
    yield "Statements that the repeats decide and another machine of the model does not"
    for chapter in chapters:
        undecided = [c for c in chapter.own_checks if c.verdict == UNDECIDED and c.by_model]
        yield f"  {chapter.name} ({chapter.machine}): {len(undecided)} of {len(chapter.own_checks)}"


def _held_out() -> Iterator[str]:
    yield "Errors of what the model was not fitted to"
    for table in (luo.E5620, luo.LS3A):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            load(table.machine)
            print_held_out(table)
        yield f"  {table.machine}"
        yield from (f"    {line}" for line in text.getvalue().splitlines())


def _runs(parts: list[report_all.Part]) -> Iterator[str]:
    yield "Runs"
    for results, _ in parts:
        boots = len(results.boots)
        yield f"  {results.suite} on {results.machine}: {len(results.clean)} of {len(results.measured)} counted, {boots} boots"

# SPDX-License-Identifier: GPL-2.0-only
"""One page of the runs that are there: the papers' numbers beside ours, what the model was not fitted to, what was counted."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from experiments.analysis.pages import report_all
from experiments.model_fit import luo
from experiments.model_fit.__main__ import load, print_held_out

from . import pieces


def write(folder: Path, states: dict[pieces.Piece, str]) -> str:
    """FOLDER/report.html with all chapters of the pieces that are done; the page as text."""
    done = [piece.out for piece, state in states.items() if state == pieces.DONE]
    if not done:
        return "\n".join(_pieces(states))
    _, parts = report_all.write(folder, done)
    sections = (_pieces(states), _numbers(parts), _held_out(), _runs(parts))
    return "\n".join(line for section in sections for line in (*section, ""))


def _pieces(states: dict[pieces.Piece, str]) -> Iterator[str]:
    """Those that this page is not of, by name."""
    yield f"This page is of the pieces that are done, of {pieces.told(states)}"
    for state in (pieces.FAILED, pieces.MISSING, pieces.CUT, pieces.OLD):
        names = [piece.name for piece, found in states.items() if found == state]
        if names:
            yield f"  {state}: {', '.join(names)}"


def _numbers(parts: list[report_all.Part]) -> Iterator[str]:
    yield "The papers' numbers beside ours, on each paper's own machine"
    for _, chapters in parts:
        for chapter in chapters:
            if chapter.machine:
                yield from (f"  {chapter.name} ({chapter.machine}), {line}" for line in chapter.summary)


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

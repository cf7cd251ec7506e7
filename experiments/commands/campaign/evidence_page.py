# SPDX-License-Identifier: GPL-2.0-only
"""One page of the runs that are there: the papers' numbers beside ours, what the model was not fitted to, what was counted."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from experiments.analysis.pages import report_all
from experiments.model_fit import luo
from experiments.model_fit.__main__ import load_model, print_held_out

from .piece import Piece


def write_page(folder: Path, done: list[Piece], states: str) -> str:
    """Writes FOLDER/report.html with all chapters of the pieces that are done. Returns the page as text. states: of all pieces, in
    words."""
    head = [f"This page is of the pieces that are done, of {states}"]
    if not done:
        return head[0]
    _, parts = report_all.write_reports(folder, [piece.out for piece in done])
    sections = (head, _make_numbers(parts), _make_held_out(), _make_runs(parts))
    return "\n".join(line for section in sections for line in (*section, ""))


def _make_numbers(parts: list[report_all.Part]) -> Iterator[str]:
    """Yields lines of each chapter that compares with a paper's machine."""
    yield "The papers' numbers beside ours, on each paper's own machine"
    for _, chapters in parts:
        for chapter in chapters:
            if chapter.machine:
                yield from (f"  {chapter.name} ({chapter.machine}), {line}" for line in chapter.summary)


def _make_held_out() -> Iterator[str]:
    """Yields lines about the errors of the contention model on the rows of each paper's table that it was not fitted to."""
    yield "Errors of what the model was not fitted to"
    for table in (luo.E5620, luo.LS3A):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            load_model(table.machine)
            print_held_out(table)
        yield f"  {table.machine}"
        yield from (f"    {line}" for line in text.getvalue().splitlines())


def _make_runs(parts: list[report_all.Part]) -> Iterator[str]:
    """Yields a line for each run: how many of its observations count, and its boots."""
    yield "Runs"
    for results, _ in parts:
        boots = len(results.boots)
        yield f"  {results.suite} on {results.machine}: {len(results.clean)} of {len(results.measured)} counted, {boots} boots"

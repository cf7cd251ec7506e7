# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts of the papers' statements about runs, as a list, and what differs between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .. import papers
from ..papers.checks import Check
from ..results import ResultsError, read

Verdict = dict[str, str]
KEPT = ("machine", "where", "says", "kind", "verdict")


def of(folders: Sequence[Path]) -> list[Verdict]:
    """Of every run, then of two machines beside each other."""
    runs = [read(folder) for folder in folders]
    for run in runs:
        if len(run.platforms) > 1:
            raise ResultsError(f"{run.directory}: holds numbers of more than one platform; verdicts are about one")
    found = [_verdict(run.directory.name, chapter.name, check)
             for run in runs for chapter in papers.chapters(run)[0] for check in chapter.checks]
    return found + [_verdict("", "", check) for check in papers.across(runs)]


def _verdict(run: str, chapter: str, check: Check) -> Verdict:
    told = asdict(check)
    return {"run": run, "chapter": chapter} | {name: told[name] for name in KEPT}

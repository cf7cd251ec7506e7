# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts of the papers' statements about runs, as a list, and what differs between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .. import papers
from ..papers.checks import Check
from ..runs.results import ResultsError, read

Verdict = dict[str, str]
KEY = ("run", "chapter", "machine", "where", "says")
KEPT = ("machine", "where", "says", "kind", "verdict")
NONE = "not judged"


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


def changes(then: list[Verdict], now: list[Verdict]) -> list[str]:
    """One line each, in the order of the second."""
    before, after = _numbered(then), _numbered(now)
    return [f"{_name(key)}: {after.get(key, NONE)}, was {before.get(key, NONE)}" for key in dict.fromkeys((*after, *before))
            if after.get(key, NONE) != before.get(key, NONE)]


def _numbered(found: list[Verdict]) -> dict[tuple[str, ...], str]:
    """By all that names a statement, and how often it stood there before."""
    counts: Counter[tuple[str, ...]] = Counter()
    by_key = {}
    for one in found:
        key = tuple(one[name] for name in KEY)
        counts[key] += 1
        by_key[*key, str(counts[key])] = one["verdict"]
    return by_key


def _name(key: tuple[str, ...]) -> str:
    *places, says, _ = key
    return f"{', '.join(filter(None, places))}: {says}"

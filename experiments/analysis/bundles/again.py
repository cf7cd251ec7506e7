# SPDX-License-Identifier: GPL-2.0-only
"""Judges the runs of a bundle by this tree's code, and says what differs."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from experiments.lab import machine as lab
from experiments.runner.records import statements

from ..runs.results import ResultsError
from . import archive, folder, sources, verdicts
from .archive import BundleError
from .bundle import CODE, RUNS, VERDICTS

STATEMENTS = sources.name_of(statements.FILE)
MACHINES = sources.name_of(lab.MACHINES)


def judge(path: Path, out: Path | None) -> tuple[list[str], list[str]]:
    """What differs between the bundle and this tree, and a line for each changed verdict. The files are kept in `out`."""
    if out:
        folder.check_free(out, "--out")
    packed = archive.unpack(path)
    then = _kept(path, packed.files)
    with tempfile.TemporaryDirectory() as scratch:
        unpacked = out or Path(scratch) / "bundle"
        folder.write(unpacked, packed.members, "--out")
        try:
            now = verdicts.of(sorted(found.parent for found in unpacked.glob(f"{RUNS}*/results.jsonl")))
        except ResultsError as error:
            raise BundleError(f"{path}: {error}") from None
    changed = verdicts.changes(then, now)
    told = [*_sources(packed.hashes), *_packages(packed.about.get("packages")),
            f"verdicts: {len(now)} judged again, {len(changed)} changed"]
    return told, changed


def _kept(path: Path, files: dict[str, bytes]) -> list[verdicts.Verdict]:
    """Those that were made when the bundle was."""
    try:
        found = json.loads(files.get(VERDICTS, b""))
        return [{name: str(one[name]) for name in (*verdicts.KEY, "verdict")} for one in found]
    except (ValueError, TypeError, KeyError):
        raise BundleError(f"{path}: {VERDICTS}: no list of verdicts") from None


def _sources(hashes: dict[str, str]) -> list[str]:
    """Statements, machine files, and all other files that make a verdict."""
    here = sources.files()
    named = {name.removeprefix(CODE) for name in hashes if name.startswith(CODE)}
    groups: dict[str, list[str]] = {"statements": [], "code": [], "machine files": []}
    for name in sorted(named | here.keys()):
        path = sources.TOP.parent / name
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        if digest != hashes.get(CODE + name):
            groups["statements" if name == STATEMENTS else "machine files" if name.startswith(MACHINES) else "code"].append(name)
    return [f"{group}: {'differ from this tree: ' + ', '.join(found) if found else 'as in this tree'}"
            for group, found in groups.items()]


def _packages(then: Any) -> list[str]:
    now, then = sources.packages(), then if isinstance(then, dict) else {}
    found = [f"{name} {now.get(name, 'none')}, was {then.get(name, 'none')}" for name in sorted(now.keys() | then.keys())
             if now.get(name) != then.get(name)]
    return [f"packages: {'; '.join(found)}"] if found else []

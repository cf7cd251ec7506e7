# SPDX-License-Identifier: GPL-2.0-only
"""Writes a bundle: records, statements, tables, machine files, the code that judges, and the verdicts."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from experiments.lab import machine as lab
from experiments.runner.records import manifest as runner

from ..pages import report_all
from ..runs.results import ResultsError, read
from . import archive, signature, sources, verdicts

RUNS, CODE, VERDICTS = "runs/", "code/", "verdicts.json"
RECORDS = ("results.jsonl", "manifest.json", "*.log")


def write(directory: str | Path, path: Path, key: Path | None = None) -> None:
    """Of a run or of a folder of runs, signed where there is a key."""
    directory = Path(directory).resolve()
    folders = report_all.runs(directory) or [directory]
    for folder in folders:
        if not archive.inside(folder.name):
            raise ResultsError(f"{folder}: no name for a bundle: rename it, without backslash and control characters")
    if twice := [folder for folder in folders if sum(folder.name == other.name for other in folders) > 1]:
        raise ResultsError(f"{twice[0]}: a bundle has one run of a name, and {twice[1]} has it too: pack one of them")
    files = {f"{RUNS}{folder.name}/{record.name}": record for folder in folders for record in _records(folder)}
    files |= {CODE + name: found for name, found in (sources.files() | _machines(folders)).items()}
    judged = json.dumps(verdicts.of(folders), indent=1, ensure_ascii=False) + "\n"
    archive.pack(path, _about(), {name: _bytes(found) for name, found in files.items()} | {VERDICTS: judged.encode()},
                 (lambda manifest: signature.sign(key, manifest)) if key else None)


def _records(folder: Path) -> list[Path]:
    return sorted(path for pattern in RECORDS for path in folder.glob(pattern) if path.is_file())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}: check its permissions") from None


def _machines(folders: list[Path]) -> dict[str, Path]:
    """Files of the lab's machines that the runs name; of another machine there is none."""
    named = {lab.in_results(read(folder).machine)[0] for folder in folders}
    names = {lab.SHAPE_MODEL if lab.is_shape(name) else name for name in named} & {*lab.names()}
    paths = [lab.MACHINES / f"{name}.toml" for name in sorted(names)]
    return {sources.name_of(path): path for path in paths}


def _about() -> dict[str, Any]:
    return {"tool": runner.tool(), "python": platform.python_version(), "packages": sources.packages()}

# SPDX-License-Identifier: GPL-2.0-only
"""The code that judges, found by its imports, and the packages that it needs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = "experiments"
TOP = Path(__file__).parents[2]
ROOTS = ("analysis", "model_fit")  # whole, with what their pages are made from
TABLES = "reference"
OTHERS = {"tests", "__pycache__"}
KEPT = {".py", ".html", ".css", ".js", ".csv", ".json", ".md"}  # as in the wheel: an installed tree has the same files


def name_of(path: Path) -> str:
    return path.relative_to(TOP.parent).as_posix()


@cache
def files() -> dict[str, Path]:
    """By their names from the folder above the package."""
    found = {path for folder in (*ROOTS, TABLES) for path in (TOP / folder).rglob("*")
             if path.is_file() and path.suffix in KEPT and not OTHERS & {*path.relative_to(TOP).parts}}
    found |= _with_imports({path for path in found if path.suffix == ".py"})
    return {name_of(path): path for path in sorted(found)}


def _with_imports(paths: set[Path]) -> set[Path]:
    found, left = set(), set(paths)
    while left:
        found |= left
        left = {path for one in left for name in _imports(one) for path in _modules(name)} - found
    return found


def _imports(path: Path) -> Iterator[str]:
    """Whole names of what a file imports, in functions too; of `from A import B`, A.B, which may be no module."""
    package = path.relative_to(TOP.parent).parent.parts
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[:len(package) - node.level + 1] if node.level else ()
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)


def _modules(name: str) -> Iterator[Path]:
    """The files that an import of this name reads: the package's own, and each __init__.py above."""
    parts = name.split(".")
    if parts[0] != PACKAGE:
        return
    for n in range(1, len(parts) + 1):
        at = TOP.parent.joinpath(*parts[:n])
        yield from (path for path in (at / "__init__.py", at.with_suffix(".py")) if path.is_file())


def packages() -> dict[str, str]:
    """Versions of the Python packages that the code imports and that are installed."""
    names = {name.partition(".")[0] for path in files().values() if path.suffix == ".py" for name in _imports(path)}
    of = metadata.packages_distributions()
    found = {package for name in names - sys.stdlib_module_names - {PACKAGE} for package in of.get(name, [])}
    return {package: metadata.version(package) for package in sorted(found)}

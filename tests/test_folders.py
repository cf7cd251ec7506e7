# SPDX-License-Identifier: GPL-2.0-only
"""The folders of C code stand above each other: each includes, and calls, what stands below it only."""

import os
import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_MODULES = 30

# From the bottom up.
FOLDERS = {
    "userspace/lib": ["base", "host", "counters", "files", "engine", "predict", "plan", "daemon"],
    "policies": ["model", "predict", "plan", "search", "."],
}


def folder_of(file: Path, top: Path) -> str:
    return os.path.relpath(file.parent, top)


def sources(top: Path, folders: list[str]) -> list[Path]:
    return [file for folder in folders for file in sorted((top / folder).glob("*.[ch]"))]


def upward_includes(top: Path, folders: list[str]) -> list[str]:
    """Includes of a file in a folder above that of the includer; policy.h is for all folders."""
    found = []
    for file in sources(top, folders):
        for name in re.findall(r'^#include "(.*)"', file.read_text(), re.M):
            included = Path(os.path.normpath(file.parent / name))
            above = folder_of(included, top)
            if above in folders and included.name != "policy.h" and (
                    folders.index(above) > folders.index(folder_of(file, top))):
                found.append(f"{file.relative_to(top)} includes {included.relative_to(top)}")
    return found


def module(file: Path) -> str:
    return file.with_suffix("").as_posix()


def includes(top: Path) -> dict[str, set[str]]:
    """Which modules (a .c and its .h are one) the .c or the .h of each includes."""
    found: dict[str, set[str]] = {}
    for file in top.rglob("*.[ch]"):
        names = re.findall(r'^#include "(.*\.h)"', file.read_text(), re.M)
        included = {module(Path(os.path.relpath(file.parent / name, top))) for name in names}
        own = module(file.relative_to(top))
        found[own] = found.get(own, set()) | included - {own}
    return found


def circles(top: Path) -> list[set[str]]:
    """Modules that include each other, whatever is between."""
    direct = includes(top)
    below: dict[str, set[str]] = {}
    for name in direct:
        below[name], new = set(), direct[name]
        while new:
            below[name] |= new
            new = {far for near in new for far in direct.get(near, ())} - below[name]
    found: list[set[str]] = []
    for name in direct:
        circle = {other for other in below[name] if name in below.get(other, ())}
        if circle and circle not in found:
            found.append(circle)
    return found


def symbols(objects: list[Path]) -> tuple[dict[str, Path], list[tuple[Path, str]]]:
    """Where each global symbol is defined, and which object uses which."""
    defined, used = {}, []
    for file in objects:
        listing = subprocess.run(["nm", "-g", file], capture_output=True, text=True, check=True).stdout
        for kind, name in re.findall(r" ([A-Za-z]) (np_\w+)$", listing, re.M):
            if kind == "U":
                used.append((file, name))
            else:
                defined[name] = file
    return defined, used


def upward_calls(top: Path, folders: list[str]) -> list[str]:
    objects = [top / folder / f"{source.stem}.o" for folder in folders
               for source in sorted((ROOT / top.relative_to(ROOT / "build") / folder).glob("*.c"))]
    defined, used = symbols(objects)
    return [f"{user.relative_to(top)} uses {name} of {defined[name].relative_to(top)}" for user, name in used
            if name in defined and
            folders.index(folder_of(defined[name], top)) > folders.index(folder_of(user, top))]


@pytest.mark.parametrize("top", FOLDERS)
def test_a_folder_includes_what_stands_below_it(top: str) -> None:
    assert len(sources(ROOT / top, FOLDERS[top])) > MOST_MODULES
    assert upward_includes(ROOT / top, FOLDERS[top]) == []


@pytest.mark.parametrize("top", FOLDERS)
def test_every_folder_has_its_place(top: str) -> None:
    with_sources = {folder_of(file, ROOT / top) for file in (ROOT / top).rglob("*.c")}
    assert with_sources - {"tests", "bench"} == set(FOLDERS[top])


@pytest.mark.parametrize("top", FOLDERS)
def test_a_folder_calls_what_stands_below_it(top: str) -> None:
    assert upward_calls(ROOT / "build" / top, FOLDERS[top]) == []


@pytest.mark.parametrize("top", FOLDERS)
def test_an_upward_call_is_found(top: str) -> None:
    """In the reverse order of the folders every call into another folder goes upward."""
    assert len(upward_calls(ROOT / "build" / top, FOLDERS[top][::-1])) > MOST_MODULES


def test_an_upward_include_is_found(tmp_path: Path) -> None:
    for folder, included in (("base", "../host/b.h"), ("host", "../base/a.h")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{'a' if folder == 'base' else 'b'}.h").write_text(f'#include "{included}"\n')
    assert upward_includes(tmp_path, ["base", "host"]) == ["base/a.h includes host/b.h"]


@pytest.mark.parametrize("top", ["userspace", "policies"])
def test_no_modules_include_each_other(top: str) -> None:
    assert sum(map(len, includes(ROOT / top).values())) > 1
    assert circles(ROOT / top) == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    """a.c -> b.h, b.h -> c/d.h, c/d.c -> a.h; e includes them and stands outside."""
    (tmp_path / "c").mkdir()
    for name, included in (("a.c", ["a.h", "b.h"]), ("b.h", ["c/d.h"]), ("c/d.c", ["d.h", "../a.h"]), ("e.c", ["a.h"])):
        (tmp_path / name).write_text("".join(f'#include "{word}"\n' for word in included))
    assert circles(tmp_path) == [{"a", "b", "c/d"}]


def modules(folder: Path) -> set[str]:
    return {file.stem for kind in ("*.c", "*.h", "*.cc") for file in folder.glob(kind)}


def test_no_folder_holds_more_modules_than_one_can_take_in() -> None:
    tops = [ROOT / top for top in ("kmod", "policies", "userspace", "experiments")]
    folders = {file.parent for top, kind in product(tops, ("*.c", "*.cc")) for file in top.rglob(kind)}
    assert len(folders) > MOST_MODULES
    assert {str(folder.relative_to(ROOT)): len(modules(folder)) for folder in folders
            if len(modules(folder)) > MOST_MODULES} == {}

# SPDX-License-Identifier: GPL-2.0-only
"""The folders of C code stand above each other: each includes, and calls, what stands below it only. So do two of Python.

So do the modules within them: none calls, includes or imports another that does the same with it, whatever is between.
Nor do the packages of Python import each other.

No folder with code holds more than MOST_MODULES modules side by side.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_MODULES = 30
C = {".c", ".cc", ".h"}
SCRIPTS = {".bt", ".py", ".sh"}
NOT_OURS = {"__pycache__", "build", "results"}

# From the bottom up.
FOLDERS = {
    "userspace/lib": ["base", "host", "counters", "files", "policy", "undo", "engine", "predict", "plan", "daemon"],
    "policies": ["model", "predict", "plan", "search", "."],
}

# Of experiments/, from the bottom up, when they run. The modules beside them are for all; tests may import more.
ROOMS = ["lab", "host", "model_fit", "calibrate", "mechanisms", "workloads", "runner", "analysis", "machines", "commands", "bench"]


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


def circles(direct: dict[str, set[str]]) -> list[set[str]]:
    """Modules that lead to each other, whatever is between; `direct`: where each leads to."""
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
        for kind, name in re.findall(r" ([A-Z]) (\w+)$", listing, re.M):
            if kind == "U":
                used.append((file, name))
            else:
                defined[name] = file
    return defined, used


def objects(top: Path, folders: list[str]) -> list[Path]:
    """Those of the sources that are there; others may be left of sources that were."""
    return [top / folder / f"{source.stem}.o" for folder in folders
            for source in sorted((ROOT / top.relative_to(ROOT / "build") / folder).glob("*.c"))]


def calls(top: Path, files: list[Path]) -> dict[str, set[str]]:
    """Which modules each of these objects calls, or uses the data of."""
    defined, used = symbols(files)
    found: dict[str, set[str]] = {}
    for user, name in used:
        if name in defined:
            found.setdefault(module(user.relative_to(top)), set()).add(module(defined[name].relative_to(top)))
    return found


def upward_calls(top: Path, folders: list[str]) -> list[str]:
    defined, used = symbols(objects(top, folders))
    return [f"{user.relative_to(top)} uses {name} of {defined[name].relative_to(top)}" for user, name in used
            if name in defined and
            folders.index(folder_of(defined[name], top)) > folders.index(folder_of(user, top))]


def imported(file: Path, package: list[str], types: bool = True) -> set[str]:
    """Modules and packages by their full names, wherever in the file; `package`: the file's own.

    Without `types` those are left out that a type checker alone imports.
    """
    found, tree = set(), ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[:len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def imports(top: Path, types: bool = True) -> dict[str, set[str]]:
    """Which modules of the package each imports, its tests left out; the name of a package is its __init__."""
    paths = [file.relative_to(top.parent) for file in top.rglob("*.py")]
    files = {module(path).replace("/", ".").removesuffix(".__init__"): path for path in paths if "tests" not in path.parts}
    found = {}
    for own, path in files.items():
        names = imported(top.parent / path, list(path.parent.parts), types)
        found[own] = {name if name in files else name.rpartition(".")[0] for name in names} & files.keys() - {own}
    return found


def package_imports(top: Path) -> dict[str, set[str]]:
    """Which packages the modules of each import when they run. A package is a folder with modules, and its __init__."""
    found: dict[str, set[str]] = {}
    for own, names in imports(top, types=False).items():
        packages = {name if top.parent.joinpath(*name.split(".")).is_dir() else name.rpartition(".")[0] for name in names}
        package = own if top.parent.joinpath(*own.split(".")).is_dir() else own.rpartition(".")[0]
        found[package] = found.get(package, set()) | packages - {package}
    return found


def foreign_imports(top: Path, folder: str) -> list[str]:
    """Imports of folders of `top` that stand above this one, or that have no place."""
    found = []
    for file in sorted((top / folder).rglob("*.py")):
        inside = file.relative_to(top)
        if "tests" in inside.parts:
            continue
        names = {name.split(".")[1] for name in imported(file, [top.name, *inside.parent.parts], types=False)
                 if name.startswith(f"{top.name}.")}
        found += [f"{inside} imports {name}" for name in sorted(names - set(ROOMS[:ROOMS.index(folder) + 1]))
                  if (top / name).is_dir()]
    return found


@pytest.mark.parametrize("folder", ROOMS)
def test_a_folder_of_experiments_imports_what_stands_below_it(folder: str) -> None:
    assert foreign_imports(ROOT / "experiments", folder) == []


def test_every_folder_of_experiments_has_its_place() -> None:
    packages = {file.relative_to(ROOT / "experiments").parts[0] for file in (ROOT / "experiments").glob("*/**/*.py")
                if "tests" not in file.parts}
    assert packages - {"examples"} == set(ROOMS)


@pytest.mark.parametrize("line", ["import experiments.model_fit.luo", "from experiments.model_fit import luo",
                                  "from experiments import model_fit", "from ..model_fit import luo", "from .. import model_fit",
                                  "def f():\n    from experiments.model_fit import luo"])
def test_an_import_that_makes_a_circle_is_found(line: str, tmp_path: Path) -> None:
    top = tmp_path / "experiments"
    for folder in ("lab/tests", "model_fit"):
        (top / folder).mkdir(parents=True)
    for name in ("places.py", "lab/errors.py", "lab/tests/test_a.py"):
        (top / name).touch()
    for name in ("lab/a.py", "lab/tests/test_b.py"):
        (top / name).write_text(f"from . import errors\nfrom experiments.paths import HERE\n{line}\n")
    (top / "model_fit/b.py").write_text("from experiments.lab import errors\n")
    assert foreign_imports(top, "lab") == ["lab/a.py imports model_fit"]
    assert foreign_imports(top, "model_fit") == []


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
    assert circles(includes(ROOT / top)) == []


@pytest.mark.parametrize("top", [*FOLDERS, "userspace/cmd"])
def test_no_modules_call_each_other(top: str) -> None:
    built = ROOT / "build" / top
    found = calls(built, objects(built, FOLDERS.get(top, ["."])))
    assert sum(map(len, found.values())) > MOST_MODULES
    assert circles(found) == []


def test_no_modules_import_each_other() -> None:
    found = imports(ROOT / "experiments")
    assert sum(map(len, found.values())) > MOST_MODULES
    assert circles(found) == []


def test_no_packages_import_each_other() -> None:
    found = package_imports(ROOT / "experiments")
    assert {"experiments.runner.suite", "experiments.analysis.stats"} <= found.keys()
    assert sum(map(len, found.values())) > MOST_MODULES
    assert circles(found) == []


def test_a_circle_of_includes_is_found(tmp_path: Path) -> None:
    """a.c -> b.h, b.h -> c/d.h, c/d.c -> a.h; e includes them and stands outside."""
    (tmp_path / "c").mkdir()
    for name, included in (("a.c", ["a.h", "b.h"]), ("b.h", ["c/d.h"]), ("c/d.c", ["d.h", "../a.h"]), ("e.c", ["a.h"])):
        (tmp_path / name).write_text("".join(f'#include "{word}"\n' for word in included))
    assert circles(includes(tmp_path)) == [{"a", "b", "c/d"}]


def test_a_circle_of_imports_is_found(tmp_path: Path) -> None:
    """a -> b, b -> the package c, c -> c.d, c.d -> a in a function; e and the tests import them and stand outside."""
    top = tmp_path / "experiments"
    (top / "c" / "tests").mkdir(parents=True)
    for name, line in (("a", "from experiments.b import f"), ("b", "import experiments.c"), ("c/__init__", "from . import d"),
                       ("c/d", "def f():\n    from .. import a"), ("e", "from . import a"), ("c/tests/test_a", "from ... import e")):
        (top / f"{name}.py").write_text(f"import re\n{line}\n")
    assert circles(imports(top)) == [{"experiments.a", "experiments.b", "experiments.c", "experiments.c.d"}]


def test_a_circle_of_packages_is_found(tmp_path: Path) -> None:
    """a.x -> b.y, b.z -> a.w in a function: no modules import each other. The package c names a type of a, which uses it."""
    top = tmp_path / "experiments"
    for name, text in (("a/x", "from experiments.b import y"), ("a/w", "from ..c import d"), ("b/y", ""),
                       ("b/z", "def f():\n    from ..a.w import g"), ("c/__init__", ""),
                       ("c/d", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..a import x")):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / f"{name}.py").write_text(text)
    assert circles(imports(top)) == []
    assert circles(package_imports(top)) == [{"experiments.a", "experiments.b"}]


def code(top: Path) -> dict[str, set[str]]:
    """The modules of each folder; a .c, a .cc and their .h are one. What is built and what is hidden is left out."""
    found = {}
    for folder, below, files in os.walk(top):
        below[:] = [name for name in below if name not in NOT_OURS and not name.startswith(".")]
        paths = map(Path, files)
        modules = {file.stem if file.suffix in C else file.name for file in paths if file.suffix in {*C, *SCRIPTS}}
        if modules:
            found[os.path.relpath(folder, top)] = modules
    return found


def overfull(top: Path) -> dict[str, int]:
    return {folder: len(modules) for folder, modules in code(top).items() if len(modules) > MOST_MODULES}


def test_no_folder_holds_more_modules_than_one_can_take_in() -> None:
    found = code(ROOT)
    assert {"kmod", "kmod/tests/guest/any", "userspace/tests", "experiments/runner", "experiments/lab/plugin",
            "experiments/workloads/stealing", "userspace/tracing", "tests", "setup"} <= found.keys()
    assert overfull(ROOT) == {}


@pytest.mark.parametrize("suffix", [*sorted(C), *sorted(SCRIPTS)])
def test_a_folder_that_holds_more_is_found(suffix: str, tmp_path: Path) -> None:
    for folder, number in (("a/tests", MOST_MODULES), ("a/tests/b", MOST_MODULES + 1), ("build", 2 * MOST_MODULES)):
        (tmp_path / folder).mkdir(parents=True)
        for i in range(number):
            (tmp_path / folder / f"m{i}{suffix}").touch()
    assert overfull(tmp_path) == {"a/tests/b": MOST_MODULES + 1}


def test_a_source_and_its_header_are_one(tmp_path: Path) -> None:
    for name in ("a.c", "a.h", "b.cc", "b.h", "a.py"):
        (tmp_path / name).touch()
    assert code(tmp_path) == {".": {"a", "b", "a.py"}}

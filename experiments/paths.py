# SPDX-License-Identifier: GPL-2.0-only
"""Where things are: in a tree with its build/, or below the PREFIX of `make install`. A wheel has the program on PATH."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path


def cache() -> Path:
    """Returns the user's cache folder: the lab's kernels, and for an installed numaplace the modules that are built for them."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "numaplace"


@dataclass(frozen=True)
class Places:
    code: Path      # has the package experiments: what PYTHONPATH names
    programs: Path  # numaplace and what stands beside it
    plugin: Path    # of the lab's QEMU
    model: Path     # the contention model's library, for ctypes
    sources: Path   # has KERNELS, kmod/, setup/
    modules: Path   # SERIES/numaplace.ko and SERIES/numaplace_lab.ko
    installed: bool

    def remedy(self, in_tree: str, in_prefix: str = "run numaplace lab setup") -> str:
        """Returns the advice about a missing file: of a tree or of an installation."""
        return in_prefix if self.installed else in_tree


def read_version(sources: Path) -> str:
    header = (sources / "kmod/uapi/numaplace.h").read_text(encoding="utf-8")
    return re.search(r'#define NUMAPLACE_VERSION\s+"(.*)"', header)[1]


def find_in_tree(code: Path, top: Path) -> Places:
    build = top / "build"
    return Places(code, build, build / "lab/plugin.so", build / "libmodel.so", top, build / "modules", False)


def find_in_prefix(code: Path, prefix: Path) -> Places:
    """Returns the places of an installation below `prefix`; its modules are in the user's cache."""
    own, sources = prefix / "lib/numaplace", prefix / "share/numaplace/src"
    # By version: the modules of another one are not taken.
    modules = cache() / "modules" / (read_version(sources) if sources.is_dir() else "none")
    return Places(code, prefix / "bin", own / "plugin.so", own / "libmodel.so", sources, modules, True)


def find_places(code: Path) -> Places:
    """Finds the places that belong to the package experiments in this folder."""
    if code.parts[-3:] == ("lib", "numaplace", "python"):
        return find_in_prefix(code, code.parents[2])
    if (code / "Kbuild").exists():
        return find_in_tree(code, code)
    program = Path(shutil.which("numaplace") or "/usr/bin/numaplace").resolve()
    make = find_in_tree if program.parent.name == "build" else find_in_prefix
    return make(code, program.parents[1])


HERE = find_places(Path(__file__).resolve().parents[1])

# SPDX-License-Identifier: GPL-2.0-only
"""What workloads of one's own need: programs of Debian, and packages of PyPI in a folder of their own."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CannotError
from ..paths import HERE, cache

if TYPE_CHECKING:
    from ..runner.suite.command import Command, Need

REQUIREMENTS = "setup/requirements-arena.txt"
SBIN = "/usr/local/sbin:/usr/sbin:/sbin"  # some of Debian's servers are there, which is not on a user's PATH
VERSION_LIMIT = 60  # s, for a program to say its version


def find_folder() -> Path:
    """Returns the folder of packages, by the version of Python, as wheels are."""
    return cache() / f"arena-{sys.version_info.major}.{sys.version_info.minor}"


def make_environment() -> dict[str, str]:
    """Returns the environment of a workload's programs, whose output is to be seen at once."""
    python = os.pathsep.join(filter(None, [str(find_folder()), os.environ.get("PYTHONPATH", "")]))
    return {"PATH": f"{HERE.programs}:{os.environ.get('PATH', os.defpath)}:{SBIN}", "PYTHONPATH": python, "PYTHONUNBUFFERED": "1"}


def describe_remedy(need: Need) -> str:
    """Returns the command that installs a need."""
    if need.program:
        return f"apt-get install {need.debian}"
    pinned = HERE.sources / REQUIREMENTS
    return f"{sys.executable} -m pip install --target {find_folder()} " + (
        f"-r {pinned}" if pinned.exists() and need.pypi in read_names(pinned) else need.pypi)


def read_names(pinned: Path) -> set[str]:
    """Reads the names of the packages that a file of requirements pins."""
    return {line.partition("==")[0].strip() for line in pinned.read_text(encoding="utf-8").splitlines() if "==" in line}


def is_there(need: Need) -> bool:
    """Checks whether a need is met: a program is installed, or a module is in the folder of packages."""
    if need.program:
        return find_program(need) is not None
    return (find_folder() / need.module).exists() or any(find_folder().glob(f"{need.module}.*"))


def find_program(need: Need) -> str | None:
    """Finds a program by its name on PATH, or by a path that may have a pattern for its version; None where there is none."""
    if "/" in need.program:
        return max(glob.glob(need.program), default=None)
    return shutil.which(need.program, path=make_environment()["PATH"])


def list_missing(command: Command) -> list[str]:
    """Lists the needs that are missing, a line with the remedy each."""
    return [f"{need.program or need.module} is not installed: {describe_remedy(need)}" for need in command.needs if not is_there(need)]


def check_needs(command: Command) -> None:
    """Checks that nothing that a workload needs is missing. CannotError says what is, of several the first."""
    if missing := list_missing(command):
        raise CannotError(f"workload {command.name}: {missing[0]}")


def read_versions(command: Command) -> dict[str, str | None]:
    """Reads the versions of a workload's needs by name."""
    return {need.program or need.pypi: read_version(need) for need in command.needs}


def read_version(need: Need) -> str | None:
    """Reads the version of a package, or the first line that a program prints of its own; None where it cannot be known."""
    if not need.program:
        versions = (d.version for d in metadata.distributions(path=[str(find_folder())]) if d.metadata["Name"] == need.pypi)
        return next(versions, None)
    command = need.version or (find_program(need) or need.program, "--version")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=VERSION_LIMIT,
                              stdin=subprocess.DEVNULL, env=os.environ | make_environment())
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter((done.stdout or done.stderr).splitlines()), None)

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


def folder() -> Path:
    """Returns the folder of packages, by the version of Python, as wheels are."""
    return cache() / f"arena-{sys.version_info.major}.{sys.version_info.minor}"


def environment() -> dict[str, str]:
    """Returns the environment of a workload's programs, whose output is to be seen at once."""
    python = os.pathsep.join(filter(None, [str(folder()), os.environ.get("PYTHONPATH", "")]))
    return {"PATH": f"{HERE.programs}:{os.environ.get('PATH', os.defpath)}:{SBIN}", "PYTHONPATH": python, "PYTHONUNBUFFERED": "1"}


def remedy(need: Need) -> str:
    if need.program:
        return f"apt-get install {need.debian}"
    pinned = HERE.sources / REQUIREMENTS
    return f"{sys.executable} -m pip install --target {folder()} " + (
        f"-r {pinned}" if pinned.exists() and need.pypi in names(pinned) else need.pypi)


def names(pinned: Path) -> set[str]:
    return {line.partition("==")[0].strip() for line in pinned.read_text(encoding="utf-8").splitlines() if "==" in line}


def is_there(need: Need) -> bool:
    if need.program:
        return program(need) is not None
    return (folder() / need.module).exists() or any(folder().glob(f"{need.module}.*"))


def program(need: Need) -> str | None:
    """Finds a program by its name on PATH, or by a path that may have a pattern for its version."""
    if "/" in need.program:
        return max(glob.glob(need.program), default=None)
    return shutil.which(need.program, path=environment()["PATH"])


def missing(command: Command) -> list[str]:
    """Returns a line for each need that is missing."""
    return [f"{need.program or need.module} is not installed: {remedy(need)}" for need in command.needs if not is_there(need)]


def check(command: Command) -> None:
    for line in missing(command):
        raise CannotError(f"workload {command.name}: {line}")


def versions(command: Command) -> dict[str, str | None]:
    return {need.program or need.pypi: version(need) for need in command.needs}


def version(need: Need) -> str | None:
    if not need.program:
        found = (d.version for d in metadata.distributions(path=[str(folder())]) if d.metadata["Name"] == need.pypi)
        return next(found, None)
    try:
        done = subprocess.run(need.version or (program(need) or need.program, "--version"), capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, env=os.environ | environment())
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter((done.stdout or done.stderr).splitlines()), None)

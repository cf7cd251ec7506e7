# SPDX-License-Identifier: GPL-2.0-only
"""report.pdf: the page as Chromium prints it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..runs.results import ResultsError

LIMIT_S = 180
FLAGS = ("--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-dev-shm-usage", "--virtual-time-budget=5000")
ELSE = "print report.html from any browser"


def chromium(path: Path, remedy: str) -> str:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        raise ResultsError(f"{path}: chromium is not installed; {remedy}")
    return program


def write(page: Path) -> Path:
    """Beside the page."""
    path = page.with_suffix(".pdf")
    program = chromium(path, f"'apt-get install chromium', or {ELSE}")
    render(program, page, path, ["--no-pdf-header-footer", "--print-to-pdf={}"], ELSE)
    return path


def render(program: str, page: Path, path: Path, options: Sequence[str], remedy: str = "try again") -> None:
    """One file from a page, whole or not at all; {} in an option stands for its name."""
    partial = path.with_name(f"{path.stem}.partial{path.suffix}")
    # The page is our own and has no script from elsewhere; root has no sandbox in Chromium.
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(prefix="numaplace-pdf-", ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, *root, f"--user-data-dir={profile}",
                   *(option.replace("{}", str(partial.resolve())) for option in options), page.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise ResultsError(f"{path}: chromium did not end within {LIMIT_S} s; {remedy}") from None
    if done.returncode or not partial.exists():
        why = done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        partial.unlink(missing_ok=True)
        raise ResultsError(f"{path}: chromium: {why}; {remedy}")
    os.replace(partial, path)

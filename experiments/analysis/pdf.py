# SPDX-License-Identifier: GPL-2.0-only
"""report.pdf: the page as Chromium prints it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .results import ResultsError

LIMIT_S = 180
FLAGS = ("--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-dev-shm-usage", "--no-pdf-header-footer", "--virtual-time-budget=5000")


def write(page: Path) -> Path:
    """Beside the page; whole or not at all."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        raise ResultsError(f"{page.with_suffix('.pdf')}: chromium is not installed; "
                           "'apt-get install chromium', or print report.html from any browser")
    path, partial = page.with_suffix(".pdf"), page.with_suffix(".pdf.partial")
    # The page is our own and has no script from elsewhere; root has no sandbox in Chromium.
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(prefix="numaplace-pdf-", ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, *root, f"--user-data-dir={profile}",
                   f"--print-to-pdf={partial.resolve()}", page.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise ResultsError(f"{path}: chromium did not end within {LIMIT_S} s; "
                               "print report.html from any browser") from None
    if done.returncode or not partial.exists():
        why = done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        partial.unlink(missing_ok=True)
        raise ResultsError(f"{path}: chromium: {why}; print report.html from any browser")
    os.replace(partial, path)
    return path

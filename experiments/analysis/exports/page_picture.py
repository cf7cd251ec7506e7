# SPDX-License-Identifier: GPL-2.0-only
"""page_picture RUN FILE.png: the top of the report of a run, or of a folder of runs, as the documents show it."""

from __future__ import annotations

import sys
from pathlib import Path

from ..pages import pdf, report, report_all
from ..runs.results import ResultsError

WIDTH, HEIGHT = 1100, 1500


def write(directory: Path, path: Path) -> None:
    program = pdf.chromium(path, "'apt-get install chromium'")
    options = ["--screenshot={}", f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars"]
    folders = report_all.runs(directory)
    page = report_all.write(directory, folders)[0] if folders else report.write(directory)
    pdf.render(program, page, path, options)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        write(*map(Path, arguments))
    except ResultsError as error:
        print(f"page_picture: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

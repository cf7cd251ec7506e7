# SPDX-License-Identifier: GPL-2.0-only
"""make zoo: a page of all the machines' files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import ExperimentError
from ..lab.errors import LabError
from ..places import HERE
from . import page

FOLDER = HERE.code / "zoo"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make zoo", description=__doc__)
    parser.add_argument("files", metavar="FILE.json", nargs="*", type=Path, help="of machines; default: those of zoo/")
    parser.add_argument("--out", type=Path, default=Path("build/zoo"), metavar="DIR", help="default %(default)s")
    args = parser.parse_args(arguments)
    try:
        print(page.write(args.files or sorted(FOLDER.glob("*.json")), args.out))
    except (ExperimentError, LabError) as error:
        print(f"zoo: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())

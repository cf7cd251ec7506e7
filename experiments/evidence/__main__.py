# SPDX-License-Identifier: GPL-2.0-only
"""make evidence: runs what is not there yet, then prints the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.units import seconds

from . import page, pieces

UNFINISHED = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="make evidence", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/evidence"), metavar="DIR")
    parser.add_argument("--time", type=seconds, default=1500, metavar="TIME", help="no run begins later (1500s)")
    parser.add_argument("--page", action="store_true", help="runs nothing: the page of what is there")
    arguments = parser.parse_args()
    left = [] if arguments.page else pieces.run(arguments.out, arguments.time)
    if left:
        print(f"evidence: {len(left)} runs are left ({', '.join(p.name for p in left)}): the same command goes on", file=sys.stderr)
        return UNFINISHED
    print(page.write(arguments.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())

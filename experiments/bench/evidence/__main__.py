# SPDX-License-Identifier: GPL-2.0-only
"""make evidence: says what is left and how long it takes, runs it, then prints the page.

Exit status: 0 all pieces are done, 1 some failed, 2 some are missing and none failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.errors import exit_status
from experiments.units import seconds

from . import page, pieces

FAILED, UNFINISHED = 1, 2


def carry_out(folder: Path, time: float | None) -> int:
    """`time`: in seconds; None runs nothing."""
    all_pieces, kept = pieces.pieces(folder), pieces.kept_in(folder)
    if time is not None:
        print("\n".join(pieces.plan(all_pieces, kept)), flush=True)
        pieces.run(all_pieces, kept, time)
    found = pieces.states(all_pieces, kept)
    failed = [piece for piece, state in found.items() if state == pieces.FAILED]
    missing = len([state for state in found.values() if state != pieces.DONE]) > len(failed)
    if time is None or not missing:
        print(page.write(folder, found))
    for piece in failed:
        print(f"evidence: {piece.name} has failed: see {piece.out / 'run.log'}; the same command makes it again", file=sys.stderr)
    if missing:
        print(f"evidence: {pieces.told(found)}: the same command goes on", file=sys.stderr)
    return FAILED if failed else UNFINISHED if missing else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/evidence"), metavar="DIR")
    parser.add_argument("--time", type=seconds, default=1500, metavar="TIME", help="what runs then is cut, and goes on in the next call (1500s)")
    parser.add_argument("--page", action="store_true", help="runs nothing: the page of what is done")
    arguments = parser.parse_args()
    return exit_status("evidence", lambda: carry_out(arguments.out, None if arguments.page else arguments.time), "the same command goes on")


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Boots of both kernels in turn: a block is one of each, and every second block begins with the other (ABBA)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace

from ...errors import ExperimentError
from ...runner import run_in_lab
from ...runner.boots import boot_shares
from ...runner.records import results
from ...runner.run import Request
from .side import Side


def order_boots(boots: int) -> list[tuple[int, int]]:
    """Returns the boots as (block, 0 for A or 1 for B)."""
    return [(block, side) for block in range(boots) for side in ((1, 0) if block % 2 else (0, 1))]


def run_blocks(request: Request, machine: str, sides: Sequence[Side], arguments: Sequence[list[str]]) -> None:
    """Makes the boots that are left, those of both kernels in turn. arguments: of the guest's runner, for each side. ExperimentError: a
    boot did not make its share."""
    shares = boot_shares.divide_repeats(request.suite, request.boots)
    for side in sides:
        forget_unfinished(side, shares)
    for block, number in order_boots(request.boots):
        side, share = sides[number], shares[block]
        if not share.has_left(results.read_records(side.out)):
            continue
        print(f"block {block + 1} of {request.boots}: kernel {side.letter.upper()}, {side.kernel.release}", file=sys.stderr, flush=True)
        side_request = replace(request, out=side.out, resume=True, force=False)
        try:
            with redirect_stdout(sys.stderr):  # the table is all that standard output has
                run_in_lab.run_in_guest(side_request, machine, side.guest, arguments[number], functional=False, boots=block + 1)
        except ExperimentError:
            # Observations that are marked end a run with an error; they are counted beside the table.
            if share.has_left(results.read_records(side.out)):
                raise


def forget_unfinished(side: Side, shares: Sequence[boot_shares.Share]) -> None:
    """Removes the records of a boot that was interrupted, and of those after it: the analysis pairs whole boots."""
    with results.lock_folder(side.out):
        records = results.read_records(side.out)
        unfinished = next((share for share in shares if share.has_left(records)), None)
        whole_shares = shares[:shares.index(unfinished)] if unfinished else []
        boots = {record.get("boot_id") for record in records if any(share.contains(record) for share in whole_shares)}
        kept = [record for record in records
                if any(share.contains(record) for share in whole_shares) or record.get("warmup") and record.get("boot_id") in boots]
        if unfinished and len(kept) < len(records):
            results.rewrite_records(side.out, kept)

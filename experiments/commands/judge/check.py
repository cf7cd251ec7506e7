# SPDX-License-Identifier: GPL-2.0-only
"""make check-judge: how often numaplace judge finds a fault of 5 % in one workload alone, and how often what is not there.

A block is a boot of each pool: kernel A, the same kernel as B, and as B with numaplace_slow.ko. Each boot is kept under the digest
of what it depends on. A judgement draws blocks of the pools, none twice, and is made by the same function as that of numaplace
judge. One with the fault in a workload alone is composed: of that workload's observations with the module and of the others'
without it, as the workloads of a boot run one after the other.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy import stats

from ... import pieces
from ...bounds import BOUND_FAILS
from ...errors import ExperimentError, get_exit_status
from ...paths import HERE
from ...pieces import WITHOUT_TESTS, Kept
from ...runner import run_in_lab
from ...runner.boots import boot_shares
from ...runner.records import results
from ...runner.suite import suite as suites
from ...units import format_duration, seconds
from . import cli, side, verdict

SERIES, PERCENT = "6.12", 5
SLOW = Path("build/judge") / SERIES / "numaplace_slow.ko"
POOLS = {"a": "", "b": "", "slow": f"insmod {SLOW} percent={PERCENT}"}  # the set-up of each
FOLDER = Path("results/check-judge")
BLOCKS, JUDGEMENTS = 24, 20
BOOTS = (cli.BOOTS, 2 * cli.BOOTS)   # of each kernel in a judgement; the second where the first misses
CLAIMED = ("fault", "huge-fault", "fork", "move")  # by Documentation/how-to/judge.md, with BOOTS[0]
LEAST = 0.9  # of the judgements of each
EVEN_ODDS = 0.5  # that a block's boot of pool a is kernel A's
UNFINISHED = 2
INPUTS = ("KERNELS", f"experiments/suites/{cli.SUITE}.toml", "experiments/commands/judge/slow", "experiments/workloads/mm",
          ":(glob)experiments/workloads/*.[ch]", "experiments/runner/workloads", "experiments/lab/plugin", "experiments/lab/guest")
Records = list[dict[str, Any]]
Pools = dict[str, dict[int, Records]]  # of each pool the blocks, each with the records of its boot
Drawn = tuple[int, bool]               # a block, and whether its boot of pool a is kernel A's, or that of pool b


@dataclass(frozen=True)
class Boot:
    pool: str
    block: int  # also the seed of its order

    @property
    def name(self) -> str:
        return f"{self.pool}-{self.block:02}"

    @cached_property
    def digest(self) -> str:
        return pieces.digest(HERE.code, [*INPUTS, *WITHOUT_TESTS], (SERIES, POOLS[self.pool], cli.MACHINE, self.block))

    def is_done(self, kept: Kept) -> bool:
        return kept.read().get(self.name, {}).get("inputs") == self.digest

    def make(self, top: Path, kept: Kept) -> None:
        """Makes the boot, in a folder of its own below `top`, and keeps that it is made. ExperimentError: it did not make its share."""
        out, begin = top / self.name, time.monotonic()
        shutil.rmtree(out, ignore_errors=True)
        args = cli.make_parser().parse_args(["--kernel", SERIES, "--kernel", SERIES, "--boots", "1", "--seed", str(self.block)])
        request, arguments = cli.plan_run(args, out)
        guest = side.find_side("b", SERIES, POOLS[self.pool], out).guest
        guest = replace(guest, kernel=(*guest.kernel, "--no-snapshot"))  # as in a judgement: each boot chooses its pages anew
        try:
            with redirect_stdout(sys.stderr):
                run_in_lab.run_in_guest(request, args.machine, guest, arguments, functional=False)
        except ExperimentError:  # as of marked observations, which are counted beside the table of a judgement
            if boot_shares.divide_repeats(request.suite, 1)[0].has_left(results.read_records(out)):
                raise
        kept.write({"piece": self.name, "inputs": self.digest, "seconds": round(time.monotonic() - begin)})


def list_boots(blocks: int) -> list[Boot]:
    """Returns the boots in the order in which they are made: every second block is turned round, as that of a judgement."""
    return [Boot(pool, block) for block in range(1, blocks + 1) for pool in (list(POOLS) if block % 2 else reversed(POOLS))]


def make_boots(top: Path, blocks: int, limit: float) -> Pools:
    """Makes the boots missing below `top`, none of which begins after `limit` seconds. Returns the records of the blocks that are whole."""
    top.mkdir(parents=True, exist_ok=True)
    kept, until = Kept(top / "boots.jsonl"), time.monotonic() + limit
    for boot in list_boots(blocks):
        if not boot.is_done(kept) and time.monotonic() < until:
            print(f"check-judge: {boot.name} of {blocks} blocks", file=sys.stderr, flush=True)
            boot.make(top, kept)
    whole = [block for block in range(1, blocks + 1) if all(Boot(pool, block).is_done(kept) for pool in POOLS)]
    return {pool: {block: results.read_records(top / Boot(pool, block).name) for block in whole} for pool in POOLS}


def judge_blocks(a: Sequence[Records], b: Sequence[Records]) -> verdict.Verdict:
    """Judges the blocks, each of which is a boot, as if they had been made one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        sides = [Path(folder) / letter for letter in "ab"]
        for out, side_blocks in zip(sides, (a, b), strict=True):
            out.mkdir()
            results.rewrite_records(out, [record | {"repeat": k, "boot_id": f"block-{k}"}
                                          for k, block in enumerate(side_blocks) for record in block])
        defaults = cli.make_parser().parse_args([])
        return verdict.compare_kernels(*sides, suites.load_suite(cli.SUITE).responses, defaults.smallest / 100, defaults.exclude / 100)


def judge_drawn(pools: Pools, drawn: Sequence[Drawn], planted: str | None) -> verdict.Verdict:
    """Judges blocks drawn of the pools, of which kernel B has the fault in the workload `planted` alone; None: in none."""
    a, b = [], []
    for block, a_is_of_a in drawn:
        of_a, of_b = pools["a"][block], pools["b"][block]
        records_a, records_b = (of_a, of_b) if a_is_of_a else (of_b, of_a)
        a.append(records_a)
        b.append([record for record in records_b if record["workload"] != planted]
                 + [record for record in pools["slow"][block] if record["workload"] == planted])
    return judge_blocks(a, b)


def draw_blocks(pools: Pools, size: int) -> list[list[Drawn]]:
    """Draws `size` blocks for each judgement, in the order in which they were made, and which boot without the module is kernel A's."""
    judgements = []
    for number in range(JUDGEMENTS):
        generator = random.Random(number)
        # The kernels' boots are drawn too: else what the pools differ by at random would be in all judgements alike.
        blocks = sorted(generator.sample(sorted(pools["a"]), size))
        judgements.append([(block, generator.random() < EVEN_ODDS) for block in blocks])
    return judgements


def count_found(pools: Pools, size: int, workload: str) -> tuple[int, str]:
    """Counts the judgements of `size` blocks that find the fault in this workload alone; returns that and the line that says so."""
    rows = [row for drawn in draw_blocks(pools, size) for row in judge_drawn(pools, drawn, workload).rows if row["workload"] == workload]
    found = sum(row["verdict"] == verdict.SLOWER for row in rows)
    smallest = statistics.median(row["found_from"] for row in rows)
    return found, (f"  {size:2} boots  {workload:10}  slower found in {_format_rate(found)}; smallest change found 9 of 10 times: "
                   f"{100 * smallest:.1f} %")


def count_false(pools: Pools, size: int) -> str:
    """Returns the line that says in how many judgements a kernel beside itself is slower or faster."""
    found = [judge_drawn(pools, drawn, None) for drawn in draw_blocks(pools, size)]
    return (f"  {size:2} boots  a kernel beside itself: a difference found in "
            f"{_format_rate(sum(bool(one.select_rows(verdict.SLOWER) or one.select_rows(verdict.FASTER)) for one in found))}")


def _format_rate(found: int) -> str:
    low, high = stats.binomtest(found, JUDGEMENTS).proportion_ci(method="wilson")
    return f"{found} of {JUDGEMENTS} (Wilson {100 * low:.0f} to {100 * high:.0f} %)"


def summarise(pools: Pools, names: Sequence[str]) -> tuple[str, bool]:
    """Returns the table of all workloads, and whether each that is claimed is found as often as LEAST, with as many boots as a user
    gets."""
    blocks, all_found = len(pools["a"]), True
    lines = [f"{PERCENT} % slower in one workload alone; {JUDGEMENTS} judgements each, drawn from {blocks} blocks, so that they share boots",
             f"composed of boots with the fault in all {len(names)} workloads, that workload's row, and of boots without, the others'"]
    for name in names:
        found, line = count_found(pools, BOOTS[0], name)
        missed = found < LEAST * JUDGEMENTS
        lines += [line + (" MISSED" if missed and name in CLAIMED else "")]
        lines += [count_found(pools, BOOTS[1], name)[1]] if missed and blocks >= BOOTS[1] else []
        all_found = all_found and not (missed and name in CLAIMED)
    return "\n".join([*lines, count_false(pools, BOOTS[0])]), all_found


def carry_out(top: Path, blocks: int, limit: float) -> int:
    """Makes boots for `limit` seconds, and prints the table once there are so many blocks. Returns the exit status: UNFINISHED where
    blocks are missing, BOUND_FAILS where a claim does not hold, else 0."""
    pools = make_boots(top, blocks, limit)
    whole = len(pools["a"])
    if whole < blocks:
        records = Kept(top / "boots.jsonl").read().values()
        boot_seconds = statistics.fmean(record["seconds"] for record in records) if records else None
        left = f", {format_duration(boot_seconds * len(POOLS) * (blocks - whole))} to go" if boot_seconds else ""
        print(f"check-judge: {whole} of {blocks} blocks are there{left}: the same command goes on", file=sys.stderr)
        return UNFINISHED
    text, all_found = summarise(pools, [workload.name for workload in suites.load_suite(cli.SUITE).workloads])
    print(text)
    return 0 if all_found else BOUND_FAILS


def main() -> int:
    """Carries the command line out. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.commands.judge.check", description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS, metavar="N", help=f"of three boots ({BLOCKS}), {BOOTS[0]} or more")
    parser.add_argument("--time", type=seconds, default=1500.0, metavar="TIME", help="no boot begins later (1500s)")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR")
    args = parser.parse_args()
    if args.blocks < BOOTS[0]:
        parser.error(f"--blocks {args.blocks}: a judgement has {BOOTS[0]} blocks: give as many or more")
    return get_exit_status("check-judge", lambda: carry_out(args.out, args.blocks, args.time), "the same command goes on")


if __name__ == "__main__":
    sys.exit(main())

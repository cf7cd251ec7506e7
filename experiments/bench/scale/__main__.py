# SPDX-License-Identifier: GPL-2.0-only
"""make measured/scale.txt: what placements gain on machines at 1/S of their speed, beside the machines at full speed.

A piece is a study at one S. It is done once for what its numbers are made by, and one that was cut goes on.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.analysis.policies import speedup
from experiments.analysis.policies.decision import LEGEND, Decision
from experiments.analysis.runs.results import read_results
from experiments.commands.campaign import engine
from experiments.commands.campaign.evidence import EvidencePiece
from experiments.commands.campaign.machines import Machine
from experiments.commands.campaign.piece import DONE
from experiments.errors import get_exit_status
from experiments.runner.options import RunOptions
from experiments.units import seconds

SCALES = (1, 2, 4, 8, 16, 32)
BOOTS = 3


@dataclass(frozen=True)
class Study:
    """Names some cells of a suite."""
    suite: str
    machine: str
    workloads: tuple[str, ...]
    policies: tuple[str, ...]

    def make_piece(self, folder: Path, scale: int) -> EvidencePiece:
        lab = self.machine if scale == 1 else f"{self.machine}/{scale}"
        options = RunOptions(suite=self.suite, lab=lab, quick=True, repeats=BOOTS, boots=BOOTS, workloads=self.workloads, policies=self.policies,
                             resume=True)
        return EvidencePiece(Machine(lab, lab=lab), folder / f"{self.suite}@{self.machine}-{scale}", options)


PLACED = ("none", "maximum-local:pages=follow", "n-mass:pages=stay", "interleave")
STUDIES = (
    Study("policy-matrix", "demo-2s", ("contention-0L2R", "contention-2L2R", "cross"), PLACED),
    Study("redis-lists", "demo-2s", (), ("none", "maximum-local:pages=follow")),
    Study("contention-policies", "xeon-e5620-2s", ("contention-0L2R", "contention-2L2R"), PLACED[:3]),
    Study("arena", "cxl-3n", ("hot-static", "hot-moving"), ("none", "start-interleave", "numa-balancing", "tiering")),
)


def list_rows(study: Study, done: dict[int, EvidencePiece]) -> Iterator[tuple[str, dict[int, Decision]]]:
    """Yields each cell of a study and each of its two responses, with its decisions by S."""
    for title, decide in (("while it runs", speedup.decide_cells), ("with the move", speedup.decide_solutions)):
        found = {scale: decide(read_results(piece.out)) for scale, piece in done.items()}
        for workload, policy in dict.fromkeys(cell for one in found.values() for cell in one):
            yield f"{workload}, {policy}, {title}", {scale: one[workload, policy] for scale, one in found.items() if (workload, policy) in one}


def format_row(title: str, found: dict[int, Decision]) -> list[str]:
    """Formats a cell: its ratios by S, their intervals, and how far each ratio is from that at full speed."""
    def format_line(head: str, texts: list[str]) -> str:
        return f"  {head:14}" + "".join(f"{text:>16}" for text in texts)

    whole = found.get(1)
    lines = [title, format_line("speed", [f"1/{scale}" for scale in found]),
             format_line("ratio", [f"{one.ratio} {one.mark}".rstrip() for one in found.values()]),
             format_line("95 %", [one.format_limits() or "-" for one in found.values()])]
    if whole:
        lines.append(format_line("from 1/1", [f"{100 * (one.value / whole.value - 1):+.1f} %" for one in found.values()]))
    return lines


def show_studies(pieces: dict[Study, dict[int, EvidencePiece]]) -> None:
    for study, by_scale in pieces.items():
        done = {scale: piece for scale, piece in by_scale.items() if piece.read_state().word == DONE}
        if not done:
            continue
        print(f"\n{study.suite} on {study.machine}, {BOOTS} boots, s of the host in the last call by S: "
              + ", ".join(f"{scale}: {piece.read_state().seconds}" for scale, piece in done.items()))
        for title, found in list_rows(study, done):
            print("\n".join(["", *format_row(title, found)]))
    print(f"\nspeed / speed under none. {LEGEND}.\nlab-timed: times come from the lab's memory model, not from hardware")


def run_studies(folder: Path, time: float, only: list[str]) -> int:
    pieces = {study: {scale: study.make_piece(folder, scale) for scale in SCALES} for study in STUDIES if study.suite in (only or [study.suite])}
    every = [piece for by_scale in pieces.values() for piece in by_scale.values()]
    with engine.lock_folder(folder):
        engine.run_pieces(engine.list_left(every), time)
    show_studies(pieces)
    return engine.conclude_pieces("scale", every, "the same command goes on")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.bench.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/scale"), metavar="DIR")
    parser.add_argument("--suite", action="append", default=[], metavar="NAME", help="this study only; may be repeated")
    parser.add_argument("--time", type=seconds, default=1500.0, metavar="TIME", help="what runs then is cut, and goes on in the next call (1500s)")
    arguments = parser.parse_args()
    return get_exit_status("scale", lambda: run_studies(arguments.out, arguments.time, arguments.suite), "the same command goes on")


if __name__ == "__main__":
    sys.exit(main())

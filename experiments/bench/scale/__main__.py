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
        """Makes the piece that runs the study at 1/`scale` of the machine's speed, in a folder of its own in `folder`."""
        lab = self.machine if scale == 1 else f"{self.machine}/{scale}"
        options = RunOptions(suite=self.suite, lab=lab, quick=True, repeats=BOOTS, boots=BOOTS, workloads=self.workloads, policies=self.policies,
                             resume=True)
        return EvidencePiece(Machine(lab, lab=lab), folder / f"{self.suite}@{self.machine}-{scale}", options)


PLACED = ("none", "maximum-local:pages=follow", "interleave")
STUDIES = (
    Study("policy-matrix", "demo-2s", ("contention-0L2R", "cross"), PLACED),
    Study("redis-lists", "demo-2s", ("lists-1000-p1-remote",), PLACED[:2]),
    Study("contention", "xeon-e5620-2s", ("contention-0L2R",), PLACED),
    Study("arena", "cxl-3n", ("hot-static", "hot-moving"), ("none", "tiering")),
)


def list_rows(study: Study, done: dict[int, EvidencePiece]) -> Iterator[tuple[str, dict[int, Decision]]]:
    """Yields the title and the decisions by S of each cell of a study under each response; an S without the cell is left out.

    done: pieces by S that have ended well."""
    for title, decide in (("while it runs", speedup.decide_cells), ("with the move", speedup.decide_solutions)):
        by_scale = {scale: decide(read_results(piece.out)) for scale, piece in done.items()}
        for workload, policy in dict.fromkeys(cell for decisions in by_scale.values() for cell in decisions):
            yield f"{workload}, {policy}, {title}", {scale: decisions[workload, policy] for scale, decisions in by_scale.items()
                                                     if (workload, policy) in decisions}


def format_row(title: str, by_scale: dict[int, Decision]) -> list[str]:
    """Formats a cell: its ratios by S, their intervals, and, where there is one at full speed, how far each ratio is from that."""
    def format_line(head: str, texts: list[str]) -> str:
        return f"  {head:14}" + "".join(f"{text:>16}" for text in texts)

    full_speed = by_scale.get(1)
    lines = [title, format_line("speed", [f"1/{scale}" for scale in by_scale]),
             format_line("ratio", [f"{decision.ratio} {decision.mark}".rstrip() for decision in by_scale.values()]),
             format_line("95 %", [decision.format_limits() or "-" for decision in by_scale.values()])]
    if full_speed:
        lines.append(format_line("from 1/1", [f"{100 * (decision.value / full_speed.value - 1):+.1f} %" for decision in by_scale.values()]))
    return lines


def show_studies(pieces: dict[Study, dict[int, EvidencePiece]]) -> None:
    """Prints the cells of each study from its pieces, by S, that have ended well; nothing of a study without one."""
    for study, by_scale in pieces.items():
        done = {scale: piece for scale, piece in by_scale.items() if piece.read_state().word == DONE}
        if not done:
            continue
        print(f"\n{study.suite} on {study.machine}, {BOOTS} boots, s of the host in the last call by S: "
              + ", ".join(f"{scale}: {piece.read_state().seconds}" for scale, piece in done.items()))
        for title, decisions in list_rows(study, done):
            print("\n".join(["", *format_row(title, decisions)]))
    print(f"\nspeed / speed under none. {LEGEND}.\nlab-timed: times come from the lab's memory model, not from hardware")


def run_studies(folder: Path, limit_s: float, suites: list[str]) -> int:
    """Runs what is left of the pieces of these suites' studies, or of all, and prints the studies; returns the exit status.

    limit_s: seconds after which what runs is cut."""
    pieces = {study: {scale: study.make_piece(folder, scale) for scale in SCALES} for study in STUDIES if not suites or study.suite in suites}
    every = [piece for by_scale in pieces.values() for piece in by_scale.values()]
    with engine.lock_folder(folder):
        engine.run_pieces(engine.list_left(every), limit_s)
    show_studies(pieces)
    return engine.conclude_pieces("scale", every, "the same command goes on")


def main() -> int:
    """Carries the command line out; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/scale"), metavar="DIR")
    parser.add_argument("--suite", action="append", default=[], metavar="NAME", help="this study only; may be repeated")
    parser.add_argument("--time", type=seconds, default=1500.0, metavar="TIME", help="what runs then is cut, and goes on in the next call (1500s)")
    arguments = parser.parse_args()
    return get_exit_status("scale", lambda: run_studies(arguments.out, arguments.time, arguments.suite), "the same command goes on")


if __name__ == "__main__":
    sys.exit(main())

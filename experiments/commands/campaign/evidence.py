# SPDX-License-Identifier: GPL-2.0-only
"""make evidence: each suite on each of its machines of the lab, then one page of them.

A piece is done once for what its numbers are made by. One that was cut goes on, one that failed or is of older code is made anew.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from experiments import pieces
from experiments.commands.run_request import make_request
from experiments.errors import ExperimentError, get_exit_status
from experiments.host import host_nodes
from experiments.lab.machine import SHAPE_MODEL, is_shape, split_speed
from experiments.mechanisms import registry
from experiments.paths import HERE
from experiments.pieces import WITHOUT_TESTS
from experiments.runner.options import RunOptions
from experiments.runner.records import manifest, results
from experiments.runner.run import Request, adapt_to_machine
from experiments.runner.suite import schedule
from experiments.runner.workloads.kinds import PROGRAMS
from experiments.units import seconds

from . import engine, evidence_page
from .piece import DONE, FAILED, OPEN, Piece, State, list_pieces, list_suites

OPTIONS = RunOptions(lab="", quick=True, repeats=3, boots=3, resume=True)
# What every simulated number is made by; what judges it is kept in the run's manifest.
INPUTS = ("KERNELS", "kmod", "policies", "userspace/lib", "experiments/host", "experiments/runner", "experiments/lab/plugin", "experiments/lab/guest",
          "experiments/lab/machine.py", "experiments/lab/qemu.py", "experiments/lab/simulated.py",
          ":(glob)experiments/workloads/*.[ch]")
SOURCES = {"np-mem": "mem", "np-hot": "hot", "np-mm": "mm", "np-files": "files", "np-redis": "redis", "np-steal": "stealing"}  # of programs
OLD = "of older code"
INPUTS_FILE = "inputs"  # the digest, and the commit that began the run, by which alone it goes on


class EvidencePiece(Piece):
    @cached_property
    def request(self) -> Request:
        return adapt_to_machine(make_request(replace(self.options, lab=self.machine.lab)), host_nodes.list_lab_nodes(self.machine.lab))

    @cached_property
    def digest(self) -> str:
        return pieces.digest(HERE.code, [*INPUTS, *self.list_uses(), *WITHOUT_TESTS], tuple(self.options.list_words()))

    def list_uses(self) -> list[str]:
        """Lists the paths that this piece depends on and not every other: machine, suite, its programs' sources, its mechanisms."""
        suite = self.request.suite
        programs = {name for workload in suite.workloads for name in PROGRAMS[workload.kind]}
        programs |= {name for workload in suite.workloads if workload.kind == "command"
                     for words in (workload.options["command"].command, workload.options["command"].client) for name in words}
        paths = [f"experiments/workloads/{SOURCES[name]}" for name in sorted(programs & SOURCES.keys())]
        paths += ["experiments/workloads/apps"] if "apps/" in suite.text else []
        paths += ["experiments/mechanisms"] if {re.split("[:#]", level)[0] for level in suite.policies} & set(registry.KNOWN) else []
        name, _ = split_speed(self.machine.lab)
        file = SHAPE_MODEL if is_shape(name) else name
        return [f"experiments/lab/machines/{file}.toml", f"experiments/suites/{self.suite}.toml", *paths]

    def read_state(self) -> State:
        made_by, state = self._read_inputs(), super().read_state()
        return state if made_by in ("", self.digest) else replace(state, word=OLD)

    def _read_inputs(self, commit: bool = False) -> str:
        """Returns the digest that the results were made by, with `commit` also the tree's state; "" where none is kept."""
        file = self.out / INPUTS_FILE
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return text if commit else text.partition(" ")[0]

    def prepare(self) -> None:
        """Makes the folder, without what another tree has measured or a failed run, and writes there what the results are made by."""
        inputs = f"{self.digest} {manifest.read_sources()}"
        if self._read_inputs(commit=True) != inputs or self.read_state().word == FAILED:
            shutil.rmtree(self.out, ignore_errors=True)
        super().prepare()
        (self.out / INPUTS_FILE).write_text(inputs, encoding="utf-8")

    def is_done(self, status: int) -> bool:
        """Checks whether a run that ended with this status is done; one with marked observations where each cell also has one without."""
        if status != ExperimentError.status:
            return status == 0
        clean = {(r["workload"], r["policy"]) for r in results.read_records(self.out) if not r.get("warmup") and not results.list_marks(r)}
        return clean >= {(trial.workload.name, trial.policy) for trial in schedule.make_schedule(self.request.suite)}


def carry_out(folder: Path, limit: float | None) -> int:
    """Runs the pieces that are left for `limit` seconds, not at all where that is None, and writes the page once none is open. Returns the
    exit status."""
    all_pieces = list_pieces(folder, list_suites(OPTIONS), OPTIONS, kind=EvidencePiece)
    if limit is not None:
        print(engine.count_states(all_pieces), flush=True)
        with engine.lock_folder(folder):
            engine.run_pieces(engine.list_left(all_pieces), limit)
    if limit is None or not {piece.read_state().word for piece in all_pieces} & {OPEN, OLD}:
        done_pieces = [piece for piece in all_pieces if piece.read_state().word == DONE]
        print(evidence_page.write_page(folder, done_pieces, engine.count_states(all_pieces)))
    return engine.conclude_pieces("evidence", all_pieces, "the same command goes on")


def main() -> int:
    """Carries the command line out. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/evidence"), metavar="DIR")
    parser.add_argument("--time", type=seconds, default=1500, metavar="TIME", help="what runs then is cut, and goes on in the next call (1500s)")
    parser.add_argument("--page", action="store_true", help="runs nothing: the page of what is done")
    arguments = parser.parse_args()
    seconds_left = None if arguments.page else arguments.time
    return get_exit_status("evidence", lambda: carry_out(arguments.out, seconds_left), "the same command goes on")


if __name__ == "__main__":
    sys.exit(main())

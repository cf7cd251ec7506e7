# SPDX-License-Identifier: GPL-2.0-only
"""make check-worth: numaplace worth of programs on machines of the lab, beside what each placement gives in a longer run.

A program's runs are kept under the digest of what they depend on, and its answer in KEPT, which is committed. worth and the
longer run, which is of worth's own suite, are of different boots and seeds. A program matters where its placements differ by more
than LEAST in the longer run; programs are drawn until ENOUGH matter.
"""

import argparse
import hashlib
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from ... import pieces
from ...analysis.policies.decision import Decision
from ...analysis.policies.speedup import BASELINE, Speeds, compare_placements
from ...analysis.runs.results import is_higher_better, list_values, read_results
from ...bounds import BOUND_FAILS
from ...host import host_nodes
from ...lab.command import build_words
from ...paths import HERE
from ...runner.options import RunOptions
from ...units import seconds
from . import trial_suite, verdict
from .check_programs import MACHINES, SEED, Program, draw_programs
from .cli import BUDGET

TOP = Path(__file__).resolve().parents[3]
PLACEMENTS = "start-interleave,start-bind:node=0,start-bind:node=1,maximum-local:pages=follow"
REPEATS, TRUTH_SEED = 12, 1001
LEAST = 0.02  # of the best rate: what may be lost, and by how much placements differ that matter
ENOUGH = 10  # programs that matter
RUNS = ("worth", "truth")  # of a program, by their folders: worth's own, and the longer one that it is judged by
LEAST_LEFT = 60  # s: fewer do not boot the lab and measure
UNFINISHED = 2  # measure.py writes no file then
KEPT = TOP / "Documentation/measured/worth.jsonl"
INPUTS = ("experiments/workloads/mem", "experiments/lab/plugin", "experiments/runner/repeats", "experiments/commands/worth/stop.py",
          "experiments/mechanisms/start_bind.py", "experiments/mechanisms/start_interleave.py", "policies", ":(exclude)*/tests/*")
JUDGES = ("experiments/commands/worth/verdict.py", "experiments/analysis/policies/speedup.py", "experiments/analysis/policies/placed.py",
          "experiments/analysis/stats/intervals.py", "experiments/analysis/machines", ":(exclude)*/tests/*")


@dataclass(frozen=True)
class Row:
    piece: str      # the program's name
    inputs: str     # digest, as of compute_inputs()
    command: str
    machine: str
    sentence: str   # of worth
    named: str      # the placement that worth names, "none" without one
    right: bool
    matters: bool
    best: str       # the placement of the highest rate in the longer run
    loss: float     # of the named one there, as a share of the highest rate
    held: bool | None  # whether the named option's interval holds what the longer run gives it; None: none is named
    rates: dict[str, float]  # by placement, in the longer run


def compute_digest(program: Program) -> str:
    """Computes the digest of what a program's runs depend on, of pieces.DIGITS digits."""
    return digest_values((program, PLACEMENTS, BUDGET, REPEATS, TRUTH_SEED, trial_suite.TEXT), *INPUTS,
                         f"experiments/lab/machines/{program.machine}.toml")


def digest_values(values: object, *paths: str) -> str:
    """Computes the digest of values and of the files below these paths of the tree, of pieces.DIGITS digits."""
    return hashlib.sha256(f"{values!r} {pieces.digest(TOP, paths)}".encode()).hexdigest()[:pieces.DIGITS]


def compute_inputs(program: Program) -> str:
    """Computes the digest of what a program's row depends on: its runs, and the code that judges them."""
    return digest_values((compute_digest(program), LEAST), *JUDGES)


def read_kept_rows(path: Path, programs: Iterable[Program]) -> dict[str, Row]:
    """Reads the rows by the program's name, of the programs whose inputs are those of the row."""
    rows = pieces.Kept(path).read()
    return {p.name: Row(**rows[p.name]) for p in programs if p.name in rows and rows[p.name]["inputs"] == compute_inputs(p)}


def locate_folder(out: Path, program: Program) -> Path:
    return out / program.machine / f"{program.name}-{compute_digest(program)}"


def is_done(out: Path, program: Program, run_name: str) -> bool:
    return (locate_folder(out, program) / run_name / "done").exists()


def build_command(out: Path, program: Program, run_name: str, limit: float) -> list[str | Path | int]:
    """Builds the command of one of RUNS; the longer goes on where it was ended, for at most `limit` seconds. out: folder of all results."""
    folder = locate_folder(out, program)
    if run_name == "worth":
        return [HERE.programs / "numaplace-worth", "--lab", program.machine, "--force",
                "--out", folder / "worth", "--placements", PLACEMENTS, *program.asked]
    longer = RunOptions(str(folder / "worth" / "worth.toml"), out=folder / "truth" / "run", seed=TRUTH_SEED, repeats=REPEATS, resume=True)
    return build_words(program.machine, [HERE.programs / "numaplace-experiment", *longer.list_words()], seconds=limit)


def measure_program(out: Path, program: Program, until: float) -> None:
    """Makes what is missing of a program's RUNS, below `out`, until the monotonic clock shows `until`, in s. Stops at the first that
    cannot be finished, whose folder has no `done` then."""
    for run_name in RUNS:
        seconds_left = until - time.monotonic()
        if is_done(out, program, run_name):
            continue
        if seconds_left < (BUDGET if run_name == "worth" else LEAST_LEFT):
            return
        (locate_folder(out, program) / run_name).mkdir(parents=True, exist_ok=True)
        command = list(map(str, build_command(out, program, run_name, seconds_left)))
        if subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode:
            return
        (locate_folder(out, program) / run_name / "done").touch()


def read_rates(run: Path) -> dict[str, float]:
    """Returns the rate of each placement, in the metric's unit or its inverse, more is better. Also of a run that a policy came too late
    for, which users of the policy have too."""
    results = read_results(run)
    [workload] = results.workloads
    name, unit = next(m for m in results.list_performance_metrics(workload) if is_higher_better(m.unit) is not None)
    values = {p: list_values((o for o in results.measured if o.policy == p), name) for p in results.policies}
    return {p: fmean(v) if is_higher_better(unit) else 1 / fmean(v) for p, v in values.items() if v}


def make_row(out: Path, program: Program) -> Row:
    """Makes a program's row from its two runs, and judges whether what worth names is right."""
    folder = locate_folder(out, program)
    answer, true_rates = verdict.read_verdict(folder / "worth" / "run"), read_rates(folder / "truth" / "run")
    named = answer.best.policy if answer.best else "none"
    best = max(true_rates, key=lambda policy: true_rates[policy])
    loss, matters = 1 - true_rates[named] / true_rates[best], min(true_rates.values()) < (1 - LEAST) * true_rates[best]
    held = has_common_gain(answer.best, folder / "truth" / "run") if answer.best else None
    right = loss <= LEAST if matters else held if answer.best else answer.decided
    return Row(program.name, compute_inputs(program), shlex.join(program.words), program.machine, answer.format_sentence(), named,
               bool(right), matters, best, loss, held, true_rates)


def has_common_gain(named: Decision, run: Path) -> bool:
    """Checks whether the interval by the runs and the longer run's 95 % interval have a gain in common: both are of one machine."""
    speeds = Speeds(read_results(run))
    longer_run, _ = compare_placements(speeds, speeds.workloads[0], named.policy, BASELINE)
    runs = named.by_runs
    return longer_run.low is not None and longer_run.low <= runs.high and runs.low <= longer_run.high


def format_table(rows: list[Row]) -> str:
    """Formats three lines for each row, those that matter first, and a line of totals."""
    lines = []
    for row in sorted(rows, key=lambda row: not row.matters):
        beside = f"loss {100 * row.loss:4.1f} %  best {row.best}" if row.matters else "nothing differs"
        held = "" if row.held is None else "  interval holds" if row.held else "  interval DOES NOT HOLD"
        lines += [f"{row.piece:10} {row.machine:18} {'right' if row.right else 'WRONG'}  {beside}{held}", f"           {row.command}",
                  f"           {row.sentence}"]
    matter, others = ([row for row in rows if row.matters == which] for which in (True, False))
    held_flags = [row.held for row in rows if row.held is not None]
    return "\n".join([*lines, "", f"{sum(row.right for row in matter)} of the {len(matter)} that matter right, and "
                      f"{sum(row.right for row in others)} of {len(others)} where nothing differs; {sum(held_flags)} of {len(held_flags)} intervals of "
                      f"named options hold; options: none, {PLACEMENTS.replace(',', ', ')}"])


def has_enough(rows: Iterable[Row]) -> bool:
    """Checks whether ENOUGH programs matter."""
    return sum(one.matters for one in rows) >= ENOUGH


def main() -> int:
    """Measures what is missing and prints all rows. Returns 0, BOUND_FAILS where an answer is wrong, UNFINISHED where programs are missing."""
    parser = argparse.ArgumentParser(prog="make check-worth", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/worth-check"), metavar="DIR")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="FILE", help="answers that are not made again while their inputs are the same")
    parser.add_argument("--time", type=seconds, default=1500.0, metavar="TIME", help="for all that is left (1500s)")
    parser.add_argument("--machine", choices=MACHINES, action="append", help="only this one's programs")
    parser.add_argument("--program", metavar="NAME", action="append", help="only this one, such as random-3")
    args = parser.parse_args()
    out, until = args.out.resolve(), time.monotonic() + args.time
    programs = draw_programs(SEED, {m: [n.cpus for n in host_nodes.list_lab_nodes(m) if n.cpus] for m in MACHINES})
    rows_by_name = read_kept_rows(args.kept, programs)
    for program in programs:
        if program.machine not in (args.machine or MACHINES) or program.name not in (args.program or [program.name]) or program.name in rows_by_name:
            continue
        if program.drawn and has_enough(rows_by_name.values()):
            continue
        measure_program(out, program, until)
        if all(is_done(out, program, run_name) for run_name in RUNS):
            rows_by_name[program.name] = make_row(out, program)
            pieces.Kept(args.kept).write(asdict(rows_by_name[program.name]))
    rows = [rows_by_name[p.name] for p in programs if p.name in rows_by_name]
    print(format_table(rows))
    missing = [p.name for p in programs if p.name not in rows_by_name and not (p.drawn and has_enough(rows))]
    if missing:
        print(f"check-worth: {len(missing)} of {len(programs)} programs are missing: the same command goes on", file=sys.stderr)
        return UNFINISHED
    return 0 if all(row.right for row in rows) else BOUND_FAILS


if __name__ == "__main__":
    sys.exit(main())

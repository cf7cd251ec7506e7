# SPDX-License-Identifier: GPL-2.0-only
"""make check-worth: numaplace worth of programs on machines of the lab, beside what each placement gives in a longer run.

A program's runs are kept under the digest of what they depend on, and its answer in KEPT, which is committed. worth and the
longer run, which is of worth's own suite, are of different boots and seeds. A program that does not react has no longer run:
worth is to say that nothing is worth it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean

from ..analysis.runs.results import higher_is_better, read
from ..places import HERE
from ..runner.host import host_nodes
from ..units import seconds
from . import trial_suite, verdict
from .check_programs import MACHINES, SEED, Program, drawn
from .stop import LOOKS

TOP = Path(__file__).resolve().parents[2]
PLACEMENTS = "start-interleave,start-bind:node=0,start-bind:node=1,maximum-local:pages=follow"
REPEATS, TRUTH_SEED = 12, 1001
BUDGET = 400  # of the host's seconds
LEAST = 0.02  # of the best rate: what may be lost
UNFINISHED = 2  # measure.py writes no file then
KEPT = TOP / "Documentation/measured/worth.jsonl"
INPUTS = ("experiments/workloads/mem", "experiments/lab/plugin", "experiments/runner/repeats", "experiments/mechanisms/start_bind.py",
          "experiments/mechanisms/start_interleave.py", "policies")
JUDGES = ("experiments/worth/verdict.py", "experiments/worth/stop.py", "experiments/analysis/policies/speedup.py", "experiments/analysis/policies/placed.py",
          "experiments/analysis/stats/intervals.py", "experiments/analysis/machines")


@dataclass(frozen=True)
class Row:
    inputs: str
    program: str
    command: str
    machine: str
    sentence: str
    named: str
    right: bool
    best: str = ""
    loss: float = 0.0
    rates: dict[str, float] = field(default_factory=dict)


def digest(program: Program) -> str:
    return digest_of((program, PLACEMENTS, BUDGET, REPEATS, TRUTH_SEED, LOOKS, trial_suite.TEXT),
                     *INPUTS, f"experiments/lab/machines/{program.machine}.toml")


def digest_of(values: object, *paths: str) -> str:
    found = hashlib.sha256(repr(values).encode())
    tracked = subprocess.run(["git", "ls-files", "-z", "--", *paths], cwd=TOP, capture_output=True, text=True, check=True).stdout
    for name in sorted(filter(None, tracked.split("\0"))):
        if "/tests/" not in name:
            found.update((TOP / name).read_bytes())
    return found.hexdigest()[:12]


def inputs(program: Program) -> str:
    """Of its runs and of what is said of them."""
    return digest_of((digest(program), LEAST), *JUDGES)


def kept(path: Path, programs: Iterable[Program]) -> dict[str, Row]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {row.program: row for row in (Row(**json.loads(line)) for line in lines)}
    return {p.name: rows[p.name] for p in programs if p.name in rows and rows[p.name].inputs == inputs(p)}


def folder(out: Path, program: Program) -> Path:
    return out / program.machine / f"{program.name}-{digest(program)}"


def done(out: Path, program: Program, half: str) -> bool:
    return (folder(out, program) / half / "done").exists()


def halves(program: Program) -> tuple[str, ...]:
    return ("worth", "truth") if program.reacts else ("worth",)


def words(out: Path, program: Program, half: str, room: float) -> list[str | Path | int]:
    """The longer run goes on where it was ended after room seconds."""
    at = folder(out, program)
    if half == "worth":
        return [HERE.programs / "numaplace-worth", "--lab", program.machine, "--budget", f"{BUDGET}s", "--out", at / "worth", "--placements", PLACEMENTS, *program.asked]
    return [HERE.programs / "numaplace", "lab", "run", "--machine", program.machine, "--timeout", f"{room:.0f}s", "--",
            HERE.programs / "numaplace-experiment", "run", at / "worth" / "worth.toml", "--out", at / "truth" / "run", "--seed",
            TRUTH_SEED, "--repeats", REPEATS, "--resume"]


def measure(out: Path, program: Program, until: float) -> None:
    """What is done when the time is over stays."""
    for half in halves(program):
        room = until - time.monotonic()
        if done(out, program, half):
            continue
        if room < (BUDGET if half == "worth" else 60):
            return
        (folder(out, program) / half).mkdir(parents=True, exist_ok=True)
        command = list(map(str, words(out, program, half, room)))
        if subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode:
            return
        (folder(out, program) / half / "done").touch()


def rates(run: Path) -> dict[str, float]:
    """Of each placement, more is better. Also of a run that a policy came too late for: who takes the policy has it."""
    results = read(run)
    [workload] = results.workloads
    name, unit = next(m for m in results.performance_metrics(workload) if higher_is_better(m[1]) is not None)
    values = {p: [v for o in results.measured if o.policy == p and (v := o.value(name)) is not None] for p in results.policies}
    return {p: fmean(v) if higher_is_better(unit) else 1 / fmean(v) for p, v in values.items() if v}


def row(out: Path, program: Program) -> Row:
    found = verdict.of(folder(out, program) / "worth" / "run")
    named = found.best.policy if found.best else "none"
    told = inputs(program), program.name, shlex.join(program.words), program.machine, found.sentence(), named
    if not program.reacts:
        return Row(*told, found.best is None and found.decided)
    true = rates(folder(out, program) / "truth" / "run")
    best = max(true, key=lambda policy: true[policy])
    loss = 1 - true[named] / true[best]
    return Row(*told, loss <= LEAST, best, loss, true)


def table(rows: list[Row]) -> str:
    lines = []
    for one in rows:
        beside = f"  loss {100 * one.loss:4.1f} %  best {one.best}" if one.best else ""
        lines += [f"{one.program:10} {one.machine:18} {'right' if one.right else 'WRONG'}{beside}",
                  f"           {one.command}", f"           {one.sentence}"]
    right = sum(one.right for one in rows)
    return "\n".join([*lines, "", f"{right} of {len(rows)} right; options: none, {PLACEMENTS.replace(',', ', ')}"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="make check-worth", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/worth-check"), metavar="DIR")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="FILE", help="answers that are not made again while their inputs are the same")
    parser.add_argument("--time", type=seconds, default=1500.0, metavar="TIME", help="for all that is left (1500s)")
    parser.add_argument("--machine", choices=MACHINES, action="append", help="only this one's programs")
    parser.add_argument("--program", metavar="NAME", action="append", help="only this one, such as random-3")
    args = parser.parse_args()
    out, until = args.out.resolve(), time.monotonic() + args.time
    programs = drawn(SEED, {m: [n.cpus for n in host_nodes.of_lab(m) if n.cpus] for m in MACHINES})
    known = kept(args.kept, programs)
    for one in programs:
        if one.machine in (args.machine or MACHINES) and one.name in (args.program or [one.name]) and one.name not in known:
            measure(out, one, until)
    known = kept(args.kept, programs) | {p.name: row(out, p) for p in programs if all(done(out, p, half) for half in halves(p))}
    rows = [known[p.name] for p in programs if p.name in known]
    args.kept.write_text("".join(json.dumps(asdict(one)) + "\n" for one in rows), encoding="utf-8")
    print(table(rows))
    if len(rows) < len(programs):
        print(f"check-worth: {len(programs) - len(rows)} of {len(programs)} programs are missing: the same command goes on", file=sys.stderr)
        return UNFINISHED
    return 0 if all(one.right for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

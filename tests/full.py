# SPDX-License-Identifier: GPL-2.0-only
"""make check-full: what make check leaves out, in pieces, each kept under the digest of what it proves.

    full.py run [--minutes M] [PATTERN..]    the pieces whose inputs have changed since they passed, by name; a further call goes on
    full.py age [PATTERN..]                  every piece, and whether its record is of the tree as it is
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from experiments import pieces
from experiments.lab import kernels
from experiments.pieces import Kept
from tests import durations, style

TOP = Path(__file__).resolve().parents[1]
KEPT = Kept(TOP / "Documentation/measured/check-full.jsonl")
MODULE = ("kmod", "Kbuild", "KERNELS", "userspace/lib/engine", "userspace/lib/undo", "userspace/lib/host")
TOOLS = (*MODULE, "policies", "userspace", "experiments")
KERNEL_CODE = (*style.KERNEL_CODE, ".checkpatch.conf", "setup/checkpatch", "tests/style.py", "tests/test_style.py")
AREAS = ("kmod", "policies", "userspace", "experiments", "tests")
DOCUMENTS = ("Documentation/*.md", "Documentation/ABI", "Documentation/sphinx")  # without what is measured, as KEPT is
ENGINES = ("Module", "ToolByModule", "ToolBySyscall")
GUEST = "tests/guest.toml"
TIMES = 10  # that each test with a boot of its own is to pass
PYTEST = (sys.executable, "-m", "pytest")


@dataclass(frozen=True)
class Piece:
    name: str
    inputs: tuple[str, ...]
    command: tuple[str, ...]
    series: str = ""  # that NUMAPLACE_KERNELS names
    times: int = 1
    tests: tuple[str, ...] = ()  # of list_proving()

    @functools.cached_property
    def digest(self) -> str:
        return pieces.digest(TOP, self.inputs)

    def state(self, record: dict[str, Any] | None) -> str:
        if record is None:
            return "never run"
        if record["inputs"] != self.digest:
            return "older than its inputs"
        if record["failed"] or record["status"]:
            return "failed"
        return "passed" if record["times"] >= self.times else f"passed {record['times']} of {self.times} times"


def list_proving() -> list[Piece]:
    """What make check runs too where the record is not of the tree as it is."""
    others = [series for series in kernels.known_series() if series != kernels.DEFAULT_SERIES]
    tests = {f"kernel {series}": (MODULE, f"{GUEST}::{series}-kernel") for series in others}
    tests["style of kernel code"] = (KERNEL_CODE, "tests/test_style.py::test_tree[checkpatch]", "tests/test_style.py::test_sparse")
    return [Piece(name, inputs, (*PYTEST, *chosen, "-m", "not full"), tests=tuple(chosen))
            for name, (inputs, *chosen) in tests.items()]


def collect_files(marker: str) -> dict[str, int]:
    """The files with tests of these markers, and how many."""
    listed = subprocess.run([*PYTEST, "--collect-only", "-q", "--no-header", "-m", marker, f"--ignore={GUEST}"], cwd=TOP,
                            capture_output=True, text=True, check=False)
    return Counter(line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line)


def list_on_host() -> Iterator[Piece]:
    for area in ("policies", "userspace", "experiments", "tests"):
        yield Piece(f"host {area}", (*AREAS, *DOCUMENTS, "setup", "Makefile"), (*PYTEST, area, "-m", "full and not lab"))


def list_with_boots() -> Iterator[Piece]:
    for file in sorted(collect_files("lab and full")):
        yield Piece(f"boots {file}", TOOLS, (*PYTEST, file, "-m", "lab and full"))


def list_in_lab() -> Iterator[Piece]:
    for series in kernels.known_series():
        for part, inputs in (("module", MODULE), ("tools", TOOLS)):
            yield Piece(f"guest {series} {part}", inputs, (*PYTEST, f"{GUEST}::{series}-{part}"), series)


def list_other_targets() -> Iterator[Piece]:
    yield Piece("statistics", ("experiments/analysis", "experiments/bench/drawn", "experiments/commands/judge", "experiments/runner/repeats", "experiments/commands/worth"),
                ("make", "-s", "check-statistics"))
    yield Piece("fuzz parsers", ("userspace", "policies"), ("make", "-s", "fuzz"))
    for series in kernels.known_series():
        yield Piece(f"trace {series}", MODULE, (*PYTEST, "kmod/tests/check_trace.py", "-k", f"[{series}]"))
        for engine in ENGINES:
            yield Piece(f"torture {series} {engine}", MODULE, ("make", "-s", "check-torture", f"KERNEL={series}", f"ENGINE={engine}"))
    for series in kernels.known_series():
        yield Piece(f"fuzz {series}", MODULE, ("make", "-s", "check-fuzz", f"KERNEL={series}"))
        for file in sorted((TOP / "kmod/tests/guest").glob("*/test_*.py")):
            name = str(file.relative_to(TOP))
            yield Piece(f"debug {series} {file.stem}", ("kmod/*.[ch]", "kmod/uapi", "Kbuild", name, "setup/debug.config", f"setup/debug-{series}.config"),
                        ("make", "-s", "check-debug", f"KERNEL={series}", f"FILE={name}"))


def list_repeated() -> Iterator[Piece]:
    for file in sorted(collect_files("lab")):
        yield Piece(f"ten times {file}", TOOLS, (*PYTEST, file, "-m", "lab"), times=TIMES)


def list_pieces() -> list[Piece]:
    return [*list_proving(), *list_on_host(), *list_with_boots(), *list_in_lab(), *list_other_targets(), *list_repeated()]


def run_once(piece: Piece) -> dict[str, Any]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs"
        settings = {"NUMAPLACE_COSTS": str(costs), "NUMAPLACE_KERNELS": piece.series}
        status = subprocess.run(piece.command, cwd=TOP, env=os.environ | settings, check=False).returncode
        tests = durations.read_costs(costs)
    if piece.command[:len(PYTEST)] == PYTEST and not any(test.outcome == "passed" for test in tests):
        status = status or 1  # nothing has passed, so nothing is proved
    return {"piece": piece.name, "inputs": piece.digest, "status": status, "times": 1, "seconds": round(time.monotonic() - began),
            **{outcome: sum(test.outcome == outcome for test in tests) for outcome in ("passed", "skipped")},
            "failed": sorted(test.test for test in tests if test.outcome == "failed"),
            "commit": pieces.git(TOP, "rev-parse", "--short=12", "HEAD").strip()}


def merge_runs(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """A run, with the earlier ones of the same inputs where each is to pass several times: what failed once stays named."""
    if before is None or before["inputs"] != now["inputs"]:
        return now
    return now | {"times": before["times"] + 1, "seconds": before["seconds"] + now["seconds"],
                  "status": max(before["status"], now["status"], key=abs), "failed": sorted({*before["failed"], *now["failed"]})}


def run_pieces(chosen: list[Piece], until: float) -> int:
    """1 where a piece failed."""
    failed = 0
    for piece in chosen:
        record = KEPT.read().get(piece.name)
        if piece.state(record) in ("failed", "older than its inputs"):
            record = None
        while piece.state(record) != "passed":
            if time.monotonic() > until:
                print(f"check-full: the time is over before '{piece.name}': call again to go on")
                return int(failed > 0)
            record = merge_runs(record if piece.times > 1 else None, run_once(piece))
            KEPT.write(record)
            print(f"check-full: {piece.name}: {piece.state(record)}, {record['seconds']} s", flush=True)
            if record["times"] >= piece.times:
                failed += piece.state(record) == "failed"
                break
    return int(failed > 0)


def print_ages(chosen: list[Piece]) -> int:
    records, states = KEPT.read(), Counter()
    for piece in chosen:
        record = records.get(piece.name)
        states[piece.state(record)] += 1
        made = f"{record['commit']}  {record['seconds']:5} s  {record['passed']:5} passed" if record else ""
        print(f"{piece.name:58} {piece.state(record):22} {made}".rstrip())
        for name in record["failed"] if record else ():
            print(f"  failed: {name}")
    print(", ".join(f"{count} {state}" for state, count in states.items()))
    return 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="full.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "age"])
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further piece after these")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="of the pieces' names, as 'kernel *'")
    args = parser.parse_intermixed_args(words)  # patterns stand behind --minutes, too
    chosen = [piece for piece in list_pieces() if not args.patterns or any(fnmatch(piece.name, one) for one in args.patterns)]
    if not chosen:
        print(f"check-full: no piece is named '{' '.join(args.patterns)}': make check-full-age lists them", file=sys.stderr)
        return 2
    return print_ages(chosen) if args.action == "age" else run_pieces(chosen, time.monotonic() + 60 * args.minutes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

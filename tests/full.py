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
from tests.durations import Cost

TOP = Path(__file__).resolve().parents[1]
KEPT = Kept(TOP / "Documentation/measured/check-full.jsonl")
MODULE = ("kmod", "Kbuild", "KERNELS", "userspace/lib/engine", "userspace/lib/undo", "userspace/lib/host")
TOOLS = (*MODULE, "policies", "userspace", "experiments")
KERNEL_CODE = (*style.KERNEL_CODE, ".checkpatch.conf", "setup/checkpatch", "tests/style.py", "tests/test_style.py")
AREAS = ("kmod", "policies", "userspace", "experiments", "tests")
DOCUMENTS = ("Documentation/*.md", "Documentation/ABI", "Documentation/sphinx")  # without what is measured, as KEPT is
ENGINES = ("Module", "ToolByModule", "ToolBySyscall")
GUEST = "tests/guest.toml"
TORTURE = "kmod/tests/guest/any/test_torture.py"
TIMES = 10  # that each test with a boot of its own is to pass
PYTEST = (sys.executable, "-m", "pytest")
FILES_A_BOOT = 7  # of a debug kernel, whose boots end within a quarter of an hour


@dataclass(frozen=True)
class Piece:
    name: str
    inputs: tuple[str, ...]
    command: tuple[str, ...]
    series: str = ""  # that NUMAPLACE_KERNELS names
    times: int = 1
    tests: tuple[str, ...] = ()  # of list_proving()
    file: str = ""  # of tests that share a boot with those of other pieces

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


def list_on_debug_kernels() -> Iterator[Piece]:
    """The module's tests, file by file, on kernels with checkers of their own; without those of make check-torture, which do nothing here."""
    for checker, series in [*(("debug", series) for series in kernels.known_series()), ("kcsan", kernels.DEFAULT_SERIES)]:
        options = ("setup/debug.config", f"setup/debug-{series}.config", *["setup/kcsan.config"] * (checker == "kcsan"))
        for file in sorted(set((TOP / "kmod/tests/guest").glob("*/test_*.py")) - {TOP / TORTURE}):
            name = str(file.relative_to(TOP))
            yield Piece(f"{checker} {series} {file.stem}", ("kmod/*.[ch]", "kmod/uapi", "Kbuild", name, *options),
                        ("make", "-s", "check-debug", f"KERNEL={series}", f"CHECKER={checker}"), file=name)


def list_repeated() -> Iterator[Piece]:
    for file in sorted(collect_files("lab")):
        yield Piece(f"ten times {file}", TOOLS, (*PYTEST, file, "-m", "lab"), times=TIMES)


def list_pieces() -> list[Piece]:
    return [*list_proving(), *list_on_host(), *list_with_boots(), *list_in_lab(), *list_other_targets(), *list_on_debug_kernels(), *list_repeated()]


def run_tests(command: tuple[str, ...], series: str) -> tuple[int, list[Cost], int]:
    """The command's status, the tests that it ran and its seconds."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs"
        settings = {"NUMAPLACE_COSTS": str(costs), "NUMAPLACE_KERNELS": series}
        status = subprocess.run(command, cwd=TOP, env=os.environ | settings, check=False).returncode
        return status, durations.read_costs(costs), round(time.monotonic() - began)


def stamp_tree(chosen: list[Piece]) -> dict[str, dict[str, str]]:
    """What is about to run, by piece: the digest of its inputs and the commit. The tree may change while it runs."""
    commit = pieces.git(TOP, "rev-parse", "--short=12", "HEAD").strip()
    return {piece.name: {"inputs": piece.digest, "commit": commit} for piece in chosen}


def make_record(piece: Piece, stamp: dict[str, str], status: int, tests: list[Cost], seconds: int) -> dict[str, Any]:
    return {"piece": piece.name, "inputs": stamp["inputs"], "status": status, "times": 1, "seconds": seconds,
            **{outcome: sum(test.outcome == outcome for test in tests) for outcome in ("passed", "skipped")},
            "failed": sorted(test.test for test in tests if test.outcome == "failed"),
            "commit": stamp["commit"]}


def run_once(piece: Piece) -> dict[str, Any]:
    stamp = stamp_tree([piece])[piece.name]
    status, tests, seconds = run_tests(piece.command, piece.series)
    if piece.command[:len(PYTEST)] == PYTEST and not any(test.outcome == "passed" for test in tests):
        status = status or 1  # nothing has passed, so nothing is proved
    return make_record(piece, stamp, status, tests, seconds)


def read_file(test: Cost) -> str:
    """tests/guest.toml::6.12-module::kmod/tests/guest/any/test_x.py::test_y -> kmod/tests/guest/any/test_x.py; "" for the log's."""
    return next((part for part in test.test.split("::") if part.endswith(".py")), "")


def run_sharing(chosen: list[Piece]) -> Iterator[dict[str, Any]]:
    """The records of pieces whose files share a boot: each has its own tests and that of the kernel's log.

    A file of which nothing has passed is not proved: the boot may have ended before it. A status without a failed test is each one's.
    """
    stamps = stamp_tree(chosen)
    status, tests, seconds = run_tests((*chosen[0].command, f"FILES={' '.join(piece.file for piece in chosen)}"), "")
    explained = any(test.outcome == "failed" for test in tests)
    for piece in chosen:
        own = [test for test in tests if read_file(test) in ("", piece.file)]
        proved = any(test.outcome == "passed" for test in own if read_file(test))
        yield make_record(piece, stamps[piece.name], int(not proved) or (0 if explained else status), own, seconds // len(chosen))


def run_files(chosen: list[Piece]) -> int:
    """Runs pieces that share boots. Returns how many failed."""
    failed = 0
    for record in run_sharing(chosen):
        KEPT.write(record)
        failed += bool(record["failed"] or record["status"])
        print(f"check-full: {record['piece']}: {'failed' if record['failed'] or record['status'] else 'passed'}", flush=True)
    return failed


def merge_runs(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """A run, with the earlier ones of the same inputs where each is to pass several times: what failed once stays named."""
    if before is None or before["inputs"] != now["inputs"]:
        return now
    return now | {"times": before["times"] + 1, "seconds": before["seconds"] + now["seconds"],
                  "status": max(before["status"], now["status"], key=abs), "failed": sorted({*before["failed"], *now["failed"]})}


def share_boots(chosen: list[Piece]) -> Iterator[list[Piece]]:
    """Those that have not passed, FILES_A_BOOT at a time where they can share a boot."""
    records = KEPT.read()
    sharing: dict[tuple[str, ...], list[Piece]] = {}
    for piece in chosen:
        if piece.state(records.get(piece.name)) == "passed":
            continue
        if not piece.file:
            yield [piece]
            continue
        group = sharing.setdefault(piece.command, [])
        group.append(piece)
        if len(group) == FILES_A_BOOT:
            yield sharing.pop(piece.command)
    yield from sharing.values()


def run_until_passed(piece: Piece, until: float) -> int:
    """Runs a piece as often as it says, or until the time is over. Returns 1 where it failed."""
    record = KEPT.read().get(piece.name)
    if piece.state(record) in ("failed", "older than its inputs"):
        record = None
    while piece.state(record) != "passed" and time.monotonic() <= until:
        record = merge_runs(record if piece.times > 1 else None, run_once(piece))
        KEPT.write(record)
        print(f"check-full: {piece.name}: {piece.state(record)}, {record['seconds']} s", flush=True)
        if record["times"] >= piece.times:
            break
    return int(piece.state(record) == "failed")


def run_pieces(chosen: list[Piece], until: float) -> int:
    """1 where a piece failed."""
    failed = 0
    for group in share_boots(chosen):
        if time.monotonic() > until:
            print(f"check-full: the time is over before '{group[0].name}': call again to go on")
            break
        failed += run_files(group) if group[0].file else run_until_passed(group[0], until)
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

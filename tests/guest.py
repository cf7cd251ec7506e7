# SPDX-License-Identifier: GPL-2.0-only
"""Tests that run inside the lab, those of a part of the tree and of a kernel series in one boot."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from experiments.lab.command import build_words
from experiments.lab.console import find_reports
from experiments.lab.kernels import is_debug

TOP = Path(__file__).resolve().parents[1]
BUILD = TOP / "build"
MACHINE = "demo-2s"
LAST_LINES = 80
# seconds for a boot with all the tests of a series: on a busy host they take 1500. Only what hangs comes up to it.
TIME_LIMIT = 3600
# For one test; one that hangs must not take the others' time. On a busy host the longest have taken 340 s.
TEST_LIMIT = 1200
# The user's may have another python3 before Debian's, or a shim that takes a minute to find it.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEBUG_FACTOR = 6  # a kernel that checks itself takes so much longer


# Reads of the current folder go to the host each time. The tests see it through the root, whose files are kept in
# memory, and what they write stays there; only the report goes to the host.
IN_MEMORY = """
cd /run && mkdir -p tests/reports tests/root tests/upper tests/work
mount --bind "$0" tests/reports
mount --bind / tests/root
mount -t overlay -o "lowerdir=tests/root$OLDPWD,upperdir=tests/upper,workdir=tests/work" tests "$OLDPWD"
cd "$OLDPWD" && exec "$@"
"""


@dataclass(frozen=True)
class Part:
    """Which tests share a boot."""
    name: str
    areas: tuple[str, ...]     # how their names begin
    folder: str = "/guest/"    # what is in their names
    users: bool = False        # some run programs of the tree as another user

    def contains(self, test: str) -> bool:
        return test.startswith(self.areas) and self.folder in test


def list_folders() -> list[str]:
    return sorted(str(path.relative_to(TOP)) for area in ("kmod", "userspace", "policies", "experiments")
                  for path in (TOP / area).glob("**/tests/guest") if any(path.glob("**/test_*.py")))


def list_inner_tests() -> dict[str, dict[str, list[str]]]:
    """The tests in the guest folders, with their markers; importing them needs only pytest and the standard library."""
    if not list_folders():
        return {}
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-header", "-p", "tests.guest_list", *list_folders()],
        cwd=TOP, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise RuntimeError(f"the guest tests cannot be collected:\n{listed.stdout}{listed.stderr}")
    lines = [json.loads(line) for line in listed.stdout.splitlines() if line.startswith("{")]
    return {line["test"]: line["markers"] for line in lines}


def bind_tree(place: Path, command: list[str]) -> list[str]:
    """The command in the tree at another place, below a folder that only its owner may enter and on a path with blanks, as a
    clone may lie."""
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *own, "--mount", "sh", "-ec", 'mount --bind "$0" "$1" && cd "$1" && shift && exec "$@"', str(TOP), str(place), *command]


@dataclass
class Run:
    """One boot of one series, and what each test in it did."""
    series: str
    part: Part
    results: dict[str, dict] = field(default_factory=dict)
    running: str | None = None
    explained: bool = False
    status: int = 0
    seconds: float = 0
    output: str = ""
    console: str = ""

    def execute(self, tests: list[str]):
        report = BUILD / f"guest-{self.series}-{self.part.name}.jsonl"
        console = report.with_suffix(".console")
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        console.unlink(missing_ok=True)
        chosen = report.with_suffix(".tests")
        chosen.write_text("\n".join(tests), encoding="utf-8")
        self.results, self.running = {}, None
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="closed folder ") as closed:
            elsewhere = Path(closed) / "numa place"
            elsewhere.mkdir()
            command = self.list_lab_words(elsewhere if self.part.users else TOP, report.name, tests)
            if self.part.users:
                command = bind_tree(elsewhere, command)
            done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
        self.seconds += time.monotonic() - started
        self.status = done.returncode
        self.output = "\n".join((done.stdout + done.stderr).splitlines()[-LAST_LINES:])
        self.console = console.read_text(errors="replace") if console.exists() else ""
        if report.exists():
            self.read(report)

    def list_lab_words(self, top: Path, report: str, tests: list[str]) -> list[str]:
        """The command, of a tree that is at top."""
        factor = DEBUG_FACTOR if is_debug(self.series) else 1
        command = ["env", f"PATH={PATH}", f"NUMAPLACE_GUEST_REPORT=/run/tests/reports/{report}", f"NUMAPLACE_TEST_LIMIT={TEST_LIMIT * factor}",
                   f"NUMAPLACE_TESTS=/run/tests/reports/{report.replace('.jsonl', '.tests')}",
                   "sh", "-ec", IN_MEMORY, top / BUILD.name, ".venv/bin/python", "-m", "pytest", "-q", "-p", "tests.guest_report", "-p", "no:cacheprovider",
                   "-p", "no:xdist", *sorted({test.partition("::")[0] for test in tests})]
        return build_words(MACHINE, command, ["--console", BUILD / report.replace(".jsonl", ".console")], functional=True, kernel=self.series,
                           seconds=TIME_LIMIT * factor, programs=top / BUILD.name)

    def read(self, report: Path):
        for line in report.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            name = record["test"]
            if record["event"] == "start":
                self.running = name
            elif record["event"] == "finish":
                self.running = None
            elif self.results.get(name, {}).get("outcome") != "failed":
                self.results[name] = record

    def explain_missing(self, test: str) -> str:
        if test == self.running:
            return f"the machine ended during this test (status {self.status}):\n{self.output}"
        if self.running or self.explained:
            return "did not run: the machine ended before"
        self.explained = True
        return f"the machine ended before this test (status {self.status}):\n{self.output}"

    def list_kernel_faults(self) -> list[str]:
        return ["\n".join(report) for report in find_reports(self.console.splitlines())]

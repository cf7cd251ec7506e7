# SPDX-License-Identifier: GPL-2.0-only
"""Tests that run inside the lab, those of a part of the tree and of a kernel series in one boot."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from experiments.lab.console import reports
from experiments.lab.kernels import is_debug

TOP = Path(__file__).resolve().parents[1]
REPORTS = Path(os.environ.get("NUMAPLACE_REPORTS", TOP / "build"))
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
    folders: tuple[str, ...]       # how their names begin
    without: tuple[str, ...] = ()  # parts of names that are left out

    def has(self, test: str) -> bool:
        return test.startswith(self.folders) and not any(word in test for word in self.without)

    @property
    def options(self) -> list[str]:
        """Of pytest, where whole folders are named."""
        return ["-k", " and ".join(f"not {word}" for word in self.without)] if self.without else []


def folders() -> list[str]:
    return sorted(str(path.relative_to(TOP)) for area in ("kmod", "userspace", "policies", "experiments")
                  for path in (TOP / area).glob("**/tests/guest") if any(path.glob("**/test_*.py")))


def inner_tests() -> list[str]:
    """Names of the tests in the guest folders; importing them needs only pytest and the standard library."""
    if not folders():
        return []
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-header", *folders()],
        cwd=TOP, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise RuntimeError(f"the guest tests cannot be collected:\n{listed.stdout}{listed.stderr}")
    return [line for line in listed.stdout.splitlines() if "::" in line]


def shortest(selected: list[str], known: list[str]) -> list[str]:
    """The same tests by folder or file where all of one are selected: pytest looks up every name on its own,
    which takes minutes inside the lab."""
    left, names = set(known) - set(selected), []
    for test in selected:
        file = test.partition("::")[0]
        wholes = [whole for whole in (str(Path(file).parent), file)
                  if not any(other.startswith((f"{whole}/", f"{whole}::")) for other in left)]
        names.append(wholes[0] if wholes else test)
    return list(dict.fromkeys(names))


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
        report = REPORTS / f"guest-{self.series}-{self.part.name}.jsonl"
        console = report.with_suffix(".console")
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        console.unlink(missing_ok=True)
        self.results, self.running = {}, None
        factor = DEBUG_FACTOR if is_debug(self.series) else 1
        lab = [sys.executable, "-m", "experiments.lab", "run", "--machine", MACHINE, "--functional",
               "--kernel", self.series, "--timeout", str(TIME_LIMIT * factor), "--console", str(console), "--",
               "env", f"PATH={PATH}", f"NUMAPLACE_GUEST_REPORT=/run/tests/reports/{report.name}", f"NUMAPLACE_TEST_LIMIT={TEST_LIMIT * factor}",
               "sh", "-ec", IN_MEMORY, str(report.parent), ".venv/bin/python", "-m", "pytest", "-q", "-p", "tests.guest_report", "-p", "no:cacheprovider", "-p", "no:xdist",
               *self.part.options, *tests]
        started = time.monotonic()
        done = subprocess.run(lab, cwd=TOP, capture_output=True, text=True, check=False)
        self.seconds += time.monotonic() - started
        self.status = done.returncode
        self.output = "\n".join((done.stdout + done.stderr).splitlines()[-LAST_LINES:])
        self.console = console.read_text(errors="replace") if console.exists() else ""
        if report.exists():
            self.read(report)

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

    def kernel_faults(self) -> list[str]:
        return ["\n".join(report) for report in reports(self.console.splitlines())]

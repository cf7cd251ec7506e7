# SPDX-License-Identifier: GPL-2.0-only
"""Has the kernel fail allocations: one in turn, or all that a part of it makes."""

import errno
import itertools
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

import driver

FAULTS = driver.TOP / "build" / "tests" / "faults"
DEBUG = Path("/sys/kernel/debug")
# Every allocation counts, and none is worth a report of its own.
KNOBS = {DEBUG / "failslab" / "ignore-gfp-wait": "N", DEBUG / "failslab" / "verbose": "0",
         DEBUG / "fail_page_alloc" / "ignore-gfp-wait": "N", DEBUG / "fail_page_alloc" / "ignore-gfp-highmem": "N",
         DEBUG / "fail_page_alloc" / "min-order": "0", DEBUG / "fail_page_alloc" / "verbose": "0"}
MOST = 5000  # allocations that one thing may make


def chosen(text: str) -> str:
    """Of words of which the valid one stands in brackets, that; else all."""
    found = re.search(r"\[(.+)\]", text)
    return found[1] if found else text


@contextmanager
def set_to(values: dict[Path, str]):
    """And back, last first: what is to be failed is narrowed down before anything is, and widened after."""
    before = {path: chosen(path.read_text()) for path in values}
    try:
        for path, value in values.items():
            path.write_text(value)
        yield
    finally:
        for path, value in reversed(before.items()):
            path.write_text(value)


class Faults:
    """The program kmod/tests/faults.c, under a memory policy of its own."""

    def __init__(self):
        self.process = subprocess.Popen(["numactl", "--membind=1", str(FAULTS)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, n: int, words: str) -> tuple[str, bool]:
        """The name of the error, if any, and whether the n-th allocation was there to fail."""
        self.process.stdin.write(f"{n} {words}\n")
        self.process.stdin.flush()
        error, left = self.process.stdout.readline().split()
        return errno.errorcode.get(int(error), ""), n > 0 and left == "0"

    def count(self, words: str) -> int:
        """Performs an action and returns the number of its allocations."""
        self.process.stdin.write(f"{MOST} {words}\n")
        self.process.stdin.flush()
        error, left = self.process.stdout.readline().split()
        assert error == "0" and left != "0"
        return MOST - int(left)

    def in_turn(self, words: str):
        """Gives each n with the error, until there is no n-th allocation; the caller looks at what has become."""
        errors = []
        for n in itertools.count(1):
            error, hit = self.ask(n, words)
            assert error in ("", "ENOMEM"), (n, error)
            errors.append(error)
            yield error
            if not hit:
                break
            assert n < MOST
        assert errors[-1] == ""
        assert "ENOMEM" in errors, "no allocation was failed that matters"
        print(f"{len(errors) - 1} allocations, of which {errors.count('ENOMEM')} are needed: {words}")


def text_of_module() -> tuple[int, int]:
    start = int(Path("/sys/module/numaplace/sections/.text").read_text(), 16)
    return start, start + int(Path("/sys/module/numaplace/coresize").read_text())


def text_of_function(name: str) -> tuple[int, int]:
    lines = [line.split() for line in Path("/proc/kallsyms").read_text().splitlines() if line.endswith("[numaplace]")]
    start, = (int(line[0], 16) for line in lines if line[2] == name)
    return start, min(address for line in lines if (address := int(line[0], 16)) > start)


@contextmanager
def all_of_module_fails(kind: str, but: str = ""):
    """All allocations below a function of the module, without those that are also below this one."""
    start, end = text_of_module()
    folder = DEBUG / kind
    left_out = dict(zip((folder / "reject-start", folder / "reject-end"), map(str, text_of_function(but)), strict=True)) if but else {}
    with set_to({**left_out, folder / "require-start": str(start), folder / "require-end": str(end),
                 folder / "stacktrace-depth": "32", folder / "times": "-1", folder / "probability": "100"}):
        yield


def state_of(t: driver.Target) -> tuple:
    """The state that must not change: CPUs and policy of every thread, records, totals."""
    threads = [(tid, os.sched_getaffinity(tid)) for tid in t.tids()]
    return threads, t.ask("policy"), driver.records("placements"), driver.stats()

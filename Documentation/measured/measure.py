# SPDX-License-Identifier: GPL-2.0-only
"""The figures of the documents: writes the files of targets.toml, or lists those that are older than the code they measure.

A file begins with its command, the commit, and the machine. One that cannot be measured whole is not written.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(TOP))

from experiments import pieces  # noqa: E402
from experiments.bounds import BOUND_FAILS  # noqa: E402
from experiments.lab import qemu_program  # noqa: E402

# inputs: of their contents, so that it holds in any history
WRITTEN_BY = re.compile(r"^# commit [0-9a-f]+(, changed)?, inputs ([0-9a-f]+)$", re.MULTILINE)


def read_targets() -> dict[str, dict]:
    """Reads the targets by the name of their file: those of each word in braces, with the inputs of groups in the groups' place."""
    entries, found = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8")), {}
    groups = entries.pop("groups")
    for name, entry in entries.items():
        start, words, end = re.split("[{}]", name) if "{" in name else (name, "", "")
        inputs = [path for given in entry["inputs"] for path in (groups[given[1:]] if given.startswith("@") else [given])]
        for word in words.split(","):
            found[start + word + end] = {"command": entry["command"].replace("{}", word),
                                         "inputs": [path.replace("{}", word) for path in inputs]}
    return found


def leave_out_tests(inputs: list[str]) -> list[str]:
    """Adds to inputs what is no input below a folder: tests and pages. A test that is named itself is one."""
    folders = [path for path in inputs if (TOP / path).is_dir()]
    return [*inputs, *(f":(exclude,glob){folder}/**/{name}" for folder in folders for name in ("tests/**", "*.md"))]


def read_processor() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def make_stamp(inputs: list[str]) -> str:
    """Makes the line of what is about to be measured: the commit, and the digest of its inputs."""
    paths = leave_out_tests(inputs)
    changed = ", changed" if pieces.git(TOP, "status", "--porcelain", "--", *paths) else ""
    return f"# commit {pieces.git(TOP, 'rev-parse', '--short=12', 'HEAD').strip()}{changed}, inputs {pieces.digest(TOP, paths)}"


def make_head(command: str, stamp: str, load: float, seconds: float) -> str:
    """Makes the head of a measured file: command, stamp of its inputs, machine, load before, and seconds that it took."""
    version = qemu_program.read_full_version(qemu_program.find())
    return (f"# {command}\n{stamp}\n"
            f"# {read_processor()}, {os.cpu_count()} CPUs; Linux {platform.release()}; QEMU {version}; "
            f"load {load:.1f} before; {seconds:.0f} s\n\n")


def write_file(name: str, command: str, inputs: list[str]) -> bool:
    """Runs a target's command and writes its output with a head to a file; returns whether it did, as a failed command writes none."""
    load, started, stamp = os.getloadavg()[0], time.monotonic(), make_stamp(inputs)
    done = subprocess.run(command, shell=True, cwd=TOP, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, BOUND_FAILS):
        sys.stderr.write(done.stdout)
        print(f"measured: {name} is not written: '{command}' ended with status {done.returncode}", file=sys.stderr)
        return False
    new = HERE / f"{name}.new"
    new.write_text(make_head(command, stamp, load, time.monotonic() - started) + done.stdout, encoding="utf-8")
    new.replace(HERE / name)
    print(f"measured: {name}", flush=True)
    return True


def explain_old(name: str, inputs: list[str]) -> str | None:
    """Returns why a file is older than the code that it measures; None where it is not."""
    path = HERE / name
    found = WRITTEN_BY.search(path.read_text(encoding="utf-8")) if path.exists() else None
    if not found:
        return "no target has written it"
    if found[1]:
        return "written with changes that were not committed"
    return None if found[2] == pieces.digest(TOP, leave_out_tests(inputs)) else f"later changes to {' '.join(inputs)}"


def main() -> int:
    """Writes the files named, or those that are old; with --age lists these. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--age", action="store_true", help="list what is older than its code")
    parser.add_argument("names", nargs="*", metavar="FILE", help="write these; without any, those that are old")
    args = parser.parse_args()
    known = read_targets()
    for name in args.names:
        if name not in known:
            print(f"measured: no target writes '{name}': known are {', '.join(known)}", file=sys.stderr)
            return 2
    reasons = {name: why for name, one in known.items() if (why := explain_old(name, one["inputs"]))}
    if args.age:
        for name, why in reasons.items():
            print(f"{name}: {why}")
        return 0
    return int(not all([write_file(name, **known[name]) for name in args.names or reasons]))


if __name__ == "__main__":
    sys.exit(main())

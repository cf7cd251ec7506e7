# SPDX-License-Identifier: GPL-2.0-only
"""The fuzzer of the module's files on a kernel with checkers, in pieces, each a boot with a seed of its own.

    fuzz.py SERIES [MINUTES]    begins no further piece after so many minutes; the next call goes on with the next seed

A record is a line of RECORDS. A piece that finds something is a line too, and ends the call with 1.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from experiments.lab.command import build_words  # noqa: E402
from experiments.lab.console import FAULT  # noqa: E402
from experiments.pieces import digest, git  # noqa: E402

RECORDS = TOP / "Documentation/measured/fuzz.jsonl"
TEST = "kmod/tests/guest/any/test_fuzz.py"
WRITERS, OPERATIONS, UNLOADS = 3, 400, 3
LIMIT_S = 1500
INPUTS = ("Kbuild", "kmod/*.[ch]", "kmod/tests/fuzz*", TEST)


def sign_of_fault(output: str, console: str, status: int) -> tuple[str, int]:
    """The first line that tells of a fault, "" for none, and how many operations had been done by then, where that is known."""
    lines = console.splitlines()
    done = [int(n) for n in re.findall(r"fuzz_files: seed \d+: (\d+) operations", console)]
    if logged := next((line.strip() for line in lines if FAULT.search(line)), None):
        return logged, done[-1] if done else 0
    if found := re.search(r"found after (\d+) operations.*", output):
        return found[0], int(found[1])
    if not status:
        return "", 0
    failed = re.search(r"^E  .*", output, re.MULTILINE)
    return failed[0] if failed else f"ended with {status}", done[-1] if done else 0


def run(series: str, words: str, module: Path, limit: int = LIMIT_S) -> dict:
    """One piece; words are those of NUMAPLACE_FUZZ."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        console = Path(folder) / "console"
        done = subprocess.run(
            build_words("demo-2s", ["env", f"NUMAPLACE_FUZZ={words}", ".venv/bin/python", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", TEST],
                        ["--module", module, "--console", console], functional=True, kernel=series, seconds=limit),
            cwd=TOP, env=os.environ, capture_output=True, text=True, check=False)
        log = console.read_text(errors="replace") if console.exists() else ""
    sign, at = sign_of_fault(done.stdout + done.stderr, log, done.returncode)
    counts = next((json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"seed"')), {})
    return {"series": series, **counts, "words": words, "fault": sign[:300], "fault_after": at,
            "seconds": round(time.monotonic() - started)}


def records() -> list[dict]:
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()] if RECORDS.exists() else []


def main(words: list[str]) -> int:
    if len(words) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    series, end = f"debug-{words[0]}", time.monotonic() + 60 * float(words[1] if len(words) == 2 else 25)
    while time.monotonic() < end:
        seed = 1 + sum(record["series"] == series for record in records())
        stamp = {"commit": git(TOP, "rev-parse", "--short=12", "HEAD").strip(), "inputs": digest(TOP, INPUTS)}  # of what is about to run
        record = run(series, f"{seed} {WRITERS} {OPERATIONS} {UNLOADS}", TOP / f"build/modules/{series}/numaplace.ko") | stamp
        with RECORDS.open("a", encoding="utf-8") as kept:
            kept.write(json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)
        if record["fault"]:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

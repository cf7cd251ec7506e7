# SPDX-License-Identifier: GPL-2.0-only
"""The module's guest tests on kernels with checkers, a boot for each file.

    checked.py run SERIES [MINUTES]     the files whose record is older than the module or the file, for so long at most; then
                                        it ends, and the next call goes on
    checked.py show                     the records as a table

A record is a line of RECORDS: a run that is stopped costs the file that it was in.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from experiments.lab import kernels  # noqa: E402

RECORDS = TOP / "Documentation/measured/checking-kernels.jsonl"
GUEST = TOP / "kmod/tests/guest"
# Each has its own target: make check-torture, make check-trace.
WITHOUT = ("test_torture.py", "test_trace_scripts.py")
LOG = "kernel log has no fault"
OUTCOMES = ("passed", "skipped", "failed")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=True).stdout.strip()


def inputs(file: str, series: str) -> str:
    """Of what the file tests, as it is committed or added: the module, the file, the kernel's options."""
    options = ("setup/debug.config", f"setup/{series}.config")
    return hashlib.sha256(git("ls-files", "--stage", "--", "Kbuild", "kmod/*.[ch]", file, *options).encode()).hexdigest()[:12]


def files() -> list[str]:
    return sorted(str(path.relative_to(TOP)) for path in GUEST.glob("*/test_*.py") if path.name not in WITHOUT)


def records() -> dict[tuple[str, str], dict]:
    """The last of each series and file."""
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    return {(line["series"], line["file"]): line for line in map(json.loads, lines)}


def outcome(case: ElementTree.Element) -> str:
    found = {child.tag for child in case}
    return "failed" if found & {"failure", "error"} else "skipped" if "skipped" in found else "passed"


def measure(series: str, file: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        report, started = Path(folder) / "report.xml", time.monotonic()
        chosen = f"{file} or ({' and '.join(LOG.split())})"
        subprocess.run([sys.executable, "-m", "pytest", "-q", f"tests/guest.toml::{series}-module", "-k", chosen,
                        f"--junitxml={report}"], cwd=TOP, env=os.environ | {"NUMAPLACE_KERNELS": series}, check=False)
        cases = {case.get("name"): outcome(case) for case in ElementTree.parse(report).iter("testcase")}
    log = next(result for name, result in cases.items() if name.endswith(LOG))
    others = [result for name, result in cases.items() if not name.endswith(LOG)]
    return {"series": series, "file": file, **{name: others.count(name) for name in OUTCOMES}, "log": log,
            "failures": sorted(name for name, result in cases.items() if result == "failed"),
            "seconds": round(time.monotonic() - started), "commit": git("rev-parse", "--short=12", "HEAD"),
            "inputs": inputs(file, series)}


def run(series: str, minutes: float) -> int:
    end = time.monotonic() + 60 * minutes
    for file in files():
        known = records().get((series, file))
        if known and known["inputs"] == inputs(file, series) and known["log"] == "passed" and not known["failures"]:
            continue
        if time.monotonic() > end:
            print(f"checked: {minutes:g} minutes are over before {file}: call again to go on")
            return 0
        record = measure(series, file)
        with RECORDS.open("a", encoding="utf-8") as kept:
            kept.write(json.dumps(record) + "\n")
    return 0


def row(series: str, file: str, record: dict | None) -> str:
    name = file.removeprefix("kmod/tests/guest/")
    if record is None:
        return f"{series:12} {name:32} not run"
    counts = "".join(f"{record[outcome]:9}" for outcome in OUTCOMES)
    old = "" if record["inputs"] == inputs(file, series) else "  of an older module or test"
    return f"{series:12} {name:32}{counts}  {record['log']:8}{record['seconds']:6} s  {record['commit']}{old}"


def show() -> int:
    """1 where a cell of the table is missing, old or failed."""
    known, holes = records(), 0
    print(f"{'kernel':12} {'file':32}{''.join(f'{name:>9}' for name in OUTCOMES)}  log       boot    commit")
    for series in (f"debug-{one}" for one in kernels.known_series()):
        for file in files():
            record = known.get((series, file))
            print(row(series, file, record))
            for failure in record["failures"] if record else ():
                print(f"  failed: {failure}")
            holes += not record or bool(record["failures"]) or record["inputs"] != inputs(file, series)
    print(f"{holes} of {len(files()) * len(kernels.known_series())} are missing, older than the code or failed")
    return holes > 0


def main(words: list[str]) -> int:
    match words:
        case ["show"]:
            return show()
        case ["run", series] | ["run", series, _]:
            return run(f"debug-{series}", float(words[2]) if len(words) == 3 else 25)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

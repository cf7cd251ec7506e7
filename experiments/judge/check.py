# SPDX-License-Identifier: GPL-2.0-only
"""make check-judge: how often numaplace judge finds a kernel that is 5 % slower, and how often what is not there.

python -m experiments.judge.check [--runs N] [--budget TIME]. A judgement that is done is kept and not made again, and one that
was interrupted goes on. Kernel B of a planted one has numaplace_slow.ko; each judgement has a seed of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ..places import HERE
from ..runner.suite import estimate

KINDS = ("planted", "aa")
SERIES, PERCENT = "6.12", 5
SLOW = Path("build/judge") / SERIES / "numaplace_slow.ko"
FOLDER = Path("results/check-judge")
LEAST = 0.9  # of the planted ones
ANSWERED = (0, 4)


def words(kind: str, number: int, folder: Path, options: list[str]) -> list[str | Path]:
    setup = ["--setup-b", f"insmod {SLOW} percent={PERCENT}"] if kind == "planted" else []
    return [HERE.programs / "numaplace-judge", "--kernel", SERIES, "--kernel", SERIES, *setup, "--seed", str(number), "--out", folder,
            "--resume", "--json", *options]


def judge(kind: str, number: int, top: Path, options: list[str]) -> dict[str, Any]:
    folder = top / f"{kind}-{number:02}"
    kept = folder / "verdict.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{folder}", file=sys.stderr, flush=True)
        with open(folder / "judge.log", "ab") as log:
            done = subprocess.run(words(kind, number, folder, options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                  check=False)
        if done.returncode not in ANSWERED:
            raise SystemExit(f"check-judge: {folder} ended with status {done.returncode}: see {folder}/judge.log")
        partial = folder / "verdict.json.partial"
        partial.write_bytes(done.stdout)
        partial.rename(kept)
    return json.loads(kept.read_text(encoding="utf-8"))


def false(found: dict[str, Any]) -> bool:
    """A kernel beside itself is neither slower nor faster."""
    return any(row["verdict"] in ("slower", "faster") for row in found["rows"])


def summary(found: dict[str, list[dict[str, Any]]]) -> tuple[str, bool]:
    planted, aa = found["planted"], found["aa"]
    hit, wrong = sum(one["regressed"] for one in planted), sum(map(false, aa))
    lines = [f"{PERCENT} % slower: found in {hit} of {len(planted)} judgements",
             f"a kernel beside itself: a difference found in {wrong} of {len(aa)} judgements"]
    for kind, ones in found.items():
        for name in dict.fromkeys(row["workload"] for one in ones for row in one["rows"]):
            rows = [row for one in ones for row in one["rows"] if row["workload"] == name]
            changes = [100 * (row["ratio"] - 1) for row in rows if row["ratio"]]
            lines.append(f"  {kind:8} {name:12} {min(changes):+6.2f} to {max(changes):+6.2f} %, slower in "
                         f"{sum(row['verdict'] == 'slower' for row in rows)} of {len(rows)}")
    return "\n".join(lines), bool(planted) and hit >= LEAST * len(planted)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.judge.check")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of each kind")
    parser.add_argument("--budget", type=estimate.budget, metavar="TIME", help="no judgement begins later, as in 30min")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("options", nargs="*", help="after --: of numaplace judge")
    args = parser.parse_args()
    until = None if args.budget is None else time.monotonic() + args.budget
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for number in range(1, args.runs + 1):
        for kind in KINDS:
            if until is None or time.monotonic() < until or (args.out / f"{kind}-{number:02}/verdict.json").exists():
                found[kind].append(judge(kind, number, args.out, args.options))
    text, right = summary(found)
    (args.out / "check-judge.txt").write_text(f"{text}\n", encoding="utf-8")
    print(text)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Runs libFuzzer on parsers of the command line: campaign.py [--seconds S | --runs N] [--keep] TARGET..

Each starts from its seeds and from corpus/TARGET.zip. An input that ends the program is left in
build/fuzz/TARGET-crash-*, and the exit status is 1. With --keep what reached new code goes into the zip,
reduced to the inputs that are needed for it.
"""

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "fuzz"
LONGEST = 1 << 20  # bytes of an input; libFuzzer begins with short ones
AGES_AGO = (1980, 1, 1, 0, 0, 0)  # the same inputs make the same zip


def unpack_corpus(target: str) -> Path:
    folder = BUILD / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([BUILD / target, "--seeds", folder], check=True)
    kept = HERE / "corpus" / f"{target}.zip"
    if kept.exists():
        zipfile.ZipFile(kept).extractall(folder)
    return folder


def run_libfuzzer(target: str, *words: object) -> subprocess.CompletedProcess:
    return subprocess.run([BUILD / target, f"-max_len={LONGEST}", "-len_control=100", "-timeout=10", "-rss_limit_mb=1024",
                           f"-artifact_prefix={BUILD / target}-", *map(str, words)],
                          capture_output=True, text=True, errors="replace", check=False)


def keep_inputs(target: str, corpus: Path):
    needed = BUILD / "needed" / target
    needed.mkdir(parents=True, exist_ok=True)
    for path in needed.iterdir():
        path.unlink()
    run_libfuzzer(target, "-merge=1", needed, corpus).check_returncode()
    (HERE / "corpus").mkdir(exist_ok=True)
    with zipfile.ZipFile(HERE / "corpus" / f"{target}.zip", "w", zipfile.ZIP_DEFLATED) as kept:
        for path in sorted(needed.iterdir()):
            kept.writestr(zipfile.ZipInfo(path.name, AGES_AGO), path.read_bytes(), zipfile.ZIP_DEFLATED)


def run_target(target: str, limit: str, keep_new: bool) -> bool:
    corpus = unpack_corpus(target)
    done = run_libfuzzer(target, limit, "-print_final_stats=1", corpus)
    if done.returncode:
        print(f"{target}: ended by an input\n{done.stderr[-4000:]}")
        return False
    stats = dict(line.removeprefix("stat::").split(":", 1) for line in done.stderr.splitlines()
                 if line.startswith("stat::"))
    print(f"{target}: {stats['number_of_executed_units'].strip()} inputs, none ended it; "
          f"{len(list(corpus.iterdir()))} in the corpus", flush=True)
    if keep_new:
        keep_inputs(target, corpus)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, help="inputs, however long they take")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("target", nargs="+")
    args = parser.parse_args()
    limit = f"-runs={args.runs}" if args.runs else f"-max_total_time={args.seconds}"
    passed = sum([run_target(target, limit, args.keep) for target in args.target])
    print(f"{passed} passed, {len(args.target) - passed} failed")
    return passed != len(args.target)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Measures this machine within a time and packs the figures into one small file for the zoo.

Nothing personal is in the file. It is shown whole before it is written.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from ..errors import ExperimentError, Interrupted, UsageError
from ..runner.host.interrupts import stop_signals
from ..runner.suite import estimate
from ..zoo import record
from ..zoo.record import LOAD
from . import pack, steps

EPILOG = """\
Measured one after the other: calibrate-machine, then the suites latency-matrix, loaded-latency, core-to-core and
numa-stream. The file says of each that could not be measured why. Nothing else should run on the machine."""


def say(text: str) -> None:
    print(f"donate: {text}", flush=True)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        raise UsageError(f"{message}: see numaplace donate --help")


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="numaplace donate", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("file", metavar="FILE.json", nargs="?", type=Path, help="to write; default: the processor's name")
    top.add_argument("--budget", metavar="TIME", type=budget, default=1800.0,
                     help="in which everything is measured, as in 2m, 30m or 1h; default 30m")
    top.add_argument("--out", metavar="DIR", type=Path, default=Path("results/donation"),
                     help="where results are kept; default %(default)s")
    top.add_argument("--resume", action="store_true", help="goes on where it was stopped; finished steps are kept")
    top.add_argument("--yes", action="store_true", help="writes the file unasked")
    return top


def budget(text: str) -> float:
    """As that of `experiment run`, and with m for minutes."""
    try:
        return estimate.budget(re.sub(r"m(?!in)", "min", text))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a time, such as 2m, 30m or 1h') from None


def donate(args: argparse.Namespace) -> int:
    if not args.yes and not sys.stdin.isatty():
        raise UsageError("the input is no terminal to ask at: give --yes, or run it at a terminal")
    if args.budget <= 0:
        raise UsageError("--budget: is 0: give a time, as in 30m")
    with stop_signals():
        steps.topology(args.out, args.resume)
        say_load()
        steps.run(args.out, args.budget, say)
    packed = pack.pack(args.out)
    text = record.text(packed)
    pack.check_size(text)
    file = args.file or Path(f"{name_of(packed)}.json")
    print(text, end="")
    say(f"{len(text.encode())} bytes, all of {file}")
    if not args.yes and not agreed():
        say("nothing is written")
        return 1
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ExperimentError(f"cannot write {file}: {error.strerror}: name another FILE.json") from None
    say(f"{file} is written: attach it to an issue")
    return 0


def say_load() -> None:
    """The file has the load too, and the zoo shows it beside each error."""
    load = os.getloadavg()[0]
    if load > LOAD:
        say(f"load is {load:.1f}: others use the processors, and the figures are not the machine's alone; Ctrl-C stops")


def agreed() -> bool:
    try:
        answer = input("write it? [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def name_of(packed: record.Record) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", packed["machine"]["cpu_model"].lower()).strip("-")
    return f"{name}-{len(packed['machine']['nodes'])}n"


def main(arguments: list[str] | None = None) -> int:
    try:
        return donate(parser().parse_args(arguments))
    except ExperimentError as error:
        print(f"numaplace donate: {error}", file=sys.stderr)
        return error.status
    except Interrupted as stop:
        print("numaplace donate: stopped; finished steps are kept: --resume goes on from here", file=sys.stderr)
        return 128 + stop.number


if __name__ == "__main__":
    sys.exit(main())

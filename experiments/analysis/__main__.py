# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment report DIR | compare A B.. | pack RUN FILE | unpack FILE"""

from __future__ import annotations

import argparse
import json
import sys

from .command_options import (
    COMPARE_HELP,
    PACK_HELP,
    UNPACK_HELP,
    add_compare_options,
    add_pack_options,
    add_unpack_options,
)
from .runs.results import ResultsError


def report(args: argparse.Namespace) -> None:
    from .pages import memory_figures, placement_table, report, report_all, summary, text_table
    from .runs.results import read

    runs = report_all.runs(args.directory)
    if runs:
        page, parts = report_all.write(args.directory, runs)
        for results, chapters in parts:
            text_table.show_papers(results, chapters)
        written = [page]
    else:
        page, chapters = report.make(args.directory)
        written = [summary.write(args.directory, chapters), page]
        results = read(args.directory)
        placement_table.show(results)
        text_table.show_regret(results)
        for section in memory_figures.sections(results):
            print(memory_figures.as_text(section), end="\n\n")
        if chapters:
            text_table.show_papers(results, chapters)
    print(*written, sep="\n")


def compare(args: argparse.Namespace) -> int:
    from .pages import compare_report, text_table
    from .stats import compare, gate

    found = compare.compare(args.first, *args.others, in_blocks=args.paired, smallest=args.smallest / 100)
    crossed = found["crossed"] = gate.judge(found, args.fail_if)
    if args.html:
        compare_report.write(found, args.html)
    if args.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        text_table.show_comparison(found)
        if args.html:
            print(args.html)
    for line in gate.undecided(found, args.fail_if) + crossed:
        print(f"numaplace experiment compare: {line}", file=sys.stderr)
    return gate.STATUS if crossed else 0


def pack(args: argparse.Namespace) -> None:
    from . import bundle

    bundle.pack(args.directory, args.bundle, args.sign)
    print(args.bundle)


def unpack(args: argparse.Namespace) -> None:
    from . import bundle

    folder, told = bundle.unpack(args.bundle, args.folder, args.allowed)
    print(told, folder, sep="\n")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="numaplace experiment", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser(
        "report", help="writes summary.json, report.html and figures/, and shows the table"
    )
    one.add_argument("directory", metavar="DIR", help="of a run, or a folder of runs")
    two = commands.add_parser("compare", help=COMPARE_HELP)
    add_compare_options(two)
    add_pack_options(commands.add_parser("pack", help=PACK_HELP))
    add_unpack_options(commands.add_parser("unpack", help=UNPACK_HELP))
    return top


def carry_out(args: argparse.Namespace) -> int:
    """Returns the exit status."""
    try:
        commands = {"report": report, "compare": compare, "pack": pack, "unpack": unpack}
        return commands[args.command](args) or 0
    except ResultsError as error:
        print(f"numaplace experiment {args.command}: {error}", file=sys.stderr)
        return error.status


def main(arguments: list[str] | None = None) -> int:
    return carry_out(parser().parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())

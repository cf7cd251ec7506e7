# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment report DIR | compare A B"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .results import ResultsError


def report(args: argparse.Namespace) -> None:
    from . import pdf, report, report_all, summary, text_table
    from .results import read

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
        if report.placed_by_policies(results):
            text_table.show(args.directory)
        if chapters:
            text_table.show_papers(results, chapters)
    if args.pdf:
        written.append(pdf.write(page))
    print(*written, sep="\n")


def compare(args: argparse.Namespace) -> None:
    from . import compare, compare_report, text_table

    found = compare.compare(args.a, args.b)
    if args.html:
        compare_report.write(found, args.html)
    if args.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        text_table.show_comparison(found)
        if args.html:
            print(args.html)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="numaplace experiment", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser(
        "report", help="writes summary.json, report.html and figures/, and shows the table"
    )
    one.add_argument("directory", metavar="DIR", help="of a run, or a folder of runs")
    one.add_argument("--pdf", action="store_true", help="report.pdf too, printed by Chromium")
    one.set_defaults(run=report)
    two = commands.add_parser("compare", help="two runs: differences and their significance")
    two.add_argument("a", metavar="A")
    two.add_argument("b", metavar="B")
    two.add_argument("--json", action="store_true")
    two.add_argument("--html", type=Path, metavar="FILE", help="a page with a figure too")
    two.set_defaults(run=compare)
    return top


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    try:
        args.run(args)
    except ResultsError as error:
        print(f"numaplace experiment {args.command}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

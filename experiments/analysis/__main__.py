# SPDX-License-Identifier: GPL-2.0-only
"""numaplace experiment report DIR | compare A B"""

from __future__ import annotations

import argparse
import json
import sys

from .load import ResultsError


def report(args: argparse.Namespace) -> None:
    from . import report, summary, table

    summary_path = summary.write(args.directory)
    report_path = report.write(args.directory)
    table.show(args.directory)
    print(f"{summary_path}\n{report_path}")


def compare(args: argparse.Namespace) -> None:
    from . import compare, table

    found = compare.compare(args.a, args.b)
    if args.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        table.show_comparison(found)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="numaplace experiment", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser(
        "report", help="writes summary.json, report.html and figures/, and shows the table"
    )
    one.add_argument("directory", metavar="DIR")
    one.set_defaults(run=report)
    two = commands.add_parser("compare", help="two runs: differences and their significance")
    two.add_argument("a", metavar="A")
    two.add_argument("b", metavar="B")
    two.add_argument("--json", action="store_true")
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

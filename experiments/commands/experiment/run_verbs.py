# SPDX-License-Identifier: GPL-2.0-only
"""The verbs of runs that were made: report, compare, pack, unpack. Only what one needs is loaded, as pandas and matplotlib are slow."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ...analysis.stats.gate import parse_threshold
from ...errors import CannotError
from ...units import percent


def add_verbs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds each verb and its options to the parser of `numaplace experiment`."""
    verb = commands.add_parser("report", help="summary.json, report.html and the table of a run")
    verb.add_argument("directory", metavar="DIR", help="of a run, or a folder of runs")
    add_compare_options(commands.add_parser("compare", help="runs beside the first: differences and their significance"))
    verb = commands.add_parser("pack", help="a run in one file, for another machine: records, logs, the SHA-256 of each")
    verb.add_argument("directory", type=Path, metavar="RUN", help="folder of a run, or a folder of runs")
    verb.add_argument("bundle", type=Path, metavar="FILE.tar.gz")
    verb.add_argument("--sign", type=Path, metavar="KEY",
                     help="signs it by ssh-keygen: a private key, or a public one that ssh-agent has the private key of")
    verb = commands.add_parser("unpack", help="verifies what pack wrote, then writes its files into a new folder")
    verb.add_argument("bundle", type=Path, metavar="FILE", help="that 'pack' wrote")
    verb.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="default: FILE without .tar.gz, here")
    verb.add_argument("--allowed", type=Path, metavar="SIGNERS",
                     help="refuses what is not signed by a key of this file, which is as ssh-keygen's ALLOWED SIGNERS")


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `experiment compare` to its parser."""
    parser.add_argument("first", metavar="A")
    parser.add_argument("others", metavar="B", nargs="+")
    parser.add_argument("--paired", action="store_true",
                     help="tests the differences in blocks: for runs whose repeats were made in turns")
    parser.add_argument("--smallest", type=percent, default=0.0, metavar="PERCENT",
                     help="the smallest change that matters: none is marked whose interval lies within it")
    parser.add_argument("--fail-if", type=parse_threshold, action="append", default=[], metavar="'METRIC < PERCENT'",
                     help="exit status 4 where the whole interval of a metric's B / A is beyond that; "
                          "as in 'bandwidth < -3 %%'")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page with a figure too")


def report_runs(args: argparse.Namespace) -> None:
    """Writes the report of a run, or of a folder of runs, and prints its tables and the paths of what was written."""
    from ...analysis.pages import memory_figures, placement_table, report, report_all, summary, text_table
    from ...analysis.runs.results import read_results

    runs = report_all.list_runs(args.directory)
    if runs:
        page, parts = report_all.write_reports(args.directory, runs)
        for results, chapters in parts:
            text_table.show_papers(results, chapters)
        written = [page]
    else:
        page, chapters = report.write_report(args.directory)
        written = [summary.write_summary(args.directory, chapters), page]
        results = read_results(args.directory)
        placement_table.show_run(results)
        text_table.show_regret(results)
        text_table.show_progress(results)
        for section in memory_figures.make_sections(results):
            print(memory_figures.format_section(section), end="\n\n")
        if chapters:
            text_table.show_papers(results, chapters)
    print(*written, sep="\n")


def compare_runs(args: argparse.Namespace) -> int:
    """Compares runs with the first, prints the differences or their JSON. Returns gate.STATUS where one crosses --fail-if, else 0."""
    from ...analysis.pages import compare_report, text_table
    from ...analysis.stats import compare, gate

    comparison = compare.compare_runs(args.first, *args.others, in_blocks=args.paired, smallest=args.smallest / 100)
    crossed = comparison["crossed"] = gate.judge_rows(comparison, args.fail_if)
    if args.html:
        compare_report.write_page(comparison, args.html)
    if args.json:
        print(json.dumps(comparison, indent=1, ensure_ascii=False))
    else:
        text_table.show_comparison(comparison)
        if args.html:
            print(args.html)
    for line in gate.list_undecided(comparison, args.fail_if) + crossed:
        print(f"numaplace experiment compare: {line}", file=sys.stderr)
    return gate.STATUS if crossed else 0


def pack_runs(args: argparse.Namespace) -> None:
    """Packs a run, or a folder of runs, into one file, signs it where --sign is given, and prints its path."""
    from ...analysis import bundle

    bundle.pack_runs(args.directory, args.bundle, args.sign)
    print(args.bundle)


def unpack_runs(args: argparse.Namespace) -> None:
    """Verifies a packed file, writes its files into a new folder, and prints what was verified and the folder."""
    from ...analysis import bundle

    folder, message = bundle.unpack_runs(args.bundle, args.folder, args.allowed)
    print(message, folder, sep="\n")


def carry_out_verb(args: argparse.Namespace) -> int:
    """Carries a verb out. Returns the exit status. CannotError: a package of the analysis is not installed."""
    try:
        from ...analysis.runs.results import ResultsError
    except ImportError as error:
        raise CannotError(f"{error.name} is not installed: run 'make setup'") from None
    try:
        commands = {"report": report_runs, "compare": compare_runs, "pack": pack_runs, "unpack": unpack_runs}
        return commands[args.command](args) or 0
    except ResultsError as error:
        print(f"numaplace experiment {args.command}: {error}", file=sys.stderr)
        return error.status

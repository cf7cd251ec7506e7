# SPDX-License-Identifier: GPL-2.0-only
"""Compares the end of the demo's output with the measured table, line by line: the same words, whatever the figures are."""

import argparse
import re
import sys
from pathlib import Path

from .paths import HERE

MEASURED = HERE.code / "Documentation/measured/demo.txt"
AFTER = """demo: 96 observations in 700 s

The report, with a figure for every workload: /home/you/numaplace/results/demo/report.html
"""
FIGURE = re.compile(r"(?<!\S)[+−-]?\d+(\.\d+)?(->\d+(\.\d+)?)?(?!\S)")
INTERVAL = re.compile(r" (\[[^\]]*\]|[*=m](?= |$))")  # with what it decides
REPORT = re.compile(r"\S*/results/demo/report\.html$")


def find_expected_end(measured: str) -> str:
    """Returns how the demo ends, from the text of its measured file: the table without the file's head, then what it says last."""
    return find_end(measured).partition("observations by commit")[0] + AFTER


def remove_figures(line: str) -> str:
    """A line without its figures, intervals, widths and folders: these differ from run to run and from machine to machine."""
    line = re.sub("─+", "─", REPORT.sub("report.html", line.rstrip()))
    return " ".join(FIGURE.sub("#", INTERVAL.sub("", line)).split())


def list_kinds(text: str) -> list[str]:
    """Of a table's lines, which begin with a space, and of the words below it, whose lines break where figures let them."""
    lines = text.strip("\n").splitlines()
    words = " ".join(line.strip() for line in lines if not line.startswith(" "))
    rows = [remove_figures(line) for line in lines if line.startswith(" ")]
    return [found for found in (*rows, remove_figures(words)) if found not in ("", "#")]


def find_end(output: str) -> str:
    """From the head of the last table on."""
    lines = output.splitlines(keepends=True)
    head = max((number for number, line in enumerate(lines) if line.startswith(" workload")), default=len(lines))
    return "".join(lines[head:])


def find_difference(output: str, measured: str) -> str | None:
    """Returns what is wrong with the first line that is not of the measured kind, or None."""
    wanted = list_kinds(find_expected_end(measured))
    found = list_kinds(find_end(output))
    for number, kind_wanted in enumerate(wanted):
        kind_found = found[number] if number < len(found) else "nothing"
        if kind_found != kind_wanted:
            return f"line {number + 1} of the end of make demo is '{kind_found}', in Documentation/measured/demo.txt '{kind_wanted}'"
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="as_measured", description=__doc__)
    parser.add_argument("output", type=Path, help="file with what make demo wrote")
    args = parser.parse_args(arguments)
    differs = find_difference(args.output.read_text(), MEASURED.read_text())
    if differs:
        print(f"demo: {differs}: correct whichever is wrong", file=sys.stderr)
        return 1
    print("demo: it ended as Documentation/measured/demo.txt says")
    return 0


if __name__ == "__main__":
    sys.exit(main())

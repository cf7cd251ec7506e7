# SPDX-License-Identifier: GPL-2.0-only
"""Compares the end of the demo's output with the measured table, line by line: the same words, whatever the figures are."""

import argparse
import re
import sys
from pathlib import Path

from .paths import HERE

MEASURED = HERE.code / "Documentation/measured/demo.txt"
AFTER = """demo: 36 observations in 650 s

The report, with a figure for every workload: /home/you/numaplace/results/demo/report.html
"""
FIGURE = re.compile(r"(?<!\S)[+−-]?\d+(\.\d+)?(->\d+(\.\d+)?)?(?!\S)")
INTERVAL = re.compile(r" (\[[^\]]*\]|[*=m](?= |$))")  # with what it decides
REPORT = re.compile(r"\S*/results/demo/report\.html$")


def find_expected_end(measured: str) -> str:
    """Returns how the demo ends, from the text of its measured file: the table without the file's head, then what it says last."""
    return find_end(measured).partition("observations by commit")[0] + AFTER


def remove_figures(line: str) -> str:
    """Removes figures, intervals, widths and folders from a line: these differ from run to run and from machine to machine."""
    line = re.sub("─+", "─", REPORT.sub("report.html", line.rstrip()))
    return " ".join(FIGURE.sub("#", INTERVAL.sub("", line)).split())


def list_kinds(text: str) -> list[str]:
    """Lists a table's lines, which begin with a space, then the words below it as one, all without figures."""
    # The lines of the words break where figures let them.
    lines = text.strip("\n").splitlines()
    words = " ".join(line.strip() for line in lines if not line.startswith(" "))
    rows = [remove_figures(line) for line in lines if line.startswith(" ")]
    return [kind for kind in (*rows, remove_figures(words)) if kind not in ("", "#")]


def find_end(output: str) -> str:
    """Returns the end of an output, from the head of its last table on; "" without a table."""
    lines = output.splitlines(keepends=True)
    head = max((number for number, line in enumerate(lines) if line.startswith(" workload")), default=len(lines))
    return "".join(lines[head:])


def find_difference(output: str, measured: str) -> str | None:
    """Returns a sentence about the first line of the output's end that is not of the measured kind; None where there is none."""
    measured_kinds = list_kinds(find_expected_end(measured))
    output_kinds = list_kinds(find_end(output))
    for number, measured_kind in enumerate(measured_kinds):
        kind = output_kinds[number] if number < len(output_kinds) else "nothing"
        if kind != measured_kind:
            return f"line {number + 1} of the end of make demo is '{kind}', in Documentation/measured/demo.txt '{measured_kind}'"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Compares the output in a file with the measured one. Returns 0 where it is of the same kinds, else 1."""
    parser = argparse.ArgumentParser(prog="as_measured", description=__doc__)
    parser.add_argument("output", type=Path, help="file with what make demo wrote")
    args = parser.parse_args(arguments)
    difference = find_difference(args.output.read_text(), MEASURED.read_text())
    if difference:
        print(f"demo: {difference}: correct whichever is wrong", file=sys.stderr)
        return 1
    print("demo: it ended as Documentation/measured/demo.txt says")
    return 0


if __name__ == "__main__":
    sys.exit(main())

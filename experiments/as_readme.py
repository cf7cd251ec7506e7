# SPDX-License-Identifier: GPL-2.0-only
"""Whether the demo's output ends as README.md shows it: line by line the same words, whatever the figures are."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from .paths import HERE

README = HERE.code / "README.md"
SHOWN = re.compile(r"^`make demo` ends like this.*?^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"(?<!\S)[+−-]?\d+(\.\d+)?(->\d+(\.\d+)?)?(?!\S)")
INTERVAL = re.compile(r" (\[[^\]]*\]|[*=m](?= |$))")  # with what it decides
REPORT = re.compile(r"\S*/results/demo/report\.html$")


def shown(readme: str) -> str:
    found = SHOWN.search(readme)
    if not found:
        raise ValueError("README.md shows no end of make demo: no block follows '`make demo` ends like this'")
    return found[1]


def kind(line: str) -> str:
    """A line without its figures, intervals, widths and folders: these differ from run to run and from machine to machine."""
    line = re.sub("─+", "─", REPORT.sub("report.html", line.rstrip()))
    return " ".join(FIGURE.sub("#", INTERVAL.sub("", line)).split())


def kinds(text: str) -> list[str]:
    """Of a table's lines, which begin with a space, and of the words below it, whose lines break where figures let them."""
    lines = text.strip("\n").splitlines()
    words = " ".join(line.strip() for line in lines if not line.startswith(" "))
    return [found for found in (*map(kind, (line for line in lines if line.startswith(" "))), kind(words)) if found not in ("", "#")]


def end_of(output: str) -> str:
    """From the head of the last table on."""
    lines = output.splitlines(keepends=True)
    head = max((number for number, line in enumerate(lines) if line.startswith(" workload")), default=len(lines))
    return "".join(lines[head:])


def difference(output: str, readme: str) -> str | None:
    """The first line that is not of the kind shown, or nothing."""
    wanted = kinds(shown(readme))
    found = kinds(end_of(output))
    for number, kind_wanted in enumerate(wanted):
        kind_found = found[number] if number < len(found) else "nothing"
        if kind_found != kind_wanted:
            return f"line {number + 1} of the end of make demo is '{kind_found}', in README.md '{kind_wanted}'"
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="as_readme", description=__doc__)
    parser.add_argument("output", type=Path, help="file with what make demo wrote")
    args = parser.parse_args(arguments)
    differs = difference(args.output.read_text(), README.read_text())
    if differs:
        print(f"demo: {differs}: correct whichever is wrong", file=sys.stderr)
        return 1
    print("demo: it ended as README.md says")
    return 0


if __name__ == "__main__":
    sys.exit(main())

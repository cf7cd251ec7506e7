# SPDX-License-Identifier: GPL-2.0-only
"""The line of a TOML document that holds a field; tomllib forgets it."""

import re


def line_of(text: str, where: tuple) -> int:
    """The line of `where`, e.g. ("node", 1, "memory"); the nearest thing around it if it has none."""
    lines = text.splitlines()
    table, key = split(where)
    start = table_start(lines, table)
    if key is not None:
        for number in range(start, len(lines)):
            if number > start and lines[number].lstrip().startswith("["):
                if is_header(lines[number]):
                    break
            if re.match(rf"\s*{re.escape(key)}\s*=", lines[number]):
                return number + 1
    if key is not None:
        name = ".".join(part for part in where if not isinstance(part, int))
        return header_line(lines, name) or start + 1
    return start + 1


def split(where: tuple) -> tuple[tuple, str | None]:
    """The [table] with its dotted name, the number of a [[table]], and the key in it."""
    if not where:
        return (), None
    inner = [i for i, part in enumerate(where) if isinstance(part, int)]
    end = inner[-1] + 1 if inner else len(where) - 1
    end = max(end, len(where) - 1)
    name = ".".join(part for part in where[:end] if not isinstance(part, int))
    number = where[inner[-1]] if inner else 0
    return (name, number) if name else (), where[end] if len(where) > end else None


def is_header(line: str) -> bool:
    return re.match(r"\s*\[\[?[A-Za-z_.-]+\]\]?\s*(#.*)?$", line) is not None


def header_line(lines: list[str], name: str) -> int | None:
    for number, line in enumerate(lines):
        if re.match(rf"\s*\[\[?{re.escape(name)}[].]", line):
            return number + 1
    return None


def table_start(lines: list[str], table: tuple) -> int:
    """Index of the header of the table; 0 for the top of the document."""
    if not table:
        return 0
    seen = -1
    for number, line in enumerate(lines):
        if re.match(rf"\s*\[\[?{re.escape(table[0])}\]", line):
            seen += 1
            if seen == table[1]:
                return number
    return 0

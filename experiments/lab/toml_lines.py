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
    if key is not None and not table:
        return header_line(lines, key) or 1
    return start + 1


def split(where: tuple) -> tuple[tuple, str | None]:
    """The [[table]] with its index, and the key in it."""
    if len(where) >= 2 and isinstance(where[1], int):
        return where[:2], where[2] if len(where) > 2 else None
    return (), where[0] if where else None


def is_header(line: str) -> bool:
    return re.match(r"\s*\[\[?[A-Za-z_.-]+\]\]?\s*(#.*)?$", line) is not None


def header_line(lines: list[str], name: str) -> int | None:
    for number, line in enumerate(lines):
        if re.match(rf"\s*\[\[?{re.escape(name)}\]", line):
            return number + 1
    return None


def table_start(lines: list[str], table: tuple) -> int:
    """Index of the header of the table; 0 for the top of the document."""
    if not table:
        return 0
    seen = -1
    for number, line in enumerate(lines):
        if re.match(rf"\s*\[\[{re.escape(table[0])}\]\]", line):
            seen += 1
            if seen == table[1]:
                return number
    return 0

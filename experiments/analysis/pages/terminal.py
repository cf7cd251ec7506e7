# SPDX-License-Identifier: GPL-2.0-only
"""What tables in a terminal share: plain text of 80 columns where the output is no terminal."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..runs import text_format


def make_console() -> Console:
    """Makes a console that writes to stdout; 80 columns without colour where that is no terminal."""
    is_terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, width=None if is_terminal else 80, no_color=not is_terminal, highlight=False, emoji=False, markup=False)


def make_table(*columns: tuple[str, str]) -> Table:
    """Makes a table without rows; a column is its head and "left" or "right". Heads `workload` and `locality` do not wrap."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name in ("workload", "locality"))
    return table


def format_name(text: str) -> Text:
    return Text(text_format.make_printable(text))


def format_options_below(policy: str) -> Text:
    """Formats a placement's name with a line for each option, as a terminal's line has 80 columns."""
    name, _, options = policy.partition(":")
    return Text("\n  ").join(map(format_name, [name, *options.split(",")] if options else [policy]))

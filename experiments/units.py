# SPDX-License-Identifier: GPL-2.0-only
"""Times and sizes on a command line, written as for the tools in C, as types of argparse; a time as it is told."""

import re
from argparse import ArgumentTypeError

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
MIB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}
MOST = 1e7  # of the number of a time, in whichever unit
NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"


def seconds(text: str) -> float:
    """Parses a time such as 500ms or 20s; a bare number is seconds. Returns seconds. ArgumentTypeError: none, or too long."""
    match = re.fullmatch(NUMBER + r"(us|ms|s)?", text)
    if not match or float(match[1]) >= MOST:
        raise ArgumentTypeError(f'"{text}" is not a time, such as 500ms or 20s')
    return float(match[1]) * SECONDS[match[2] or "s"]


def percent(text: str) -> float:
    """Parses a percentage between 0 and 100, such as 2%, 2 % or 2. Returns percent. ArgumentTypeError: it is none."""
    match = re.fullmatch(NUMBER + r" ?%?", text)
    if not match or not 0 < float(match[1]) < 100:
        raise ArgumentTypeError(f'"{text}" is not a percentage between 0 and 100, such as 2%')
    return float(match[1])


def mib(text: str) -> int:
    """Parses a size of whole MiB such as 64MiB or 2G; a bare number is MiB. Returns MiB, 1 or more. ArgumentTypeError: it is none."""
    match = re.fullmatch(NUMBER + r" ?(?:([KMGT])(?:iB)?)?", text)
    value = float(match[1]) * MIB[match[2] or "M"] if match else 0
    if value < 1 or value != int(value):
        raise ArgumentTypeError(f'"{text}" is not a size of whole MiB, such as 64MiB or 2GiB')
    return int(value)


def format_duration(seconds: float) -> str:
    """Formats a time in seconds below 100 s, in minutes below 100 min, else in hours."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds / 60 < 100 else f"{seconds / 3600:.1f} h"

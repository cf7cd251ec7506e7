# SPDX-License-Identifier: GPL-2.0-only
"""Numbers and words that may get into a donated file. What is not here is left out, or is "unknown" there."""

from __future__ import annotations

import math
import re
from typing import Any

UNKNOWN = "unknown"
LEVELS = {"local", "remote", "memory-only", "clean", "dirty", "reader", "owner", "same L3", "same node", "other node",
          "copy", "scale", "sum", "triad", "unstrided", "strided", "l3", "cores", "compact"}
RATIO = re.compile(r"\d{1,3}:\d{1,3}")  # of reads to writes
ARCHITECTURES = {"x86_64", "aarch64", "ppc64le", "riscv64", "s390x", "loongarch64"}
CACHES = {"Data", "Instruction", "Unified"}
SERIES = re.compile(r"\d{1,2}\.\d{1,3}")  # of a kernel; its builder's part of the name is not taken

# Words of a processor's name: the only ones that are the machine's own.
VENDORS = r"AMD|EPYC|Opteron(\(tm\))?|Ryzen|Threadripper|PRO|Intel(\(R\))?|Xeon(\(R\))?|Core(\(TM\))?|Atom(\(TM\))?|Hygon|C86"
RANKS = r"Platinum|Gold|Silver|Bronze|Max|Ultra|CPU|Processor|@|v\d|\d\.\d\dGHz|(\d{1,3}|Dual|Quad|Six|Eight)-Core"
OTHERS = (r"Ampere(\(R\))?|Altra(\(R\))?|Neoverse-[A-Z]\d|Cortex-[A-Z]\d{1,3}|Kunpeng-\d{3}|Loongson-\d[A-Z]\d{0,4}|"
          r"POWER\d{1,2}")
NUMBERS = r"(E\d-|[ELWX])?\d[A-Z0-9]{2}\d[A-Z+]{0,2}|[im]\d-\d{4,5}[A-Z]{0,2}"
MODEL_WORD = re.compile("|".join((VENDORS, RANKS, OTHERS, NUMBERS)))
MOST_WORDS = 12

# The contention model's text: words of its own fields, and numbers.
MODEL_HEAD = re.compile(r"machine name=\S+ line_bytes=(\d{1,4})")
MODEL_LINE = re.compile(r"(node \d{1,3}|link \d{1,3} \d{1,3})( [a-z_]{1,40}=[0-9.e+-]{1,20})*")


def rounded(value: Any) -> float | None:
    """Four digits are more than any of it is good for."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(f"{value:.4g}") if number else None


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def level(value: Any) -> str | int | None:
    """Of a factor."""
    known = isinstance(value, str) and (value in LEVELS or RATIO.fullmatch(value))
    return value if known else whole(value)


def architecture(name: Any) -> str:
    return name if name in ARCHITECTURES else UNKNOWN


def series(release: Any) -> str:
    found = SERIES.match(str(release))
    return found[0] if found else UNKNOWN


def cpu_model(name: str) -> str:
    """The words of it that are a processor's."""
    return " ".join(word for word in name.split()[:MOST_WORDS] if MODEL_WORD.fullmatch(word)) or UNKNOWN


def model(head: str, lines: list[str]) -> list[str] | None:
    """The lines without the machine's name; None where one is not what it is to be."""
    known = MODEL_HEAD.fullmatch(head)
    if not known or not all(MODEL_LINE.fullmatch(line) for line in lines):
        return None
    return [f"machine name=donated line_bytes={known[1]}", *lines]

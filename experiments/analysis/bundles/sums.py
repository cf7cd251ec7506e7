# SPDX-License-Identifier: GPL-2.0-only
"""Hashes of files in the lines that sha256sum writes and `sha256sum --check` reads."""

from __future__ import annotations

import re

LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def text(hashes: dict[str, str]) -> bytes:
    """In the order of the names."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items())).encode()


def read(written: bytes) -> dict[str, str] | None:
    """None where a line is another one or a name stands twice."""
    try:
        lines = [LINE.fullmatch(line) for line in written.decode().splitlines()]
    except ValueError:
        return None
    if not all(lines):
        return None
    found = {line[2]: line[1] for line in lines}
    return found if len(found) == len(lines) else None

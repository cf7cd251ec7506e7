# SPDX-License-Identifier: GPL-2.0-only
"""What a process has mapped, from /proc/PID/numa_maps: KiB by node of each file, of its heap, its stacks and the rest."""

import re
from collections import defaultdict
from pathlib import Path

FIELD = re.compile(r"(?:N(\d+)|kernelpagesize_kB)=(\d+)")  # pages of a node, or the KiB of a page
OTHER = "anonymous memory"
PAGE = 4  # KiB, of a line that does not say the size of its pages


def read_mappings(pid: int, proc: Path = Path("/proc")) -> dict[str, dict[str, int]]:
    """Reads the KiB of each mapping by its name, then by the node's number as text, as in JSON; {} of a process that has ended."""
    try:
        text = (proc / str(pid) / "numa_maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    kib: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in text.splitlines():
        _address, _policy, *words = line.split(" ")
        numbers = {match[1]: int(match[2]) for word in words if (match := FIELD.fullmatch(word))}  # by node; None: of the page size
        page_kib = numbers.pop(None, PAGE)
        for node, count in numbers.items():
            kib[name_mapping(words)][node] += count * page_kib
    return {name: dict(by_node) for name, by_node in kib.items()}


def name_mapping(words: list[str]) -> str:
    """Names a mapping by the words of its line: its file, 'the heap', 'the stack' or OTHER."""
    for word in words:
        if word.startswith("file="):
            return re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), word.removeprefix("file="))
        if word in ("heap", "stack"):
            return f"the {word}"
    return OTHER

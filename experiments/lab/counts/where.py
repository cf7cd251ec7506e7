# SPDX-License-Identifier: GPL-2.0-only
"""Where the remote accesses are: mappings and functions, those with most lines first."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from experiments.lab.counts import symbols
from experiments.lab.counts.maps import Mapping, build_maps
from experiments.lab.counts.profile import Profile, Selection

MOST = 10  # places
Key = tuple[str, str, bool]  # of a function: name, path and named, as of Function


@dataclass(frozen=True)
class Function:
    name: str  # the offset in the file where that has no name for it
    path: str
    named: bool
    offset: int  # in the file, of the instruction with most lines

    def __str__(self) -> str:
        return f"{self.name} ({self.path})" if self.path else self.name


@dataclass(frozen=True)
class Place:
    """Holds the remote lines that were read of one mapping, or by one function."""
    lines: int
    nodes: tuple[int, ...]  # in whose memory they were
    what: Mapping | Function | str


@dataclass(frozen=True)
class Remote:
    """Holds the remote lines and the places that have most of them."""
    lines: int  # all
    mappings: list[Place]
    functions: list[Place]

    @property
    def unnamed(self) -> str | None:
        """Returns the program that has no name for the function with most lines."""
        most = self.functions[0].what if self.functions else None
        return most.path if isinstance(most, Function) and most.path and not most.named else None


def find_remote(profile: Profile, selection: Selection) -> Remote:
    """Sums, of the accesses that `selection` asks for, user code's lines of another node's DRAM, by mapping and by function.

    Refused: nothing was selected, as select_tasks() says."""
    tasks, maps = set(selection.select_tasks(profile)), build_maps(profile)
    mappings: dict[object, Counter[int]] = {}  # lines by node
    functions: dict[Key, Counter[int]] = {}    # lines by offset
    nodes: dict[Key, set[int]] = {}
    for use in profile.uses:
        if use.task not in tasks or not use.remote:
            continue
        process_maps = maps.get(use.task.tgid)
        mapping = process_maps and process_maps.find_mapping(use.page)
        mappings.setdefault(mapping or f"unknown mapping at {use.page:#x}", Counter())[use.node] += use.lines
        key, offset = _find_function(process_maps and process_maps.find_mapping(use.code), use.code)
        functions.setdefault(key, Counter())[offset] += use.lines
        nodes.setdefault(key, set()).add(use.node)
    by_mapping = [Place(counts.total(), tuple(sorted(counts)), what) for what, counts in mappings.items()]
    by_function = [Place(counts.total(), tuple(sorted(nodes[key])), Function(*key, offset=max(counts, key=counts.__getitem__)))
                   for key, counts in functions.items()]
    return Remote(sum(place.lines for place in by_mapping), _select_most(by_mapping), _select_most(by_function))


def _select_most(places: list[Place]) -> list[Place]:
    return sorted(places, key=lambda p: (-p.lines, str(p.what)))[:MOST]


def _find_function(mapping: Mapping | None, code: int) -> tuple[Key, int]:
    """Finds the function at the address `code` in its mapping, None of an unknown one. Returns its key, and the code's offset in the file."""
    if mapping is None or not mapping.name.startswith("/"):
        return (mapping.name if mapping else f"{code:#x}", "", False), 0
    offset = mapping.offset + code - mapping.start
    name = symbols.load_program(mapping.name).find_function(offset)
    path = Path(mapping.name)
    shown = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
    return (name or f"+{offset:#x}", shown, bool(name)), offset

# SPDX-License-Identifier: GPL-2.0-only
"""What lies where in the memory of the command's processes, by the notes that watch/watch.c gave."""

from __future__ import annotations

from bisect import bisect_right
from copy import copy
from dataclasses import dataclass, replace

from experiments.lab.counts.profile import Profile

WRITE, EXECUTE = 2, 4  # of PROT
ANONYMOUS = "//anon"


@dataclass(frozen=True)
class Mapping:
    start: int
    end: int
    offset: int  # in the file
    name: str    # a file's path, or the kernel's name in brackets
    kind: str    # file, code, data, bss, heap, stack, anonymous
    bytes: int   # of the whole mapping, parts of which may be another's by now

    def __str__(self) -> str:
        """Formats the mapping as 'heap, 1.5 MiB at 0x7f00', with the file where it is of one."""
        size = f"{self.bytes / (1 << 20):.1f} MiB" if self.bytes >= 1 << 20 else f"{self.bytes >> 10} KiB"
        of = f" of {self.name}" if self.name != ANONYMOUS and not self.name.startswith("[") else ""
        what = "anonymous mapping" if self.kind == "anonymous" else self.kind
        return f"{what}{of}, {size} at {self.start:#x}"


class Maps:
    """Holds the mappings of one process, as they were when it ended. What is mapped over something else replaces it; nothing
    tells of munmap()."""

    def __init__(self):
        self.mappings: list[Mapping] = []  # in the order of addresses; never changed in place: copies share it
        self.loaded = False  # whether execve() has mapped all of the program
        self.program = ""  # its file
        self.end = 0  # of the program's data, where the heap begins

    def find_kind(self, start: int, prot: int, name: str) -> str:
        """Finds the kind of a mapping that begins at `start`, by its protection, its name and the mapping that ends there.

        Anonymous memory after data is its bss; but once the program is loaded, that at its end, or after the heap, is the heap."""
        if name.startswith("[stack"):
            return "stack"
        if name == "[heap]":
            return "heap"
        if name == ANONYMOUS:
            before = next((m.kind for m in self.mappings if m.end == start), "")
            if self.loaded and (start == self.end or before == "heap"):
                return "heap"
            return "bss" if before == "data" else "anonymous"
        return "file" if name.startswith("[") else "code" if prot & EXECUTE else "data" if prot & WRITE else "file"

    def add_mapping(self, start: int, size: int, offset: int, prot: int, name: str):
        """Adds a mapping, cutting what it replaces out of the others. start: address; size: bytes; prot: bits; offset: in file `name`."""
        end, kept = start + size, []  # what is left of the others, some of it empty
        new = Mapping(start, end, offset, name, self.find_kind(start, prot, name), size)
        for old in self.mappings:
            if old.start < start:
                kept.append(replace(old, end=min(old.end, start)))
            if old.end > end:
                kept.append(replace(old, start=max(old.start, end), offset=old.offset + max(old.start, end) - old.start))
        self.mappings = sorted([*(m for m in kept if m.start < m.end), new], key=lambda m: m.start)
        self.program = self.program or (name if name.startswith("/") else "")
        if not self.loaded and (name == self.program or new.kind == "bss"):
            self.end = max(self.end, end)
        self.loaded = self.loaded or name == "[vdso]"  # the last that execve() maps

    def find_mapping(self, address: int) -> Mapping | None:
        """Finds the mapping that has an address; None where none has."""
        index = bisect_right(self.mappings, address, key=lambda m: m.start) - 1
        return self.mappings[index] if index >= 0 and address < self.mappings[index].end else None


def build_maps(profile: Profile) -> dict[int, Maps]:
    """Builds the mappings of each process, by its number, from the profile's notes."""
    by_process: dict[int, Maps] = {}
    for note in profile.notes:
        if note.kind == "exec":
            by_process[int(note.words[0])] = Maps()
        elif note.kind == "fork":
            child, parent = map(int, note.words[:2])
            by_process[child] = copy(by_process.get(parent, Maps()))
        elif note.kind == "mmap":
            tgid, start, size, offset, prot, name = note.words
            by_process.setdefault(int(tgid), Maps()).add_mapping(int(start, 16), int(size), int(offset), int(prot), name)
    return by_process

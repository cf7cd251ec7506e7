# SPDX-License-Identifier: GPL-2.0-only
"""Functions and lines of source by address, as a program's own file has them."""

import ctypes
from bisect import bisect_right
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

DWARF_5 = 5
LONGEST_FUNCTION = 1 << 20  # bytes: how far back functions that end before an address are passed over


class Program:
    """Holds the functions and segments of a program's file."""
    def __init__(self, path: str):
        """Reads the file; of one that is missing or no ELF it holds nothing."""
        self.path = path
        self.functions: list[tuple[int, int, str]] = []  # address, end, name
        self.segments: list[tuple[int, int, int]] = []   # offset in the file, bytes, address
        try:
            with open(path, "rb") as file:
                self._read_elf(ELFFile(file))
        except (OSError, ELFError):
            pass  # not there any more, or made in the machine: addresses have no names

    def _read_elf(self, elf: ELFFile):
        """Reads the segments that are loaded, and the functions of all tables of symbols, in the order of addresses."""
        self.segments = [(s["p_offset"], s["p_filesz"], s["p_vaddr"]) for s in elf.iter_segments("PT_LOAD")]
        tables = [s for s in elf.iter_sections() if isinstance(s, SymbolTableSection)]
        functions = {(symbol["st_value"], symbol["st_value"] + symbol["st_size"], symbol.name)
                     for table in tables for symbol in table.iter_symbols()
                     if symbol["st_info"]["type"] in ("STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS") and symbol["st_size"]}
        self.functions = sorted(functions)

    def find_address(self, offset: int) -> int | None:
        """Returns the address that the file's symbols have for an offset in the file; None outside its segments."""
        return next((address + offset - start for start, size, address in self.segments if start <= offset < start + size), None)

    def find_function(self, offset: int) -> str | None:
        """Returns the name of the function at an offset in the file; None where the file has none."""
        address = self.find_address(offset)
        if address is None:
            return None
        following = bisect_right(self.functions, address, key=lambda function: function[0])
        for start, end, name in map(self.functions.__getitem__, range(following - 1, -1, -1)):
            if address < end:
                return demangle_name(name)
            if address - start > LONGEST_FUNCTION:  # one that ends before may be inside one that does not
                return None
        return None

    def find_line(self, offset: int) -> tuple[str, int] | None:
        """Finds source file and line of the code at an offset in the file; None without debugging information."""
        address = self.find_address(offset)
        try:
            with open(self.path, "rb") as file:
                elf = ELFFile(file)
                return _find_line(elf, address) if address is not None and elf.has_dwarf_info() else None
        except (OSError, ELFError):
            return None


def _find_line(elf: ELFFile, address: int) -> tuple[str, int] | None:
    """Finds source file and line of an address in a program's debugging information; None where it is not there."""
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        before = None
        for entry in program.get_entries() if program else []:
            state = entry.state
            if state is None:
                continue
            if before and before.address <= address < state.address:  # an entry's line goes on to the next one's address
                return _find_file(program, unit, before.file), before.line
            before = None if state.end_sequence else state
    return None


def _find_file(program, unit, number: int) -> str:
    """Finds the path of a file by its number in a line program: below the current folder a relative one."""
    from_zero = program["version"] >= DWARF_5  # older versions number files and folders from 1
    entry = program["file_entry"][number if from_zero else number - 1]
    folders = [folder.decode() for folder in program["include_directory"]]
    index = entry.dir_index if from_zero else entry.dir_index - 1
    folder = Path(folders[index]) if 0 <= index < len(folders) else Path(unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode())
    path = folder / entry.name.decode()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def demangle_name(name: str) -> str:
    """Demangles a name of C++, or of Rust's older kind; returns others, and all without the C++ library, as they are."""
    try:
        demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except OSError:
        return name
    status = ctypes.c_int()
    demangle.restype = ctypes.c_void_p
    allocated = demangle(name.encode(), None, None, ctypes.byref(status)) if name.startswith("_Z") else None
    if not allocated:
        return name
    text = ctypes.string_at(allocated).decode()
    ctypes.CDLL(None).free(ctypes.c_void_p(allocated))
    return text


@cache
def load_program(path: str) -> Program:
    return Program(path)

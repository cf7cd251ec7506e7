# SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
"""Names a part of a program for `numaplace lab run --region NAME`: with numaplace_region.region("scan"): ...

The process is in the region while one of its threads is. Outside the lab the instruction does nothing. For x86-64.
"""

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

BEGIN, END = 2, 3


def _make_instruction(number: int):
    """Makes a function of (text, bytes) of the code mov %rdi, %rax; mov %rsi, %rcx; nopl 0x6e7000NN(%rax); ret, NN the number."""
    code = bytes.fromhex("4889f8 4889f1 0f1f80") + bytes([number]) + bytes.fromhex("00706e c3")
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_size_t)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    function.memory = memory  # lives as long as the function
    return function


_tell = {number: _make_instruction(number) for number in (BEGIN, END)}


@contextmanager
def region(name: str) -> Iterator[None]:
    """Enters a region while the block runs. name: up to 63 bytes."""
    text = name.encode()
    _tell[BEGIN](text, len(text))
    try:
        yield
    finally:
        _tell[END](text, len(text))

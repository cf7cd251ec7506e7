# SPDX-License-Identifier: GPL-2.0-only
"""Memory policies, as set_mempolicy(2) has them: of this process, of others, and as the kernel shows them."""

import ctypes
import os

DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY, WEIGHTED_INTERLEAVE = range(7)
STATIC_NODES, RELATIVE_NODES = 1 << 15, 1 << 14
SET_MEMPOLICY = 238
libc = ctypes.CDLL(None, use_errno=True)


def try_own(mode: int, nodes: int = 0) -> int:
    """0 or the errno that the kernel gives for the policy."""
    mask = ctypes.c_ulong(nodes)
    done = libc.syscall(SET_MEMPOLICY, mode, ctypes.byref(mask) if nodes else None, 65 if nodes else 0)
    return ctypes.get_errno() if done else 0


def set_own(mode: int, nodes: int = 0):
    error = try_own(mode, nodes)
    assert error == 0, os.strerror(error)


def of(tid: int) -> str:
    """As the kernel shows it for a mapping that has none of its own."""
    with open(f"/proc/{tid}/numa_maps", encoding="ascii") as maps:
        return next(line.split()[1] for line in maps if "stack" in line)

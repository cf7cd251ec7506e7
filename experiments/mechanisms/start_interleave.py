# SPDX-License-Identifier: GPL-2.0-only
"""Programs that start with a memory policy which takes the machine's nodes in turn, as numactl --interleave does."""

import ctypes
import ctypes.util
from pathlib import Path

from .mechanism import Mechanism, missing

MPOL_INTERLEAVE, MPOL_WEIGHTED_INTERLEAVE = 3, 6  # linux/mempolicy.h
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
LIBNUMA = "libnuma.so.1"
MASK_WORDS = 16  # of 64 bits: a bit for each of 1024 nodes


class StartInterleave(Mechanism):
    name = "start-interleave"
    about = "programs start with their pages spread over all nodes (MPOL_INTERLEAVE)"
    starts = True
    mode = MPOL_INTERLEAVE

    def before_exec(self, nodes):
        """Returns a function that gives a new process the memory policy `mode` over the nodes with memory."""
        libnuma = ctypes.CDLL(LIBNUMA, use_errno=True)
        mask = sum(1 << node.id for node in nodes if node.total_kib)
        words = (ctypes.c_ulong * MASK_WORDS)(*[mask >> 64 * k & (1 << 64) - 1 for k in range(MASK_WORDS)])

        def set_policy() -> None:
            """Sets the memory policy of this process. OSError: the kernel refuses it."""
            if libnuma.set_mempolicy(self.mode, words, 8 * ctypes.sizeof(words)):
                raise OSError(ctypes.get_errno(), f"mechanism {self.name}: set_mempolicy")
        return set_policy


class StartWeighted(StartInterleave):
    name = "start-weighted"
    about = "programs start with their pages spread by the kernel's weights of nodes (MPOL_WEIGHTED_INTERLEAVE)"
    mode = MPOL_WEIGHTED_INTERLEAVE

    def lacks(self, nodes):
        """Returns why it cannot be switched on here: also that this kernel has no weights; None where it can."""
        return super().lacks(nodes) or missing(WEIGHTS)

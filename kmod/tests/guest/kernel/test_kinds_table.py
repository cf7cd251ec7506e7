# SPDX-License-Identifier: GPL-2.0-only
"""Each kind of page by each engine: all of it moves, or stays with its one status."""

import kinds_table
import pytest
from kinds_table import ENGINES, KINDS

OF_KERNELS_WITH = {"large folios of 64 KiB": kinds_table.HUGE_64K}


@pytest.mark.parametrize("engine", [pytest.param(e, marks=[pytest.mark.full("no code of the module")] * (e == "syscall")) for e in ENGINES])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-").replace(",", ""))
def test_kind_by_engine(kind, engine):
    needed = OF_KERNELS_WITH.get(kind.name)
    if needed and not needed.exists():
        pytest.skip(f"this kernel has no {kind.name}")
    found = kinds_table.observe_surely(kind, engine)
    said = getattr(kind, engine)
    assert found == ({said: kind.pages} if said else {})

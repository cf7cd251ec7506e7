# SPDX-License-Identifier: GPL-2.0-only
"""Each kind of page by each engine: all of it moves, or stays with its one status."""

import kinds_table
import pytest
from kinds_table import ENGINES, KINDS, MAY_LACK, NotHere

CASES = [pytest.param(kind, engine, id=f"{kind.name.replace(' ', '-').replace(',', '')}-{engine}",
                      marks=[pytest.mark.full("no code of the module")] * (engine == "syscall"))
         for kind in KINDS for engine in ENGINES if getattr(kind, engine) is not None]


@pytest.mark.parametrize(("kind", "engine"), CASES)
def test_kind_by_engine(kind, engine):
    try:
        found = kinds_table.outcome(kind, engine)
    except NotHere:
        if kind.name not in MAY_LACK:
            raise
        pytest.skip(f"this kernel has no {kind.name}")
    assert found == getattr(kind, engine)

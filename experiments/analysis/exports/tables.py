# SPDX-License-Identifier: GPL-2.0-only
"""Every value of every observation as a table, one value a row: CSV and Parquet."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from ..runs.results import Results, ResultsError

COST = (("apply_s", "s"), ("watched_s", "s"), ("move_s", "s"), ("moved_bytes", "bytes"))
FACTOR = "factor_"  # before the name of each factor's column


def frame(results: Results) -> pd.DataFrame:
    """Marked observations and warm-ups too: `clean` says which may be averaged."""
    rows = []
    for o in results.observations:
        cost = o.raw.get("cost") or {}
        values = [(m.name, m.unit, m.value) for m in o.metrics]
        values += [(f"cost_{name}", unit, float(cost[name])) for name, unit in COST if name in cost]
        known = {"suite": results.suite, "machine": results.machine, "platform": o.platform,
                 "workload": o.workload, "policy": o.policy, "repeat": o.repeat, "order": o.order,
                 "started": str(o.raw.get("started", "")), "clean": o.clean, "warmup": o.warmup,
                 "marks": "; ".join(o.marks), "line": o.line}
        factors = {FACTOR + name: str(level) for name, level in o.factors.items()}
        rows += [known | factors | {"metric": name, "unit": unit, "value": value} for name, unit, value in values]
    return pd.DataFrame(rows)


def csv(results: Results, path: Path) -> None:
    _whole(path, lambda partial: frame(results).to_csv(partial, index=False))


def parquet(results: Results, path: Path) -> None:
    try:
        import fastparquet
    except ImportError:
        raise ResultsError(f"{path}: the Python package fastparquet is not installed: 'pip install fastparquet', "
                           "or take --csv") from None
    _whole(path, lambda partial: fastparquet.write(str(partial), frame(results), write_index=False))


def _whole(path: Path, write) -> None:
    """Whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        write(partial)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ResultsError(f"{path}: {error.strerror}; choose another file") from None

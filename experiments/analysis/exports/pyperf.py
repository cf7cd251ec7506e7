# SPDX-License-Identifier: GPL-2.0-only
"""A run as a suite of pyperf, which compares and tests it: `python -m pyperf compare_to A.json B.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ..pages.summary import write_text
from ..policies.speedup import response
from ..runs.results import Observation, Results, ResultsError, higher_is_better

FORMAT = "1.0"
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}


def suite(results: Results) -> dict[str, Any]:
    """One benchmark for each workload and policy: the seconds of its response, or of a unit of its work.

    pyperf takes less for better: a rate is exported as its inverse, which the name says.
    """
    benchmarks = [benchmark for w in results.workloads for p in results.policies
                  for benchmark in _benchmark(results, w, p)]
    if not benchmarks:
        raise ResultsError(f"{results.directory}: no clean observation of a time or a rate, so nothing for pyperf; "
                           "take --csv")
    return {"version": FORMAT, "metadata": _metadata(results), "benchmarks": benchmarks}


def _benchmark(results: Results, workload: str, policy: str) -> Iterator[dict[str, Any]]:
    metric = response(results, workload)
    if not metric:
        return
    name, unit = metric
    runs = [_run(o, seconds) for o in results.select(workload, policy)
            if (seconds := _seconds(o.value(name), unit)) is not None]
    if runs:
        title = "/".join([workload, *([] if policy == "none" else [policy]), name])
        inverse = f" (seconds for one {unit.removesuffix('/s')})" if higher_is_better(unit) else ""
        yield {"metadata": {"name": title + inverse, "unit": "second"}, "runs": runs}


def _seconds(value: float | None, unit: str) -> float | None:
    if value is None or value <= 0:
        return None
    return 1 / value if higher_is_better(unit) else value * SECONDS[unit]


def _run(o: Observation, seconds: float) -> dict[str, Any]:
    try:
        date = {"date": datetime.fromisoformat(str(o.raw.get("started"))).replace(tzinfo=None).isoformat(" ")}
    except ValueError:
        date = {}
    return {"values": [seconds], "metadata": date | {"numaplace_line": o.line}}


def _metadata(results: Results) -> dict[str, Any]:
    known = {"hostname": results.machine, "description": f"numaplace {results.suite}",
             "numaplace_platform": results.platform_line}
    return {key: value for key, value in known.items() if value}


def write(results: Results, path: Path) -> None:
    try:
        write_text(path, json.dumps(suite(results), indent=1) + "\n")
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}; choose another file") from None

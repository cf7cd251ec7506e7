# SPDX-License-Identifier: GPL-2.0-only
"""A run's values as a table that models are fitted to."""

from __future__ import annotations

import pandas as pd

from ..runs.results import Results


def frame(results: Results, workloads: list[str], metric: str) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "workload": o.workload,
                "policy": o.policy,
                "repeat": o.repeat,
                metric: o.value(metric),
            }
            for w in workloads
            for o in results.select_independent(w)
            if o.value(metric) is not None
        ]
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Made-up results of factorial suites, for tests only: nothing here was measured.

Values are given by the test, most of them a paper's own printed table, with a little noise.
"""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Cell = tuple[dict[str, Any], dict[str, tuple[float, str]]]


def make_records(suite: str, cells: Iterable[Cell], repeats: int = 3, noise: float = 0.002,
                 seed: int = 5, platform: str = "real", policy: str = "none") -> list[dict[str, Any]]:
    """One record for every cell and repeat; metrics are (value, unit). In the lab the model's error would be added."""
    spread, found = random.Random(seed), []
    cells = list(cells)
    for repeat in range(repeats):
        for factors, metrics in cells:
            name = "-".join([suite, *(str(level) for level in factors.values())])
            found.append({
                "suite": suite, "workload": name, "policy": policy, "factors": factors,
                "repeat": repeat, "order": len(found), "seed": seed, "platform": platform,
                "started": "2024-02-29T12:00:00+00:00", "marks": [], "check": "ok",
                "metrics": [{"name": n, "unit": u, "value": v * spread.gauss(1, noise)}
                            for n, (v, u) in metrics.items()],
            })
    return found


DESIGNS = {"luo-contention": "contention", "luo-cross": "cross", "luo-split": "split", "bergstrom-stream": "numa-stream",
           "heard-cachetest": "cachetest", "deters-stealing": "work-stealing"}


def write_run(directory: Path, found: list[dict[str, Any]], presents: list[str],
              machine: str = "xeon-e5620-2s", nodes: int = 2) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    manifest = {
        "suite": found[0]["suite"], "machine": machine, "seed": 5, "platform": found[0]["platform"],
        "nodes": [{"id": n} for n in range(nodes)], "paper": "a paper",
        "suite_text": f"presents = {json.dumps(presents)}\ndesign = {json.dumps(DESIGNS.get(*presents[:1] or [''], ''))}\n",
    }
    (directory / "manifest.json").write_text(json.dumps(manifest))
    (directory / "results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found))
    return directory

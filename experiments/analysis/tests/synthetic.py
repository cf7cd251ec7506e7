# SPDX-License-Identifier: GPL-2.0-only
"""Made-up results, for tests of the analysis only: nothing here was measured.

The numbers are chosen so that means, intervals and localities can be worked out by hand.
"""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.paths import HERE

POLICIES = ("none", "maximum-local", "n-mass")


def _describe(roles: str, home: tuple[int, ...], start: tuple[int, ...], *metrics: tuple[str, str, float],
              pages: int = 16384) -> dict[str, Any]:
    return {"roles": tuple(roles.split()), "home": home, "start": start, "pages": pages, "metrics": metrics}


WORKLOADS = {
    "contention-1L1R": _describe("local-0 remote-0", (0, 0), (1, 1), ("bandwidth", "MB/s", 800.0)),
    "contention-2L2R": _describe("local-0 local-1 remote-0 remote-1", (0, 0, 0, 0), (1, 1, 1, 1), ("bandwidth", "MB/s", 950.0)),
    "cross": _describe("left right", (0, 1), (1, 0), ("bandwidth", "MB/s", 700.0)),
    "redis-lists": _describe("server client", (0, 0), (1, 1), ("throughput", "requests/s", 21000.0), ("latency_p99", "ms", 1.4),
                             ("seconds", "s", 4.0), pages=9000),
}
MANIFEST = {
    "suite": "policy-matrix",
    "machine": "demo-2s",
    "seed": 20240229,
    "repeats": 3,
    "question": "What does each placement policy do to misplaced tasks?",
    "platform": "lab-functional",
    "kernel": {"release": "6.12.0-synthetic", "cmdline": "numaplace_lab=demo-2s,functional"},
    "module": {"numaplace": "0.1.0", "abi": "1", "srcversion": "0"},
    "numa_balancing": 0,
    "nodes": [{"id": 0, "free_mib": 900}, {"id": 1, "free_mib": 910}],
}


def observation(workload: str, policy: str, repeat: int, *, value: float | None = None, factor: float = 1.0,
                **changes: Any) -> dict[str, Any]:
    """One line of results.jsonl. `value` replaces the first metric's value."""
    spec, local = WORKLOADS[workload], policy != "none"
    tasks = [_make_task(spec, i, local) for i in range(len(spec["roles"]))]
    decisions = [_make_decision(task, i) for i, task in enumerate(tasks)]
    metrics = [{"name": n, "unit": u, "value": v * factor} for n, u, v in spec["metrics"]]
    if value is not None:
        metrics[0]["value"] = value
    moved = sum(d["pages_to_move"] for d in decisions) if local else 0
    metrics += [
        {"name": "locality_before", "unit": "fraction", "value": 0.0},
        {"name": "locality_after", "unit": "fraction", "value": 1.0 if local else 0.0},
        {"name": "pages_moved", "unit": "pages", "value": moved},
    ]
    apply = {"platform": "lab-functional", "policy": policy, "options": {}, "decisions": decisions}
    return {"suite": "policy-matrix", "workload": workload, "policy": policy, "repeat": repeat, "order": repeat, "seed": 20240229,
            "platform": "lab-functional", "started": "2024-02-29T12:00:00+00:00", "seconds": 4.0, "metrics": metrics, "tasks": tasks,
            "apply": apply if local else None, "marks": [], "check": "ok"} | changes


def _make_task(spec: dict[str, Any], i: int, local: bool) -> dict[str, Any]:
    """A policy sends the first two tasks to their pages, and the pages of the others to them."""
    home, start = spec["home"][i], spec["start"][i]
    pages = spec["pages"] if spec["roles"][i] != "client" else 200
    node = home if local and i < 2 else start
    return {"role": spec["roles"][i], "pid": 1000 + i, "comm": "triad", "node_before": start, "node_after": node,
            "pages_before": {str(home): pages}, "pages_after": {str(node if local else home): pages},
            "locality_before": 0.0, "locality_after": 1.0 if local else 0.0}


def _make_decision(task: dict[str, Any], i: int) -> dict[str, Any]:
    home, node = int(next(iter(task["pages_before"]))), task["node_after"]
    moved = task["pages_before"][str(home)] if node != home else 0
    free = f"home node {home} has a free core"
    return {"pid": task["pid"], "comm": "triad", "from": task["node_before"], "to": node, "home": home,
            "pages_to": node if moved else None, "pages_to_move": moved, "cost_s": 0.01, "gain": 0.3,
            "reason": free if i < 2 else "home node is full: nearest node with free memory",
            "penalty": {"value": 1.4, "source": "assumed"}, "mpki": {"value": 20.0, "source": "assumed"},
            "result": {"cpus": "0-1", "mem": "bind", "engine": "module", "migrate": {"asked": moved, "moved": moved, "ns": 8_000_000}}}


def make_full(repeats: int = 3, seed: int = 7) -> list[dict[str, Any]]:
    """Every workload under every policy, with a warm-up for each workload."""
    noise = random.Random(seed)
    records = [observation(w, "none", 0, factor=0.5, warmup=True) for w in WORKLOADS]
    for repeat in range(1, repeats + 1):
        for workload in WORKLOADS:
            for policy in POLICIES:
                factor = (1.0 if policy == "none" else 1.2) * noise.gauss(1, 0.03)
                records.append(observation(workload, policy, repeat, factor=factor))
    return records


def make_timed(repeats: int = 3, move_s: float = 0.4) -> list[dict[str, Any]]:
    """As make_full(), on a platform whose times mean something, with the price of each placement."""
    price = {"apply_s": 0.6, "watched_s": 0.02, "moved_bytes": 64 << 20}
    return [record | {"platform": "lab-timed", "cost": price | {"move_s": move_s + 0.02 * record["repeat"]}}
            for record in make_full(repeats)]


TIMED = MANIFEST | {"platform": "lab-timed", "responses": ["bandwidth", "throughput"]}


def write(directory: Path, records: list[dict[str, Any]], manifest: dict[str, Any] | None = None, tail: str = "") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "manifest.json").write_text(json.dumps(MANIFEST if manifest is None else manifest))
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (directory / "results.jsonl").write_text(lines + tail)
    return directory


def run_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs `numaplace experiment`."""
    return subprocess.run([sys.executable, "-m", "experiments.commands.experiment", *map(str, arguments)], cwd=HERE.code,
                          capture_output=True, text=True, timeout=300)

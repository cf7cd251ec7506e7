# SPDX-License-Identifier: GPL-2.0-only
"""The results of the steps as a record of the zoo: keys that are named here, with numbers and words that are allowed.
Whatever else the results hold stays behind: names of hosts and users, paths, serial numbers.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..calibrate.measure import Value
from ..errors import ExperimentError
from ..lab import machine
from ..lab.errors import LabError
from ..places import HERE, version
from ..runner.records import results
from ..runner.suite import schedule
from ..zoo.record import FORMAT, MOST_BYTES, Record
from . import allowed, steps
from .allowed import rounded, whole

UNITS = {"latency": "ns", "bandwidth": "MB/s"}
WHY = {steps.NODES, steps.TIME, steps.PART, steps.BUDGET, steps.PROGRAM, steps.MARKED}
STATUS = re.compile(r"ended with status -?\d{1,3}")
NO_MODULE, NO_COUNTERS = "the module is not loaded", "the kernel gives no counters of the processor"
COUNTERS = Path("/sys/bus/event_source/devices")


def pack(folder: Path) -> Record:
    found = json.loads((folder / steps.TOPOLOGY).read_text(encoding="utf-8"))
    clean = {step.name: _clean(folder / step.name) for step in steps.STEPS}
    measured = {"latency": latencies(clean[steps.LATENCY]),
                "loaded_latency": table(clean[steps.LOADED], ("memory", "mix", "load", "delay"), ("latency", "bandwidth")),
                "core_to_core": table(clean[steps.CORES], ("apart", "state", "home", "owner", "reader"), ("latency",)),
                "numa_stream": table(clean[steps.STREAM], ("operation", "access", "memory", "threads"), ("bandwidth", "latency")),
                **_calibrated(folder / steps.CALIBRATION / steps.MACHINE)}
    record = {"format": FORMAT, "kind": "donated", "numaplace": _version(), "machine": _machine(found, clean),
              "measured": {name: value for name, value in measured.items() if value},
              "missing": _missing(folder, found)}
    model = _model(folder / steps.CALIBRATION / steps.MACHINE)
    return record | ({"model": model} if model else {})


def check_size(text: str) -> None:
    if len(text.encode()) >= MOST_BYTES:
        raise ExperimentError(f"the packed file would have {len(text.encode()) >> 10} KiB, {MOST_BYTES >> 10} are the most: "
                              "attach the results folder's summaries by hand")


def _version() -> str:
    return version(HERE.sources) if HERE.sources.is_dir() else "unknown"


def _clean(folder: Path) -> list[dict[str, Any]]:
    return [record for record in results.read(folder) if schedule.is_clean(record) and not record.get("warmup")]


def _value(samples: list[float]) -> tuple[float | None, float | None, int]:
    value = Value.from_samples(samples)
    return rounded(value.mean), rounded(value.half), value.n


def _metric(record: dict[str, Any], name: str) -> float | None:
    found = (metric["value"] for metric in record.get("metrics", [])
             if metric.get("name") == name and metric.get("unit") == UNITS[name])
    return next((value for value in found if rounded(value) is not None), None)


def _cells(records: Iterable[dict[str, Any]], factors: tuple[str, ...]) -> dict[tuple, list[dict[str, Any]]]:
    """By their levels. An observation with a level that is not known belongs to no cell."""
    cells: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        own = record.get("factors") or {}
        levels = tuple(allowed.level(own.get(name)) for name in factors)
        if all(level is not None or name not in own for level, name in zip(levels, factors, strict=True)):
            cells[levels].append(record)
    return cells


def table(records: list[dict[str, Any]], factors: tuple[str, ...], metrics: tuple[str, ...]) -> list[dict[str, Any]]:
    """A row for each cell: its levels, then mean, half of the 95 % interval and number of observations."""
    rows = []
    for levels, found in sorted(_cells(records, factors).items(), key=lambda cell: str(cell[0])):
        row = {name: level for name, level in zip(factors, levels, strict=True) if level is not None}
        for metric in metrics:
            samples = [value for record in found if (value := _metric(record, metric)) is not None]
            if samples:
                mean, half, row["n"] = _value(samples)
                unit = UNITS[metric].replace("MB/s", "mb_s")
                row |= {f"{metric}_{unit}": mean, f"{metric}_half": half}
        rows += [row] if "n" in row else []
    return rows


def latencies(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One load at a time, from node to node."""
    cells = {key[1:]: [value for record in found if (value := _metric(record, "latency")) is not None]
             for key, found in _cells(records, ("chains", "from", "to")).items() if key[0] == 1}
    return matrix({pair: _value(samples) for pair, samples in cells.items() if samples}, "ns")


def matrix(values: dict[tuple[int, int], tuple[float | None, float | None, int | None]], unit: str) -> dict[str, Any] | None:
    """A row is the CPUs' node, a column the memory's."""
    if not values:
        return None
    rows, columns = (sorted({pair[k] for pair in values}) for k in (0, 1))
    parts = [[[values.get((a, b), (None, None, None))[k] for b in columns] for a in rows] for k in range(3)]
    return {"unit": unit, "from": rows, "to": columns, "mean": parts[0], "half": parts[1]} | (
        {"n": parts[2]} if any(n is not None for row in parts[2] for n in row) else {})


def _machine(found: dict[str, Any], clean: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    loads = [load for records in clean.values() for record in records if (load := rounded(record.get("load"))) is not None]
    return {"cpu_model": allowed.cpu_model(str(found.get("cpu_model"))), "arch": allowed.architecture(found.get("arch")),
            "kernel": allowed.series(found.get("kernel")), "page_size": whole(found.get("page_size")),
            "numa_balancing": whole(found.get("numa_balancing")), "virtual": _is_virtual(), "load_most": max(loads, default=None),
            "nodes": [_node(node) for node in found.get("nodes", [])],
            "distances": [[whole(d) for d in node.get("distances", [])] for node in found.get("nodes", [])],
            "caches": sorted(_caches(found.get("caches", [])), key=lambda cache: (cache["level"], cache["type"]))}


def _is_virtual() -> bool:
    """The nodes of a virtual machine need not be the host's."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return bool(re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE))


def _count(cpus: Any) -> int:
    """Of a list as '0-3,8'."""
    parts = [part.partition("-") for part in str(cpus or "").split(",") if re.fullmatch(r"\d+(-\d+)?", part)]
    return sum(int(last or first) - int(first) + 1 for first, _, last in parts)


def _node(node: dict[str, Any]) -> dict[str, Any]:
    """bandwidth and latency_ns are the firmware's (HMAT)."""
    said = {"firmware_mb_s": rounded((node.get("bandwidth") or 0) / 1e6) if rounded(node.get("bandwidth")) else None,
            "firmware_ns": rounded(node.get("latency_ns"))}
    own = {"id": whole(node.get("id")), "cpus": _count(node.get("cpus")), "memory_mib": (whole(node.get("mem_total")) or 0) >> 20}
    return own | {name: value for name, value in said.items() if value}


def _caches(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Those that are alike as one."""
    alike: dict[tuple, int] = defaultdict(int)
    for cache in found:
        if cache.get("type") in allowed.CACHES:
            alike[whole(cache.get("level")) or 0, cache["type"], whole(cache.get("size")), _count(cache.get("cpus"))] += 1
    for (level, kind, size, shared), number in alike.items():
        yield {"level": level, "type": kind, "bytes": size, "shared_by_cpus": shared, "number": number}


def _calibrated(file: Path) -> dict[str, Any]:
    """What calibrate-machine measured; latencies of the suite stand above its own."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("measured", {})
    except (OSError, tomllib.TOMLDecodeError):
        return {}
    pairs = {(cell["from"], cell["to"]): (rounded(cell.get("mb_s")), rounded(cell.get("mb_s_half")), None)
             for cell in found.get("bandwidth", []) if whole(cell.get("from")) is not None and whole(cell.get("to")) is not None}
    keys = {"node": whole, "other": whole, "local": whole, "remote": whole, "local_mb_s": rounded, "local_mb_s_half": rounded,
            "remote_mb_s": rounded, "remote_mb_s_half": rounded}
    cells = [{key: take(cell[key]) for key, take in keys.items() if key in cell} for cell in found.get("contention", [])]
    return {"bandwidth": matrix(pairs, "MB/s"), "contention": cells}


def _model(file: Path) -> list[str] | None:
    """The contention model that calibrate-machine fitted, line by line; None where a line is not what it is to be."""
    try:
        head, *lines = machine.find(str(file)).model_text.splitlines() if file.exists() else [""]
    except LabError:
        return None
    return allowed.model(head, lines)


def _missing(folder: Path, found: dict[str, Any]) -> dict[str, str]:
    missing = {}
    for step in steps.STEPS:
        end = steps.mark(folder, step.name)
        why = end.get("why") if end else steps.TIME
        if why is not None:
            missing[step.name] = why if why in WHY or STATUS.fullmatch(str(why)) else "unknown"
    if not (found.get("module") or {}).get("usable"):
        missing["module"] = NO_MODULE
    if not any(COUNTERS.glob("cpu*")):
        missing["counters"] = NO_COUNTERS
    return missing

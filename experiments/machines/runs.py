# SPDX-License-Identifier: GPL-2.0-only
"""Takes a machine's record from runs of suites on it and from what calibrate-machine measured there."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from ..calibrate.measure import Value
from ..errors import ExperimentError, UsageError
from ..host.topology import parse_list
from ..lab import machine
from ..paths import HERE, read_version
from ..runner.records import manifest, results
from ..runner.suite import schedule
from .record import FORMAT, Record

UNITS = {"latency": "ns", "bandwidth": "MB/s"}
TABLES = {"loaded-latency": (("memory", "mix", "load", "delay", "spread"), ("latency", "bandwidth")),
          "core-to-core": (("apart", "state", "home", "owner", "reader"), ("latency",)),
          "numa-stream": (("operation", "access", "memory", "threads", "spread"), ("bandwidth", "latency"))}
LATENCY, CALIBRATION = "latency-matrix", "calibrate-machine"
NOT_GIVEN = "no run of it was given"
Observations = list[dict[str, Any]]  # lines of results.jsonl: runner/records/record.py has their keys


def collect_record(folders: list[Path], machine_file: Path | None) -> Record:
    """Collects the record of the one real machine that all runs are of; `machine_file` is what calibrate-machine wrote.

    Raises UsageError where there are no runs, or they are of several machines, of the lab, of one suite, or with placements;
    ExperimentError or LabError where a folder is no run or `machine_file` cannot be read."""
    if not folders:
        raise UsageError("--record: no run: give the folders of runs")
    manifests = [_read_manifest(folder) for folder in folders]
    if len({json.dumps(_describe_shape(run), sort_keys=True) for run in manifests}) > 1:
        raise UsageError(f"{', '.join(map(str, folders))}: are of several machines: give the runs of one")
    suites = [run["suite"] for run in manifests]
    if twice := next((suite for suite in suites if suites.count(suite) > 1), None):
        raise UsageError(f"{', '.join(map(str, folders))}: two are runs of {twice}: give one of each suite")
    clean = {run["suite"]: _read_clean(folder) for folder, run in zip(folders, manifests, strict=True)}
    for suite, observations in clean.items():
        if placed := {observation["policy"] for observation in observations} - {"none"}:
            raise UsageError(f"a run of {suite} has placements ({', '.join(sorted(placed))}): give one without --placements")
    measured = {"latency": make_latency_matrix(clean.get(LATENCY, [])),
                **{name.replace("-", "_"): make_table(clean.get(name, []), *columns) for name, columns in TABLES.items()},
                **_read_calibrated(machine_file)}
    sources = {*clean} | ({CALIBRATION} if machine_file else set())
    record = {"format": FORMAT, "numaplace": read_version(HERE.sources), "machine": _describe_machine(manifests, clean),
             "measured": {name: value for name, value in measured.items() if value},
             "missing": {name: NOT_GIVEN for name in (CALIBRATION, LATENCY, *TABLES) if name not in sources}}
    return record | ({"model": _read_model(machine_file)} if machine_file else {})


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of a run. UsageError: the run is of the lab; ExperimentError: the folder is no run."""
    try:
        run = json.loads((folder / manifest.NAME).read_text(encoding="utf-8"))
        if run["platform"] != "real":
            raise UsageError(f"{folder}: is of a machine of the lab, whose figures are the lab's own: give runs of a real machine")
        _describe_shape(run)  # so that keys that are missing are found here
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExperimentError(f"{folder}: is no run ({type(error).__name__}: {error}): give the folder of a run") from None
    return run


def _describe_shape(run: dict[str, Any]) -> list[Any]:
    """Returns what a run's manifest has that differs between machines: the processor, and nodes with their CPUs and distances."""
    return [run["cpu"]["model"], [[node["id"], node["cpus"], node["distances"]] for node in run["topology"]]]


def _read_model(file: Path) -> list[str]:
    """Reads the lines of the contention model that calibrate-machine fitted, without the computer's name; LabError: no machine file."""
    return re.sub(r"^machine name=\S+", "machine name=measured", machine.find(str(file)).model_text).splitlines()


def _read_clean(folder: Path) -> Observations:
    """Reads the observations of a run that may be averaged: neither warm-ups nor marked."""
    return [o for o in results.read_records(folder) if schedule.is_clean(o) and not o.get("warmup")]


def _describe_machine(manifests: list[dict[str, Any]], clean: dict[str, Observations]) -> dict[str, Any]:
    """Describes the machine by the first manifest, and its highest load by the clean observations of all suites; memory in MiB."""
    first = manifests[0]
    loads = [load for observations in clean.values() for o in observations if (load := round_value(o.get("load"))) is not None]
    series = re.match(r"\d+\.\d+", first["kernel"]["release"])
    return {"cpu_model": first["cpu"]["model"] or "unknown", "kernel": series[0] if series else "unknown",
            "numa_balancing": first["numa_balancing"], "virtual": any("virtual machine" in doubt for doubt in first["doubts"]),
            "load_most": max(loads, default=None),
            "nodes": [{"id": node["id"], "cpus": len(parse_list(node["cpus"] or "")), "memory_mib": node["mem_total"] >> 20}
                      for node in first["topology"]],
            "distances": [node["distances"] for node in first["topology"]]}


def round_value(value: Any) -> float | None:
    """Rounds a number to four digits; None where it is none."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(f"{value:.4g}") if number else None


def _summarise_samples(samples: list[float]) -> tuple[float | None, float | None, int]:
    """Returns mean, half of the 95 % interval and number of the samples."""
    value = Value.from_samples(samples)
    return round_value(value.mean), round_value(value.half), value.n


def _list_samples(observations: Observations, metric: str) -> list[float]:
    """Lists the values of a metric that are numbers and in its unit of UNITS."""
    return [found["value"] for o in observations for found in o["metrics"]
            if found["name"] == metric and found["unit"] == UNITS[metric] and round_value(found["value"]) is not None]


def _group_cells(observations: Observations, factors: tuple[str, ...]) -> dict[tuple, Observations]:
    """Groups observations by their levels of these factors, in the order of `factors`; None where one has no such factor."""
    cells: dict[tuple, Observations] = defaultdict(list)
    for o in observations:
        cells[tuple(o["factors"].get(name) for name in factors)].append(o)
    return cells


def make_table(observations: Observations, factors: tuple[str, ...], metrics: tuple[str, ...]) -> list[dict[str, Any]]:
    """Makes a row for each cell: its levels, mean and half of the 95 % interval of each metric, and the fewest values of one, `n`.

    A metric without a value, and a level of None, is left out; a cell without a value of any metric has no row."""
    rows = []
    for levels, of_cell in sorted(_group_cells(observations, factors).items(), key=lambda cell: str(cell[0])):
        row = {name: level for name, level in zip(factors, levels, strict=True) if level is not None}
        for metric in metrics:
            if samples := _list_samples(of_cell, metric):
                mean, half, n = _summarise_samples(samples)
                row |= {"n": min(n, row.get("n", n)), f"{metric}_{UNITS[metric].replace('MB/s', 'mb_s')}": mean, f"{metric}_half": half}
        rows += [row] if "n" in row else []
    return rows


def make_latency_matrix(observations: Observations) -> dict[str, Any] | None:
    """Makes the matrix of latencies in ns, one load at a time, from node to node; None without observations."""
    cells = {(a, b): _list_samples(of_cell, "latency")
             for (chains, a, b), of_cell in _group_cells(observations, ("chains", "from", "to")).items() if chains == 1}
    return make_matrix({pair: _summarise_samples(samples) for pair, samples in cells.items() if samples}, "ns")


def make_matrix(values: dict[tuple[int, int], tuple[float | None, float | None, int | None]], unit: str) -> dict[str, Any] | None:
    """Makes a matrix of (mean, half of the interval, number) by (node of CPUs, node of memory): a row for each node of CPUs. Returns None
    without values; a pair without one is None in it, and numbers are left out where none is known."""
    if not values:
        return None
    rows, columns = sorted({a for a, _ in values}), sorted({b for _, b in values})
    nothing = (None, None, None)
    means, halves, numbers = ([[values.get((a, b), nothing)[part] for b in columns] for a in rows] for part in range(len(nothing)))
    return {"unit": unit, "from": rows, "to": columns, "mean": means, "half": halves} | (
        {"n": numbers} if any(n is not None for row in numbers for n in row) else {})


def _read_calibrated(file: Path | None) -> dict[str, Any]:
    """Reads the matrix of bandwidths in MB/s, and the cells of contention, that calibrate-machine wrote; None and [] without a file.

    Raises ExperimentError where its file cannot be read."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("measured", {}) if file else {}
        pairs = {(cell["from"], cell["to"]): (round_value(cell["mb_s"]), round_value(cell.get("mb_s_half")), None)
                 for cell in found.get("bandwidth", [])}
        return {"bandwidth": make_matrix(pairs, "MB/s"), "contention": found.get("contention", [])}
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:  # no text, no TOML, or of another form
        raise ExperimentError(f"{file}: cannot be read ({error}): give the file that calibrate-machine wrote") from None

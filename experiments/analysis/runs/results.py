# SPDX-License-Identifier: GPL-2.0-only
"""Reads a results directory: manifest.json and results.jsonl.

Only clean observations may be averaged: not a warm-up, not marked, result verified. What marks an observation is the
runner's rule. Means, tests and intervals ask for `Results.independent`, what shows each observation for `Results.clean`.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from experiments.errors import ExperimentError
from experiments.runner.records.results import FORMAT, list_marks

from ...lab.machine import split_speed, split_title
from ...runner.records.record import Record, Task
from .boots import compute_boot_means

PLATFORMS = ("real", "lab-functional", "lab-timed")
PLACEMENT_METRICS = ("locality_before", "locality_after", "pages_moved")
PLATFORM_TEXT = {
    "real": "measured on real hardware",
    "lab-functional": "times come from plain QEMU, which has no NUMA timing: functional, "
    "not performance",
    "lab-timed": "times come from the lab's memory model, not from hardware",
}


class ResultsError(ExperimentError):
    """Says why a results directory cannot be used."""


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    value: float


class MetricName(NamedTuple):
    name: str
    unit: str

    @property
    def label(self) -> str:
        """Returns the name as prose, and the unit."""
        return f"{make_label(self.name)}, {self.unit}"


@dataclass(frozen=True)
class Observation:
    workload: str
    policy: str
    platform: str
    repeat: int  # of the mean of a boot below 0
    order: int   # place in the schedule
    warmup: bool
    marks: tuple[str, ...]
    metrics: tuple[Metric, ...]
    tasks: tuple[Task, ...]
    apply: dict[str, Any] | None  # what `numaplace apply --json` printed
    factors: dict[str, int | float | str]  # levels by factor
    raw: Record = field(repr=False)
    line: int = 0  # of results.jsonl

    @property
    def clean(self) -> bool:
        return not self.warmup and not self.marks

    @property
    def is_mean(self) -> bool:
        """Checks whether this is the mean of a boot's observations."""
        return self.repeat < 0

    @property
    def boot(self) -> str:
        """Returns the boot in which it was made; "" where a record does not say."""
        return get_text(self.raw.get("boot_id"))

    def get_value(self, metric: str) -> float | None:
        return next((m.value for m in self.metrics if m.name == metric), None)


@dataclass(frozen=True)
class Results:
    directory: Path
    manifest: dict[str, Any]
    observations: tuple[Observation, ...]
    notices: tuple[str, ...]

    @property
    def measured(self) -> list[Observation]:
        """Returns everything but the warm-ups."""
        return [o for o in self.observations if not o.warmup]

    @property
    def clean(self) -> list[Observation]:
        return [o for o in self.observations if o.clean]

    @property
    def boots(self) -> list[str]:
        """Returns the boots of the clean observations, in their order."""
        return list(dict.fromkeys(o.boot for o in self.clean if o.boot))

    @cached_property
    def independent(self) -> list[Observation]:
        """Returns the observations from which means, tests and intervals are made: the means of each boot where a cell has several.

        A cell is a workload under a policy on a platform. One that a single boot made has its clean observations themselves."""
        cells: dict[tuple[str, str, str], list[Observation]] = {}
        for o in self.clean:
            cells.setdefault((o.workload, o.policy, o.platform), []).append(o)
        blocks = _choose_blocks(self.clean, self.boots)
        return [o for cell in cells.values() for o in _average_boots(cell, blocks)]

    @property
    def platforms(self) -> list[str]:
        return sorted({o.platform for o in self.measured}, key=PLATFORMS.index)

    @property
    def workloads(self) -> list[str]:
        """Returns the workloads, in the suite's order where the manifest tells it."""
        place = _number_places(self.manifest.get("workloads"))
        return sorted({o.workload for o in self.measured}, key=lambda w: (place(w), make_natural_key(w)))

    @property
    def policies(self) -> list[str]:
        place = _number_places(self.manifest.get("policies"))
        return sorted({o.policy for o in self.measured}, key=lambda p: (place(p), rank_policy(p)))

    def _get_of_suite(self, key: str) -> Any:
        """Returns a value of the suite's TOML text, which the manifest has; None where either is missing or the text is broken."""
        try:
            return tomllib.loads(str(self.manifest.get("suite_text") or "")).get(key)
        except tomllib.TOMLDecodeError:
            return None

    @property
    def presents(self) -> list[str]:
        """Returns the papers' tables and figures that the suite says it answers to."""
        found = self._get_of_suite("presents")
        return [str(name) for name in found] if isinstance(found, list) else []

    @property
    def looked_at(self) -> bool:
        """Checks whether it was looked at before it ended, so that its intervals are of all looks and options together."""
        return self._get_of_suite("looks") is True

    @property
    def design(self) -> str:
        """Returns the design that made the workloads of the suite's levels; "" where it lists them."""
        return get_text(self._get_of_suite("design"))

    @property
    def nodes(self) -> int:
        """Returns the number of nodes of the machine; 0 where the manifest does not tell."""
        found = self.manifest.get("nodes")
        return len(found) if isinstance(found, list) else 0

    @property
    def platform_short(self) -> str:
        """Returns the platform where the long sentence already stands nearby."""
        return "platform: " + ", ".join(map(self.name_platform, self.platforms)) + (", one node" if self.nodes == 1 else "")

    @property
    def platform_line(self) -> str:
        """Returns the sentence that stands under every number and figure: the platforms, and what their times are."""
        where = " one node, so nothing here is remote;" if self.nodes == 1 else ""
        return "; ".join(f"{self.name_platform(s)}:{where} {PLATFORM_TEXT[s]}" for s in self.platforms)

    def name_platform(self, platform: str) -> str:
        """Names a platform: 'lab-timed', or 'lab-timed, 1/16 speed' of a scaled machine of the lab whose times mean something."""
        _, scale = split_speed(split_title(self.machine)[0])
        return platform if scale == 1 or platform != "lab-timed" else f"{platform}, 1/{scale} speed"

    @property
    def suite(self) -> str:
        return get_text(self.manifest.get("suite")) or self.observations[0].raw.get("suite", "")

    @property
    def machine(self) -> str:
        return get_text(self.manifest.get("machine"))

    def about(self, workload: str) -> str:
        described = self.manifest.get("workloads")
        return get_text(described.get(workload)) if isinstance(described, dict) else ""

    def select(self, workload: str, policy: str | None = None) -> list[Observation]:
        return [o for o in self.clean if o.workload == workload and policy in (None, o.policy)]

    def select_independent(self, workload: str, policy: str | None = None) -> list[Observation]:
        return [o for o in self.independent if o.workload == workload and policy in (None, o.policy)]

    def select_policy(self, policy: str) -> Results:
        """Returns the same run with the observations of this policy alone."""
        return replace(self, observations=tuple(o for o in self.observations if o.policy == policy))

    def list_performance_metrics(self, workload: str) -> list[MetricName]:
        """Returns names and units of all metrics but those of placement, the workload's first one first."""
        observations = [o for o in self.measured if o.workload == workload]
        return list(dict.fromkeys(MetricName(m.name, m.unit) for o in observations for m in o.metrics if m.name not in PLACEMENT_METRICS))


def list_values(observations: Iterable[Observation], metric: str) -> list[float]:
    """Lists the values of a metric, in its unit, of the observations that have it."""
    return [value for o in observations if (value := o.get_value(metric)) is not None]


def compute_mean(observations: Iterable[Observation], metric: str) -> float | None:
    """Computes the mean of a metric over the observations that have it; None where none has."""
    values = list_values(observations, metric)
    return statistics.fmean(values) if values else None


def _choose_blocks(clean: list[Observation], boots: list[str]) -> dict[str, int]:
    """Chooses the number of each boot's block, by boot: the number of its repeat where each boot made one, else its place in `boots`.

    So the parts of a repeat, one of an interrupted boot and one of the boot that went on, are one block."""
    repeats: dict[str, set[int]] = {}
    for o in clean:
        repeats.setdefault(o.boot, set()).add(o.repeat)
    if all(len(found) == 1 for found in repeats.values()):
        return {boot: min(found) for boot, found in repeats.items()}
    return {boot: number for number, boot in enumerate([*boots, ""])}


def _average_boots(cell: list[Observation], blocks: dict[str, int]) -> list[Observation]:
    """Returns an observation for each of a cell's boots, with the means of its metrics and costs; those of one boot as they are.

    The repeat of a mean is below 0: -1 less the number of its boot's block."""
    by_boot: dict[str, list[Observation]] = {}
    for o in cell:
        by_boot.setdefault(o.boot, []).append(o)
    if len(by_boot) < 2:
        return cell
    metrics = dict.fromkeys((m.name, m.unit) for o in cell for m in o.metrics)
    means = {metric: _compute_means(cell, lambda o, name=metric[0]: o.get_value(name)) for metric in metrics}
    costs = {key: _compute_means(cell, lambda o, key=key: (o.raw.get("cost") or {}).get(key)) for key in ("move_s", "moved_bytes")}
    return [replace(of_boot[0], repeat=-1 - blocks[boot],
                    metrics=tuple(Metric(*metric, mean[boot]) for metric, mean in means.items() if boot in mean),
                    raw=of_boot[0].raw | ({"cost": {key: mean[boot] for key, mean in costs.items()}}
                                          if all(boot in mean for mean in costs.values()) else {}))
            for boot, of_boot in by_boot.items()]


def _compute_means(cell: list[Observation], value: Callable[[Observation], float | None]) -> dict[str, float]:
    known = [(found, o.boot) for o in cell if (found := value(o)) is not None]
    return compute_boot_means([found for found, _ in known], [boot for _, boot in known])


def _number_places(names: Any) -> Callable[[str], int]:
    """Returns a function of a name: its place in a list of the manifest, or the end of it where it is not there."""
    order = list(names or [])
    return lambda name: order.index(name) if name in order else len(order)


def make_natural_key(name: str) -> list[tuple[int, int | str]]:
    """Returns a sort key that puts 2 before 10."""
    return [
        (0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part
    ]


def rank_policy(name: str) -> tuple[bool, str]:
    """Returns a sort key: what is compared with first; a policy stands beside itself with other options."""
    return (re.split("[:#]", name)[0] != "none", name)


def get_text(value: Any) -> str:
    """Returns a value of the manifest as text; "" where there is none."""
    return "" if value is None else str(value)


def make_label(name: str) -> str:
    """Returns a metric's name as prose."""
    return " ".join({"dram": "DRAM", "ipc": "IPC"}.get(w, w) for w in name.split("_"))


def is_higher_better(unit: str) -> bool | None:
    """Checks by a metric's unit whether more of it is better, as of a rate; None where the unit does not tell."""
    if unit.endswith("/s"):
        return True
    return False if unit in ("s", "ms", "us", "ns", "min") else None


def read_results(directory: str | Path) -> Results:
    """Reads manifest.json and results.jsonl of a run; ResultsError where a file is missing or broken, or nothing was observed."""
    directory = Path(directory)
    path = directory / "results.jsonl"
    notices: list[str] = []
    records = _read_records(_read_text(path, "run the experiment first"), path, notices)
    manifest = _read_manifest(directory, notices)
    observations = []
    for number, record in records:
        # An observation that failed early does not know where it ran.
        record["platform"] = record.get("platform") or manifest.get("platform")
        observations.append(_make_observation(record, f"{path} line {number}", number))
    observations = _drop_repeats(observations, notices)
    if not any(not o.warmup for o in observations):
        raise ResultsError(f"{path}: no observation; run the experiment first")
    return Results(directory, manifest, tuple(observations), tuple(notices))


def _read_text(path: Path, remedy: str) -> str:
    """Reads a file of UTF-8; ResultsError, which ends with `remedy`, where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}; {remedy}") from None


def _read_manifest(directory: Path, notices: list[str]) -> dict[str, Any]:
    """Reads manifest.json; returns {} with a notice where it is missing. ResultsError: it is no object, or of another format."""
    path = directory / "manifest.json"
    if not path.exists():
        notices.append(f"{path.name} is missing: the state of the machine is not known")
        return {}
    try:
        manifest = json.loads(_read_text(path, "check its permissions"))
    except ValueError as error:
        raise ResultsError(f"{path}: not JSON ({error}); run the experiment again") from None
    if not isinstance(manifest, dict):
        raise ResultsError(f"{path}: not a JSON object; run the experiment again")
    if manifest.get("format", FORMAT) != FORMAT:
        raise ResultsError(f"{path}: of format {manifest['format']}, and this numaplace reads {FORMAT}: take a newer numaplace")
    for key in ("kernel", "module"):
        if not isinstance(manifest.get(key) or {}, dict):
            raise ResultsError(f"{path}: '{key}' is not a JSON object; run the experiment again")
    return manifest


def _read_records(text: str, path: Path, notices: list[str]) -> list[tuple[int, dict[str, Any]]]:
    """Reads the lines of results.jsonl; returns (line number, record), without a last line that is cut off, which has a notice.

    Raises ResultsError where any other line is no JSON object."""
    lines = text.split("\n")
    cut_off = len(lines) if lines[-1] else 0  # a finished file ends with a newline
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("not an object")
        except ValueError as error:
            if number != cut_off:
                raise ResultsError(
                    f"{path} line {number}: not a JSON object ({error}); "
                    "remove the line or run the experiment again"
                ) from None
            notices.append(f"{path.name} line {number} is cut off (the run was killed): skipped")
            continue
        records.append((number, record))
    return records


def _make_observation(record: Record, where: str, line: int) -> Observation:
    """Makes an observation of a record, whose `line` of the file `where` names; ResultsError where a field lacks or has a wrong type."""
    def get_needed(key: str, kind: type) -> Any:
        if not isinstance(record.get(key), kind) or isinstance(record.get(key), bool):
            raise ResultsError(
                f"{where}: '{key}' is missing or no {kind.__name__}; "
                "remove the line or run the experiment again"
            )
        return record[key]

    platform = get_needed("platform", str)
    if platform not in PLATFORMS:
        raise ResultsError(f"{where}: platform '{platform}' is not one of {', '.join(PLATFORMS)}")
    return Observation(
        workload=get_needed("workload", str),
        policy=get_needed("policy", str),
        platform=platform,
        repeat=get_needed("repeat", int),
        order=get_needed("order", int) if "order" in record else 0,
        warmup=bool(record.get("warmup")),
        marks=list_marks(record),
        metrics=tuple(_make_metric(m, where) for m in get_needed("metrics", list)),
        tasks=tuple(t for t in (get_needed("tasks", list) if record.get("tasks") else ()) if isinstance(t, dict)),
        apply=record["apply"] if isinstance(record.get("apply"), dict) else None,
        factors=_check_factors(record, where),
        raw=record,
        line=line,
    )


def _check_factors(record: Record, where: str) -> dict[str, int | float | str]:
    """Returns the factors of a record, by name; ResultsError where they are no record of numbers or words."""
    factors = record.get("factors") or {}
    if not isinstance(factors, dict) or any(
        isinstance(level, bool) or not isinstance(level, (int, float, str))
        for level in factors.values()
    ):
        raise ResultsError(f"{where}: 'factors' is no record of names to numbers or words; "
                           "remove the line or run the experiment again")
    return factors


def _make_metric(metric: Any, where: str) -> Metric:
    """Makes a metric of its record; ResultsError where a part lacks or the value is no finite number."""
    try:
        name, unit, value = str(metric["name"]), str(metric["unit"]), metric["value"]
    except (TypeError, KeyError):
        raise ResultsError(f"{where}: a metric without name, unit or value") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ResultsError(f"{where}: metric '{name}' is {value!r}, not a finite number")
    return Metric(name, unit, float(value))


def _drop_repeats(observations: list[Observation], notices: list[str]) -> list[Observation]:
    """Returns the observations without those that a resumed run holds twice, of which the last clean one counts; notes each."""

    def make_key(o: Observation) -> tuple[str, str, str, int]:
        return (o.workload, o.policy, o.platform, o.repeat)

    twice = [k for k, n in Counter(make_key(o) for o in observations if o.clean).items() if n > 1]
    last = {make_key(o): o for o in observations if o.clean}
    for workload, policy, _, repeat in twice:
        notices.append(
            f"{workload} under {policy}, repeat {repeat}, stands there more than once: "
            "the last one counts"
        )
    return [o for o in observations if not o.clean or last[make_key(o)] is o]

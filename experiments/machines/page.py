# SPDX-License-Identifier: GPL-2.0-only
"""The page of machines: the errors on machines that the model was not fitted to first, then each machine's figures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ..analysis.pages.report import build_page
from ..analysis.pages.summary import write_text
from ..errors import ExperimentError
from . import compare, record
from .compare import NOTHING, OTHERS, THESE, Comparison

ORDER = (NOTHING, OTHERS, THESE)
ALONE = {"loaded_latency": "Latency under load", "core_to_core": "From core to core"}


@dataclass(frozen=True)
class Entry:
    name: str
    slug: str
    record: record.Record
    comparisons: list[Comparison]
    tables: list[dict[str, Any]]

    @property
    def facts(self) -> list[tuple[str, str]]:
        if self.record["kind"] == "published":
            return [("machine file", self.record["machine_file"]), ("source", self.record["source"])]
        machine = self.record["machine"]
        nodes = machine["nodes"]
        return [("processor", machine["cpu_model"]), ("nodes", str(len(nodes))),
                ("CPUs of each", ", ".join(str(node["cpus"]) for node in nodes)),
                ("kernel", machine.get("kernel", "unknown")), ("virtual machine", "yes" if machine.get("virtual") else "no"),
                ("load, at most", str(machine.get("load_most", "unknown"))),
                ("written by", f"numaplace {self.record.get('numaplace')}")]

    @property
    def doubts(self) -> str:
        """Why its figures may be off, beside each error."""
        machine = self.record.get("machine", {})
        load = machine.get("load_most") or 0
        return ", ".join(["virtual machine"] * bool(machine.get("virtual")) + [f"load {load:g}"] * (load > record.LOAD))

    @property
    def missing(self) -> list[tuple[str, str]]:
        return sorted(self.record.get("missing", {}).items())


def _tables(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """What is measured and the contention model says nothing of."""
    return [_table(title, measured[key]) for key, title in ALONE.items() if measured.get(key)]


def _table(title: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    head = list(dict.fromkeys(name for row in rows for name in row))
    return {"title": title, "head": [name.replace("_", " ") for name in head],
            "rows": [[row.get(name) for name in head] for row in rows]}


def entries(files: list[Path]) -> list[Entry]:
    found = []
    for k, file in enumerate(files):
        one = record.read(file)
        try:
            found.append(Entry(file.stem, f"machine-{k}", one, compare.compare_record(file.stem, one), _tables(one.get("measured", {}))))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise ExperimentError(f"{file}: is not to be compared ({type(error).__name__}: {error}): "
                                  "take what --record wrote") from None
    return found


def page(found: list[Entry]) -> str:
    scored = [(entry, one) for entry in found for one in entry.comparisons if one.mean is not None]
    scored.sort(key=lambda pair: ORDER.index(pair[1].fitted))
    groups = [(fitted, list(pairs)) for fitted, pairs in groupby(scored, key=lambda pair: pair[1].fitted)]
    return build_page("zoo.html", title="Machines", entries=found, groups=groups, percent=_percent, figure=_figure)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.0f} %"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def write(files: list[Path], out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return write_text(out / "index.html", page(entries(files)))

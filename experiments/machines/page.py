# SPDX-License-Identifier: GPL-2.0-only
"""The page of machines: the errors on machines that the model was not fitted to first, then each machine's figures."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Holds what the page has of one machine."""

    name: str
    slug: str
    record: record.Record
    comparisons: list[Comparison]
    tables: list[dict[str, Any]]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Returns names and values of what is known of the machine, for the head of its part of the page."""
        machine = self.record["machine"]
        nodes = machine["nodes"]
        return [("processor", machine["cpu_model"]), ("nodes", str(len(nodes))),
                ("CPUs of each", ", ".join(str(node["cpus"]) for node in nodes)),
                ("kernel", machine.get("kernel", "unknown")), ("virtual machine", "yes" if machine.get("virtual") else "no"),
                ("load, at most", str(machine.get("load_most", "unknown"))),
                ("written by", f"numaplace {self.record.get('numaplace')}")]

    @property
    def doubts(self) -> str:
        """Returns why its figures may be off, to stand beside each error; "" without a doubt."""
        machine = self.record["machine"]
        load = machine.get("load_most") or 0
        return ", ".join(["virtual machine"] * bool(machine.get("virtual")) + [f"load {load:g}"] * (load > record.LOAD))

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Returns what was not measured, with the reason."""
        return sorted(self.record["missing"].items())


def _make_tables(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """Makes a table of each measured part of a record that the contention model says nothing of (ALONE)."""
    return [_make_table(title, measured[key]) for key, title in ALONE.items() if measured.get(key)]


def _make_table(title: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Makes a table with a column for each key of its rows; None where a row lacks it."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    return {"title": title, "head": [name.replace("_", " ") for name in head],
            "rows": [[row.get(name) for name in head] for row in rows]}


def make_entries(files: list[Path]) -> list[Entry]:
    """Reads each file and makes its entry; ExperimentError or LabError where a record is broken or cannot be compared."""
    entries = []
    for k, file in enumerate(files):
        content = record.read_record(file)
        try:
            entries.append(Entry(file.stem, f"machine-{k}", content, compare.compare_record(file.stem, content),
                                 _make_tables(content["measured"])))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise ExperimentError(f"{file}: is not to be compared ({type(error).__name__}: {error}): "
                                  "take what --record wrote") from None
    return entries


def make_page(entries: list[Entry]) -> str:
    """Makes the page as HTML, the scored comparisons in the order of what their models were fitted to."""
    scored = {fitted: [(entry, comparison) for entry in entries for comparison in entry.comparisons
                       if comparison.fitted == fitted and comparison.mean is not None] for fitted in ORDER}
    groups = [(fitted, pairs) for fitted, pairs in scored.items() if pairs]
    return build_page("zoo.html", title="Machines", entries=entries, groups=groups, percent=_format_percent, figure=_format_figure)


def _format_percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.0f} %"


def _format_figure(value: float | None) -> str:
    """Formats a figure with three digits, or all before the point."""
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def write_page(files: list[Path], out: Path) -> Path:
    """Writes the page of records as index.html into a folder that is made where it is missing. Returns its path."""
    out.mkdir(parents=True, exist_ok=True)
    return write_text(out / "index.html", make_page(make_entries(files)))

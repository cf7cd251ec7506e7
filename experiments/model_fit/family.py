# SPDX-License-Identifier: GPL-2.0-only
"""A machine of the lab as it may be: with what its fit says without parts of the table, and with other assumed numbers.

A verdict that depends on the model has to be the same on every one of these.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.lab.machine import CALIBRATED, Machine
from experiments.model_fit import fit, held_out
from experiments.model_fit.native import Model

ASSUMED = "assumed: "
OFF = 0.2  # an assumed number may be that much lower or higher


@dataclass(frozen=True)
class Variant:
    """Holds a model of the machine, and what differs in it from the machine's file."""
    name: str
    model: Model


_found: dict[str, list[Variant]] = {}  # by the machine's numbers: fits take a second


def list_variants(machine: Machine) -> list[Variant]:
    """Lists the machine's variants, the one of its file first."""
    if machine.model_text not in _found:
        as_filed = Variant("as in its file", Model(machine.model_text))
        _found[machine.model_text] = [as_filed, *_fit_parts(machine), *_vary_numbers(machine)]
    return _found[machine.model_text]


def _list_fitted(machine: Machine) -> set[str]:
    """Returns the numbers that are fitted to a table by least squares; of a machine with other numbers than its file's, none."""
    known = machine.name in fit.FITS and not machine.changes
    return {free.name for free in fit.FITS[machine.name].free} if known else set()


def _fit_parts(machine: Machine) -> Iterator[Variant]:
    """Yields the fits without each row, and without half, of the machine's table; nothing where no number of it is fitted."""
    if not _list_fitted(machine):
        return
    for row, found in enumerate(held_out.predict_rows(machine.name)):
        yield Variant(f"fitted without row {row}L", found.model)
    what, cells = held_out.HALVES[machine.name]
    yield Variant(f"fitted without the cells {what}", held_out.predict_cells(machine.name, cells()).model)


def list_assumed(machine: Machine) -> list[tuple[str, str]]:
    """Lists the tables and keys that the contention model reads and that no source and no table gives."""
    found = dict.fromkeys((table, key) for table, key, source in _list_numbers(machine.model)
                          if source.startswith((ASSUMED, CALIBRATED)))
    return [name for name in found if ".".join(name) not in _list_fitted(machine)]


def _list_numbers(model: dict) -> Iterator[tuple[str, str, str]]:
    """Yields (table, key, source) of the numbers of a machine file's [model], of single nodes too.

    Left out: 0, which is no limit, and LAB_ONLY, which are the lab's own and not the model's."""
    tables = [(name, table) for name, table in model.items() if isinstance(table, dict)]
    tables += [("link", link) for link in model.get("link", [])]
    tables += [(name, table) for node in model.get("node", []) for name, table in node.items() if isinstance(table, dict)]
    for name, table in tables:
        for key, entry in table.items():
            if isinstance(entry, dict) and entry["value"] and (name, key) not in LAB_ONLY:
                yield name, key, entry["source"]


LAB_ONLY = {("core", "mhz"), ("core", "instructions_per_cycle"), ("core", "reorder_buffer"), ("lab", "quantum_us"), ("lab", "window_us"),
            *(("c2c", f"{which}_ns") for which in ("local", "remote", "remote_home", "node")),
            *(("tlb", key) for key in ("l1_entries", "l1_huge_entries", "l2_entries", "l2_huge_entries", "l2_latency_ns"))}


def _vary_numbers(machine: Machine) -> Iterator[Variant]:
    """Yields each assumed number lower and higher by OFF, the others as in the file."""
    for table, key in list_assumed(machine):
        for factor in (1 - OFF, 1 + OFF):
            yield Variant(f"{table}.{key} × {factor:g}", Model(machine.model_text).scale_number(table, key, factor))

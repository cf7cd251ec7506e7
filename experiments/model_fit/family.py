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
    name: str
    model: Model


_found: dict[str, list[Variant]] = {}  # by the machine's numbers: fits take a second


def variants(machine: Machine) -> list[Variant]:
    """The machine as in its file first."""
    if machine.model_text not in _found:
        as_filed = Variant("as in its file", Model(machine.model_text))
        _found[machine.model_text] = [as_filed, *_held_out(machine), *_other_numbers(machine)]
    return _found[machine.model_text]


def _fitted(machine: Machine) -> set[str]:
    """Numbers that are fitted to a table by least squares; of a machine with other numbers than its file's, none."""
    known = machine.name in fit.FITS and not machine.changes
    return {free.name for free in fit.FITS[machine.name].free} if known else set()


def _held_out(machine: Machine) -> Iterator[Variant]:
    if not _fitted(machine):
        return
    for row, found in enumerate(held_out.rows(machine.name)):
        yield Variant(f"fitted without row {row}L", found.model)
    what, cells = held_out.HALVES[machine.name]
    yield Variant(f"fitted without the cells {what}", held_out.predict(machine.name, cells()).model)


def assumed(machine: Machine) -> list[tuple[str, str]]:
    """Tables and keys that the contention model reads and that no source and no table gives."""
    found = dict.fromkeys((table, key) for table, key, source in _numbers(machine.model)
                          if source.startswith((ASSUMED, CALIBRATED)))
    return [name for name in found if ".".join(name) not in _fitted(machine)]


def _numbers(model: dict) -> Iterator[tuple[str, str, str]]:
    """(table, key, source), of single nodes too; 0 is no limit, and the lab's own numbers are not the model's."""
    tables = [(name, table) for name, table in model.items() if isinstance(table, dict)]
    tables += [("link", link) for link in model.get("link", [])]
    tables += [(name, table) for one in model.get("node", []) for name, table in one.items() if isinstance(table, dict)]
    for name, table in tables:
        for key, entry in table.items():
            if isinstance(entry, dict) and entry["value"] and (name, key) not in LAB_ONLY:
                yield name, key, entry["source"]


LAB_ONLY = {("core", "mhz"), ("core", "instructions_per_cycle")}


def _other_numbers(machine: Machine) -> Iterator[Variant]:
    for table, key in assumed(machine):
        for factor in (1 - OFF, 1 + OFF):
            yield Variant(f"{table}.{key} × {factor:g}", Model(machine.model_text).scaled(table, key, factor))

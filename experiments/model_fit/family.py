# SPDX-License-Identifier: GPL-2.0-only
"""A machine of the lab as it may be: with what its fit says without parts of the table, and with other assumed numbers.

A verdict that depends on the model has to be the same on every one of these.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.lab.machine import CALIBRATED, OF_NODE, Machine
from experiments.model_fit import fit, held_out
from experiments.model_fit.native import Model

ASSUMED = "assumed: "
OFF = 0.2  # an assumed number may be that much lower or higher
# Numbers of [model] that the contention model does not read
LAB_ONLY = {("core", "mhz"), ("core", "instructions_per_cycle"), ("core", "reorder_buffer"), ("lab", "quantum_us"), ("lab", "window_us"),
            *(("c2c", f"{which}_ns") for which in ("local", "remote", "remote_home", "node")),
            *(("tlb", key) for key in ("l1_entries", "l1_huge_entries", "l2_entries", "l2_huge_entries", "l2_latency_ns"))}
WHOLE = {("line", "bytes")}  # a fifth more or less of it is no line


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
    """Yields the fits without each row, and without the cells of PARTS, of the machine's table; nothing where no number of it is fitted."""
    if not _list_fitted(machine):
        return
    for row, found in enumerate(held_out.predict_rows(machine.name)):
        yield Variant(f"fitted without row {row}L", found.model)
    what, cells = held_out.PARTS[machine.name]
    yield Variant(f"fitted without the cells {what}", held_out.predict_cells(machine.name, cells).model)


def list_assumed(machine: Machine) -> list[tuple[str, str]]:
    """Lists (table, key) of the numbers that the contention model reads and that no source and no table gives, of single nodes too."""
    # 0 is no limit.
    found = dict.fromkeys((table.removeprefix(OF_NODE), key) for table, key, entry in machine.list_numbers()
                          if entry["value"] and entry["source"].startswith((ASSUMED, CALIBRATED)))
    return [name for name in found if name not in LAB_ONLY | WHOLE and ".".join(name) not in _list_fitted(machine)]


def _vary_numbers(machine: Machine) -> Iterator[Variant]:
    """Yields each assumed number lower and higher by OFF, the others as in the file."""
    for table, key in list_assumed(machine):
        for factor in (1 - OFF, 1 + OFF):
            yield Variant(f"{table}.{key} × {factor:g}", Model(machine.model_text).scale_number(table, key, factor))

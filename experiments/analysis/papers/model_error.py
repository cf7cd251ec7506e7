# SPDX-License-Identifier: GPL-2.0-only
"""How far the lab's model is off, which a verdict about a paper has to clear, and what it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from experiments.lab import machine
from experiments.lab.errors import LabError
from experiments.model_fit import held_out


@dataclass(frozen=True)
class Error:
    ratio: float  # root mean square, of the logarithm of a ratio of two means
    words: str


def of(name: str) -> Error:
    """Of a machine of the lab."""
    known = held_out.known()
    if name in known:
        ratio, whose = known[name], "of two cells of Table 1, each predicted without its row"
    else:
        ratio = sqrt(sum(error**2 for error in known.values()) / len(known))
        whose = f"assumed: this machine has no table to measure it by; that of {' and '.join(known)}"
    return Error(ratio, f"{_calibrated(name)} The model's error of a ratio is {100 * ratio:.0f} % ({whose}): "
                        "predicted and fitted statements have to be clear of their range by that.")


def _calibrated(name: str) -> str:
    try:
        found = machine.find(name).calibrated
    except LabError:
        return "The machine's file is not here, so what was fitted is not known."
    if not found:
        return "No number of this machine's file is calibrated."
    what = "; ".join(f"{number} ({against})" for number, against in found.items())
    return (f"Calibrated numbers of this machine's file: {what}. Agreement of a statement that was fitted says that "
            "model and measurement fit together, not that the paper is confirmed.")

# SPDX-License-Identifier: GPL-2.0-only
"""What of the lab's machine was fitted, and which machines a verdict in the lab is about, in words."""

from __future__ import annotations

from experiments.lab.machine import Machine
from experiments.model_fit import family

UNKNOWN = ("The file of this machine is not here, or another design made the cells: how far the model is off is not known, "
           "so no statement is judged.")


def caution(machine: Machine) -> str:
    others = len(family.variants(machine)) - 1
    return (f"{_calibrated(machine)} A verdict holds on this machine and on the {others} others that it may be: fitted without "
            f"parts of its table, where it has one, and with each assumed number {100 * family.OFF:.0f} % lower and higher. "
            "An interval is the union of theirs.")


def _calibrated(machine: Machine) -> str:
    if not machine.calibrated:
        return "No number of this machine's file is calibrated."
    what = "; ".join(f"{number} ({against})" for number, against in machine.calibrated.items())
    return (f"Calibrated numbers of this machine's file: {what}. Agreement of a statement that was fitted says that "
            "model and measurement fit together, not that the paper is confirmed.")

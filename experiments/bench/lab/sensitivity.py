# SPDX-License-Identifier: GPL-2.0-only
"""How much what is measured depends on each number of a machine's model."""

from experiments.bench.lab import lab_run
from experiments.bounds import Outcome
from experiments.lab import machine

MACHINE = "demo-2s"
STEP = 0.1  # of the number
MOST = 1.05  # relative change of a figure for that of a number: more would be no effect of the number alone
FIGURES = {"chase, local": ("latency", 0, 0), "chase, remote": ("latency", 0, 1),
           "triad, local": ("bandwidth", 0, 0), "triad, remote": ("bandwidth", 0, 1)}


def numbers(model: dict) -> dict[str, float]:
    """By the name that --set takes. One that is 0 is switched off."""
    parts = {name: model[name] for name in ("core", "dram")}
    parts |= {f"link[{index}]": link for index, link in enumerate(model.get("link", []))}
    found = {f"{part}.{name}": entry["value"] for part, entries in parts.items() for name, entry in entries.items()
             if isinstance(entry, dict)}
    return {name: value for name, value in found.items() if value}


def figures(*changes: str) -> dict[str, float]:
    measured = {(line["measure"], line["node"], line["memory"]): line.get("ns", line.get("mb_s"))
                for line in lab_run.measure(MACHINE, "latency", "bandwidth", changes=changes)}
    return {name: measured[key] for name, key in FIGURES.items()}


def sensitivity() -> Outcome:
    out = Outcome()
    plain = figures()
    out.say(f"relative change of a figure of {MACHINE} for that of a number of its model, which is {STEP:.0%} larger:")
    out.say(f"{'':26}" + "".join(f"{name:>15}" for name in FIGURES))
    out.say(f"{'as described':26}" + "".join(f"{plain[name]:15.1f}" for name in FIGURES))
    for number, value in numbers(machine.find(MACHINE).model).items():
        changed = figures(f"{number}={value * (1 + STEP):.6g}")
        out.data[number] = {name: (changed[name] / plain[name] - 1) / STEP for name in FIGURES}
        out.say(f"{number:26}" + "".join(f"{of:15.2f}" for of in out.data[number].values()))
    out.at_most("sensitivity: the largest of them", max(abs(of) for row in out.data.values() for of in row.values()),
                MOST, "{:.2f}")
    return out

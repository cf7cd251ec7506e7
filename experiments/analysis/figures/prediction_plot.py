# SPDX-License-Identifier: GPL-2.0-only
"""Draws what `numaplace predict --json` found: one panel for each machine and task set."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

NOTE = "Predicted by numaplace's contention model on paper; nothing was measured."
BEFORE, AFTER, WORST = "#9aa3ad", "#0072b2", "#e69f00"
ROW_INCHES, PANEL_INCHES, WIDTH_INCHES = 0.34, 1.1, 8


def bars(axes, labels: list[str], first: list[float], second: list[float], names: tuple[str, str],
         colours: tuple[str, str]) -> None:
    rows = range(len(labels))
    axes.barh([row - 0.2 for row in rows], first, 0.38, color=colours[0], label=names[0])
    axes.barh([row + 0.2 for row in rows], second, 0.38, color=colours[1], label=names[1])
    axes.set_yticks(list(rows), labels)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def case_panel(axes, machine: str, tasks: str, cases: list[dict]) -> None:
    planned = [case for case in cases if "error" not in case]
    bars(axes, [case["policy"] for case in planned],
         [case["throughput"]["before"] for case in planned],
         [case["throughput"]["after"] for case in planned], ("before", "after"), (BEFORE, AFTER))
    axes.set_title(f"{tasks} on {machine}", loc="left", fontsize=10)
    axes.set_xlabel("throughput: cores x speed, 1 = alone and all local")


def random_panel(axes, machine: str, scores: list[dict]) -> None:
    scored = [score for score in scores if score["cases"]]
    bars(axes, [score["policy"] for score in scored],
         [score["mean_of_best"] for score in scored],
         [score["worst_of_best"] for score in scored], ("mean", "worst"), (AFTER, WORST))
    cases = max((score["cases"] for score in scored), default=0)
    axes.set_title(f"{cases} task sets at random on {machine}", loc="left", fontsize=10)
    axes.set_xlabel("throughput relative to the best placement found by search")


def panels(found: dict) -> list[tuple]:
    listed = [(case_panel, key, list(group)) for key, group in
              groupby(found["cases"], lambda case: (case["machine"], case["tasks"]))]
    return listed + [(random_panel, (machine,), list(group)) for machine, group in
                     groupby(found["random"], lambda score: score["machine"])]


def draw(found: dict, path: Path) -> None:
    parts = panels(found)
    heights = [PANEL_INCHES + ROW_INCHES * len(rows) for _, _, rows in parts]
    figure, axes = plt.subplots(len(parts), 1, figsize=(WIDTH_INCHES, sum(heights)), squeeze=False,
                                height_ratios=heights, layout="constrained")
    for (panel, key, rows), one in zip(parts, axes[:, 0], strict=True):
        panel(one, *key, rows)
    figure.supxlabel(NOTE, fontsize=8, color="#5b6570")
    figure.savefig(path)
    plt.close(figure)


def main() -> int:
    if len(sys.argv) != 2:
        print("numaplace-draw: give one FILE.svg, FILE.png or FILE.pdf", file=sys.stderr)
        return 2
    try:
        draw(json.load(sys.stdin), Path(sys.argv[1]))
    except (OSError, ValueError) as error:
        print(f"numaplace-draw: {sys.argv[1]} was not drawn: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

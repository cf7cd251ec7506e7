# SPDX-License-Identifier: GPL-2.0-only
"""Draws lab-time.svg: the clocks of two CPUs of the lab over the host's time."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

OUT = Path(__file__).with_name("lab-time.svg")
CPU_0, CPU_1, HALTED, LATE = "#1f77b4", "#d62728", "#44566c", "#e4e8ee"
# The host's time, simulated time. A stretch without simulated time is LATE.
IPI, TIMER, LAST_HALT = (2.5, 1.1), (5.3, 1.95), (6.6, 2.5)
DEADLINES = (3.4, 4.3)
LINES = [  # colour, style, label, points
    (CPU_0, "-", "CPU 0", [(0, 0.1), IPI, (3.4, IPI[1]), (5.6, 1.88)]),
    (CPU_1, "-", "CPU 1", [(3.4, IPI[1]), TIMER, LAST_HALT]),
    (HALTED, "--", "all CPUs halted", [LAST_HALT, (7.5, DEADLINES[0]), (8.2, DEADLINES[0]), (9.1, DEADLINES[1]),
                                       (9.8, DEADLINES[1])]),
    (CPU_0, "-", None, [(9.8, DEADLINES[1]), (11.4, 4.9)]),
]
NO_TIME = [(2.5, 3.4), (7.5, 8.2), (9.1, 9.8)]
NOTES = [  # text, what it points at, where it stands
    ("CPU 0 sends an IPI and waits;\nCPU 1 starts at its time", (2.95, IPI[1]), (0.1, 1.55)),
    ("a timer is due: it runs\nin CPU 1's thread", TIMER, (3.5, 2.75)),
    ("the last CPU halts: from here\nthe clock follows the host's", LAST_HALT, (6.75, 1.2)),
    ("a timer is due; the host\nis late for it", (7.85, DEADLINES[0]), (8.75, 2.65)),
    ("a timer wakes CPU 0, which\nstarts at the timer's time", (9.45, DEADLINES[1]), (5.9, 4.8)),
]


def draw_figure() -> None:
    """Draws the CPUs' clocks over the host's time with notes, and writes the figure to OUT."""
    matplotlib.rcParams.update({"svg.hashsalt": "numaplace", "font.family": "DejaVu Sans", "font.size": 8.5})
    figure, axes = pyplot.subplots(figsize=(9.5, 4.2))
    for i, (begin, end) in enumerate(NO_TIME):
        axes.axvspan(begin, end, color=LATE, linewidth=0, label=None if i else "no simulated time passes")
    for height in (TIMER[1], *DEADLINES):
        axes.axhline(height, color=HALTED, linestyle=":", linewidth=0.8)
        axes.text(11.45, height + 0.05, "timer", ha="right", fontsize=7.5, color=HALTED)
    for colour, style, label, points in LINES:
        axes.plot(*zip(*points, strict=True), style, color=colour, linewidth=2, label=label)
    for text, point, place in NOTES:
        axes.plot(*point, "o", color="black", markersize=4)
        axes.annotate(text, point, place, va="center", linespacing=1.3, arrowprops={"arrowstyle": "-", "color": HALTED})
    axes.set(xlabel="the host's time", ylabel="simulated time", xlim=(0, 11.5), ylim=(0, 5.2), xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4, frameon=False)
    figure.savefig(OUT, bbox_inches="tight", facecolor="white", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw_figure()

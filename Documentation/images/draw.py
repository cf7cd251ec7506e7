# SPDX-License-Identifier: GPL-2.0-only
"""Draws numaplace.svg: what numaplace reads, decides, does and measures, and what it runs on."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.patches import FancyBboxPatch  # noqa: E402

OUT = Path(__file__).with_name("numaplace.svg")
FILL, STRONG, EDGE = "#f3f5f8", "#dbe7f6", "#44566c"
STATIONS = [  # title, lines, and whether it is what this project exists for
    ("machine, tasks", "nodes, distances,\ncounters, pages\nby node", False),
    ("policy", "a pure function:\nmaximum-local,\nn-mass, measured, ..", True),
    ("plan", "node, pages, memory\npolicy of each task;\nreason, cost, gain", True),
    ("engine", "numaplace.ko or\nsystem calls; saves\nwhat was, undoes", True),
    ("measurement", "suites, repeats,\nintervals", False),
    ("report", "speed-up, locality,\nprice of a move", False),
]
GROUNDS = [
    ("a real machine", "two or more nodes"),
    ("the lab", "Debian's kernel in QEMU; caches, links, time simulated"),
    ("predicted", "the contention model, without a run"),
]
WIDTH, GAP, HEIGHT = 2.0, 0.45, 1.45


def draw_box(axes, x: float, y: float, width: float, height: float, fill: str) -> None:
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.08",
                                  facecolor=fill, edgecolor=EDGE, linewidth=1))


def draw_figure() -> None:
    """Draws the stations in a row above the grounds, and writes the figure to OUT."""
    matplotlib.rcParams.update({"svg.hashsalt": "numaplace", "font.family": "DejaVu Sans", "font.size": 8.5})
    total = len(STATIONS) * (WIDTH + GAP) - GAP
    figure, axes = pyplot.subplots(figsize=(total * 0.95, 3.2))
    for i, (title, text, central) in enumerate(STATIONS):
        x = i * (WIDTH + GAP)
        draw_box(axes, x, 1.2, WIDTH, HEIGHT, STRONG if central else FILL)
        axes.text(x + WIDTH / 2, 2.4, title, ha="center", weight="bold")
        axes.text(x + WIDTH / 2, 1.8, text, ha="center", va="center", linespacing=1.4)
        if i:
            axes.annotate("", (x, 1.92), (x - GAP, 1.92), arrowprops={"arrowstyle": "-|>", "color": EDGE})
    share = (total - GAP * (len(GROUNDS) - 1)) / len(GROUNDS)
    for i, (title, text) in enumerate(GROUNDS):
        x = i * (share + GAP)
        draw_box(axes, x, 0, share, 0.85, FILL)
        axes.text(x + share / 2, 0.53, title, ha="center", weight="bold")
        axes.text(x + share / 2, 0.2, text, ha="center", fontsize=7.5)
    axes.set_xlim(-0.05, total + 0.05)
    axes.set_ylim(-0.05, 2.75)
    axes.axis("off")
    figure.savefig(OUT, bbox_inches="tight", facecolor="white", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw_figure()

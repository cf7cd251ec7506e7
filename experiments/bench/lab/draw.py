# SPDX-License-Identifier: GPL-2.0-only
"""The README's picture: Table 1(b) by running triads beside the paper, and a migration that is felt.

    python -m experiments.bench.lab.draw FILE.png      from what `make bench-lab` kept
"""

import json
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

from experiments.bench.lab.__main__ import KEPT

COLOURS = ("#7f7f7f", "#1f77b4", "#2ca02c", "#d62728", "#9467bd")


def load_figures(claim: str) -> dict:
    """Loads `data` of the Outcome of a claim that `make bench-lab` kept. FileNotFoundError: it kept none."""
    return json.loads((KEPT / f"{claim}.json").read_text(encoding="utf-8"))["data"]


def draw_table(axes, data: dict):
    """Draws Table 1(b) of the paper and of the lab: total bandwidth in parts of 4L0R by remote threads, a line for local ones.

    data: `paper` and `table`, each rows by local threads of columns by remote threads."""
    for x, (paper, lab) in enumerate(zip(data["paper"], data["table"], strict=True)):
        first = 0 if x else 1  # no threads, no bandwidth
        remote = range(first, len(paper))
        axes.plot(remote, paper[first:], "--o", color=COLOURS[x], markerfacecolor="white", linewidth=1)
        axes.plot(remote, lab[first:], "-", color=COLOURS[x], linewidth=2, label=f"{x} local")
    axes.plot([], [], "--o", color="black", markerfacecolor="white", linewidth=1, label="the paper, measured")
    axes.plot([], [], "-", color="black", linewidth=2, label="the lab, simulated")
    axes.set(title="Xeon E5620: triads that share one controller", xlabel="remote threads",
             ylabel="total bandwidth, 4 local threads = 1", xticks=range(len(data["paper"])), ylim=(0, 1.4))
    axes.legend(fontsize=8, ncol=2, loc="lower right")


def draw_migration(axes, data: dict):
    """Draws the GB/s of a triad over simulated time in ms, whose pages move in mid-run, beside those of local memory.

    data: `stretches`, MB/s of equal parts of the work, `seconds` of all of them, and `local`, MB/s."""
    stretches = np.array(data["stretches"])
    elapsed = np.cumsum(1 / stretches)  # of no unit: each stretch moves as many bytes
    axes.plot(1000 * data["seconds"] * elapsed / elapsed[-1], stretches / 1000, color=COLOURS[1], linewidth=2)
    axes.axhline(data["local"] / 1000, color="black", linestyle=":", linewidth=1)
    axes.annotate("memory local from the start", (0, data["local"] / 1000), (0, -12), textcoords="offset points",
                  fontsize=8)
    axes.set(title="demo-2s: pages move to their task in mid-run", xlabel="simulated time, ms",
             ylabel="GB/s of a triad", ylim=(0, None))


def main():
    """Draws both pictures side by side from the kept figures, into the file in sys.argv."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 2))
    draw_table(left, load_figures("e5620"))
    draw_migration(right, load_figures("migration"))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
